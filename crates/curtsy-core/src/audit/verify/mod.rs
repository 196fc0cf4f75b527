//! [`Verifier`]: proves from a log alone that every rule was kept.
//!
//! Each line must follow the one whose hash it holds. Each departure is decided again, on the state to which
//! the lines before it lead and by the policy on record, each answer is observed again, and both must come to
//! what is on record. Whatever departed must be allowed by the robots.txt whose rules are on record. What
//! pipelines owe a server together, its holds and intervals, is looked at over all of them, whatever a
//! state says that one of them found.
//!
//! Not proved: that the clock was right, that a state which was found in the store was what others had left
//! there (unless their logs are here too), and that there was no other traffic. A line that was cut off at the end of a file
//! shows only beside what is kept elsewhere: [`Proof::tails`].

mod among;
mod chain;
mod course;
mod group;
mod robots;
mod violation;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::{Departure, Event, Record};
use crate::policy::Policy;
use crate::{Kind, Scope, Timestamp};

use among::{Among, Leaving};
use chain::Chain;
use course::Course;
use group::{Group, Lead, is_change};
use robots::{Readings, Verdict};
use violation::Findings;
pub use violation::{Place, Rule, Violation};

/// Reads lines of logs, in the order of their times, and collects what they prove.
#[derive(Debug, Default)]
pub struct Verifier {
    pipelines: HashMap<String, Pipeline>,
    among: Among,
    /// Lines that are none, until it is told that they were torn.
    torn: HashMap<u32, (Place, u64)>,
    findings: Findings,
    summary: Summary,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Proof {
    /// What must not be, in the order in which it was found.
    pub violations: Vec<Violation>,
    /// So many more were found and not kept.
    pub more_violations: u64,
    /// What was looked at.
    pub summary: Summary,
    /// The last line of each pipeline: its number and its hash.
    pub tails: BTreeMap<String, (u64, String)>,
}

/// What was looked at, and how far it is proved.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Summary {
    /// Whole lines.
    pub lines: u64,
    /// Runs with a chain of their own.
    pub pipelines: u64,
    /// Scopes that were talked to, in each pipeline.
    pub scopes: u64,
    /// Departures, those of robots.txt among them.
    pub departures: u64,
    /// Outcomes.
    pub outcomes: u64,
    /// Holds that a server asked for.
    pub holds: u64,
    /// URLs that robots.txt disallowed.
    pub disallowed: u64,
    /// Departures whose verdict rests on a query that is not on record.
    pub verdicts_without_query: u64,
    /// Departures for which the operator had switched the rules off.
    pub unruled: u64,
    /// Decisions and observations that came to the same again.
    pub replayed: u64,
    /// Those whose state before is not on record, since a caller had gone away.
    pub not_replayed: u64,
    /// Those at the end of a process that was cut off before what came before them was on record.
    pub cut_off: u64,
    /// Departures of these scopes by others, as the states show that were found.
    pub departures_of_others: u64,
    /// How often a state was found that had been set back.
    pub states_set_back: u64,
    /// Lines that a crash tore and that were told of, or that stand at the end.
    pub torn_lines: u64,
    /// When the first line was written, and the last.
    pub first: Option<String>,
    /// When the last line was written.
    pub last: Option<String>,
}

/// What is known of a pipeline.
#[derive(Debug)]
struct Pipeline {
    name: Arc<str>,
    store: Arc<str>,
    chain: Chain,
    /// When the last line was written, and the last one before a process began.
    last: String,
    written: String,
    policies: HashMap<u64, Arc<Policy>>,
    readings: Readings,
    courses: HashMap<Scope, Course>,
    /// What leads to the next turn.
    lead: Lead,
    /// The turn whose consequences are being read.
    open: Option<Group>,
}

impl Verifier {
    /// What is known from elsewhere: that a run has written this line, and its hash.
    pub fn expect(&mut self, pipeline_id: &str, seq: u64, hash: &str) {
        let pipeline = self.pipelines.entry(pipeline_id.to_owned());
        let pipeline = pipeline.or_insert_with(|| Pipeline::new(pipeline_id));
        pipeline.chain.expected = Some((seq, hash.to_owned()));
    }

    /// Takes the next line and its hash in hex.
    pub fn take(&mut self, at: Place, record: Record, hash: String) {
        self.note_torn(at, Some(&record.event));
        self.summary.lines += 1;
        if self.summary.first.is_none() {
            self.summary.first = Some(record.timestamp.clone());
        }
        if !self.pipelines.contains_key(&record.pipeline_id) {
            let pipeline = Pipeline::new(&record.pipeline_id);
            self.pipelines.insert(record.pipeline_id.clone(), pipeline);
        }
        let Some(pipeline) = self.pipelines.get_mut(&record.pipeline_id) else {
            return;
        };
        let mut desk = Desk {
            among: &mut self.among,
            findings: &mut self.findings,
            summary: &mut self.summary,
        };
        pipeline.take(at, record, hash, &mut desk);
    }

    /// The most that might depart to a scope a second, bursts and holds aside, after the lines taken so far.
    #[must_use]
    pub fn allowed_rate(&self, pipeline_id: &str, scope: &Scope) -> Option<f64> {
        let courses = &self.pipelines.get(pipeline_id)?.courses;
        courses.get(scope)?.allowed_rate()
    }

    /// Takes a line that is no record. `is_whole`: its end is there.
    pub fn take_unreadable(&mut self, at: Place, bytes: u64, is_whole: bool) {
        self.note_torn(at, None);
        self.torn.insert(at.file, (at, bytes));
        if !is_whole {
            // Nothing can follow: it is what a crash left.
            self.torn.remove(&at.file);
            self.summary.torn_lines += 1;
        }
    }

    /// What all lines prove.
    #[must_use]
    pub fn finish(mut self) -> Proof {
        for (_, (at, _)) in std::mem::take(&mut self.torn) {
            self.findings.add(at, Rule::Chain, NO_RECORD);
        }
        let mut tails = BTreeMap::new();
        for (name, mut pipeline) in self.pipelines {
            if let Some(open) = &mut pipeline.open {
                open.is_last = true;
            }
            pipeline.close(&mut self.findings);
            pipeline.chain.finish(&name, &mut self.findings);
            let ended = Timestamp::from_rfc3339(&pipeline.written);
            for course in pipeline.courses.values_mut() {
                course.cut_off(ended, &mut self.findings);
                let tally = course.tally;
                self.summary.replayed += tally.replayed;
                self.summary.not_replayed += tally.unknown;
                self.summary.cut_off += tally.cut_off;
                self.summary.departures_of_others += tally.outside;
                self.summary.states_set_back += tally.set_back;
                self.summary.scopes += 1;
            }
            self.summary.pipelines += 1;
            let last = Some(pipeline.last).filter(|last| !last.is_empty());
            self.summary.last = self.summary.last.max(last);
            tails.insert(name, (pipeline.chain.seq, pipeline.chain.hash));
        }
        let mut violations = self.findings.violations;
        violations.sort_by_key(|violation| violation.at);
        Proof {
            violations,
            more_violations: self.findings.more,
            summary: self.summary,
            tails,
        }
    }

    /// A line that is none must have been torn, and the next one must say so.
    fn note_torn(&mut self, at: Place, next: Option<&Event>) {
        if self.torn.is_empty() && !matches!(next, Some(Event::LogRecovered { .. })) {
            return;
        }
        let torn = self.torn.remove(&at.file);
        match (torn, next) {
            (None, Some(Event::LogRecovered { .. })) => {
                self.findings
                    .add(at, Rule::Chain, "the torn line that it tells of is missing");
            }
            (Some((_, bytes)), Some(Event::LogRecovered { torn_bytes }))
                if bytes == *torn_bytes =>
            {
                self.summary.torn_lines += 1;
            }
            (Some((torn, _)), _) => self.findings.add(torn, Rule::Chain, NO_RECORD),
            (None, _) => {}
        }
    }
}

const NO_RECORD: &str = "it is no record, and no line after it says that it was torn";

/// What all pipelines write to.
struct Desk<'a> {
    among: &'a mut Among,
    findings: &'a mut Findings,
    summary: &'a mut Summary,
}

impl Pipeline {
    fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            // Of a pipeline that does not tell its store nobody else is known to share it.
            store: format!("of {name}").into(),
            chain: Chain::default(),
            last: String::new(),
            written: String::new(),
            policies: HashMap::new(),
            readings: Readings::default(),
            courses: HashMap::new(),
            lead: Lead::default(),
            open: None,
        }
    }

    fn take(&mut self, at: Place, record: Record, hash: String, desk: &mut Desk<'_>) {
        self.chain.take(&record.head, hash, at, desk.findings);
        record.timestamp.clone_into(&mut self.last);
        // Of a process that begins, the one before is of interest yet.
        if !matches!(
            record.event,
            Event::LogOpened {} | Event::LogRecovered { .. }
        ) {
            record.timestamp.clone_into(&mut self.written);
        }
        if let Event::HoldStarted { until } = &record.event {
            self.hold(&record, *until, desk);
        }
        if is_change(&record) {
            match &mut self.open {
                Some(open) if open.takes(&record) => open.changes.push((at, record)),
                _ => desk
                    .findings
                    .add(at, Rule::Change, "it follows from no answer on record"),
            }
            return;
        }
        if let (Event::LogOpened {} | Event::LogRecovered { .. }, Some(open)) =
            (&record.event, &mut self.open)
        {
            open.is_last = true;
        }
        self.close(desk.findings);
        match record.event {
            Event::BreakerHalfOpen {} => self.lead.half_open = Some(at),
            Event::StateRead(_) => self.find(at, record, desk.findings),
            Event::Departure(_) | Event::Outcome(_) | Event::BodyRead(_) => {
                self.turn(at, record, desk);
            }
            _ => {
                self.no_lead(at, desk.findings);
                self.note(at, record, desk);
            }
        }
    }

    /// What is no turn of a scope.
    fn note(&mut self, at: Place, record: Record, desk: &mut Desk<'_>) {
        match record.event {
            Event::LogOpened {} => {
                let ended = Timestamp::from_rfc3339(&self.written);
                self.policies.clear();
                self.readings = Readings::default();
                for course in self.courses.values_mut() {
                    course.begin_anew(ended, desk.findings);
                }
            }
            Event::TailMissing { found, known } => {
                let what = format!(
                    "lines {} to {known} were missing when it was opened",
                    found + 1
                );
                desk.findings.add(at, Rule::Chain, what);
            }
            // What is kept in memory only, nobody shares.
            Event::RunStarted { store, .. } if store != "memory:" => self.store = store.into(),
            Event::Policy { policy, values } => match values.build() {
                Ok(values) => {
                    self.policies.insert(policy, Arc::new(values));
                }
                Err(error) => {
                    let what = format!("it is no policy: {error}");
                    desk.findings.add(at, Rule::Record, what);
                }
            },
            Event::RobotsRead(read) => self.readings.take(&read),
            Event::RobotsDisallowed { .. } => desk.summary.disallowed += 1,
            _ => {}
        }
    }

    fn find(&mut self, at: Place, record: Record, findings: &mut Findings) {
        self.no_lead(at, findings);
        let Record { head, event } = record;
        let Event::StateRead(read) = event else {
            return;
        };
        self.lead.of = head.scope.zip(head.turn);
        match self.policies.get(&read.policy) {
            Some(policy) => self.lead.state = Some((read, Arc::clone(policy))),
            None => {
                let what = format!("policy {} is not on record", read.policy);
                findings.add(at, Rule::Record, what);
            }
        }
    }

    /// One turn of a scope begins.
    fn turn(&mut self, at: Place, record: Record, desk: &mut Desk<'_>) {
        let lead = std::mem::take(&mut self.lead);
        let Record { head, event } = record;
        let (Some(scope), Some(turn)) = (head.scope.clone(), head.turn) else {
            let what = "it names no scope or no turn";
            return desk.findings.add(at, Rule::Record, what);
        };
        if lead
            .of
            .as_ref()
            .is_some_and(|of| (&of.0, of.1) != (&scope, turn))
        {
            let what = "the state before it is of another scope or turn";
            desk.findings.add(at, Rule::Record, what);
        }
        let group = Group {
            at,
            turn,
            head,
            event,
            lead,
            changes: Vec::new(),
            is_last: false,
        };
        match &group.event {
            Event::Departure(departure) => self.depart(&scope, &group, departure, desk),
            Event::Outcome(_) => desk.summary.outcomes += 1,
            _ => {}
        }
        self.open = Some(group);
    }

    fn depart(&self, scope: &Scope, group: &Group, departure: &Departure, desk: &mut Desk<'_>) {
        desk.summary.departures += 1;
        let course = self.courses.get(scope);
        let policy = match &group.lead.state {
            Some((_, policy)) => Some(policy),
            None => course.and_then(Course::policy),
        };
        let is_polite = policy.is_none_or(|policy| policy.polite);
        if !is_polite {
            desk.summary.unruled += 1;
            return;
        }
        let leaving = Leaving {
            store: &self.store,
            pipeline: &self.name,
            scope,
            permitted_at: departure.permitted_at,
            least: course.map(Course::least_interval).unwrap_or_default(),
        };
        desk.among.depart(&leaving, group.at, desk.findings);
        let asks = policy.is_some_and(|policy| policy.respect_robots);
        if !asks || group.head.kind == Some(Kind::Robots) {
            return;
        }
        let url = group.head.url.as_deref().unwrap_or_default();
        match self.readings.judge(url, departure.robots.as_ref()) {
            Ok(Verdict::Proved) => {}
            Ok(Verdict::WithoutQuery) => desk.summary.verdicts_without_query += 1,
            Err(why) => {
                let what = format!("{url} departed, but {why}");
                desk.findings.add(group.at, Rule::Robots, what);
            }
        }
    }

    /// A server asked for quiet. The end of a used-up quota may yet be told more exactly, so that only the
    /// replay knows it.
    fn hold(&mut self, record: &Record, until: Timestamp, desk: &mut Desk<'_>) {
        desk.summary.holds += 1;
        let is_of_quota = record
            .trigger
            .as_deref()
            .is_some_and(|trigger| trigger.ends_with("_remaining"));
        if let Some(scope) = record.scope.as_ref().filter(|_| !is_of_quota)
            && let Some(written) = Timestamp::from_rfc3339(&record.timestamp)
        {
            // The timestamp is cut to a millisecond.
            let since = written.after(std::time::Duration::from_millis(1));
            desk.among.hold(&self.store, scope, since, until);
        }
    }

    /// The consequences of the last turn are all read.
    fn close(&mut self, findings: &mut Findings) {
        let Some(group) = self.open.take() else {
            return;
        };
        let Some(scope) = group.head.scope.clone() else {
            return;
        };
        if !self.courses.contains_key(&scope) {
            self.courses.insert(scope.clone(), Course::default());
        }
        if let Some(course) = self.courses.get_mut(&scope) {
            course.take(&scope, group, findings);
        }
    }

    /// What was told to lead to a turn leads to none.
    fn no_lead(&mut self, at: Place, findings: &mut Findings) {
        if !std::mem::take(&mut self.lead).is_empty() {
            findings.add(at, Rule::Record, "it stands between a state and its turn");
        }
    }
}
