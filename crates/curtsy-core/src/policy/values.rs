//! The values of a policy and their presets.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::defaults::*;
use super::seconds;
use crate::Interval;

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

/// H10: what becomes of a request whose wait is longer than `max_retry_after`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverCap {
    /// It is deferred; the hold stands in full.
    Defer,
    /// The hold is cut to `max_retry_after`, as the seed's HttpClient does. Only `http_client` sets it.
    Clamp,
}

/// D4, L: how a scope recovers from an overload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    /// The backoff is a hold that the first healthy answer ends; then the learned pace rules (L1–L5).
    Adaptive,
    /// The backoff is an interval too, from which each healthy answer takes `backoff_decay`.
    Linear,
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
    /// H8: the operator's own cap on departures within any 24 hours. What is over it is deferred.
    #[serde(default)]
    pub day_cap: Option<u32>,
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
    #[serde(rename = "default_retry_after_s", with = "seconds::optional")]
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
    /// D4, L: how a scope recovers from an overload.
    pub recovery: Recovery,
    /// D4: what a healthy outcome takes off the delay, where recovery is linear.
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
    #[serde(rename = "suppression_lifetime_s", with = "seconds::optional")]
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
            day_cap: None,
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
            recovery: Recovery::Adaptive,
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
            recovery: Recovery::Linear,
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
}
