//! The order in which what is remembered of a scope changes, so that a replay can follow.

use serde::{Deserialize, Serialize};

use crate::{HostState, Origin, Timestamp};

/// The place of a change among those of its scope.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn {
    /// Its number among the changes with a line of their own in this process, from 1.
    pub number: u64,
    /// What changed just before it without a line of its own.
    pub noted: Vec<Noted>,
    /// The state before all this, where the line before does not lead to it.
    pub read: Option<Box<StateRead>>,
}

/// A change of a scope's state that has no line of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Noted {
    /// A permitted request really left.
    Departed {
        /// The departure's number in its scope.
        departure: u64,
        /// When its bytes left.
        #[serde(with = "crate::time::rfc3339")]
        at: Timestamp,
    },
    /// Nobody waits for an answer any more.
    Abandoned {
        /// The departure's number in its scope.
        departure: u64,
        /// When that was found.
        #[serde(with = "crate::time::rfc3339")]
        at: Timestamp,
    },
    /// The Crawl-delay of one of the scope's origins.
    CrawlDelay {
        /// The origin.
        origin: Origin,
        /// What its robots.txt asks for; `None`: nothing any more.
        delay_ms: Option<f64>,
    },
    /// A suppression or a breaker was ended by hand.
    Lifted {},
}

/// The state of a scope as this process found it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StateRead {
    /// Why it has to be told.
    pub because: Because,
    /// The number of the [policy](super::Event::Policy) that the scope is treated by.
    pub policy: u64,
    /// Turns that no line tells of, since whoever made those changes went away.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untold: Vec<u64>,
    /// The state.
    pub state: HostState,
}

/// Why the state of a scope has to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// This process meets the scope.
    Met,
    /// The store held something else than this process knew.
    Changed,
    /// Something changed of which no line tells.
    Untold,
}
