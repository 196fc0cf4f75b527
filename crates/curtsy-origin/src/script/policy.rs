//! The quotas of a script: what is admitted, and for which paths.

use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::number::{millis, seconds};

/// One quota over the paths that begin with a prefix.
///
/// In JSON the keys of the [`Rule`] stand beside these:
/// `{"kind": "fixed_window", "limit": 50, "window_s": 5, "prefix": "/api"}`.
/// A request under several quotas is admitted when every one of them admits it, and counts in all.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Policy {
    /// What is admitted.
    #[serde(flatten)]
    pub rule: Rule,
    /// Which paths (with their query) are governed: those that begin with this text. Default `/`, all.
    pub prefix: String,
    /// Whether the headers of the [dialect](crate::Dialect) tell of it. Default true; false hides it.
    pub published: bool,
}

/// How a quota counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Rule {
    /// `limit` requests in each window; the windows follow one another and never overlap.
    FixedWindow {
        /// Requests a window, from 1.
        limit: u64,
        /// `window_s`, seconds above 0: how long a window lasts.
        #[serde(rename = "window_s", with = "seconds")]
        window: Duration,
        /// Where a window begins. Default `first_request`.
        #[serde(default)]
        anchor: Anchor,
    },
    /// `limit` requests in any window, however it is laid: a log of what was admitted.
    SlidingWindow {
        /// Requests in any window, 1 to 1,000,000 (each is remembered).
        limit: u64,
        /// `window_s`, seconds above 0.
        #[serde(rename = "window_s", with = "seconds")]
        window: Duration,
        /// Whether a refused request counts too, so that one who insists is never admitted. Default false.
        #[serde(default)]
        count_refused: bool,
    },
    /// The count of this window plus that of the one before, fading linearly: what many gateways
    /// and HAProxy call a rate.
    SlidingCounter {
        /// Requests a window, from 1.
        limit: u64,
        /// `window_s`, seconds above 0.
        #[serde(rename = "window_s", with = "seconds")]
        window: Duration,
        /// Whether a refused request counts too. Default false.
        #[serde(default)]
        count_refused: bool,
    },
    /// A bucket of `burst` tokens that refills at `rate_per_s`; one token a request. It starts full.
    TokenBucket {
        /// Tokens a second, 0.000001 to 1,000,000.
        rate_per_s: f64,
        /// Tokens that the bucket holds, 1 to 1,000,000,000.
        burst: u64,
    },
    /// A queue that is drained at `rate_per_s`: a request waits its turn, and is refused when `queue`
    /// others wait already (nginx `limit_req` with `burst`).
    LeakyQueue {
        /// Requests that leave the queue a second, 0.000001 to 1,000,000.
        rate_per_s: f64,
        /// Requests that may wait, 0 to 1,000,000,000.
        queue: u64,
    },
    /// At most `limit` requests in flight, from the head of the request to the last byte of the answer.
    Concurrency {
        /// Requests in flight, from 1.
        limit: u64,
        /// `retry_s`, seconds: the wait that a refusal tells, since nobody knows when another request
        /// will end. Default 1.
        #[serde(rename = "retry_s", with = "seconds", default = "one_second")]
        retry: Duration,
    },
    /// A request is refused that comes sooner than `gap_s` after the last one that was admitted: a
    /// Crawl-delay that is enforced.
    MinGap {
        /// `gap_s`, seconds above 0.
        #[serde(rename = "gap_s", with = "seconds")]
        gap: Duration,
        /// `slack_ms`, milliseconds: how much sooner is let pass, for the jitter of the way here. Default 0.
        #[serde(rename = "slack_ms", with = "millis", default)]
        slack: Duration,
    },
}

/// Where a fixed window begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Anchor {
    /// At the first request after the last window closed.
    #[default]
    FirstRequest,
    /// At the whole multiples of the window on the wall clock, as counted from the Unix epoch.
    Clock,
}

impl Rule {
    /// Requests/s that it admits in the long run; `None` where that depends on how long answers take.
    #[must_use]
    pub fn per_second(&self) -> Option<f64> {
        match *self {
            Self::FixedWindow { limit, window, .. }
            | Self::SlidingWindow { limit, window, .. }
            | Self::SlidingCounter { limit, window, .. } => {
                Some(limit as f64 / window.as_secs_f64())
            }
            Self::TokenBucket { rate_per_s, .. } | Self::LeakyQueue { rate_per_s, .. } => {
                Some(rate_per_s)
            }
            Self::MinGap { gap, .. } => Some(1.0 / gap.as_secs_f64()),
            Self::Concurrency { .. } => None,
        }
    }
}

impl Policy {
    /// `rule` for every path, published.
    #[must_use]
    pub fn new(rule: Rule) -> Self {
        Self {
            rule,
            prefix: every_path(),
            published: true,
        }
    }

    /// `limit` requests in each fixed window, which opens with the first request.
    #[must_use]
    pub fn fixed_window(limit: u64, window: Duration) -> Self {
        Self::new(Rule::FixedWindow {
            limit,
            window,
            anchor: Anchor::FirstRequest,
        })
    }

    /// `limit` requests in any window.
    #[must_use]
    pub fn sliding_window(limit: u64, window: Duration) -> Self {
        Self::new(Rule::SlidingWindow {
            limit,
            window,
            count_refused: false,
        })
    }

    /// The counter of `limit` requests a window that fades into the next one.
    #[must_use]
    pub fn sliding_counter(limit: u64, window: Duration) -> Self {
        Self::new(Rule::SlidingCounter {
            limit,
            window,
            count_refused: false,
        })
    }

    /// A bucket of `burst` tokens, refilled at `rate_per_s`.
    #[must_use]
    pub fn token_bucket(rate_per_s: f64, burst: u64) -> Self {
        Self::new(Rule::TokenBucket { rate_per_s, burst })
    }

    /// A queue of `queue` that wait, drained at `rate_per_s`.
    #[must_use]
    pub fn leaky_queue(rate_per_s: f64, queue: u64) -> Self {
        Self::new(Rule::LeakyQueue { rate_per_s, queue })
    }

    /// At most `limit` in flight.
    #[must_use]
    pub fn concurrency(limit: u64) -> Self {
        Self::new(Rule::Concurrency {
            limit,
            retry: one_second(),
        })
    }

    /// At least `gap` between two that are admitted, without slack.
    #[must_use]
    pub fn min_gap(gap: Duration) -> Self {
        Self::new(Rule::MinGap {
            gap,
            slack: Duration::ZERO,
        })
    }

    /// The same for the paths that begin with `prefix` only.
    #[must_use]
    pub fn under(self, prefix: impl Into<String>) -> Self {
        Self {
            prefix: prefix.into(),
            ..self
        }
    }

    /// The same, but no header tells of it.
    #[must_use]
    pub fn hidden(self) -> Self {
        Self {
            published: false,
            ..self
        }
    }

    /// Whether it governs this path (with its query).
    #[must_use]
    pub fn governs(&self, path: &str) -> bool {
        path.starts_with(&self.prefix)
    }
}

impl<'de> Deserialize<'de> for Policy {
    /// serde cannot both flatten and refuse unknown keys, so the keys that every policy has are taken
    /// out first, and the rule judges the rest.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut keys = serde_json::Map::deserialize(deserializer)?;
        let prefix = match keys.remove("prefix") {
            Some(prefix) => String::deserialize(prefix).map_err(D::Error::custom)?,
            None => every_path(),
        };
        let published = match keys.remove("published") {
            Some(published) => bool::deserialize(published).map_err(D::Error::custom)?,
            None => true,
        };
        let rule = Rule::deserialize(serde_json::Value::Object(keys)).map_err(D::Error::custom)?;
        Ok(Self {
            rule,
            prefix,
            published,
        })
    }
}

fn every_path() -> String {
    "/".to_owned()
}

fn one_second() -> Duration {
    Duration::from_secs(1)
}
