//! The one check of a policy's values.

use std::time::Duration;

use super::defaults::{LONGEST_DURATION, PER_HOST_CEILING};
use super::values::PolicyValues;
use super::{Policy, PolicyError};
use crate::Interval;

impl PolicyValues {
    /// Checks every value and closes the policy.
    ///
    /// # Errors
    /// [`PolicyError`] names the key whose value cannot be.
    pub fn build(self) -> Result<Policy, PolicyError> {
        let rate = |key, value: f64| {
            let fits = value.is_finite() && value > 0.0 && value <= 1e6;
            if fits {
                Ok(())
            } else {
                Err(PolicyError {
                    key,
                    why: "must be above 0 and at most 1000000 per second",
                })
            }
        };
        let duration = |key, value: Duration| {
            if value <= LONGEST_DURATION {
                Ok(())
            } else {
                Err(PolicyError {
                    key,
                    why: "must be at most a day",
                })
            }
        };
        let check = |key, fits: bool, why| {
            if fits {
                Ok(())
            } else {
                Err(PolicyError { key, why })
            }
        };

        rate("min_rate", self.min_rate)?;
        for (key, value) in [
            ("rate", self.rate),
            ("max_rate", self.max_rate),
            ("tos_cap", self.tos_cap),
        ] {
            value.map_or(Ok(()), |value| rate(key, value))?;
        }
        if let (Some(rate), Some(max_rate)) = (self.rate, self.max_rate) {
            check(
                "rate",
                rate <= max_rate,
                "is above max_rate; raise max_rate or lower rate",
            )?;
        }
        check(
            "min_rate",
            self.max_rate.is_none_or(|max| self.min_rate <= max),
            "is above max_rate",
        )?;
        check("day_cap", self.day_cap != Some(0), "must be at least 1")?;
        check(
            "burst",
            (1..=1_000_000).contains(&self.burst),
            "must be from 1 to 1000000",
        )?;
        for (key, value) in [
            ("delay", self.delay.map_or(Duration::ZERO, Interval::max)),
            ("rate_limit", self.rate_limit.max()),
            (
                "default_retry_after",
                self.default_retry_after.unwrap_or_default(),
            ),
            ("backoff_base", self.backoff_base),
            ("backoff_max", self.backoff_max),
            ("backoff_decay", self.backoff_decay),
            ("timeout", self.timeout),
        ] {
            duration(key, value)?;
        }
        check(
            "backoff_base",
            !self.backoff_base.is_zero(),
            "must be above 0",
        )?;
        check(
            "backoff_max",
            self.backoff_base <= self.backoff_max,
            "is below backoff_base",
        )?;
        let multiplier = self.backoff_multiplier;
        check(
            "backoff_multiplier",
            (1.0..=100.0).contains(&multiplier),
            "must be from 1 to 100",
        )?;
        let (least, most) = self.retry_after_buffer;
        check(
            "retry_after_buffer",
            0.0 <= least && least <= most && most <= 10.0,
            "must be two shares in order, from 0 to 10",
        )?;
        check(
            "max_retries",
            self.max_retries <= 1_000,
            "must be at most 1000",
        )?;
        check(
            "suppress_after",
            self.suppress_after != Some(0),
            "must be at least 1",
        )?;
        check(
            "per_host",
            (1..=PER_HOST_CEILING).contains(&self.per_host),
            "must be from 1 to 32",
        )?;
        check(
            "timeout",
            self.timeout >= Duration::from_millis(1),
            "must be at least 1 ms",
        )?;
        if let Some(breaker) = self.breaker {
            check(
                "breaker.failure_share",
                (0.0..=1.0).contains(&breaker.failure_share),
                "must be from 0 to 1",
            )?;
            check(
                "breaker.trip_after",
                breaker.trip_after > 0,
                "must be at least 1",
            )?;
            check(
                "breaker.min_outcomes",
                (1..=20).contains(&breaker.min_outcomes),
                "must be from 1 to 20",
            )?;
            check(
                "breaker.cool_down",
                !breaker.cool_down.is_zero() && breaker.cool_down <= breaker.cool_down_max,
                "must be above 0 and at most cool_down_max",
            )?;
            duration("breaker.cool_down_max", breaker.cool_down_max)?;
        }
        Ok(Policy(self))
    }
}
