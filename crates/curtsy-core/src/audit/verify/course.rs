//! The course of a scope in one pipeline: its turns in their order, each of them asked again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::group::Group;
use super::violation::{Findings, Place, Rule, exact};
use crate::audit::entry::Said;
use crate::audit::{Because, BodyRead, Departure, Event, Head, Noted, Outcome, StateRead};
use crate::decision::{Bound, Decision, Permit};
use crate::observe::{Attempt, Observed, observe, observe_body};
use crate::outcome::{Answer, Failure, Kind};
use crate::pace::{Ask, allowed_rate, decide, depart};
use crate::policy::{PER_HOST_CEILING, Policy};
use crate::state::HostState;
use crate::time::millis;
use crate::{Breaker, Draw, Scope, Signal, Timestamp};

/// So many turns may be on record before one that comes first: more than are ever under way at once.
const AHEAD: usize = 256;

/// What was under way when a process was cut off can lack a turn that comes before it, and nothing else: lines
/// are written right when their turn is taken.
const UNDER_WAY: Duration = Duration::from_secs(1);

/// What is known of a scope as one pipeline has it.
#[derive(Debug, Default)]
pub(super) struct Course {
    /// The turn that comes next; zero before the scope is met.
    next: u64,
    /// Those that are on record already.
    waiting: BTreeMap<u64, Group>,
    /// Those that no line tells of.
    untold: BTreeSet<u64>,
    /// The state after the last turn, and the policy; `None` where it cannot be known until it is told.
    known: Option<(HostState, Arc<Policy>)>,
    /// The departures without an outcome.
    open: BTreeMap<u64, Open>,
    pub(super) tally: Tally,
}

/// A departure without an outcome.
#[derive(Debug)]
struct Open {
    permitted_at: Timestamp,
    url: Option<String>,
    kind: Option<Kind>,
    attempt: Option<u32>,
}

impl Open {
    fn of(head: &Head, departure: &Departure) -> Self {
        Self {
            permitted_at: departure.permitted_at,
            url: head.url.clone(),
            kind: head.kind,
            attempt: head.attempt,
        }
    }
}

/// How far a course was replayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Turns that came to the same.
    pub(super) replayed: u64,
    /// Turns whose state before cannot be known.
    pub(super) unknown: u64,
    /// Turns at the end of a process that was cut off.
    pub(super) cut_off: u64,
    /// Departures that others made of whom nothing is known, by the states that were found.
    pub(super) outside: u64,
    /// How often a state was found that had been set back.
    pub(super) set_back: u64,
}

impl Course {
    /// How the scope is treated, as far as it was told.
    pub(super) fn policy(&self) -> Option<&Arc<Policy>> {
        self.known.as_ref().map(|(_, policy)| policy)
    }

    /// The most that may depart a second, as of the last turn.
    pub(super) fn allowed_rate(&self) -> Option<f64> {
        let (state, policy) = self.known.as_ref()?;
        allowed_rate(policy, state)
    }

    /// The Crawl-delay or the least configured delay: what is between any two departures.
    pub(super) fn least_interval(&self) -> Duration {
        let Some((state, policy)) = &self.known else {
            return Duration::ZERO;
        };
        let asked = state.crawl_delay().filter(|_| policy.respect_robots);
        let configured = policy.delay.map(|delay| delay.min());
        asked.max(configured).unwrap_or_default()
    }

    /// Takes the lines of a turn, and replays what can be by now.
    pub(super) fn take(&mut self, scope: &Scope, group: Group, findings: &mut Findings) {
        if let Some((read, _)) = &group.lead.state {
            self.untold.extend(&read.untold);
            if read.because == Because::Met {
                let first = read.untold.iter().chain([&group.turn]).min();
                self.next = first.copied().unwrap_or(group.turn);
            }
        }
        let (at, turn) = (group.at, group.turn);
        if turn < self.next || self.waiting.contains_key(&turn) {
            let what = format!("turn {turn} of {scope} comes twice");
            return findings.add(at, Rule::Record, what);
        }
        self.waiting.insert(turn, group);
        self.go_on(scope, findings);
        if self.waiting.len() > AHEAD {
            let what = format!("turn {} of {scope} is not on record", self.next);
            findings.add(at, Rule::Record, what);
            self.known = None;
            self.next = self.waiting.keys().next().copied().unwrap_or(self.next);
            self.go_on(scope, findings);
        }
    }

    fn go_on(&mut self, scope: &Scope, findings: &mut Findings) {
        loop {
            if let Some(group) = self.waiting.remove(&self.next) {
                self.replay(scope, group, findings);
            } else if self.untold.remove(&self.next) {
                self.known = None;
            } else {
                return;
            }
            self.next += 1;
        }
    }

    /// Another process begins.
    pub(super) fn begin_anew(&mut self, ended: Option<Timestamp>, findings: &mut Findings) {
        self.cut_off(ended, findings);
        *self = Self {
            tally: self.tally,
            known: self.known.take(),
            ..Self::default()
        };
    }

    /// The log ends, or the process did; its last line was written at `ended`.
    pub(super) fn cut_off(&mut self, ended: Option<Timestamp>, findings: &mut Findings) {
        let waiting = std::mem::take(&mut self.waiting);
        let number = waiting.len();
        let per_host = self
            .policy()
            .map_or(PER_HOST_CEILING, |policy| policy.per_host);
        let Some(first) = waiting.into_values().next() else {
            return;
        };
        let written = Timestamp::from_rfc3339(&first.head.timestamp);
        let is_late = written
            .zip(ended)
            .is_some_and(|(written, ended)| ended.since(written) <= UNDER_WAY);
        if !is_late || number > 2 * per_host as usize {
            let what = format!("turn {} of its scope is not on record", self.next.max(1));
            findings.add(first.at, Rule::Record, what);
        } else {
            self.tally.cut_off += number as u64;
        }
    }

    fn replay(&mut self, scope: &Scope, group: Group, findings: &mut Findings) {
        if let Some((read, policy)) = &group.lead.state {
            self.find(read, policy);
        }
        let Some((mut state, policy)) = self.known.take() else {
            self.tally.unknown += 1;
            self.check_unknown(&group, findings);
            return;
        };
        for noted in &group.head.noted {
            note(&policy, &mut state, scope, noted);
            if let Noted::Abandoned { departure, .. } = noted {
                self.open.remove(departure);
            }
        }
        let mut asked = Asked {
            scope,
            policy: &policy,
            group: &group,
            is_same: true,
            is_cut_off: false,
            findings,
        };
        asked.check_head();
        let next = match &group.event {
            Event::Departure(departure) => {
                self.open
                    .insert(departure.departure, Open::of(&group.head, departure));
                asked.depart(&state, departure)
            }
            Event::Outcome(outcome) => {
                asked.check_departed(&mut self.open, outcome.departure, outcome.departed_at);
                // Of several notes of it this is the last one, and changes nothing more.
                state.note_departed(outcome.departure, outcome.departed_at);
                asked.hear(&state, outcome)
            }
            Event::BodyRead(read) => asked.read(&state, read),
            _ => state,
        };
        self.tally.replayed += u64::from(asked.is_same && !asked.is_cut_off);
        self.tally.cut_off += u64::from(asked.is_cut_off);
        self.known = Some((next, policy));
    }

    /// A state as it was found.
    fn find(&mut self, read: &StateRead, policy: &Arc<Policy>) {
        if let Some((known, _)) = &self.known
            && read.because != Because::Untold
        {
            let (before, found) = (known.departures(), read.state.departures());
            self.tally.outside += found.saturating_sub(before);
            self.tally.set_back += u64::from(found < before);
        }
        self.known = Some((read.state.clone(), Arc::clone(policy)));
    }

    /// What can be said of a turn whose state before is not known.
    fn check_unknown(&mut self, group: &Group, findings: &mut Findings) {
        match &group.event {
            Event::Departure(departure) => {
                self.open
                    .insert(departure.departure, Open::of(&group.head, departure));
                if departure.permitted_at < departure.not_before {
                    let what = early(departure.permitted_at, departure.not_before);
                    findings.add(group.at, Rule::of(departure.reason), what);
                }
            }
            Event::Outcome(outcome) => {
                self.open.remove(&outcome.departure);
            }
            _ => {}
        }
    }
}

/// Makes a change that has no line of its own.
fn note(policy: &Policy, state: &mut HostState, scope: &Scope, noted: &Noted) {
    match noted {
        Noted::Departed { departure, at } => {
            state.note_departed(*departure, *at);
        }
        Noted::Abandoned { departure, at } => {
            let attempt = Attempt {
                seq: *departure,
                kind: Kind::Page,
                departed: *at,
                host: scope.host(),
            };
            let answer = Answer::Abandoned;
            *state = observe(policy, state, &attempt, &answer, *at, Draw::LEAST).state;
        }
        Noted::CrawlDelay { origin, delay_ms } => {
            state.note_crawl_delay(origin, delay_ms.map(millis::from));
        }
        Noted::Lifted {} => {
            state.lift();
        }
    }
}

/// A turn that is asked again.
struct Asked<'a> {
    scope: &'a Scope,
    policy: &'a Policy,
    group: &'a Group,
    is_same: bool,
    is_cut_off: bool,
    findings: &'a mut Findings,
}

impl<'a> Asked<'a> {
    fn wrong(&mut self, rule: Rule, what: impl Into<String>) {
        self.wrong_at(self.group.at, rule, what);
    }

    fn wrong_at(&mut self, at: Place, rule: Rule, what: impl Into<String>) {
        self.is_same = false;
        self.findings.add(at, rule, what);
    }

    /// May it depart then? The state after it, as if it might.
    fn depart(&mut self, state: &HostState, departure: &Departure) -> HostState {
        let now = departure.permitted_at;
        let ask = Ask {
            kind: self.group.head.kind.unwrap_or(Kind::Page),
            since: now.before(departure.waited_ms),
            own: departure.own.unwrap_or(Bound::FREE),
        };
        let forced = || depart(self.policy, state, &ask, Bound::FREE, now, departure.draw);
        let decision = decide(self.policy, state, &ask, now, departure.draw);
        let mut permit = match decision {
            Decision::Depart(permit) => {
                self.compare(&permit, departure);
                *permit
            }
            Decision::Wait(bound) | Decision::Defer(bound) => {
                let permit = forced();
                let what = format!(
                    "{}: {}",
                    early(now, bound.not_before),
                    bound.reason.sentence()
                );
                self.wrong(Rule::of(bound.reason), what);
                permit
            }
            Decision::Decline(_) => {
                let permit = forced();
                self.wrong(
                    Rule::Suppression,
                    format!("it departed at {} to a suppressed scope", exact(now)),
                );
                permit
            }
        };
        let is_probe =
            matches!(permit.state.breaker, Breaker::HalfOpen { probe, .. } if probe == permit.seq);
        match (is_probe, self.group.lead.half_open) {
            (true, None) => self.wrong(Rule::Change, "it is a probe, and no line before says so"),
            (false, Some(at)) => self.wrong_at(at, Rule::Change, "what follows is no probe"),
            _ => {}
        }
        // The sample as it was kept.
        permit.state.interval_draw = departure.draw;
        permit.state
    }

    fn compare(&mut self, permit: &Permit, departure: &Departure) {
        let (bound, told) = (
            permit.bound,
            Bound {
                not_before: departure.not_before,
                reason: departure.reason,
            },
        );
        if permit.seq != departure.departure {
            let what = format!(
                "it is departure {} of {}, not {}",
                permit.seq, self.scope, departure.departure
            );
            self.wrong(Rule::Record, what);
        }
        if bound != told {
            let what = format!(
                "its bound was {} ({}), not {} ({})",
                exact(bound.not_before),
                bound.reason.label(),
                exact(told.not_before),
                told.reason.label()
            );
            self.wrong(Rule::Record, what);
        }
        let trigger = self.group.head.trigger.as_deref();
        if trigger != Some(told.reason.label()) {
            self.wrong(Rule::Record, "its trigger is not its reason");
        }
    }

    /// What every line of a turn says.
    fn check_head(&mut self) {
        let head = &self.group.head;
        if head.compliance_flag != self.policy.polite {
            self.wrong(
                Rule::Record,
                "whether the rules were on is not what its policy says",
            );
        }
        let host = head.url.as_deref().and_then(host_of);
        if head.target_domain.as_deref() != host {
            self.wrong(Rule::Record, "its target_domain is not the host of its URL");
        }
        let delays = [head.base_delay_ms, head.computed_delay_ms, head.jitter_ms];
        let (has_trigger, has_status) = match &self.group.event {
            Event::Departure(_) => (true, false),
            Event::Outcome(outcome) => (false, outcome.failure.is_none()),
            _ => (false, true),
        };
        if delays != [None; 3]
            || has_trigger != head.trigger.is_some()
            || has_status != head.status_code.is_some()
        {
            self.wrong(
                Rule::Record,
                "it has a delay, a trigger or a status that it cannot have",
            );
        }
    }

    /// An answer comes to a request that departed.
    fn check_departed(
        &mut self,
        open: &mut BTreeMap<u64, Open>,
        departure: u64,
        departed_at: Timestamp,
    ) {
        let head = &self.group.head;
        match open.remove(&departure) {
            None => {
                let what =
                    format!("departure {departure} is not on record, or was answered before");
                self.wrong(Rule::Record, what);
            }
            Some(open) if departed_at < open.permitted_at => {
                let what = early(departed_at, open.permitted_at);
                self.wrong(
                    Rule::Bound,
                    format!("{what}: that is when it was permitted"),
                );
            }
            Some(open)
                if (&open.url, open.kind, open.attempt) != (&head.url, head.kind, head.attempt) =>
            {
                self.wrong(
                    Rule::Record,
                    "it is not the request that departed by this number",
                );
            }
            Some(_) => {}
        }
    }

    /// What does this answer change?
    fn hear(&mut self, state: &HostState, outcome: &Outcome) -> HostState {
        let head = &self.group.head;
        let attempt = Attempt {
            seq: outcome.departure,
            kind: head.kind.unwrap_or(Kind::Page),
            departed: outcome.departed_at,
            host: self.scope.host(),
        };
        let silent = Signal::default();
        let answer = match (outcome.failure.as_deref(), head.status_code) {
            (None, Some(status)) => Answer::Head {
                status,
                latency: outcome.latency_ms.unwrap_or_default(),
                signal: outcome.signal.as_deref().unwrap_or(&silent),
            },
            (Some("abandoned"), None) => Answer::Abandoned,
            (Some(label), None) => match Failure::of_label(label) {
                Some(failure) => Answer::Failed(failure),
                None => {
                    self.wrong(Rule::Record, format!("{label:?} is no failure"));
                    Answer::Failed(Failure::Reset)
                }
            },
            _ => {
                self.wrong(Rule::Record, "it has either a status or a failure");
                Answer::Abandoned
            }
        };
        if !outcome.is_consistent() {
            self.wrong(
                Rule::Record,
                "what it says of the wait or the quota differs from its signal",
            );
        }
        let came_at = outcome
            .departed_at
            .after(outcome.latency_ms.unwrap_or_default());
        let now = outcome.noted_at.unwrap_or(came_at);
        let draw = outcome.draw.unwrap_or(Draw::LEAST);
        let observed = observe(self.policy, state, &attempt, &answer, now, draw);
        if observed.class != outcome.class {
            let label = |class: Option<crate::Class>| class.map_or("none", crate::Class::label);
            let what = format!(
                "its class is {}, not {}",
                label(observed.class),
                label(outcome.class)
            );
            self.wrong(Rule::Record, what);
        }
        self.compare_changes(observed)
    }

    /// What does this body change?
    fn read(&mut self, state: &HostState, read: &BodyRead) -> HostState {
        let attempt = Attempt {
            seq: read.departure,
            kind: self.group.head.kind.unwrap_or(Kind::Page),
            departed: read.departed_at,
            host: self.scope.host(),
        };
        let answer = Answer::Head {
            status: self.group.head.status_code.unwrap_or_default(),
            latency: Default::default(),
            signal: &read.signal,
        };
        let observed = observe_body(
            self.policy,
            state,
            &attempt,
            &answer,
            &read.of_head,
            read.noted_at,
            read.draw,
        );
        self.compare_changes(observed)
    }

    /// Each change is on record, as it was, and no other.
    fn compare_changes(&mut self, observed: Observed) -> HostState {
        let mut told = self.group.changes.iter();
        for change in &observed.changes {
            let said = Said::of(change);
            match told.next() {
                None if self.group.is_last => self.is_cut_off = true,
                None => {
                    let what = format!("{} follows from it, and is not on record", said.words());
                    self.wrong(Rule::Change, what);
                }
                Some((at, record)) if !said.is(record) => {
                    let what = format!("what follows from the answer is {}", said.words());
                    self.wrong_at(*at, Rule::Change, what);
                }
                Some(_) => {}
            }
        }
        for (at, _) in told {
            self.wrong_at(*at, Rule::Change, "it does not follow from the answer");
        }
        observed.state
    }
}

fn early(at: Timestamp, not_before: Timestamp) -> String {
    format!(
        "it departed at {}, and not before {}",
        exact(at),
        exact(not_before)
    )
}

/// The host of a URL that has neither user nor password.
fn host_of(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?']).next()?;
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    match authority.rsplit_once(':') {
        Some((host, port)) if is_port(port) => Some(host),
        _ => Some(authority),
    }
}
