//! What a response says about pace: a wait, quotas, and what was not understood.
//!
//! [`read`] takes the header fields of one response (and, where the content type or a [`Profile`] says
//! that it holds hints, the beginning of its body) to a [`Signal`]. Read are Retry-After (RFC 9110) and
//! its relatives, the `RateLimit-*` and `X-RateLimit-*` trios, the fields of the IETF drafts 00 to 10
//! (draft-ietf-httpapi-ratelimit-headers), and the dialects of the vendors in the table of `dialect`.
//!
//! Not read: what only words say (problem types, reasons, error texts), counters of use without a limit,
//! costs of single calls (but for a host profile), trailers. What was not used is on record in
//! [`Signal::ignored`]. Whatever is malformed, contradictory or hostile is unknown, and no reading makes
//! the pace faster than no field at all would.
//!
//! The way of a reading: `fields` finds the lines, `dialect` knows what each is about, `value`,
//! `rate_limit` and `notation` tell the values apart, `ledger` collects them, `settle` concludes.

mod body;
mod clock;
mod dialect;
mod duration;
mod fields;
mod http_date;
mod json;
mod ledger;
mod name;
mod notation;
mod number;
mod rate_limit;
mod settle;
mod value;

use std::time::Duration;

use http::HeaderMap;
use serde::{Deserialize, Serialize};

use crate::Timestamp;

use clock::Clock;
use ledger::Ledger;

pub use body::MAX_BODY;
pub use name::{Profile, QuotaKey, Source, Unit};

/// The longest wait that is told apart: 2^31 s (RFC 9111, section 1.2.2). A longer one is cut to it.
pub const LONGEST_WAIT: Duration = Duration::from_secs(1 << 31);

/// What one response said about pace. On the record stands what [`observe`](crate::observe) goes by.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Signal {
    /// The wait that the server asks for, or that an exhausted quota implies. `None` where it gave no
    /// instruction; a wait of zero is an explicit "no wait".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Wait>,
    /// The longest wait that a field or the body states, whether it counts or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explicit: Option<Wait>,
    /// Every quota that was read; the most restrictive one that counts requests comes first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quotas: Vec<Quota>,
    /// The steering figures as the server stated them.
    #[serde(skip)]
    pub figures: Figures,
    /// The policies as the server stated them, for people; a lone trio without a name is none.
    #[serde(skip)]
    pub policies: Vec<Policy>,
    /// What was not used, and why.
    #[serde(skip)]
    pub ignored: Vec<Ignored>,
}

/// A wait and who asked for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// From receipt of the response; at most [`LONGEST_WAIT`].
    #[serde(rename = "after_ms", with = "crate::time::millis")]
    pub after: Duration,
    /// The field that said so.
    pub source: Source,
}

/// One quota, as far as the response tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    /// Tells the same quota from response to response.
    pub name: QuotaKey,
    /// What is counted.
    pub unit: Unit,
    /// How much the window allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// What is left; unknown is not full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining: Option<u64>,
    /// When it is full again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset: Option<Reset>,
    /// The length of the window, never zero.
    #[serde(
        default,
        rename = "window_ms",
        skip_serializing_if = "Option::is_none",
        with = "crate::time::millis::optional"
    )]
    pub window: Option<Duration>,
}

/// When a quota is full again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reset {
    /// From receipt of the response, as printed; zero for one that has passed.
    #[serde(rename = "after_ms", with = "crate::time::millis")]
    pub after: Duration,
    /// Printed in whole seconds, rounded in an unknown direction.
    pub whole_seconds: bool,
    /// How it was printed.
    pub form: Form,
    /// How much earlier it may be on top of that: 1 s where an absolute time was converted with the
    /// Date field, which is cut to whole seconds, else zero.
    #[serde(
        default,
        rename = "skew_ms",
        skip_serializing_if = "Duration::is_zero",
        with = "crate::time::millis"
    )]
    pub skew: Duration,
}

/// The two ways of naming a time. Which one a bare number is, its size tells; a server keeps to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// From now on, a number of seconds or a duration.
    Delay,
    /// An instant, a date or a number of seconds since 1970.
    Instant,
}

/// The figures of the policy that steers, as stated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// How much the window allows; a fraction where the server states a rate.
    pub limit: Option<f64>,
    /// What is left.
    pub remaining: Option<u64>,
    /// When it is full again, from receipt.
    pub reset: Option<Duration>,
    /// The length of the window.
    pub window: Option<Duration>,
}

/// A policy as stated, for people.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// The name that the server or its field names give it.
    pub name: Option<QuotaKey>,
    /// What is counted.
    pub unit: Unit,
    /// Its figures.
    pub figures: Figures,
}

/// A field that was not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignored {
    /// The field name.
    pub name: String,
    /// Its value, cut to 100 characters.
    pub value: String,
    /// Why.
    pub why: &'static str,
}

/// Whether the body of a response with these fields may say something of pace too: its content type is
/// JSON, or the profile says so. Of that body [`read`] looks at the first [`MAX_BODY`] bytes.
#[must_use]
pub fn may_hold_hints(headers: &HeaderMap, profile: Option<Profile>) -> bool {
    body::may_hold_hints(headers, profile)
}

/// Reads what a response says about pace.
///
/// `received` is the local time at which the response head arrived; the response's own Date takes its
/// place for absolute times where it is plausible. `body` is looked at only where the content type or
/// the profile says that it holds hints, 64 KiB at most.
#[must_use]
pub fn read(
    status: u16,
    headers: &HeaderMap,
    received: Timestamp,
    body: Option<&[u8]>,
    profile: Option<Profile>,
) -> Signal {
    let lines = fields::find(headers);
    let hints = body.and_then(|body| body::Hints::of(body, headers, profile));
    if lines.is_empty() && hints.is_none() {
        return Signal::default();
    }
    let mut ledger = Ledger::new(Clock::of(headers, received));
    fields::take(&mut ledger, &lines, status, headers, profile);
    if let Some(hints) = &hints {
        hints.add_to(status, &mut ledger);
    }
    ledger.join();
    settle::settle(ledger, status, || body.is_some_and(body::speaks_of_limits))
}

/// Reads a date as servers print them, for fields that are not about pace. One without a zone is taken as
/// UTC; `now` decides the century of a year of two digits.
pub(crate) fn read_date(text: &str, now: Timestamp) -> Option<Timestamp> {
    let now = i64::try_from(now.as_micros()).unwrap_or(i64::MAX);
    let micros = http_date::parse(text, now)?.micros;
    Some(Timestamp::from_micros(u64::try_from(micros).unwrap_or(0)))
}

impl Signal {
    /// Whether it says nothing that [`observe`](crate::observe) goes by.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.wait.is_none() && self.explicit.is_none() && self.quotas.is_empty()
    }

    /// The slowest sustained spacing that a stated rate asks for: the largest window / limit of the
    /// quotas that count requests.
    #[must_use]
    pub fn min_interval(&self) -> Option<Duration> {
        self.quotas
            .iter()
            .filter(|quota| quota.unit == Unit::Requests)
            .filter_map(Quota::interval)
            .max()
    }
}

impl Quota {
    /// Window / limit: the spacing that the quota sustains.
    #[must_use]
    pub fn interval(&self) -> Option<Duration> {
        let limit = self.limit.filter(|limit| *limit > 0)?;
        Some(self.window?.div_f64(limit as f64))
    }
}
