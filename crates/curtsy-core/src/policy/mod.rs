//! How a scope is to be treated: the presets, what may be changed, and the one check.
//!
//! [`PolicyValues`] is collected from a preset, the configuration and the command line;
//! [`PolicyValues::build`] checks it once and returns the immutable [`Policy`] that
//! [`decide`](crate::decide) and [`observe`](crate::observe) read.

mod check;
mod defaults;
mod seconds;
mod values;

use std::ops::Deref;

use serde::Serialize;

pub use defaults::*;
pub use values::{BreakerPolicy, OverCap, PolicyValues, Preset, Recovery};

/// A checked policy. Its values are read through [`Deref`]; nothing can change them any more.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Policy(PolicyValues);

impl Policy {
    /// P3, H8: the rate of a server that publishes no quota, departures/s.
    #[must_use]
    pub fn silent_rate(&self) -> f64 {
        self.capped(self.rate.unwrap_or(DEFAULT_RATE))
    }

    /// P3, H8: a published rate within what the operator allows, departures/s.
    #[must_use]
    pub fn clamp_rate(&self, published: f64) -> f64 {
        let max = self
            .max_rate
            .unwrap_or_else(|| self.rate.unwrap_or(DEFAULT_RATE).max(DEFAULT_MAX_RATE));
        self.capped(published.max(self.min_rate).min(max))
    }

    /// Whether the pace is learned (L1).
    pub(crate) fn learns(&self) -> bool {
        self.recovery == Recovery::Adaptive
    }

    /// R4: whether a 403 of this host belongs to whom it redirects to.
    #[must_use]
    pub fn is_suppression_exempt(&self, host: &str) -> bool {
        self.suppression_exempt
            .iter()
            .any(|exempt| exempt.eq_ignore_ascii_case(host))
    }

    /// The values, to derive another policy from.
    #[must_use]
    pub fn values(&self) -> PolicyValues {
        self.0.clone()
    }

    fn capped(&self, rate: f64) -> f64 {
        self.tos_cap.map_or(rate, |cap| rate.min(cap))
    }
}

impl Default for Policy {
    /// `compliant`, whose values are known to be sound.
    fn default() -> Self {
        Self(PolicyValues::compliant())
    }
}

impl Deref for Policy {
    type Target = PolicyValues;

    fn deref(&self) -> &PolicyValues {
        &self.0
    }
}

/// A policy value that cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{key} {why}")]
pub struct PolicyError {
    key: &'static str,
    why: &'static str,
}

impl PolicyError {
    /// The key, as the configuration file spells it.
    #[must_use]
    pub fn key(&self) -> &'static str {
        self.key
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::Interval;

    #[test]
    fn the_preset_table_holds_value_by_value() {
        let (http, ours) = (PolicyValues::http_client(), PolicyValues::compliant());
        let secs = Duration::from_secs;
        assert_eq!((http.polite, ours.polite), (true, true));
        assert_eq!((http.respect_robots, ours.respect_robots), (false, true));
        assert_eq!((http.delay, ours.delay), (None, None));
        assert_eq!(
            (http.honor_retry_after, ours.honor_retry_after),
            (true, true)
        );
        assert_eq!(
            (http.suppress_after, ours.suppress_after),
            (Some(1), Some(3))
        );
        assert_eq!((http.max_retries, ours.max_retries), (3, 3));
        assert_eq!(
            (http.default_retry_after, ours.default_retry_after),
            (Some(secs(60)), None)
        );
        assert_eq!(
            (http.max_retry_after, ours.max_retry_after),
            (secs(300), secs(300))
        );
        assert_eq!(
            (http.retry_after_over_cap, ours.retry_after_over_cap),
            (OverCap::Clamp, OverCap::Defer)
        );
        for values in [&http, &ours] {
            assert_eq!(values.backoff_base, secs(1));
            assert_eq!(values.backoff_multiplier, 2.0);
            assert_eq!(values.backoff_max, secs(300));
            assert_eq!(values.rate_limit, Interval::between(secs(1), secs(3)));
        }
        assert_eq!(http.backoff_decay, secs(1));
        assert_eq!(
            (http.bucket, http.steer, http.breaker),
            (false, false, None)
        );
        assert!(!PolicyValues::raw().polite);
    }

    #[test]
    fn every_preset_builds_and_survives_a_round_trip() {
        for preset in [Preset::Compliant, Preset::HttpClient, Preset::Raw] {
            let values = PolicyValues::preset(preset);
            let text = serde_json::to_string(&values).unwrap();
            assert_eq!(
                serde_json::from_str::<PolicyValues>(&text).unwrap(),
                values,
                "{text}"
            );
            values.build().unwrap();
        }
    }

    #[test]
    fn a_value_that_cannot_be_is_named() {
        type Change = fn(&mut PolicyValues);
        let cases: [(&str, Change); 13] = [
            ("rate", |p| p.rate = Some(0.0)),
            ("rate", |p| p.rate = Some(f64::NAN)),
            ("rate", |p| (p.rate, p.max_rate) = (Some(20.0), Some(10.0))),
            ("min_rate", |p| p.min_rate = -1.0),
            ("day_cap", |p| p.day_cap = Some(0)),
            ("burst", |p| p.burst = 0),
            ("backoff_max", |p| p.backoff_max = Duration::from_millis(1)),
            ("backoff_multiplier", |p| p.backoff_multiplier = 0.5),
            ("retry_after_buffer", |p| p.retry_after_buffer = (0.2, 0.1)),
            ("suppress_after", |p| p.suppress_after = Some(0)),
            ("per_host", |p| p.per_host = 33),
            ("timeout", |p| p.timeout = Duration::ZERO),
            ("delay", |p| p.delay = Some(Interval::fixed(Duration::MAX))),
        ];
        for (key, change) in cases {
            let mut values = PolicyValues::compliant();
            change(&mut values);
            assert_eq!(values.build().unwrap_err().key(), key);
        }
    }

    #[test]
    fn p3_a_published_rate_is_clamped_and_an_explicit_rate_lifts_the_default_ceiling() {
        let mut values = PolicyValues::compliant();
        assert_eq!(Policy(values.clone()).clamp_rate(1e9), 10.0);
        assert_eq!(Policy(values.clone()).clamp_rate(0.0), 0.1);
        values.rate = Some(20.0);
        assert_eq!(Policy(values.clone()).clamp_rate(1e9), 20.0);
        values.tos_cap = Some(3.0);
        assert_eq!(Policy(values.clone()).clamp_rate(1e9), 3.0);
        assert_eq!(Policy(values).silent_rate(), 3.0);
    }
}
