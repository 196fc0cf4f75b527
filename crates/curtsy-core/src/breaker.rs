//! The circuit breaker of a scope (rules K1–K3).

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Timestamp;
use crate::policy::BreakerPolicy;
use crate::time::whole_micros;

/// How many outcomes the failure share looks back on (K1).
const WINDOW: u32 = 20;

/// Where a breaker stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Breaker {
    /// Requests flow.
    #[default]
    Closed,
    /// K2: nothing departs before `until`.
    Open {
        /// When one probe may depart.
        until: Timestamp,
        /// How long it stays open this time.
        cool_down: Duration,
    },
    /// K3: one probe is under way.
    HalfOpen {
        /// The probe's departure number.
        probe: u64,
        /// How long it was open before the probe.
        cool_down: Duration,
    },
}

impl Breaker {
    /// K1, K3: opens, for twice as long as the last time if it was not closed since.
    #[must_use]
    pub(crate) fn open(self, policy: BreakerPolicy, now: Timestamp) -> Self {
        let cool_down = match self {
            Self::Closed => whole_micros(policy.cool_down),
            Self::Open { cool_down, .. } | Self::HalfOpen { cool_down, .. } => {
                whole_micros(cool_down.saturating_mul(2).min(policy.cool_down_max))
            }
        };
        Self::Open {
            until: now.after(cool_down),
            cool_down,
        }
    }

    /// D6: a stored breaker is open no longer than the policy allows.
    #[must_use]
    pub(crate) fn clamp(self, policy: Option<BreakerPolicy>, now: Timestamp) -> Self {
        match (self, policy) {
            (_, None) => Self::Closed,
            (Self::Open { until, cool_down }, Some(policy)) => Self::Open {
                until: until.min(now.after(policy.cool_down_max)),
                cool_down: cool_down.min(policy.cool_down_max),
            },
            (Self::HalfOpen { probe, cool_down }, Some(policy)) => Self::HalfOpen {
                probe,
                cool_down: cool_down.min(policy.cool_down_max),
            },
            (Self::Closed, Some(_)) => Self::Closed,
        }
    }
}

/// The last outcomes of a scope, one bit each: 1 is `failed`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u32, u32)", into = "(u32, u32)")]
pub(crate) struct Outcomes {
    bits: u32,
    seen: u32,
}

impl From<(u32, u32)> for Outcomes {
    fn from((bits, seen): (u32, u32)) -> Self {
        Self {
            bits: bits & ((1 << WINDOW) - 1),
            seen: seen.min(WINDOW),
        }
    }
}

impl From<Outcomes> for (u32, u32) {
    fn from(outcomes: Outcomes) -> Self {
        (outcomes.bits, outcomes.seen)
    }
}

impl Outcomes {
    pub(crate) fn note(&mut self, failed: bool) {
        self.bits = (self.bits << 1 | u32::from(failed)) & ((1 << WINDOW) - 1);
        self.seen = (self.seen + 1).min(WINDOW);
    }

    /// K1: whether more than the policy's share of the last 20 failed, with enough of them seen.
    pub(crate) fn too_many_failed(self, policy: BreakerPolicy) -> bool {
        self.seen >= policy.min_outcomes
            && f64::from(self.bits.count_ones()) > policy.failure_share * f64::from(self.seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::DEFAULT_BREAKER;

    #[test]
    fn k1_more_than_half_of_at_least_ten_outcomes_must_have_failed() {
        for (failed, healthy, expected) in [
            (9, 0, false),
            (10, 0, true),
            (5, 5, false),
            (6, 4, true),
            (10, 10, false),
            (11, 9, true),
        ] {
            let mut outcomes = Outcomes::default();
            (0..failed).for_each(|_| outcomes.note(true));
            (0..healthy).for_each(|_| outcomes.note(false));
            assert_eq!(
                outcomes.too_many_failed(DEFAULT_BREAKER),
                expected,
                "{failed} failed, {healthy} healthy"
            );
        }
    }

    #[test]
    fn k1_only_the_last_twenty_count() {
        let mut outcomes = Outcomes::default();
        (0..100).for_each(|_| outcomes.note(true));
        (0..10).for_each(|_| outcomes.note(false));
        assert!(!outcomes.too_many_failed(DEFAULT_BREAKER));
    }

    #[test]
    fn k3_the_cool_down_doubles_from_a_minute_to_an_hour() {
        let (now, mut breaker, mut minutes) =
            (Timestamp::from_secs(1), Breaker::Closed, Vec::new());
        for _ in 0..8 {
            breaker = breaker.open(DEFAULT_BREAKER, now);
            if let Breaker::Open { cool_down, .. } = breaker {
                minutes.push(cool_down.as_secs() / 60);
                breaker = Breaker::HalfOpen {
                    probe: 1,
                    cool_down,
                };
            }
        }
        assert_eq!(minutes, [1, 2, 4, 8, 16, 32, 60, 60]);
    }
}
