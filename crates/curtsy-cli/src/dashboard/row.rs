//! One scope in the table.

use std::time::Duration;

use curtsy::core::{Ask, Bound, HostState, Scope, Timestamp, bounds, pace};
use curtsy::{ScopeOutlook, ScopeView};
use serde::{Deserialize, Serialize};

use super::history::History;
use crate::evidence::evidence;
use crate::standing::{Does, Standing, is_until_answered};

/// Who waits no longer than this between departures is flowing, however slowly.
const SHORT: Duration = Duration::from_secs(3);

/// One scope as the page shows it. Times are milliseconds since the Unix epoch, by the client's clock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Row {
    pub(super) scope: String,
    pub(super) does: Stage,
    until_ms: Option<u64>,
    why: String,
    /// Departures/s that it is paced at.
    pub(super) rate: Option<f64>,
    /// URLs that have not ended.
    pub(super) left: u64,
    /// What is left of its quota, and of how many.
    quota: Option<(u64, Option<u64>)>,
    /// When the next request may depart.
    pub(super) next_ms: Option<u64>,
    in_flight: usize,
    pub(super) departures: u64,
    spark: Vec<u32>,
    /// Whether a suppression or a breaker can be lifted.
    can_lift: bool,
}

/// What a scope does, those in trouble first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stage {
    Suppressed,
    Broken,
    Held,
    BackingOff,
    Paused,
    Waiting,
    Flowing,
    /// Nothing has departed to it yet.
    Queued,
    /// Nothing is left of it.
    Done,
}

impl Stage {
    /// What the table is sorted by at first. Who waits now flows in a moment, and keeps its place.
    pub(super) fn rank(self) -> Self {
        match self {
            Self::Waiting => Self::Flowing,
            stage => stage,
        }
    }
}

impl Row {
    /// A scope that the client has met.
    pub(super) fn of(
        view: &ScopeView,
        outlook: Option<&ScopeOutlook>,
        history: &History,
        now: Timestamp,
    ) -> Self {
        let (left, state) = (
            outlook.map_or(0, |outlook| outlook.left),
            view.state.as_ref(),
        );
        let next = (left > 0).then(|| next(view, now)).flatten();
        let standing = Standing::of(view, now).or_waits_for(next, view, now);
        let in_flight = state.map_or(0, HostState::in_flight);
        let is_idle = left == 0 && in_flight == 0 && view.waits_for.is_none();
        let quota = state.and_then(|state| state.quotas().first());
        Self {
            scope: view.scope.to_string(),
            does: match standing.does {
                Does::Suppressed => Stage::Suppressed,
                Does::Broken => Stage::Broken,
                Does::Held => Stage::Held,
                Does::BacksOff => Stage::BackingOff,
                Does::Paused => Stage::Paused,
                Does::Waits | Does::Flows if is_idle => Stage::Done,
                Does::Waits => Stage::Waiting,
                Does::Flows => Stage::Flowing,
            },
            until_ms: standing.until.map(ms),
            can_lift: matches!(standing.does, Does::Suppressed | Does::Broken),
            why: standing.why,
            rate: state.and_then(|state| Some(rounded(pace(&view.policy, state)?.0))),
            left,
            quota: quota.and_then(|quota| Some((quota.remaining?, quota.limit))),
            next_ms: next.map(|bound| ms(bound.not_before)),
            in_flight,
            departures: state.map_or(0, HostState::departures),
            spark: history.spark(&view.scope),
        }
    }

    /// A scope of the job that nothing has departed to.
    pub(super) fn queued(scope: &Scope, outlook: &ScopeOutlook, is_paused: bool) -> Self {
        Self {
            scope: scope.to_string(),
            does: if is_paused {
                Stage::Paused
            } else {
                Stage::Queued
            },
            until_ms: None,
            why: String::new(),
            rate: None,
            left: outlook.left,
            quota: None,
            next_ms: None,
            in_flight: 0,
            departures: 0,
            spark: Vec::new(),
            can_lift: false,
        }
    }
}

impl Standing {
    /// A scope that flows may have made room for others until its next departure; and who waits no longer than
    /// a moment flows, however slowly.
    fn or_waits_for(self, next: Option<Bound>, view: &ScopeView, now: Timestamp) -> Self {
        let is_long = |until: Timestamp| until.since(now) > SHORT;
        match (self.does, self.until, next, &view.state) {
            (Does::Flows, _, Some(bound), Some(state)) if is_long(bound.not_before) => {
                let evidence = evidence(&view.policy, state, bound.reason, now);
                Self {
                    does: Does::Waits,
                    until: Some(bound.not_before),
                    why: evidence.unwrap_or_else(|| bound.reason.sentence().to_owned()),
                }
            }
            (Does::Waits, Some(until), ..) if !is_long(until) => Self {
                does: Does::Flows,
                until: None,
                ..self
            },
            _ => self,
        }
    }
}

/// When a page may depart next, and why not now; `None` where nobody knows.
fn next(view: &ScopeView, now: Timestamp) -> Option<Bound> {
    let ask = Ask::page(now);
    let bound = bounds(&view.policy, view.state.as_ref()?, &ask, now).latest();
    (!view.is_paused && !is_until_answered(bound.reason)).then_some(bound)
}

/// Milliseconds since the Unix epoch.
pub(super) fn ms(at: Timestamp) -> u64 {
    at.as_micros() / 1000
}

/// No more digits than anybody reads: a rate that grows slowly is not told anew each time.
fn rounded(rate: f64) -> f64 {
    (rate * 1000.0).round() / 1000.0
}
