//! Whether a request is tried again, and what bounds that try (rule R1).

use crate::backoff::rung;
use crate::decision::Bound;
use crate::outcome::{Answer, Class, Failure};
use crate::policy::Policy;
use crate::{Draw, Reason, Timestamp};

use std::time::Duration;

/// What becomes of a request after one more attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The answer stands: it goes to the caller as it is.
    Stands,
    /// It is tried again; the scope's own pacing and holds apply beside this bound.
    Again(Bound),
}

/// After `tries` attempts of one request, the last of which ended in `answer` of `class`: again or not?
///
/// `repeatable` is whether the method may be repeated (RFC 9110 section 9.2.2: GET, HEAD, OPTIONS, PUT,
/// DELETE; another only where the caller says so). Another 5xx is about this URL alone, so that its
/// ladder is its own; a throttle holds the whole scope, and this request needs no bound beside that.
#[must_use]
pub fn retry(
    policy: &Policy,
    repeatable: bool,
    answer: &Answer<'_>,
    class: Class,
    tries: u32,
    now: Timestamp,
    draw: Draw,
) -> Next {
    let retried = match answer {
        Answer::Abandoned => false,
        Answer::Failed(_) => policy.retry_failures,
        Answer::Head { status: 429, .. } => policy.honor_retry_after,
        Answer::Head { status, .. } => {
            let asks_for_patience = class == Class::Throttled && policy.retry_failures;
            policy.retried_statuses.contains(status) || asks_for_patience
        }
    };
    if !policy.polite || !retried || !repeatable || tries > policy.max_retries {
        return Next::Stands;
    }
    Next::Again(match answer {
        Answer::Head { .. } | Answer::Failed(Failure::Protocol) if class != Class::Throttled => {
            Bound {
                not_before: now.after(ladder(policy, tries, draw)),
                reason: Reason::RetryBackoff,
            }
        }
        _ => Bound::FREE,
    })
}

/// The delay before the try after `tries` attempts: base, base × multiplier, … and a jitter of up to the base.
fn ladder(policy: &Policy, tries: u32, draw: Draw) -> Duration {
    let delay = (0..tries.min(64)).fold(Duration::ZERO, |delay, _| rung(policy, delay));
    delay.saturating_add(draw.between(Duration::ZERO, policy.backoff_base))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::classify;
    use crate::policy::PolicyValues;
    use crate::signal::Signal;

    const NOW: Timestamp = Timestamp::from_secs(100);

    fn after(policy: &Policy, status: u16, tries: u32) -> Next {
        let signal = Signal::default();
        let answer = Answer::Head {
            status,
            latency: Duration::ZERO,
            signal: &signal,
        };
        retry(
            policy,
            true,
            &answer,
            classify(&answer).unwrap(),
            tries,
            NOW,
            Draw::LEAST,
        )
    }

    #[test]
    fn r1_each_preset_tries_its_statuses_again() {
        let (ours, http) = (
            Policy::default(),
            PolicyValues::http_client().build().unwrap(),
        );
        for (status, by_ours, by_http) in [
            (200, false, false),
            (404, false, false),
            (403, false, false),
            (408, true, false),
            (425, true, false),
            (429, true, true),
            (500, true, false),
            (502, true, false),
            (503, true, true),
            (504, true, true),
            (501, false, false),
            (522, true, false),
            (524, true, false),
            (529, true, false),
        ] {
            assert_eq!(
                after(&ours, status, 1) != Next::Stands,
                by_ours,
                "compliant {status}"
            );
            assert_eq!(
                after(&http, status, 1) != Next::Stands,
                by_http,
                "http_client {status}"
            );
        }
    }

    #[test]
    fn r1_http_client_tries_its_three_statuses_again_and_nothing_else() {
        let answer = Answer::Failed(Failure::Reset);
        for (policy, again) in [
            (Policy::default(), true),
            (PolicyValues::http_client().build().unwrap(), false),
        ] {
            let next = retry(&policy, true, &answer, Class::Failed, 1, NOW, Draw::LEAST);
            assert_eq!(next != Next::Stands, again, "{:?}", policy.preset);
        }
    }

    #[test]
    fn r1_three_retries_are_four_tries() {
        let policy = Policy::default();
        assert_ne!(after(&policy, 503, 3), Next::Stands);
        assert_eq!(after(&policy, 503, 4), Next::Stands);
    }

    #[test]
    fn r1_an_unrepeatable_method_is_not_repeated() {
        let answer = Answer::Failed(Failure::Reset);
        assert_eq!(
            retry(
                &Policy::default(),
                false,
                &answer,
                Class::Failed,
                1,
                NOW,
                Draw::LEAST
            ),
            Next::Stands
        );
    }

    #[test]
    fn r2_without_honor_retry_after_a_429_goes_to_the_caller() {
        let mut values = PolicyValues::compliant();
        values.honor_retry_after = false;
        let policy = values.build().unwrap();
        assert_eq!(after(&policy, 429, 1), Next::Stands);
        assert_ne!(after(&policy, 503, 1), Next::Stands);
    }

    #[test]
    fn r5_raw_is_one_request() {
        let policy = PolicyValues::raw().build().unwrap();
        assert_eq!(after(&policy, 503, 1), Next::Stands);
    }

    #[test]
    fn d1_another_5xx_climbs_the_ladder_alone() {
        let policy = Policy::default();
        let waits: Vec<u64> = (1..=3)
            .map(|tries| match after(&policy, 500, tries) {
                Next::Again(bound) => bound.not_before.since(NOW).as_secs(),
                Next::Stands => panic!("{tries} tries"),
            })
            .collect();
        assert_eq!(waits, [1, 2, 4]);
        assert_eq!(after(&policy, 503, 1), Next::Again(Bound::FREE));
    }
}
