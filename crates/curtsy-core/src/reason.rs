//! Every cause of a wait or a refusal, with the one label that log, metrics, `explain` and page share.

use serde::{Deserialize, Serialize};

/// Which of the four times of rule P2 a reason belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Time {
    /// (1) The Crawl-delay of robots.txt.
    CrawlDelay,
    /// (2) The configured delay or rate cap.
    Configured,
    /// (3) The dynamic delay: backoff and recovery.
    Dynamic,
    /// (4) What the server asked for: a hold, a quota.
    Server,
}

/// Why a departure may not be earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// Nothing bound: the scope was free.
    Free,
    /// P8: a new scope has one request in flight until its first answer.
    FirstAnswer,
    /// P5: the Crawl-delay of robots.txt.
    CrawlDelay,
    /// P4: the configured delay.
    ConfiguredDelay,
    /// Whoever runs this has stopped it until further notice.
    Paused,
    /// P6: 1–3 s where nobody has said anything about pace.
    UnstatedPace,
    /// P3: the token bucket at curtsy's own rate.
    Rate,
    /// H8: as many have departed within a day as the operator permits.
    DayCap,
    /// L1: the token bucket at the rate that the server was found to bear.
    LearnedRate,
    /// L5: as many requests are under way as it bears at once.
    Concurrency,
    /// D1: the ladder of one URL's own retries.
    RetryBackoff,
    /// D1–D4: the dynamic delay, as a hold or as an interval.
    DynamicDelay,
    /// K3: one probe is under way after an outage or a suppression; all else waits for its answer.
    Probe,
    /// K2: the circuit breaker is open.
    BreakerOpen,
    /// O3: robots.txt cannot be read for now.
    RobotsUnreachable,
    /// H5: the token bucket at the rate that a published quota allows.
    Quota,
    /// H6: the quota is used up until its reset.
    QuotaExhausted,
    /// H1, H3: a hold that the server asked for.
    ServerHold,
}

impl Reason {
    /// The stable label: snake_case, public interface.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::FirstAnswer => "first_answer",
            Self::CrawlDelay => "crawl_delay",
            Self::ConfiguredDelay => "configured_delay",
            Self::Paused => "paused",
            Self::UnstatedPace => "unstated_pace",
            Self::Rate => "rate",
            Self::DayCap => "day_cap",
            Self::LearnedRate => "learned_rate",
            Self::Concurrency => "concurrency",
            Self::RetryBackoff => "retry_backoff",
            Self::DynamicDelay => "dynamic_delay",
            Self::Probe => "probe",
            Self::BreakerOpen => "breaker_open",
            Self::RobotsUnreachable => "robots_unreachable",
            Self::Quota => "quota",
            Self::QuotaExhausted => "quota_exhausted",
            Self::ServerHold => "server_hold",
        }
    }

    /// What a person is told.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Free => "nothing binds",
            Self::FirstAnswer => "a new host gets one request until it has answered",
            Self::CrawlDelay => "its robots.txt asks for this interval",
            Self::ConfiguredDelay => "the configured delay",
            Self::Paused => "paused by hand until it is resumed",
            Self::UnstatedPace => "it says nothing about pace, so 1–3 s",
            Self::Rate => "the configured rate",
            Self::DayCap => "as many as a day may have have departed",
            Self::Concurrency => "it bears no more requests at once",
            Self::LearnedRate => "it bears no more, as its refusals have shown",
            Self::RetryBackoff => "this URL failed and is tried again later",
            Self::DynamicDelay => "it was overloaded: backing off",
            Self::Probe => "one probe is under way",
            Self::BreakerOpen => "it failed too often: the breaker is open",
            Self::RobotsUnreachable => "its robots.txt cannot be read for now",
            Self::Quota => "the pace of its published quota",
            Self::QuotaExhausted => "its quota is used up until the reset",
            Self::ServerHold => "it asked to be left alone until then",
        }
    }

    /// Which of the four times of P2 this is; `None` where nothing bound.
    #[must_use]
    pub const fn time(self) -> Option<Time> {
        Some(match self {
            Self::Free => return None,
            Self::CrawlDelay => Time::CrawlDelay,
            Self::ConfiguredDelay
            | Self::Paused
            | Self::UnstatedPace
            | Self::Rate
            | Self::DayCap
            | Self::FirstAnswer => Time::Configured,
            Self::RetryBackoff
            | Self::LearnedRate
            | Self::Concurrency
            | Self::DynamicDelay
            | Self::Probe
            | Self::BreakerOpen
            | Self::RobotsUnreachable => Time::Dynamic,
            Self::Quota | Self::QuotaExhausted | Self::ServerHold => Time::Server,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_label_is_what_serde_writes() {
        for reason in [
            Reason::Free,
            Reason::Paused,
            Reason::DayCap,
            Reason::UnstatedPace,
            Reason::QuotaExhausted,
            Reason::ServerHold,
            Reason::BreakerOpen,
        ] {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.label());
        }
    }
}
