//! A scope's own page: its pace over time, and the four times of rule P2 with what they come from.

use curtsy::ScopeView;
use curtsy::core::{Ask, Bound, HostState, Policy, Reason, Timestamp, bounds, pace, tokens};
use serde::Serialize;

use super::history::{Point, STEP};
use super::row::ms;
use crate::evidence::evidence;
use crate::standing::is_until_answered;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Detail {
    scope: String,
    bounds: Vec<Time>,
    step_s: u64,
    points: Vec<Point>,
    /// Named figures, in words.
    facts: Vec<(&'static str, String)>,
}

/// One of the four times.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Time {
    name: &'static str,
    /// `None` where it does not bind, or nobody knows until when.
    not_before_ms: Option<u64>,
    reason: &'static str,
    sentence: &'static str,
    evidence: Option<String>,
    /// Whether it is the latest of the four.
    binds: bool,
}

impl Detail {
    pub(super) fn of(view: &ScopeView, points: Vec<Point>, now: Timestamp) -> Self {
        let state = view.state.clone().unwrap_or_default();
        let own = if view.is_paused {
            Bound::PAUSED
        } else {
            Bound::FREE
        };
        let ask = Ask {
            own,
            ..Ask::page(now)
        };
        let four = bounds(&view.policy, &state, &ask, now);
        // What is over binds no more.
        let latest = Some(four.latest()).filter(|bound| bound.not_before > now);
        let time = |name, bound: Bound| Time {
            name,
            not_before_ms: (!matches!(bound.reason, Reason::Free | Reason::Paused)
                && !is_until_answered(bound.reason))
            .then(|| ms(bound.not_before)),
            reason: bound.reason.label(),
            sentence: bound.reason.sentence(),
            evidence: evidence(&view.policy, &state, bound.reason, now),
            binds: latest == Some(bound),
        };
        Self {
            scope: view.scope.to_string(),
            bounds: vec![
                time("Crawl-delay", four.crawl_delay),
                time("Configured", four.configured),
                time("Backoff", four.dynamic),
                time("Server", four.server),
            ],
            step_s: STEP.as_secs(),
            points,
            facts: facts(&view.policy, &state, now),
        }
    }
}

fn facts(policy: &Policy, state: &HostState, now: Timestamp) -> Vec<(&'static str, String)> {
    use crate::notices::short;

    let mut facts = vec![
        ("Departures", state.departures().to_string()),
        (
            "In flight",
            format!("{} of {}", state.in_flight(), policy.per_host),
        ),
    ];
    if let Some((rate, reason)) = pace(policy, state) {
        facts.push(("Rate", format!("{rate:.2}/s: {}", reason.sentence())));
    }
    if let Some(tokens) = tokens(policy, state, now) {
        facts.push(("Tokens", format!("{} of {}", tokens.floor(), policy.burst)));
    }
    for quota in state.quotas() {
        let left = quota
            .remaining
            .map_or("?".to_owned(), |left| left.to_string());
        let limit = quota
            .limit
            .map_or(String::new(), |limit| format!(" of {limit}"));
        facts.push(("Quota", format!("{left}{limit} left ({})", quota.key)));
    }
    if let Some(delay) = state.crawl_delay() {
        facts.push(("Crawl-delay", short(delay)));
    }
    if !state.dynamic_delay().is_zero() {
        facts.push(("Dynamic delay", short(state.dynamic_delay())));
    }
    if let Some(latency) = state.latency_percentile_95() {
        facts.push(("Latency, 95 %", short(latency)));
    }
    facts
}
