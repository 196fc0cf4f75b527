//! The job and all its scopes at one moment.

use std::collections::BTreeMap;
use std::time::Duration;

use curtsy::core::Timestamp;
use curtsy::{Outcome, Outlook, Progress, ScopeView};
use serde::Serialize;

use super::history::History;
use super::row::{Row, Stage, ms};

/// The job and all its scopes at one moment.
pub(super) struct Snapshot {
    pub(super) job: Job,
    pub(super) rows: Vec<Row>,
    /// How many scopes do what.
    pub(super) stages: BTreeMap<Stage, usize>,
}

/// The job as the page shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Job {
    name: String,
    version: &'static str,
    pub(super) now_ms: u64,
    is_paused: bool,
    pub(super) has_ended: bool,
    total: u64,
    ended: u64,
    fetched: u64,
    http_errors: u64,
    failed: u64,
    disallowed: u64,
    suppressed: u64,
    deferred: u64,
    bytes: u64,
    /// URLs/s that end.
    rate: Option<f64>,
    ends_ms: Option<u64>,
    /// The scope that all else waits for.
    last_scope: Option<String>,
}

/// What a snapshot is made of.
pub(super) struct Look<'a> {
    pub(super) name: &'a str,
    pub(super) views: &'a [ScopeView],
    pub(super) progress: &'a Progress,
    pub(super) outlook: &'a Outlook,
    pub(super) history: &'a History,
    pub(super) rate: Option<f64>,
    pub(super) eta: Option<Duration>,
    pub(super) is_paused: bool,
    pub(super) has_ended: bool,
    pub(super) now: Timestamp,
}

impl Snapshot {
    pub(super) fn of(look: &Look<'_>) -> Self {
        let mut rows = Vec::with_capacity(look.views.len().max(look.outlook.scopes.len()));
        let mut unmet = look.outlook.scopes.clone();
        for view in look.views {
            let outlook = unmet.remove(&view.scope);
            rows.push(Row::of(view, outlook.as_ref(), look.history, look.now));
        }
        let unmet = unmet.iter();
        rows.extend(unmet.map(|(scope, outlook)| Row::queued(scope, outlook, look.is_paused)));
        let mut stages = BTreeMap::new();
        for row in &rows {
            *stages.entry(row.does).or_default() += 1;
        }
        Self {
            job: Job::of(look),
            rows,
            stages,
        }
    }

    pub(super) fn row(&self, scope: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.scope == scope)
    }
}

impl Job {
    fn of(look: &Look<'_>) -> Self {
        let count = |outcome| look.progress.ended.get(&outcome).copied().unwrap_or(0);
        let eta = look.eta.filter(|_| !look.is_paused && !look.has_ended);
        let ends = eta.map(|eta| look.now.after(eta));
        let last = look.outlook.last.as_ref();
        let last = last.filter(|(_, end)| ends.is_some_and(|ends| *end >= ends));
        Self {
            name: look.name.to_owned(),
            version: env!("CARGO_PKG_VERSION"),
            now_ms: ms(look.now),
            is_paused: look.is_paused,
            has_ended: look.has_ended,
            total: look.progress.total,
            ended: look.progress.ended.values().sum(),
            fetched: count(Outcome::Fetched),
            http_errors: count(Outcome::HttpError),
            failed: count(Outcome::Failed),
            disallowed: count(Outcome::Disallowed),
            suppressed: count(Outcome::Suppressed),
            deferred: look.outlook.deferred,
            bytes: look.progress.bytes,
            rate: look.rate,
            ends_ms: ends.map(ms),
            last_scope: last.map(|(scope, _)| scope.to_string()),
        }
    }
}
