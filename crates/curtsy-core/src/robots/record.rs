//! How one fetch changes what is stored of an origin's robots.txt.

use super::access::Reading;
use super::body::{cut_to_limit, is_other_document};
use super::fetched::{Failing, Fetched, StoredCopy, Unreachable, Validators};
use crate::time::Timestamp;

/// How one fetch of `/robots.txt` ended, after at most five redirects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A whole response; statuses of the 3xx class other than 304 only where no redirect could be
    /// followed.
    Response {
        /// The final status.
        status: u16,
        /// The decoded body. Octets over [`MAX_BODY`](super::MAX_BODY) may be left off, but enough of
        /// them should be given to show that there were more.
        body: Vec<u8>,
        /// ETag and Last-Modified of the response.
        validators: Validators,
    },
    /// A sixth redirect.
    TooManyRedirects,
    /// No response, or none that can be trusted.
    Failed(Unreachable),
}

/// Folds the end of one fetch into what was stored before.
///
/// A failure keeps the copy and counts; an answer replaces it and ends the row of failures; a 304
/// renews it.
#[must_use]
pub fn record(
    before: Option<Fetched>,
    answer: Answer,
    reading: &Reading,
    now: Timestamp,
) -> Fetched {
    let why = match answer {
        Answer::Response {
            status: 304,
            validators,
            ..
        } => match renew(before, validators, now) {
            Ok(renewed) => return renewed,
            Err(before) => return fail(before, Unreachable::UnexpectedStatus(304), now),
        },
        Answer::Response {
            status,
            body,
            validators,
        } => match failure(status, &body, reading) {
            Some(why) => why,
            None => return Fetched::Answered(keep(status, &body, validators, now)),
        },
        Answer::TooManyRedirects => {
            return Fetched::Answered(StoredCopy {
                status: None,
                body: Vec::new(),
                fetched_at: now,
                validated_at: now,
                validators: Validators::default(),
            });
        }
        Answer::Failed(why) => why,
    };
    fail(before, why, now)
}

fn keep(status: u16, body: &[u8], validators: Validators, now: Timestamp) -> StoredCopy {
    let mut copy = StoredCopy {
        status: Some(status),
        body: Vec::new(),
        fetched_at: now,
        validated_at: now,
        validators,
    };
    if copy.is_file() {
        copy.body = cut_to_limit(body).to_vec();
    }
    copy
}

/// Renews the copy, or hands back what there was where there is none to renew.
fn renew(
    before: Option<Fetched>,
    validators: Validators,
    now: Timestamp,
) -> Result<Fetched, Option<Fetched>> {
    let copy = before.as_ref().and_then(Fetched::copy);
    let Some(mut copy) = copy.filter(|copy| copy.is_file()).cloned() else {
        return Err(before);
    };
    copy.validated_at = now;
    // RFC 9111, 4.3.4: the fields of the 304 replace those stored.
    copy.validators.etag = validators.etag.or(copy.validators.etag);
    copy.validators.last_modified = validators.last_modified.or(copy.validators.last_modified);
    Ok(Fetched::Answered(copy))
}

fn fail(before: Option<Fetched>, why: Unreachable, now: Timestamp) -> Fetched {
    let first = Failing {
        why,
        since: now,
        last_at: now,
        in_a_row: 1,
    };
    match before {
        None => Fetched::Failing {
            copy: None,
            failing: first,
        },
        Some(Fetched::Answered(copy)) => Fetched::Failing {
            copy: Some(copy),
            failing: first,
        },
        Some(Fetched::Failing { copy, failing }) => Fetched::Failing {
            copy,
            failing: Failing {
                why,
                since: failing.since,
                last_at: now,
                in_a_row: failing.in_a_row.saturating_add(1),
            },
        },
    }
}

/// Why a response leaves the file unreachable; `None` for a file, and for one that does not exist.
fn failure(status: u16, body: &[u8], reading: &Reading) -> Option<Unreachable> {
    match status {
        206 => Some(Unreachable::UnexpectedStatus(status)),
        200..=299 if reading.strict && is_other_document(body) => Some(Unreachable::OtherDocument),
        200..=299 => None,
        429 => Some(Unreachable::TooManyRequests),
        400..=499 => None,
        500..=599 => Some(Unreachable::ServerError(status)),
        _ => Some(Unreachable::UnexpectedStatus(status)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robots::MAX_BODY;

    fn at(secs: u64) -> Timestamp {
        Timestamp::from_secs(secs)
    }

    fn response(status: u16, body: &[u8], etag: Option<&str>) -> Answer {
        Answer::Response {
            status,
            body: body.to_vec(),
            validators: Validators {
                etag: etag.map(str::to_owned),
                last_modified: None,
            },
        }
    }

    fn after(before: Option<Fetched>, answer: Answer, now: Timestamp) -> Fetched {
        record(before, answer, &Reading::COMPLIANT, now)
    }

    #[test]
    fn a_304_renews_the_copy_and_ends_a_row_of_failures() {
        let fetched = after(None, response(200, b"User-agent: *", Some("\"1\"")), at(1));
        let fetched = after(Some(fetched), response(503, b"", None), at(2));
        assert_eq!(fetched.validators().unwrap().etag.as_deref(), Some("\"1\""));
        let fetched = after(Some(fetched), response(304, b"", None), at(3));
        let Fetched::Answered(copy) = fetched else {
            panic!("{fetched:?}");
        };
        assert_eq!((copy.fetched_at, copy.validated_at), (at(1), at(3)));
        assert_eq!(copy.body, b"User-agent: *");
        assert_eq!(copy.validators.etag.as_deref(), Some("\"1\""));
    }

    #[test]
    fn a_304_with_nothing_to_renew_is_a_failure() {
        let unavailable = after(None, response(404, b"", Some("\"1\"")), at(1));
        assert_eq!(unavailable.validators(), None, "nothing to revalidate");
        for before in [None, Some(unavailable)] {
            let fetched = after(before, response(304, b"", None), at(2));
            let Fetched::Failing { failing, .. } = fetched else {
                panic!("{fetched:?}");
            };
            assert_eq!(failing.why, Unreachable::UnexpectedStatus(304));
        }
    }

    #[test]
    fn failures_are_counted_from_the_first_and_keep_the_copy() {
        let mut fetched = after(None, response(200, b"x", None), at(1));
        for now in [5, 6, 7] {
            fetched = after(Some(fetched), Answer::Failed(Unreachable::Tls), at(now));
        }
        let Fetched::Failing { copy, failing } = &fetched else {
            panic!("{fetched:?}");
        };
        let why = Unreachable::Tls;
        assert_eq!(
            *failing,
            Failing {
                why,
                since: at(5),
                last_at: at(7),
                in_a_row: 3
            }
        );
        assert_eq!(copy.as_ref().unwrap().body, b"x");
        let answered = after(Some(fetched), response(404, b"gone", None), at(8));
        assert!(
            matches!(&answered, Fetched::Answered(copy) if copy.body.is_empty()),
            "{answered:?}"
        );
    }

    #[test]
    fn a_large_body_is_stored_to_its_last_whole_line() {
        let body = b"Disallow: /private\n".repeat(100_000);
        let fetched = after(None, response(200, &body, None), at(1));
        let stored = &fetched.copy().unwrap().body;
        assert_eq!(stored.len(), MAX_BODY / 19 * 19);
        assert!(stored.ends_with(b"/private\n"));
    }
}
