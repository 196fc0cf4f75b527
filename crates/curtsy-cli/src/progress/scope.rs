//! One scope of a running job, in a line.

use std::time::Duration;

use curtsy::core::{Bound, Breaker, HostState, Reason, Suppression, Timestamp};
use curtsy::{ScopeOutlook, ScopeView};

use crate::evidence::evidence;
use crate::notices::short;

/// Shorter waits are over before anybody has read of them.
const SHORT: Duration = Duration::from_secs(1);

/// What it does, how long it waits and why; what is left of it and how long that takes.
pub(super) fn describe(view: &ScopeView, outlook: Option<&ScopeOutlook>, now: Timestamp) -> String {
    let mut parts = vec![doing(view, now)];
    if let Some(outlook) = outlook {
        let end = outlook
            .end
            .map(|end| format!(", ETA {}", short(end.since(now))));
        parts.push(format!("{} left{}", outlook.left, end.unwrap_or_default()));
    }
    if let Some(quota) = view
        .state
        .as_ref()
        .and_then(|state| state.quotas().first())
        .and_then(|quota| Some((quota.remaining?, quota.limit)))
    {
        parts.push(match quota {
            (left, Some(limit)) => format!("quota {left} of {limit}"),
            (left, None) => format!("quota {left}"),
        });
    }
    let in_flight = view.state.as_ref().map_or(0, HostState::in_flight);
    if in_flight > 0 {
        parts.push(format!("{in_flight} in flight"));
    }
    parts.join(" · ")
}

fn doing(view: &ScopeView, now: Timestamp) -> String {
    let state = view.state.as_ref();
    if let Some(state) = state {
        if let Suppression::Active { .. } = state.suppression() {
            return "suppressed after 403s".to_owned();
        }
        if let Breaker::Open { until, .. } = state.breaker() {
            return format!("broken {}: it failed too often", countdown(until, now));
        }
        if let Some(hold) = state.hold(now) {
            return format!("held {} by {}", countdown(hold.until, now), hold.source);
        }
        if let Some(until) = state.backoff_until(now) {
            return format!("backs off {}", countdown(until, now));
        }
    }
    match view.waits_for {
        Some(bound) if bound.reason == Reason::QuotaExhausted => {
            format!("quota used up for {}", countdown(bound.not_before, now))
        }
        Some(Bound {
            reason: reason @ (Reason::FirstAnswer | Reason::Probe | Reason::Concurrency),
            ..
        }) => reason.sentence().to_owned(),
        Some(bound) if bound.reason == Reason::Free => "flows".to_owned(),
        Some(bound) if is_slow(view, bound) => format!(
            "next in {}: {}",
            seconds(bound.not_before.since(now)),
            because(view, bound, now)
        ),
        Some(bound) => because(view, bound, now),
        None => "flows".to_owned(),
    }
}

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
        let doing = |reason, millis| {
            let view = ScopeView {
                scope: Scope::named("a.example"),
                policy: Arc::new(Policy::default()),
                state: Some(HostState::default()),
                waits_for: Some(Bound {
                    not_before: now.after(Duration::from_millis(millis)),
                    reason,
                }),
            };
            doing(&view, now)
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
            assert_eq!(doing(reason, millis), expected);
        }
    }
}
