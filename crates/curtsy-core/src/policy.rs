//! How a scope is to be treated: the presets, what may be changed, and the one check.
//!
//! [`PolicyValues`] is collected from a preset, the configuration and the command line;
//! [`PolicyValues::build`] checks it once and returns the immutable [`Policy`] that
//! [`decide`](crate::decide) and [`observe`](crate::observe) read.

use std::ops::Deref;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Interval;

/// P3: departures per second to a server that says nothing about pace.
pub const DEFAULT_RATE: f64 = 2.0;
/// P3: how many departures may follow each other at once after a quiet time.
pub const DEFAULT_BURST: u32 = 5;
/// P3: departures per second below which no published quota takes the pace.
pub const DEFAULT_MIN_RATE: f64 = 0.1;
/// P3: departures per second above which no published quota takes the pace, unless `rate` is higher.
pub const DEFAULT_MAX_RATE: f64 = 10.0;
/// H1: how much longer than told a hold is, drawn uniformly, as a share of the wait.
pub const DEFAULT_RETRY_AFTER_BUFFER: (f64, f64) = (0.10, 0.15);
/// H1: the longest that the safety buffer ever is.
pub const RETRY_AFTER_BUFFER_CAP: Duration = Duration::from_secs(60);
/// H10: how long a caller is kept waiting before its request is deferred.
pub const DEFAULT_MAX_RETRY_AFTER: Duration = Duration::from_secs(300);
/// H9, `http_client`: the wait on a 429 that names none.
pub const HTTP_CLIENT_DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(60);
/// D1: the first backoff delay.
pub const DEFAULT_BACKOFF_BASE: Duration = Duration::from_secs(1);
/// D1: by how much each further overload multiplies the delay.
pub const DEFAULT_BACKOFF_MULTIPLIER: f64 = 2.0;
/// D1: the longest backoff delay that curtsy invents.
pub const DEFAULT_BACKOFF_MAX: Duration = Duration::from_secs(300);
/// D4: what a healthy outcome takes off the delay.
pub const DEFAULT_BACKOFF_DECAY: Duration = Duration::from_secs(1);
/// D3: by how much a slow outcome multiplies the delay.
pub const SLOW_MULTIPLIER: f64 = 1.25;
/// P6: the interval where nothing is known about a server's pace.
pub const DEFAULT_RATE_LIMIT: Interval =
    Interval::between(Duration::from_secs(1), Duration::from_secs(3));
/// R1: further tries of one request.
pub const DEFAULT_MAX_RETRIES: u32 = 3;
/// R1, `compliant`: the statuses that are tried again.
pub const RETRIED_STATUSES: &[u16] = &[408, 425, 429, 500, 502, 503, 504, 522, 524, 529];
/// R1, `http_client`: the seed's three.
pub const HTTP_CLIENT_RETRIED_STATUSES: &[u16] = &[429, 503, 504];
/// R4, `compliant`: 403s in a row that suppress a scope.
pub const DEFAULT_SUPPRESS_AFTER: u32 = 3;
/// R4: how long a suppression lasts before one probe is tried.
pub const SUPPRESSION_LIFETIME: Duration = Duration::from_secs(24 * 3600);
/// R4: hosts whose 403 belongs to whom they redirect to.
pub const SUPPRESSION_EXEMPT: &[&str] = &["doi.org", "dx.doi.org"];
/// P8: requests in flight at once to one scope.
pub const DEFAULT_PER_HOST: u32 = 2;
/// The most requests in flight to one scope that can be asked for; it bounds the size of a scope's state.
pub const PER_HOST_CEILING: u32 = 32;
/// The longest silence: a request unanswered for longer counts as lost, also after a crash of its worker.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest duration that a policy takes: a day.
pub const LONGEST_DURATION: Duration = Duration::from_secs(24 * 3600);

/// K1–K3: the circuit breaker's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BreakerPolicy {
    /// A dynamic delay above this counts towards opening. Default 45 s.
    #[serde(rename = "trip_delay_s", with = "seconds")]
    pub trip_delay: Duration,
    /// How many overloads in a row above `trip_delay` open it. Default 3.
    pub trip_after: u32,
    /// The share of `failed` outcomes among the last 20 above which it opens. Default 0.5.
    pub failure_share: f64,
    /// How many outcomes must have been seen before the share counts. Default 10.
    pub min_outcomes: u32,
    /// How long it stays open at first; doubles with each failed probe. Default 60 s.
    #[serde(rename = "cool_down_s", with = "seconds")]
    pub cool_down: Duration,
    /// The longest that it stays open. Default 1 h.
    #[serde(rename = "cool_down_max_s", with = "seconds")]
    pub cool_down_max: Duration,
}

/// The breaker of `compliant`.
pub const DEFAULT_BREAKER: BreakerPolicy = BreakerPolicy {
    trip_delay: Duration::from_secs(45),
    trip_after: 3,
    failure_share: 0.5,
    min_outcomes: 10,
    cool_down: Duration::from_secs(60),
    cool_down_max: Duration::from_secs(3600),
};

/// H10: what becomes of a request whose wait is longer than `max_retry_after`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverCap {
    /// It is deferred; the hold stands in full.
    Defer,
    /// The hold is cut to `max_retry_after`, as the seed's HttpClient does. Only `http_client` sets it.
    Clamp,
}

/// A named set of values to start from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// The default: everything a server says is obeyed, and nothing faster than it permits.
    #[default]
    Compliant,
    /// The seed's HttpClient, value for value: no bucket, no steering on success, no breaker.
    HttpClient,
    /// `polite = false`: one plain request, redirects followed (R5).
    Raw,
}

/// Every value of a policy, open to change until [`build`](Self::build).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyValues {
    /// The preset that these values started from.
    pub preset: Preset,
    /// R5: `false` bypasses robots, delays, retries, backoff and suppression.
    pub polite: bool,
    /// O: robots.txt is read and obeyed.
    pub respect_robots: bool,
    /// P3: departures/s to a server that publishes no quota; `None`: [`DEFAULT_RATE`], which a
    /// Crawl-delay or a configured delay replaces. An explicit rate stays a bound beside them.
    pub rate: Option<f64>,
    /// P3: there is a token bucket at all. `http_client` has none.
    pub bucket: bool,
    /// P3: the bucket's capacity, departures.
    pub burst: u32,
    /// P3: departures/s that a published quota never takes the pace below.
    pub min_rate: f64,
    /// P3: departures/s that a published quota never takes the pace above; `None`: the larger of
    /// [`DEFAULT_MAX_RATE`] and `rate`.
    pub max_rate: Option<f64>,
    /// H8: the operator's own cap, departures/s: terms of service, an agreement. Binds every rate.
    pub tos_cap: Option<f64>,
    /// P4: the configured delay between departures.
    #[serde(rename = "delay_s")]
    pub delay: Option<Interval>,
    /// P6: the interval where nothing is known.
    #[serde(rename = "rate_limit_s")]
    pub rate_limit: Interval,
    /// H5: remaining and reset of successful responses steer the rate.
    pub steer: bool,
    /// R2: a 429 is waited for and tried again; else it goes straight to the caller.
    pub honor_retry_after: bool,
    /// H9: the wait on a 429 that names none; `None`: the backoff alone.
    #[serde(rename = "default_retry_after_s", with = "optional_seconds")]
    pub default_retry_after: Option<Duration>,
    /// H10: how long a caller is kept waiting (patience).
    #[serde(rename = "max_retry_after_s", with = "seconds")]
    pub max_retry_after: Duration,
    /// H10: what happens beyond `max_retry_after`.
    pub retry_after_over_cap: OverCap,
    /// H1: the safety buffer on a hold, as shares of the wait; 60 s at most.
    pub retry_after_buffer: (f64, f64),
    /// D1: the first backoff delay.
    #[serde(rename = "backoff_base_s", with = "seconds")]
    pub backoff_base: Duration,
    /// D1: what an overload multiplies the delay by; at least 1.
    pub backoff_multiplier: f64,
    /// D1: the ceiling of the delay.
    #[serde(rename = "backoff_max_s", with = "seconds")]
    pub backoff_max: Duration,
    /// D4: what a healthy outcome takes off the delay.
    #[serde(rename = "backoff_decay_s", with = "seconds")]
    pub backoff_decay: Duration,
    /// D2: a throttle that carries a directive multiplies the delay too.
    pub multiply_on_directive: bool,
    /// D3: an answer slower than the scope's 95th percentile multiplies the delay.
    pub watch_latency: bool,
    /// R1: further tries of one request.
    pub max_retries: u32,
    /// R1: the statuses that are tried again.
    pub retried_statuses: Vec<u16>,
    /// R1: so are requests that got no response, and refusals in another status that ask for patience.
    pub retry_failures: bool,
    /// R4: 403s in a row that suppress a scope; `None`: never.
    pub suppress_after: Option<u32>,
    /// R4: how long a suppression lasts; `None`: as long as the client.
    #[serde(rename = "suppression_lifetime_s", with = "optional_seconds")]
    pub suppression_lifetime: Option<Duration>,
    /// R4: hosts that are never suppressed.
    pub suppression_exempt: Vec<String>,
    /// K: the circuit breaker; `None`: there is none.
    pub breaker: Option<BreakerPolicy>,
    /// P8: requests in flight at once to one scope.
    pub per_host: u32,
    /// The longest silence before an unanswered request counts as lost.
    #[serde(rename = "timeout_s", with = "seconds")]
    pub timeout: Duration,
}

impl PolicyValues {
    /// The values of a preset.
    #[must_use]
    pub fn preset(preset: Preset) -> Self {
        match preset {
            Preset::Compliant => Self::compliant(),
            Preset::HttpClient => Self::http_client(),
            Preset::Raw => Self::raw(),
        }
    }

    /// The default of library and command line.
    #[must_use]
    pub fn compliant() -> Self {
        Self {
            preset: Preset::Compliant,
            polite: true,
            respect_robots: true,
            rate: None,
            bucket: true,
            burst: DEFAULT_BURST,
            min_rate: DEFAULT_MIN_RATE,
            max_rate: None,
            tos_cap: None,
            delay: None,
            rate_limit: DEFAULT_RATE_LIMIT,
            steer: true,
            honor_retry_after: true,
            default_retry_after: None,
            max_retry_after: DEFAULT_MAX_RETRY_AFTER,
            retry_after_over_cap: OverCap::Defer,
            retry_after_buffer: DEFAULT_RETRY_AFTER_BUFFER,
            backoff_base: DEFAULT_BACKOFF_BASE,
            backoff_multiplier: DEFAULT_BACKOFF_MULTIPLIER,
            backoff_max: DEFAULT_BACKOFF_MAX,
            backoff_decay: DEFAULT_BACKOFF_DECAY,
            multiply_on_directive: true,
            watch_latency: true,
            max_retries: DEFAULT_MAX_RETRIES,
            retried_statuses: RETRIED_STATUSES.to_vec(),
            retry_failures: true,
            suppress_after: Some(DEFAULT_SUPPRESS_AFTER),
            suppression_lifetime: Some(SUPPRESSION_LIFETIME),
            suppression_exempt: SUPPRESSION_EXEMPT
                .iter()
                .map(|&host| host.to_owned())
                .collect(),
            breaker: Some(DEFAULT_BREAKER),
            per_host: DEFAULT_PER_HOST,
            timeout: DEFAULT_TIMEOUT,
        }
    }

    /// The seed's HttpClient, value for value.
    #[must_use]
    pub fn http_client() -> Self {
        Self {
            preset: Preset::HttpClient,
            respect_robots: false,
            bucket: false,
            steer: false,
            default_retry_after: Some(HTTP_CLIENT_DEFAULT_RETRY_AFTER),
            retry_after_over_cap: OverCap::Clamp,
            // The seed waits exactly as told.
            retry_after_buffer: (0.0, 0.0),
            multiply_on_directive: false,
            watch_latency: false,
            retried_statuses: HTTP_CLIENT_RETRIED_STATUSES.to_vec(),
            retry_failures: false,
            suppress_after: Some(1),
            suppression_lifetime: None,
            breaker: None,
            ..Self::compliant()
        }
    }

    /// Raw access: one plain request.
    #[must_use]
    pub fn raw() -> Self {
        Self {
            preset: Preset::Raw,
            polite: false,
            ..Self::compliant()
        }
    }

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

mod seconds {
    use super::Duration;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        duration: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(duration.as_secs_f64())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        f64::deserialize(deserializer).map(crate::time::duration_from_secs)
    }
}

mod optional_seconds {
    use super::Duration;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        duration: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        duration
            .map(|duration| duration.as_secs_f64())
            .serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<f64>::deserialize(deserializer)?.map(crate::time::duration_from_secs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let cases: [(&str, Change); 12] = [
            ("rate", |p| p.rate = Some(0.0)),
            ("rate", |p| p.rate = Some(f64::NAN)),
            ("rate", |p| (p.rate, p.max_rate) = (Some(20.0), Some(10.0))),
            ("min_rate", |p| p.min_rate = -1.0),
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
