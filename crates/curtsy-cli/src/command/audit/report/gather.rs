//! What logs tell of each scope, gathered line by line.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use curtsy::core::audit::verify::Verifier;
use curtsy::core::audit::{Departure, Event, Outcome, Record, RobotsRead};
use curtsy::core::{Class, Kind, Scope, Timestamp};

use super::histogram::Histogram;
use super::series::Series;

/// So many holds, suppressions and the like of one scope are told one by one.
const MOST_PAUSES: usize = 200;
/// So many origins of one scope are told with their robots.txt.
const MOST_FILES: usize = 20;

/// What is known of all that was sent.
#[derive(Debug, Default)]
pub(super) struct Book {
    pub(super) scopes: HashMap<Scope, Page>,
    /// The names by which robots.txt files were asked.
    pub(super) agents: BTreeMap<String, u64>,
    pub(super) versions: BTreeMap<String, u64>,
    pub(super) first: Option<Timestamp>,
    pub(super) last: Option<Timestamp>,
}

/// What is known of one scope.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) departures: u64,
    pub(super) kinds: [u64; 4],
    pub(super) first: Option<Timestamp>,
    pub(super) last: Option<Timestamp>,
    pub(super) pace: Series,
    pub(super) gaps: Histogram,
    pub(super) latencies: Histogram,
    /// Answers by status; `None`: there was none.
    pub(super) statuses: BTreeMap<Option<u16>, u64>,
    pub(super) refusals: u64,
    pub(super) failures: u64,
    /// What bound the departures.
    pub(super) reasons: BTreeMap<&'static str, u64>,
    pub(super) pauses: Vec<Pause>,
    /// Those that are more than are kept.
    pub(super) more_pauses: u64,
    pub(super) disallowed: u64,
    pub(super) deferred: u64,
    pub(super) suppressions: u64,
    pub(super) files: BTreeMap<String, RobotsFile>,
    /// The most departures within one second, and the second that is being counted.
    pub(super) busiest_second: u32,
    second: (u64, u32),
}

/// A time in which nothing was sent, and why.
#[derive(Clone, Debug)]
pub(super) struct Pause {
    pub(super) kind: PauseKind,
    pub(super) since: Timestamp,
    /// `None`: as long as the client lived.
    pub(super) until: Option<Timestamp>,
    /// What caused it.
    pub(super) trigger: Option<String>,
}

/// Why nothing was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PauseKind {
    /// The server had asked for quiet.
    Hold,
    /// It was overloaded or failed.
    Backoff,
    /// It had failed too often.
    Breaker,
    /// It had forbidden it.
    Suppression,
}

/// A robots.txt as it was read last.
#[derive(Clone, Debug)]
pub(super) struct RobotsFile {
    pub(super) access: String,
    pub(super) crawl_delay_ms: Option<f64>,
    pub(super) rules: usize,
    pub(super) reads: u64,
}

impl Book {
    /// Takes the next record; `verifier` knows what came before.
    pub(super) fn note(&mut self, record: &Record, verifier: &Verifier) {
        if let Event::RunStarted { version, .. } = &record.event {
            *self.versions.entry(version.clone()).or_default() += 1;
        }
        if let Event::RobotsRead(read) = &record.event {
            *self.agents.entry(read.agent.clone()).or_default() += 1;
        }
        let Some(scope) = &record.scope else { return };
        if !self.scopes.contains_key(scope) {
            self.scopes.insert(scope.clone(), Page::default());
        }
        let Some(page) = self.scopes.get_mut(scope) else {
            return;
        };
        match &record.event {
            Event::Departure(departure) => {
                let allowed = verifier.allowed_rate(&record.pipeline_id, scope);
                page.depart(record.kind, departure, allowed);
                let at = departure.permitted_at;
                self.first = self.first.into_iter().chain([at]).min();
                self.last = self.last.max(Some(at));
            }
            Event::Outcome(outcome) => page.hear(record, outcome),
            Event::RobotsRead(read) => page.read(read),
            Event::RobotsDisallowed { .. } => page.disallowed += 1,
            Event::Deferred { .. } => page.deferred += 1,
            Event::HoldStarted { until } => page.pause(record, PauseKind::Hold, Some(*until)),
            Event::DynamicDelayApplied {
                until: Some(until), ..
            } => page.pause(record, PauseKind::Backoff, Some(*until)),
            Event::BreakerOpened { until } => page.pause(record, PauseKind::Breaker, Some(*until)),
            Event::ScopeSuppressed { until } => {
                page.suppressions += 1;
                page.pause(record, PauseKind::Suppression, *until);
            }
            _ => {}
        }
    }

    /// The scopes that were asked most come first.
    pub(super) fn by_departures(&self) -> Vec<(&Scope, &Page)> {
        let mut scopes: Vec<_> = self.scopes.iter().collect();
        scopes.sort_by(|(a, one), (b, other)| {
            let order = other.departures.cmp(&one.departures);
            order.then_with(|| a.as_str().cmp(b.as_str()))
        });
        scopes
    }
}

/// The places, among the scopes by their departures, of those that are shown more closely: of those that were
/// asked most, and of those that were in trouble.
pub(super) fn in_focus(scopes: &[(&Scope, &Page)], busiest: usize, troubled: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..scopes.len()).collect();
    places.sort_by_key(|place| std::cmp::Reverse(scopes[*place].1.troubles()));
    places.retain(|place| *place >= busiest && scopes[*place].1.troubles() > 0);
    places.truncate(troubled);
    let mut focus: Vec<usize> = (0..busiest.min(scopes.len())).chain(places).collect();
    focus.sort_unstable();
    focus
}

impl Page {
    /// How much of what went wrong there was.
    fn troubles(&self) -> u64 {
        let pauses = self.pauses.len() as u64 + self.more_pauses;
        self.refusals + self.failures + pauses
    }

    fn depart(&mut self, kind: Option<Kind>, departure: &Departure, allowed: Option<f64>) {
        let at = departure.permitted_at;
        self.departures += 1;
        self.kinds[kind.map_or(0, |kind| kind as usize)] += 1;
        *self.reasons.entry(departure.reason.label()).or_default() += 1;
        if let Some(last) = self.last {
            self.gaps.add(at.since(last));
        }
        self.first = self.first.into_iter().chain([at]).min();
        self.last = self.last.max(Some(at));
        let step = self.pace.at(at);
        step.departures += 1;
        step.allow(allowed);
        let second = at.as_secs();
        if self.second.0 != second {
            self.second = (second, 0);
        }
        self.second.1 += 1;
        self.busiest_second = self.busiest_second.max(self.second.1);
    }

    fn hear(&mut self, record: &Record, outcome: &Outcome) {
        if outcome.failure.as_deref() == Some("abandoned") {
            return;
        }
        *self.statuses.entry(record.status_code).or_default() += 1;
        if let Some(latency) = outcome.latency_ms {
            self.latencies.add(latency);
        }
        match outcome.class {
            Some(Class::Throttled) => {
                self.refusals += 1;
                let at = outcome
                    .departed_at
                    .after(outcome.latency_ms.unwrap_or_default());
                self.pace.at(at).refusals += 1;
            }
            Some(Class::Failed) => self.failures += 1,
            _ => {}
        }
    }

    fn read(&mut self, read: &RobotsRead) {
        let is_full = self.files.len() >= MOST_FILES && !self.files.contains_key(&read.origin);
        if is_full {
            return;
        }
        let reads = self.files.get(&read.origin).map_or(0, |file| file.reads);
        let file = RobotsFile {
            access: read.access.clone(),
            crawl_delay_ms: read.crawl_delay_ms,
            rules: read.rules.len(),
            reads: reads + 1,
        };
        self.files.insert(read.origin.clone(), file);
    }

    fn pause(&mut self, record: &Record, kind: PauseKind, until: Option<Timestamp>) {
        if self.pauses.len() == MOST_PAUSES {
            self.more_pauses += 1;
            return;
        }
        self.pauses.push(Pause {
            kind,
            since: Timestamp::from_rfc3339(&record.timestamp).unwrap_or_default(),
            until,
            trigger: record.trigger.clone(),
        });
    }

    pub(super) fn pauses_of(&self, kind: PauseKind) -> usize {
        let of = self.pauses.iter().filter(|pause| pause.kind == kind);
        of.count()
    }

    /// From the first departure to the last.
    pub(super) fn span(&self) -> Duration {
        match (self.first, self.last) {
            (Some(first), Some(last)) => last.since(first),
            _ => Duration::ZERO,
        }
    }

    /// Departures a second in the mean; `None` of a single one.
    pub(super) fn mean_rate(&self) -> Option<f64> {
        let span = self.span().as_secs_f64();
        (self.departures > 1 && span > 0.0).then(|| (self.departures - 1) as f64 / span)
    }
}

impl PauseKind {
    /// Every kind.
    pub(super) const ALL: [Self; 4] = [Self::Hold, Self::Backoff, Self::Breaker, Self::Suppression];

    /// The name of its style.
    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Hold => "hold",
            Self::Backoff => "backoff",
            Self::Breaker => "breaker",
            Self::Suppression => "suppression",
        }
    }

    /// What a person is told.
    pub(super) const fn sentence(self) -> &'static str {
        match self {
            Self::Hold => "the server had asked for quiet",
            Self::Backoff => "backing off after an overload or a failure",
            Self::Breaker => "left alone, since it had failed too often",
            Self::Suppression => "left alone, since it had answered 403",
        }
    }
}
