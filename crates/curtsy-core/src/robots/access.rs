//! From what is stored of a robots.txt to what may be fetched: the table of fetch outcomes.
//!
//! RFC 9309, 2.3.1: a file that is *unavailable* (4xx, redirects without end) forbids nothing, one that
//! is *unreachable* (5xx, no answer) forbids everything until it is reached again. 429 is a 4xx by the
//! letter, but means "not now" and so counts as unreachable, as Google has it.

use std::time::Duration;

use super::Robots;
use super::expiry::{MAX_AGE, MAX_STALE, retry_after};
use super::fetched::{Failing, Fetched, StoredCopy, Unreachable};
use super::token::ProductToken;
use crate::time::Timestamp;

/// How fetch outcomes are read, where RFC 9309 leaves a choice or a preset departs from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Whether an unreachable robots.txt allows everything, and an answer is kept for good. Default:
    /// no; the `http_client` preset says yes, against a MUST of the RFC.
    pub lenient: bool,
    /// Whether 401 and 403 forbid everything. Default: no, they are 4xx like the others.
    pub forbid_unauthorized: bool,
    /// Whether a web page or JSON in the place of the file counts as unreachable. Default: no, it is
    /// read and normally has no rules.
    pub strict: bool,
    /// How long a robots.txt must have been unreachable before it counts as unavailable; the RFC
    /// permits that from 30 days on. Default: `None`, never.
    pub allow_after: Option<Duration>,
}

impl Reading {
    /// Of the `compliant` preset.
    pub const COMPLIANT: Self = Self {
        lenient: false,
        forbid_unauthorized: false,
        strict: false,
        allow_after: None,
    };
    /// Of the `http_client` preset: any failure allows.
    pub const HTTP_CLIENT: Self = Self {
        lenient: true,
        ..Self::COMPLIANT
    };
}

impl Default for Reading {
    fn default() -> Self {
        Self::COMPLIANT
    }
}

/// What may be fetched from an origin.
#[expect(
    clippy::large_enum_variant,
    reason = "one an origin, and mostly it is rules"
)]
#[derive(Clone, Debug)]
pub enum Access {
    /// Everything; no rules are known.
    Allowed(Open),
    /// What the rules say.
    Rules {
        /// The rules.
        robots: Robots,
        /// Why they are from an old copy, where the file cannot be reached now.
        stale: Option<Unreachable>,
    },
    /// Nothing, as long as this answer stands: 401 or 403, where the reading takes them so.
    Forbidden(u16),
    /// Nothing for now.
    Unreachable {
        /// When the file may be asked for again.
        retry_at: Timestamp,
        /// Why it cannot be reached.
        why: Unreachable,
    },
}

/// Why everything is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// The file does not exist for us: a status of the 4xx class.
    Unavailable(u16),
    /// More than five redirects.
    TooManyRedirects,
    /// It is unreachable, and the reading is lenient.
    Tolerated(Unreachable),
    /// It has been unreachable for as long as the reading waits.
    LongUnreachable(Unreachable),
}

/// What may be fetched by the crawler with this token, as far as is known at `now`.
///
/// This judges what is stored and does not ask whether it is time to fetch again; that is
/// [`freshness`](super::freshness).
#[must_use]
pub fn access(
    fetched: &Fetched,
    token: &ProductToken,
    reading: &Reading,
    now: Timestamp,
) -> Access {
    match fetched {
        Fetched::Answered(copy) => open(copy, token, reading, None),
        Fetched::Failing { copy, failing } => {
            let usable = copy
                .as_ref()
                .filter(|copy| outlives_failure(copy, reading, now));
            match usable {
                Some(copy) => open(copy, token, reading, Some(failing.why)),
                None => close(failing, reading, now),
            }
        }
    }
}

fn open(
    copy: &StoredCopy,
    token: &ProductToken,
    reading: &Reading,
    stale: Option<Unreachable>,
) -> Access {
    match copy.status {
        None => Access::Allowed(Open::TooManyRedirects),
        Some(_) if copy.is_file() => Access::Rules {
            robots: Robots::parse(&copy.body, token),
            stale,
        },
        Some(status @ (401 | 403)) if reading.forbid_unauthorized => Access::Forbidden(status),
        Some(status) => Access::Allowed(Open::Unavailable(status)),
    }
}

/// Whether a copy is used while the file is unreachable. A file is, for 30 days; the news that there
/// was none is no copy of anything, and counts only for its own 24 hours.
fn outlives_failure(copy: &StoredCopy, reading: &Reading, now: Timestamp) -> bool {
    let age = now.since(copy.validated_at);
    reading.lenient || age < MAX_AGE || (copy.is_file() && age <= MAX_STALE)
}

fn close(failing: &Failing, reading: &Reading, now: Timestamp) -> Access {
    if reading.lenient {
        return Access::Allowed(Open::Tolerated(failing.why));
    }
    let unreachable_for = now.since(failing.since);
    if reading
        .allow_after
        .is_some_and(|enough| unreachable_for >= enough)
    {
        return Access::Allowed(Open::LongUnreachable(failing.why));
    }
    Access::Unreachable {
        retry_at: failing.last_at.after(retry_after(failing.in_a_row)),
        why: failing.why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robots::fetched::Validators;
    use crate::robots::record::{Answer, record};

    const DAY: u64 = 24 * 60 * 60;
    const SHUT: &str = "User-agent: *\nDisallow: /shut\n";

    fn at(secs: u64) -> Timestamp {
        Timestamp::from_secs(secs)
    }

    fn response(status: u16, body: &str) -> Answer {
        Answer::Response {
            status,
            body: body.as_bytes().to_vec(),
            validators: Validators::default(),
        }
    }

    /// The access in short: what it is, and whether `/shut` is allowed now.
    fn told(fetched: &Fetched, reading: &Reading, now: Timestamp) -> String {
        let token = ProductToken::from_user_agent("FernBot/1");
        match access(fetched, &token, reading, now) {
            Access::Allowed(why) => format!("allowed {why:?}"),
            Access::Forbidden(status) => format!("forbidden {status}"),
            Access::Unreachable { retry_at, why } => {
                format!("unreachable {} until {}", why.as_str(), retry_at.as_secs())
            }
            Access::Rules { robots, stale } => {
                let allowed = robots.verdict_on_path(b"/shut").allowed;
                let stale = stale.map_or("", Unreachable::as_str);
                format!("rules {allowed} {stale}").trim_end().to_owned()
            }
        }
    }

    fn check(rows: &[(Answer, &str)], reading: Reading) {
        for (answer, expected) in rows {
            let fetched = record(None, answer.clone(), &reading, at(100));
            assert_eq!(
                told(&fetched, &reading, at(100)),
                *expected,
                "{answer:?} {reading:?}"
            );
        }
    }

    #[test]
    fn every_outcome_of_a_first_fetch_has_its_access() {
        let rows = [
            (response(200, SHUT), "rules false"),
            (response(200, ""), "rules true"),
            (response(200, "<!DOCTYPE html>"), "rules true"),
            (response(203, SHUT), "rules false"),
            (response(204, ""), "rules true"),
            (
                response(206, SHUT),
                "unreachable unexpected_status until 101",
            ),
            (Answer::TooManyRedirects, "allowed TooManyRedirects"),
            (response(302, ""), "unreachable unexpected_status until 101"),
            (response(304, ""), "unreachable unexpected_status until 101"),
            (response(400, SHUT), "allowed Unavailable(400)"),
            (response(401, ""), "allowed Unavailable(401)"),
            (response(403, ""), "allowed Unavailable(403)"),
            (response(404, SHUT), "allowed Unavailable(404)"),
            (response(410, ""), "allowed Unavailable(410)"),
            (response(451, ""), "allowed Unavailable(451)"),
            (response(429, ""), "unreachable too_many_requests until 101"),
            (response(500, ""), "unreachable server_error until 101"),
            (response(503, SHUT), "unreachable server_error until 101"),
            (response(599, ""), "unreachable server_error until 101"),
            (response(100, ""), "unreachable unexpected_status until 101"),
            (response(999, ""), "unreachable unexpected_status until 101"),
            (
                Answer::Failed(Unreachable::Dns),
                "unreachable dns until 101",
            ),
            (
                Answer::Failed(Unreachable::BrokenBody),
                "unreachable broken_body until 101",
            ),
            (
                Answer::Failed(Unreachable::BadRedirect),
                "unreachable bad_redirect until 101",
            ),
        ];
        check(&rows, Reading::COMPLIANT);
    }

    #[test]
    fn other_readings_differ_where_they_say_so() {
        let strict = [
            (
                response(200, "<!DOCTYPE html>"),
                "unreachable other_document until 101",
            ),
            (
                response(200, "{\"error\": 1}"),
                "unreachable other_document until 101",
            ),
            (response(200, SHUT), "rules false"),
        ];
        check(
            &strict,
            Reading {
                strict: true,
                ..Reading::COMPLIANT
            },
        );
        let forbid = [
            (response(401, ""), "forbidden 401"),
            (response(403, ""), "forbidden 403"),
            (response(404, ""), "allowed Unavailable(404)"),
        ];
        check(
            &forbid,
            Reading {
                forbid_unauthorized: true,
                ..Reading::COMPLIANT
            },
        );
        let lenient = [
            (response(200, SHUT), "rules false"),
            (response(404, ""), "allowed Unavailable(404)"),
            (response(429, ""), "allowed Tolerated(TooManyRequests)"),
            (response(503, ""), "allowed Tolerated(ServerError(503))"),
            (
                Answer::Failed(Unreachable::Timeout),
                "allowed Tolerated(Timeout)",
            ),
        ];
        check(&lenient, Reading::HTTP_CLIENT);
    }

    #[test]
    fn a_copy_outlives_failures_for_thirty_days_and_the_news_of_none_for_one() {
        for (answer, now, expected) in [
            (response(200, SHUT), DAY / 2, "rules false server_error"),
            (response(200, SHUT), 2 * DAY, "rules false server_error"),
            (response(200, SHUT), 30 * DAY, "rules false server_error"),
            (
                response(200, SHUT),
                30 * DAY + 1,
                "unreachable server_error until 501",
            ),
            (response(404, ""), DAY / 2, "allowed Unavailable(404)"),
            (response(404, ""), DAY, "unreachable server_error until 501"),
            (
                Answer::TooManyRedirects,
                DAY,
                "unreachable server_error until 501",
            ),
        ] {
            let reading = Reading::COMPLIANT;
            let fetched = record(None, answer.clone(), &reading, at(0));
            let fetched = record(Some(fetched), response(500, ""), &reading, at(500));
            assert_eq!(
                told(&fetched, &reading, at(now)),
                expected,
                "{answer:?} at {now}"
            );
        }
    }

    #[test]
    fn thirty_days_unreachable_allow_only_where_the_reading_says_so() {
        let patient = Reading::COMPLIANT;
        let wearied = Reading {
            allow_after: Some(MAX_STALE),
            ..patient
        };
        let first = record(None, Answer::Failed(Unreachable::Refused), &patient, at(0));
        let fetched = record(Some(first), response(502, ""), &patient, at(30 * DAY - 10));
        let shut = format!("unreachable server_error until {}", 30 * DAY - 8);
        for (reading, now, expected) in [
            (patient, 30 * DAY, shut.as_str()),
            (wearied, 30 * DAY - 1, shut.as_str()),
            (
                wearied,
                30 * DAY,
                "allowed LongUnreachable(ServerError(502))",
            ),
        ] {
            assert_eq!(
                told(&fetched, &reading, at(now)),
                expected,
                "{reading:?} at {now}"
            );
        }
    }
}
