//! One finished attempt, classified once, when the response head is in.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::signal::{Signal, Unit};

/// What kind of request departed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A listed URL.
    Page,
    /// A robots.txt.
    Robots,
    /// A hop of a redirect.
    Redirect,
    /// A further try.
    Retry,
}

impl Kind {
    /// The label in log and metrics.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Robots => "robots",
            Self::Redirect => "redirect",
            Self::Retry => "retry",
        }
    }
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer<'a> {
    /// A response head came.
    Head {
        /// The status code.
        status: u16,
        /// From the departure to the response head.
        latency: Duration,
        /// What the headers said about pace.
        signal: &'a Signal,
    },
    /// No response: refused, reset, timeout, TLS.
    Failed(Failure),
    /// Nobody waited for the answer: the caller went away.
    Abandoned,
}

/// Why there was no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The name did not resolve.
    Dns,
    /// The connection was refused or could not be made.
    Refused,
    /// The connection broke.
    Reset,
    /// Nothing came in time.
    Timeout,
    /// TLS could not be agreed on, or the certificate does not hold.
    Tls,
    /// What came was no HTTP.
    Protocol,
}

impl Failure {
    const ALL: [Self; 6] = [
        Self::Dns,
        Self::Refused,
        Self::Reset,
        Self::Timeout,
        Self::Tls,
        Self::Protocol,
    ];

    /// The failure with this label.
    pub(crate) fn of_label(label: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|failure| failure.label() == label)
    }

    /// The label in log and metrics.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Dns => "dns",
            Self::Refused => "refused",
            Self::Reset => "reset",
            Self::Timeout => "timeout",
            Self::Tls => "tls",
            Self::Protocol => "protocol",
        }
    }
}

/// The five kinds of outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// 2xx, 3xx, 404 and whatever else is no sign of trouble.
    Healthy,
    /// Healthy, but slower than the scope usually is (D3).
    Slow,
    /// 429, 503, 504, and refusals that say "slow down" by a wait or an exhausted quota (H1).
    Throttled,
    /// 403.
    Forbidden,
    /// 5xx not listed as throttled, and no response at all.
    Failed,
}

impl Class {
    /// The label in log and metrics.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Slow => "slow",
            Self::Throttled => "throttled",
            Self::Forbidden => "forbidden",
            Self::Failed => "failed",
        }
    }
}

/// The class of an answer, before its latency is looked at; `None` for an abandoned one.
#[must_use]
pub fn classify(answer: &Answer<'_>) -> Option<Class> {
    Some(match answer {
        Answer::Abandoned => return None,
        Answer::Failed(_) => Class::Failed,
        Answer::Head { status, signal, .. } => match status {
            429 | 503 | 504 => Class::Throttled,
            400 | 403 | 418 | 420 | 500..=599 if says_slow_down(signal) => Class::Throttled,
            403 => Class::Forbidden,
            500..=599 => Class::Failed,
            _ => Class::Healthy,
        },
    })
}

/// H1: a wait, or a quota of requests that is used up.
fn says_slow_down(signal: &Signal) -> bool {
    signal
        .wait
        .as_ref()
        .is_some_and(|wait| !wait.after.is_zero())
        || signal
            .quotas
            .iter()
            .any(|quota| quota.unit == Unit::Requests && quota.remaining == Some(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::{Source, Wait};

    #[test]
    fn an_answer_is_classified_by_its_status_and_what_it_asks_for() {
        let silent = Signal::default();
        let wait = Signal {
            wait: Some(Wait {
                after: Duration::from_secs(9),
                source: Source::from("Retry-After"),
            }),
            ..Signal::default()
        };
        let class = |status, signal| {
            classify(&Answer::Head {
                status,
                latency: Duration::ZERO,
                signal,
            })
            .unwrap()
        };
        for (status, alone, with_wait) in [
            (200, Class::Healthy, Class::Healthy),
            (301, Class::Healthy, Class::Healthy),
            (404, Class::Healthy, Class::Healthy),
            (400, Class::Healthy, Class::Throttled),
            (403, Class::Forbidden, Class::Throttled),
            (420, Class::Healthy, Class::Throttled),
            (429, Class::Throttled, Class::Throttled),
            (500, Class::Failed, Class::Throttled),
            (503, Class::Throttled, Class::Throttled),
            (504, Class::Throttled, Class::Throttled),
            (529, Class::Failed, Class::Throttled),
        ] {
            assert_eq!(
                (class(status, &silent), class(status, &wait)),
                (alone, with_wait),
                "{status}"
            );
        }
        assert_eq!(classify(&Answer::Failed(Failure::Tls)), Some(Class::Failed));
        assert_eq!(classify(&Answer::Abandoned), None);
    }
}
