//! The dynamic delay (rules D1–D6): multiplied by an overload, taken down or ended by health.

use std::time::Duration;

use crate::policy::{ADAPTIVE_JITTER, Policy, SLOW_MULTIPLIER};
use crate::time::whole_micros;
use crate::{Draw, Timestamp};

/// The dynamic delay of a scope and the hold that comes with it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Backoff {
    /// The delay; zero when all is well.
    pub(crate) delay: Duration,
    /// When it was last multiplied: outcomes of earlier departures are of the same overload (D5).
    pub(crate) multiplied_at: Timestamp,
    /// Nothing departs before then.
    pub(crate) until: Timestamp,
    /// Overloads in a row with a delay above the breaker's `trip_delay` (K1).
    pub(crate) over_trip: u32,
}

/// One change of the delay, for the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) before: Duration,
    pub(crate) after: Duration,
}

impl Backoff {
    /// D1, D2: one overload, one multiplication. `None` where its request departed before the last (D5).
    /// L2: `least` is how long the server has taken to recover.
    pub(crate) fn multiply(
        &mut self,
        policy: &Policy,
        departed: Timestamp,
        least: Duration,
        now: Timestamp,
    ) -> Option<Step> {
        if departed <= self.multiplied_at {
            return None;
        }
        let after = rung(policy, self.delay).max(least.min(policy.backoff_max));
        self.multiplied_at = now;
        if let Some(breaker) = policy.breaker {
            self.over_trip = if after > breaker.trip_delay {
                self.over_trip.saturating_add(1)
            } else {
                0
            };
        }
        Some(self.step_to(after))
    }

    /// D1: holds the scope for the delay plus a jitter of up to the base, which is returned. Where the pace
    /// is learned, probes find out how long the server takes to recover, so that a short delay gets a
    /// jitter that is short beside it.
    pub(crate) fn hold(&mut self, policy: &Policy, now: Timestamp, draw: Draw) -> Duration {
        let mut most = policy.backoff_base;
        if policy.learns() {
            most = most.min(self.delay.mul_f64(ADAPTIVE_JITTER));
        }
        let jitter = draw.between(Duration::ZERO, most);
        self.until = self.until.max(now.after(self.delay.saturating_add(jitter)));
        jitter
    }

    /// D3: a slow answer stretches a delay that is there, and never starts one; of a burst, one does (D5).
    pub(crate) fn stretch(
        &mut self,
        policy: &Policy,
        departed: Timestamp,
        now: Timestamp,
    ) -> Option<Step> {
        if self.delay.is_zero() || departed <= self.multiplied_at {
            return None;
        }
        self.multiplied_at = now;
        Some(self.step_to(self.delay.mul_f64(SLOW_MULTIPLIER).min(policy.backoff_max)))
    }

    /// D4, `linear`: a healthy answer takes the decay off. An answer to what departed before the overload
    /// says nothing about how the server is since.
    pub(crate) fn recover(&mut self, policy: &Policy, departed: Timestamp) -> Option<Step> {
        if self.delay.is_zero() || departed <= self.multiplied_at {
            return None;
        }
        let after = self.delay.saturating_sub(policy.backoff_decay);
        if policy
            .breaker
            .is_none_or(|breaker| after <= breaker.trip_delay)
        {
            self.over_trip = 0;
        }
        Some(self.step_to(after))
    }

    /// L4, `adaptive`: a healthy answer ends it.
    pub(crate) fn end(&mut self, departed: Timestamp) -> Option<Step> {
        if self.delay.is_zero() || departed <= self.multiplied_at {
            return None;
        }
        self.over_trip = 0;
        Some(self.step_to(Duration::ZERO))
    }

    /// D6: a stored value is clamped when it is read.
    pub(crate) fn clamp(&mut self, policy: &Policy, now: Timestamp) {
        self.delay = self.delay.min(policy.backoff_max);
        let most = now.after(policy.backoff_max.saturating_add(policy.backoff_base));
        self.until = self.until.min(most);
        self.multiplied_at = self.multiplied_at.min(now);
    }

    fn step_to(&mut self, after: Duration) -> Step {
        let after = whole_micros(after);
        let step = Step {
            before: self.delay,
            after,
        };
        self.delay = after;
        step
    }
}

/// D1: the rung of the ladder above `delay`: `clamp(max(base, delay × multiplier))`.
pub(crate) fn rung(policy: &Policy, delay: Duration) -> Duration {
    delay
        .mul_f64(policy.backoff_multiplier)
        .max(policy.backoff_base)
        .min(policy.backoff_max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::PolicyValues;

    fn secs(s: u64) -> Duration {
        Duration::from_secs(s)
    }

    fn at(s: u64) -> Timestamp {
        Timestamp::from_secs(s)
    }

    #[test]
    fn d1_the_delay_doubles_from_the_base_to_the_ceiling() {
        let (policy, mut backoff) = (Policy::default(), Backoff::default());
        let steps: Vec<u64> = (0..11)
            .map(|k| {
                backoff
                    .multiply(&policy, at(100 * k + 50), Duration::ZERO, at(100 * k + 51))
                    .unwrap()
                    .after
                    .as_secs()
            })
            .collect();
        assert_eq!(steps, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
    }

    #[test]
    fn d1_the_hold_is_the_delay_and_a_jitter_of_up_to_the_base() {
        let policy = PolicyValues::http_client().build().unwrap();
        for (draw, until) in [(Draw::LEAST, at(1)), (Draw::GREATEST, at(2))] {
            let mut backoff = Backoff {
                delay: secs(1),
                ..Backoff::default()
            };
            backoff.hold(&policy, at(0), draw);
            assert_eq!(backoff.until, until);
        }
    }

    #[test]
    fn l4_where_the_pace_is_learned_a_short_hold_has_a_short_jitter() {
        let policy = Policy::default();
        for (delay, until) in [(1, 1_100), (8, 8_800), (64, 65_000)] {
            let mut backoff = Backoff {
                delay: secs(delay),
                ..Backoff::default()
            };
            backoff.hold(&policy, at(0), Draw::GREATEST);
            assert_eq!(backoff.until, at(0).after(Duration::from_millis(until)));
        }
    }

    #[test]
    fn d4_linear_recovery_is_gradual_and_clears_at_zero() {
        let policy = Policy::default();
        let mut backoff = Backoff {
            delay: Duration::from_millis(2500),
            ..Backoff::default()
        };
        let steps: Vec<u128> = (0..3)
            .map(|_| backoff.recover(&policy, at(1)).unwrap().after.as_millis())
            .collect();
        assert_eq!(steps, [1500, 500, 0]);
        assert_eq!(backoff.recover(&policy, at(1)), None);
    }

    #[test]
    fn d5_a_burst_in_flight_counts_once_and_does_not_heal_either() {
        let (policy, mut backoff) = (Policy::default(), Backoff::default());
        assert!(
            backoff
                .multiply(&policy, at(9), Duration::ZERO, at(10))
                .is_some()
        );
        assert_eq!(
            backoff.multiply(&policy, at(9), Duration::ZERO, at(11)),
            None
        );
        assert_eq!(backoff.recover(&policy, at(10)), None);
        assert!(
            backoff
                .multiply(&policy, at(12), Duration::ZERO, at(13))
                .is_some()
        );
    }

    #[test]
    fn d3_slow_stretches_by_a_quarter_and_never_from_zero() {
        let (policy, mut backoff) = (Policy::default(), Backoff::default());
        assert_eq!(backoff.stretch(&policy, at(1), at(2)), None);
        backoff.delay = secs(4);
        let step = backoff.stretch(&policy, at(1), at(2)).unwrap();
        assert_eq!(step.after, secs(5));
        assert_eq!(backoff.stretch(&policy, at(1), at(3)), None);
    }

    #[test]
    fn d6_a_stale_value_is_clamped_when_read() {
        let mut backoff = Backoff {
            delay: secs(1_000_000),
            until: Timestamp::MAX,
            ..Backoff::default()
        };
        backoff.clamp(&Policy::default(), at(50));
        assert_eq!((backoff.delay, backoff.until), (secs(300), at(351)));
    }
}
