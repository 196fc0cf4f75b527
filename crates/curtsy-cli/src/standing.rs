//! What a scope does at a moment, and why: what the terminal and the dashboard both show.

use std::time::Duration;

use curtsy::ScopeView;
use curtsy::core::{Bound, Breaker, HostState, Reason, Suppression, Timestamp};

use crate::evidence::evidence;
use crate::notices::short;

/// Shorter waits are over before anybody has read of them.
const SHORT: Duration = Duration::from_secs(1);

/// What a scope does, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Does {
    /// It is left alone after 403s.
    Suppressed,
    /// Its breaker is open.
    Broken,
    /// Its server, or a used-up quota, wants nothing to depart.
    Held,
    /// It was overloaded.
    BacksOff,
    /// Somebody stopped it.
    Paused,
    /// Its next request waits for something worth a countdown.
    Waits,
    /// Requests depart as fast as they may.
    Flows,
}

/// What a scope does, until when, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) does: Does,
    pub(crate) until: Option<Timestamp>,
    /// In a few words, without the time that is left; empty where there is nothing to say.
    pub(crate) why: String,
}

impl Standing {
    pub(crate) fn of(view: &ScopeView, now: Timestamp) -> Self {
        let standing = |does, until, why: &str| Self {
            does,
            until,
            why: why.to_owned(),
        };
        let state = view.state.as_ref();
        if view.is_paused {
            return standing(Does::Paused, None, "by hand, until it is resumed");
        }
        if let Some(state) = state {
            if let Suppression::Active { until, .. } = state.suppression() {
                return standing(Does::Suppressed, until, "after 403s");
            }
            if let Breaker::Open { until, .. } = state.breaker() {
                return standing(Does::Broken, Some(until), "it failed too often");
            }
            if let Some(hold) = state.hold(now) {
                return standing(Does::Held, Some(hold.until), &format!("by {}", hold.source));
            }
            if let Some(until) = state.backoff_until(now) {
                return standing(Does::BacksOff, Some(until), "it was overloaded");
            }
        }
        match view.waits_for {
            Some(bound) if bound.reason == Reason::QuotaExhausted => {
                standing(Does::Held, Some(bound.not_before), QUOTA)
            }
            Some(Bound { reason, .. }) if is_until_answered(reason) => {
                standing(Does::Waits, None, reason.sentence())
            }
            Some(bound) if bound.reason == Reason::Free => standing(Does::Flows, None, ""),
            Some(bound) if is_slow(view, bound) => {
                let why = because(view, bound, now);
                standing(Does::Waits, Some(bound.not_before), &why)
            }
            Some(bound) => standing(Does::Flows, None, &because(view, bound, now)),
            None => standing(Does::Flows, None, ""),
        }
    }

    /// The same in a line, for a terminal.
    pub(crate) fn line(&self, now: Timestamp) -> String {
        let Self { does, until, why } = self;
        let left = |until| countdown(until, now);
        match (does, until) {
            (Does::Paused, _) => "paused".to_owned(),
            (Does::Suppressed, _) => format!("suppressed {why}"),
            (Does::Broken, Some(until)) => format!("broken {}: {why}", left(*until)),
            (Does::Held, Some(until)) if why == QUOTA => format!("{why} for {}", left(*until)),
            (Does::Held, Some(until)) => format!("held {} {why}", left(*until)),
            (Does::BacksOff, Some(until)) => format!("backs off {}", left(*until)),
            (Does::Waits, Some(until)) => format!("next in {}: {why}", seconds(until.since(now))),
            (_, _) if why.is_empty() => "flows".to_owned(),
            (_, _) => why.clone(),
        }
    }
}

/// Whether it ends when a request is answered, so that nobody knows when: the time of its bound is only that by
/// which the request is given up.
pub(crate) const fn is_until_answered(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::FirstAnswer | Reason::Probe | Reason::Concurrency
    )
}

const QUOTA: &str = "quota used up";

/// Whether the waits are long enough to be counted down.
fn is_slow(view: &ScopeView, bound: Bound) -> bool {
    let state = view.state.as_ref();
    let interval = match bound.reason {
        Reason::CrawlDelay => state.and_then(HostState::crawl_delay),
        Reason::ConfiguredDelay => view.policy.delay.map(|delay| delay.max()),
        Reason::Rate | Reason::LearnedRate | Reason::Quota => state
            .and_then(|state| curtsy::core::pace(&view.policy, state))
            .map(|(rate, _)| Duration::from_secs_f64(rate.recip())),
        _ => None,
    };
    interval.is_none_or(|interval| interval >= SHORT)
}

fn because(view: &ScopeView, bound: Bound, now: Timestamp) -> String {
    let rate = |state: &HostState| {
        let (rate, _) = curtsy::core::pace(&view.policy, state)?;
        Some(format!("{rate:.1}/s"))
    };
    let state = view.state.as_ref();
    match bound.reason {
        Reason::Quota => state
            .and_then(rate)
            .map(|rate| format!("{rate} by its quota")),
        Reason::LearnedRate => state
            .and_then(rate)
            .map(|rate| format!("{rate}, as much as it bears")),
        Reason::UnstatedPace => Some("it says nothing of pace".to_owned()),
        reason => state.and_then(|state| evidence(&view.policy, state, reason, now)),
    }
    .unwrap_or_else(|| bound.reason.sentence().to_owned())
}

/// `00:42`, and `1:02:03` from an hour on.
fn countdown(until: Timestamp, now: Timestamp) -> String {
    let left = until.since(now);
    let seconds = left.as_secs() + u64::from(left.subsec_nanos() > 0);
    match seconds / 3600 {
        0 => format!("{:02}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}

/// Whole seconds, since a countdown with tenths is only unrest.
fn seconds(left: Duration) -> String {
    if left < Duration::from_secs(60) {
        let whole = left.as_secs() + u64::from(left.subsec_nanos() > 0);
        format!("{} s", whole.max(1))
    } else {
        short(left)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use curtsy::core::{Policy, Scope};

    use super::*;

    #[test]
    fn a_countdown_shows_minutes_and_hours() {
        let now = Timestamp::from_secs(1_000);
        for (millis, expected) in [
            (0, "00:00"),
            (41_200, "00:42"),
            (62_000, "01:02"),
            (3_723_000, "1:02:03"),
        ] {
            let until = now.after(Duration::from_millis(millis));
            assert_eq!(countdown(until, now), expected);
        }
    }

    #[test]
    fn a_wait_is_counted_down_with_its_reason_and_a_short_one_is_not() {
        let now = Timestamp::from_secs(1_000);
        let line = |reason, millis| {
            let view = ScopeView {
                scope: Scope::named("a.example"),
                policy: Arc::new(Policy::default()),
                state: Some(HostState::default()),
                waits_for: Some(Bound {
                    not_before: now.after(Duration::from_millis(millis)),
                    reason,
                }),
                is_paused: false,
            };
            Standing::of(&view, now).line(now)
        };
        for (reason, millis, expected) in [
            (
                Reason::UnstatedPace,
                2_300,
                "next in 3 s: it says nothing of pace",
            ),
            (Reason::Rate, 300, "rate 2/s"),
            (Reason::QuotaExhausted, 75_000, "quota used up for 01:15"),
            (Reason::Free, 0, "flows"),
        ] {
            assert_eq!(line(reason, millis), expected);
        }
    }
}
