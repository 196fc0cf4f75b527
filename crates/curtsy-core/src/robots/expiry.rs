//! When a robots.txt is asked for again.

use std::time::Duration;

use super::access::Reading;
use super::fetched::Fetched;
use crate::time::Timestamp;

/// How long an answer is used without asking again: 24 hours, the longest that RFC 9309 (2.4) allows.
pub const MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a file is used, since it was last known to be current, while it cannot be reached: 30 days,
/// as Google does.
pub const MAX_STALE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The wait after the first failure; it doubles with each further one.
const FIRST_RETRY: Duration = Duration::from_secs(1);

/// The longest wait between two attempts at an unreachable file.
const LONGEST_RETRY: Duration = Duration::from_secs(5 * 60);

/// Whether a robots.txt should be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// No: the answer is used until then.
    Fresh {
        /// [`Timestamp::MAX`] where it is kept for the client's life.
        until: Timestamp,
    },
    /// Yes: the answer has grown old, or it is time to try again.
    /// Where [`Fetched::validators`] has any, the request is conditional.
    Ask,
    /// Not yet: the last attempt failed.
    Wait {
        /// When the next attempt may depart.
        until: Timestamp,
    },
}

/// Whether what is stored may still be used at `now` without asking.
#[must_use]
pub fn freshness(fetched: &Fetched, reading: &Reading, now: Timestamp) -> Freshness {
    if reading.lenient {
        return Freshness::Fresh {
            until: Timestamp::MAX,
        };
    }
    match fetched {
        Fetched::Answered(copy) => {
            let until = copy.validated_at.after(MAX_AGE);
            if now < until {
                Freshness::Fresh { until }
            } else {
                Freshness::Ask
            }
        }
        Fetched::Failing { failing, .. } => {
            let until = failing.last_at.after(retry_after(failing.in_a_row));
            if now < until {
                Freshness::Wait { until }
            } else {
                Freshness::Ask
            }
        }
    }
}

/// The wait after so many failures in a row: 1, 2, 4, 8 … s, five minutes at most. What the server
/// itself asked for is a hold of its scope and no concern of this.
#[must_use]
pub fn retry_after(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(16);
    FIRST_RETRY
        .saturating_mul(1 << doublings)
        .min(LONGEST_RETRY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robots::fetched::{Unreachable, Validators};
    use crate::robots::record::{Answer, record};

    const DAY: u64 = 24 * 60 * 60;

    fn at(secs: u64) -> Timestamp {
        Timestamp::from_secs(secs)
    }

    fn response(status: u16) -> Answer {
        Answer::Response {
            status,
            body: Vec::new(),
            validators: Validators::default(),
        }
    }

    #[test]
    fn an_answer_is_used_for_a_day_and_then_asked_for_again() {
        let reading = Reading::COMPLIANT;
        for status in [200, 404, 403] {
            let fetched = record(None, response(status), &reading, at(10));
            let fresh = Freshness::Fresh {
                until: at(10 + DAY),
            };
            for (now, expected) in [
                (at(10), fresh),
                (at(9 + DAY), fresh),
                (at(10 + DAY), Freshness::Ask),
                (at(0), fresh),
            ] {
                assert_eq!(
                    freshness(&fetched, &reading, now),
                    expected,
                    "{status} at {now}"
                );
            }
        }
    }

    #[test]
    fn failures_are_waited_out_longer_each_time() {
        let reading = Reading::COMPLIANT;
        let mut fetched = record(None, response(200), &reading, at(0));
        for (failure, wait) in (0..).zip([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]) {
            let now = at(2 * DAY + failure * 1000);
            fetched = record(
                Some(fetched),
                Answer::Failed(Unreachable::Refused),
                &reading,
                now,
            );
            let until = now.after(Duration::from_secs(wait));
            let last = until.before(Duration::from_micros(1));
            assert_eq!(
                freshness(&fetched, &reading, now),
                Freshness::Wait { until }
            );
            assert_eq!(
                freshness(&fetched, &reading, last),
                Freshness::Wait { until }
            );
            assert_eq!(freshness(&fetched, &reading, until), Freshness::Ask);
        }
        assert_eq!(retry_after(u32::MAX), LONGEST_RETRY);
        assert_eq!(retry_after(0), FIRST_RETRY);
    }

    #[test]
    fn the_lenient_reading_asks_once() {
        let reading = Reading::HTTP_CLIENT;
        for answer in [response(200), Answer::Failed(Unreachable::Dns)] {
            let fetched = record(None, answer, &reading, at(0));
            let fresh = Freshness::Fresh {
                until: Timestamp::MAX,
            };
            assert_eq!(freshness(&fetched, &reading, at(400 * DAY)), fresh);
        }
    }
}
