//! [`Event`]: what happened, with the fields of its own.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::noted::StateRead;
use crate::alert::{AlertKind, AlertState};
use crate::decision::Bound;
use crate::outcome::Class;
use crate::policy::PolicyValues;
use crate::{Draw, Reason, Signal, Timestamp};

/// What happened, with the fields of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A run began.
    RunStarted {
        /// The version of curtsy.
        version: String,
        /// The policy in full.
        policy: Box<PolicyValues>,
        /// Where state is kept, without credentials.
        store: String,
    },
    /// A policy, told before the first state of a scope that is treated by it.
    Policy {
        /// Its number in this process; [`StateRead`] cites it.
        policy: u64,
        /// The policy in full.
        values: Box<PolicyValues>,
    },
    /// The state of a scope as this process found it, right before the event of the same turn.
    StateRead(Box<StateRead>),
    /// A run ended.
    RunEnded {
        /// URLs by outcome.
        totals: std::collections::BTreeMap<String, u64>,
    },
    /// A process begins to write. What it counts, it counts anew.
    LogOpened {},
    /// The last lines were torn by a crash; the chain goes on from the last whole one.
    LogRecovered {
        /// Bytes of the torn line.
        torn_bytes: u64,
    },
    /// The log was found shorter than the job's database knows it to have been.
    TailMissing {
        /// The last line that was found.
        found: u64,
        /// The last line that is known to have been written.
        known: u64,
    },
    /// A robots.txt was read, or could not be.
    RobotsRead(RobotsRead),
    /// A URL is disallowed (O4).
    RobotsDisallowed {
        /// The rule as the file has it.
        rule: Option<String>,
        /// Its line.
        line: Option<u32>,
    },
    /// The permit of one departure, written before the request leaves.
    Departure(Departure),
    /// What came back. The events that follow from it stand right after it.
    Outcome(Outcome),
    /// What only the body of an answer says. The events that follow from it stand right after it.
    BodyRead(Box<BodyRead>),
    /// The dynamic delay changed.
    DynamicDelayApplied {
        /// Before.
        before_ms: f64,
        /// After.
        after_ms: f64,
        /// Until when nothing departs.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            with = "crate::time::rfc3339::optional"
        )]
        until: Option<Timestamp>,
    },
    /// The rate changed.
    RateAdjusted {
        /// Before, departures/s.
        before: Option<f64>,
        /// After, departures/s.
        after: f64,
    },
    /// The server asked for quiet.
    HoldStarted {
        /// Until when.
        #[serde(with = "crate::time::rfc3339")]
        until: Timestamp,
    },
    /// The breaker opened.
    BreakerOpened {
        /// Until when.
        #[serde(with = "crate::time::rfc3339")]
        until: Timestamp,
    },
    /// A probe departs.
    BreakerHalfOpen {},
    /// The breaker closed.
    BreakerClosed {},
    /// The scope is suppressed.
    ScopeSuppressed {
        /// Until when; null: as long as the client lives.
        #[serde(with = "crate::time::rfc3339::optional")]
        until: Option<Timestamp>,
    },
    /// The suppression ended.
    SuppressionLifted {},
    /// A URL is put off.
    Deferred {
        /// Until when.
        #[serde(with = "crate::time::rfc3339")]
        until: Timestamp,
        /// What bound it.
        reason: Reason,
    },
    /// Nothing departs to the scope, or at all where there is none, until it is resumed.
    Paused {},
    /// What was paused goes on.
    Resumed {},
    /// T4: an alert was raised or cleared.
    Alert {
        /// What it is about.
        alert: AlertKind,
        /// Which of the two.
        state: AlertState,
        /// Since when its condition holds or held.
        #[serde(with = "crate::time::rfc3339")]
        since: Timestamp,
    },
}

/// What the robots.txt of an origin says to one crawler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RobotsRead {
    /// The origin that it governs.
    pub origin: String,
    /// How it is taken: `rules`, `allowed`, `forbidden`, `unreachable`.
    pub access: String,
    /// Its Crawl-delay.
    pub crawl_delay_ms: Option<f64>,
    /// The number of this reading in this process; departures cite it.
    pub reading: u64,
    /// The product token of the crawler.
    pub agent: String,
    /// Its rules for that crawler: the line, and the record with octets beyond ASCII percent-encoded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<(u32, String)>,
}

/// The verdict of a robots.txt on a URL that may be fetched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cited {
    /// The number of the reading of that file.
    pub reading: u64,
    /// The line of the rule that allows it; `None`: no rule speaks of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// The permit of one departure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Departure {
    /// The departure's number in its scope.
    pub departure: u64,
    /// The latest of the four times.
    #[serde(with = "crate::time::rfc3339")]
    pub not_before: Timestamp,
    /// When it was permitted.
    #[serde(with = "crate::time::rfc3339")]
    pub permitted_at: Timestamp,
    /// Which bound it was.
    pub reason: Reason,
    /// The sample for the interval after it.
    pub draw: Draw,
    /// How long it had waited its turn.
    #[serde(with = "crate::time::millis")]
    pub waited_ms: Duration,
    /// A bound of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<Bound>,
    /// What its robots.txt says; `None` where nobody asks it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub robots: Option<Cited>,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The departure's number in its scope.
    pub departure: u64,
    /// When its bytes left.
    #[serde(with = "crate::time::rfc3339")]
    pub departed_at: Timestamp,
    /// How it was classified.
    pub class: Option<Class>,
    /// Why there was no response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// From the departure to the response head.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "crate::time::millis::optional"
    )]
    pub latency_ms: Option<Duration>,
    /// When it was noted, where that was not right when the head came.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "crate::time::rfc3339::optional"
    )]
    pub noted_at: Option<Timestamp>,
    /// The wait that was read, and from which header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<f64>,
    /// The header of the wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_from: Option<String>,
    /// What was left of the steering quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_remaining: Option<u64>,
    /// Until it is full again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_reset_ms: Option<f64>,
    /// All that was read of pace; `None`: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<Box<Signal>>,
    /// The draw for the jitter of a hold, where there may be one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draw: Option<Draw>,
}

/// What only the body of an answer says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BodyRead {
    /// The departure's number in its scope.
    pub departure: u64,
    /// When its bytes left.
    #[serde(with = "crate::time::rfc3339")]
    pub departed_at: Timestamp,
    /// When it was noted.
    #[serde(with = "crate::time::rfc3339")]
    pub noted_at: Timestamp,
    /// What the head alone says of pace.
    #[serde(default, skip_serializing_if = "Signal::is_silent")]
    pub of_head: Signal,
    /// What head and body say of pace.
    pub signal: Signal,
    /// The draw for the jitter of a hold.
    pub draw: Draw,
}
