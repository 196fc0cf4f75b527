//! Whose clock an absolute time is measured by.

use std::time::Duration;

use http::HeaderMap;
use http::header::DATE;

use super::{Form, LONGEST_WAIT, Reset, http_date};
use crate::Timestamp;

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;
const YEAR: i64 = 365 * DAY;
/// How far ahead an epoch number may lie and still be taken for a time.
const FARTHEST: i64 = 400 * DAY;

/// The local clock and, where the response has one, the server's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    local: i64,
    server: Option<i64>,
}

/// An instant that a field names, in microseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Instant {
    /// Microseconds since the Unix epoch.
    pub(super) micros: i64,
    /// Printed to the second.
    pub(super) whole_seconds: bool,
    /// Printed with its zone. Without one it may be somebody's local time.
    pub(super) zoned: bool,
}

/// How far ahead an instant lies; negative for one that has passed.
#[derive(Clone, Copy, Debug)]
struct Ahead {
    micros: i64,
    skew: Duration,
}

impl Clock {
    /// The clocks for a response that arrived at `received`, by its Date field.
    pub(super) fn of(headers: &HeaderMap, received: Timestamp) -> Self {
        let local = Self::new(received, None);
        let date = headers
            .get(DATE)
            .and_then(|date| http_date::parse(date.to_str().ok()?, local.local));
        Self::new(received, date)
    }

    /// The clocks for a response that arrived at `received` with `date` in its Date field.
    pub(super) fn new(received: Timestamp, date: Option<Instant>) -> Self {
        Self {
            local: i64::try_from(received.as_micros()).unwrap_or(i64::MAX / 2),
            server: date.map(|date| date.micros),
        }
    }

    /// The best guess of the server's time.
    pub(super) fn now(self) -> i64 {
        match self.server {
            Some(date) if !self.is_far_off(date) => date,
            _ => self.local,
        }
    }

    /// The wait until `instant`, as a wait instruction: zero when past. Not given for a time without
    /// a zone that lies behind the clock: it may be local time and mean something ahead.
    pub(super) fn wait_until(self, instant: Instant) -> Option<Duration> {
        let ahead = self.ahead(instant.micros);
        (instant.zoned || ahead.micros > 0).then(|| length(ahead.micros))
    }

    /// The time until `instant` as a reset; not given where that is implausible: more than a day past
    /// or more than 400 days ahead.
    pub(super) fn reset_at(self, instant: Instant) -> Option<Reset> {
        let mut ahead = self.ahead(instant.micros);
        if !is_plausible(ahead.micros) && self.server.is_some_and(|date| self.is_far_off(date)) {
            ahead = self.ahead_of_local(instant.micros);
        }
        let usable = is_plausible(ahead.micros) && (instant.zoned || ahead.micros > 0);
        usable.then(|| Reset {
            after: length(ahead.micros),
            whole_seconds: instant.whole_seconds,
            form: Form::Instant,
            skew: ahead.skew,
        })
    }

    /// The server's own Date cancels its skew, unless it is so wrong that the wait would exceed a
    /// year: then the local clock counts.
    fn ahead(self, instant: i64) -> Ahead {
        let Some(date) = self.server else {
            return self.ahead_of_local(instant);
        };
        let micros = instant.saturating_sub(date);
        if micros > YEAR && self.is_far_off(date) {
            return self.ahead_of_local(instant);
        }
        // Date is cut to whole seconds: the truth is up to one second less.
        Ahead {
            micros,
            skew: Duration::from_secs(1),
        }
    }

    fn ahead_of_local(self, instant: i64) -> Ahead {
        Ahead {
            micros: instant.saturating_sub(self.local),
            skew: Duration::ZERO,
        }
    }

    fn is_far_off(self, date: i64) -> bool {
        date.abs_diff(self.local) > DAY.unsigned_abs()
    }
}

fn is_plausible(ahead: i64) -> bool {
    (-DAY..=FARTHEST).contains(&ahead)
}

fn length(ahead: i64) -> Duration {
    Duration::from_micros(u64::try_from(ahead).unwrap_or(0)).min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Instant {
        Instant {
            micros: seconds * SECOND,
            whole_seconds: true,
            zoned: true,
        }
    }

    #[test]
    fn the_server_clock_counts_unless_it_is_absurd() {
        let now = 1_796_048_940_i64;
        for (date, instant, expected) in [
            (None, now + 60, Some(60)),
            (Some(now - 3600), now - 3540, Some(60)),
            (Some(30), 300, Some(270)),
            (Some(30), now + 60, Some(60)),
            (Some(now), now - 60, Some(0)),
        ] {
            let clock = Clock::new(Timestamp::from_secs(now.unsigned_abs()), date.map(at));
            let wait = clock.wait_until(at(instant));
            assert_eq!(
                wait,
                expected.map(Duration::from_secs),
                "{date:?} {instant}"
            );
        }
    }

    #[test]
    fn a_reset_far_from_now_is_none() {
        let now = 1_796_048_940_i64;
        let clock = Clock::new(Timestamp::from_secs(now.unsigned_abs()), None);
        for (ahead, usable) in [
            (-90_000, false),
            (-80_000, true),
            (0, true),
            (399 * 86_400, true),
            (401 * 86_400, false),
        ] {
            assert_eq!(clock.reset_at(at(now + ahead)).is_some(), usable, "{ahead}");
        }
    }
}
