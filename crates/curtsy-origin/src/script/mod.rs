//! The script of an origin: everything it does, known beforehand.

mod check;
mod fault;
mod number;
mod page;
mod pages;
mod policy;
mod refusal;
mod robots;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use fault::Fault;
pub use page::{Coding, Page};
pub use pages::{EmptySeries, Pages, Series};
pub use policy::{Anchor, Policy, Rule};
pub use refusal::{Outage, Refusal, RetryAfter};
pub use robots::Robots;

use crate::dialect::{Dialect, ResetTells, Rounding};
use crate::error::{Error, ErrorKind};
use number::millis;

/// What an origin does. Every key has a default; the script `{}` answers `ok` to everything.
///
/// In JSON a duration is a number whose key ends in its unit, `_s` or `_ms`; an unknown key is an
/// error. In Rust the same field is a [`Duration`], named without the unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// The quotas. Default none.
    pub policies: Vec<Policy>,
    /// The answer to what a quota refuses.
    pub refuse: Refusal,
    /// Which header fields tell of the published quotas, on admitted and refused requests alike.
    /// Default `none`.
    pub dialect: Dialect,
    /// How a reset in whole seconds is rounded. Default `up`.
    pub rounding: Rounding,
    /// Which instant is told as the reset. Default `full`.
    pub reset_tells: ResetTells,
    /// A Retry-After on every admitted request under a quota, as some limiters send it; the true wait
    /// is that until the told reset. It is no hold. Default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_on_ok: Option<RetryAfter>,
    /// How long an answer takes.
    pub service: Service,
    /// The outages. Default none. They may overlap: the first in the list that covers an instant counts.
    pub outages: Vec<Outage>,
    /// What /robots.txt answers. Default 404. A page of that path in `pages` goes before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub robots: Option<Robots>,
    /// Whether quotas and outages govern /robots.txt too. Default false.
    pub robots_governed: bool,
    /// The answer of every path that `pages` does not name.
    pub page: Page,
    /// Answers by path.
    pub pages: Pages,
    /// `clock_skew_s`, seconds, may be negative: how far ahead of the true time the wall clock is that
    /// Date, HTTP-dates and epoch resets are read from. Default 0, bounds ±1,000,000,000.
    pub clock_skew_s: f64,
    /// Whether answers carry a Date field. Default true.
    pub date: bool,
}

/// How long the answer to an admitted request takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Service {
    /// `latency_ms`, milliseconds: service time of one request. Default 0.
    #[serde(rename = "latency_ms", with = "millis")]
    pub latency: Duration,
    /// `per_in_flight_ms`, milliseconds: added for each governed request in flight, this one included.
    /// Default 0.
    #[serde(rename = "per_in_flight_ms", with = "millis")]
    pub per_in_flight: Duration,
    /// How many requests are served at a time, first come first served, up to 10,000. Default 0: all.
    pub workers: usize,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            policies: Vec::new(),
            refuse: Refusal::default(),
            dialect: Dialect::None,
            rounding: Rounding::Up,
            reset_tells: ResetTells::Full,
            retry_after_on_ok: None,
            service: Service::default(),
            outages: Vec::new(),
            robots: None,
            robots_governed: false,
            page: Page::default(),
            pages: Pages::default(),
            clock_skew_s: 0.0,
            date: true,
        }
    }
}

impl Script {
    /// Reads a script from JSON and checks it.
    ///
    /// # Errors
    /// [`ErrorKind::Script`] for JSON that is malformed, an unknown key, a value out of its bounds.
    pub fn from_json(json: &str) -> Result<Self, Error> {
        let script: Self =
            serde_json::from_str(json).map_err(|error| Error::new(ErrorKind::Script, error))?;
        script.check()?;
        Ok(script)
    }

    /// The script as JSON, over several lines, with every key that has a value.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// The Crawl-delay that its robots.txt names; where there are several, the longest.
    ///
    /// A plain reading of the lines, without groups, for scripts that tell every agent the same.
    #[must_use]
    pub fn crawl_delay(&self) -> Option<Duration> {
        let Some(Robots::Text(text)) = &self.robots else {
            return None;
        };
        text.lines()
            .filter_map(|line| {
                let (key, value) = line.split_once(':')?;
                let value = value.split('#').next()?.trim();
                key.trim()
                    .eq_ignore_ascii_case("crawl-delay")
                    .then(|| value.parse().ok())
                    .flatten()
            })
            .filter_map(|seconds: f64| Duration::try_from_secs_f64(seconds).ok())
            .max()
    }
}

#[cfg(test)]
mod tests;
