//! What [`decide`](crate::decide) answers.

use serde::{Deserialize, Serialize};

use crate::pace::Ask;
use crate::state::HostState;
use crate::{Reason, Timestamp};

/// A time before which nothing departs, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// Not before this instant.
    #[serde(with = "crate::time::rfc3339")]
    pub not_before: Timestamp,
    /// What bound it.
    pub reason: Reason,
}

impl Bound {
    /// Nothing binds.
    pub const FREE: Self = Self {
        not_before: Timestamp::EPOCH,
        reason: Reason::Free,
    };

    /// Nothing departs until whoever runs this says so.
    pub const PAUSED: Self = Self {
        not_before: Timestamp::MAX,
        reason: Reason::Paused,
    };

    /// The later of the two. On a tie the reason nearer to the server's own word stands.
    #[must_use]
    pub fn latest(self, other: Self) -> Self {
        if (other.not_before, other.reason) > (self.not_before, self.reason) {
            other
        } else {
            self
        }
    }
}

/// May this request depart now?
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Yes: the permit holds the state to be swapped in before the request leaves.
    Depart(Box<Permit>),
    /// Not before the bound; ask again then, or when the scope's state changes.
    Wait(Bound),
    /// Not before the bound, and that is longer than the caller's patience (H10) or nothing departs at all (K2).
    Defer(Bound),
    /// No, and waiting does not help.
    Decline(Decline),
}

/// The right to one departure.
#[derive(Clone, Debug, PartialEq)]
pub struct Permit {
    /// The departure's number in its scope, from 1; an outcome is matched to its departure by it.
    pub seq: u64,
    /// When it departs.
    pub at: Timestamp,
    /// What was asked.
    pub ask: Ask,
    /// The latest bound, now past: why it did not depart earlier.
    pub bound: Bound,
    /// The scope's state with this departure in it.
    pub state: HostState,
}

/// Why a request is declined without a departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decline {
    /// R4: the scope answered 403; until then (`None`: as long as the client lives) it is not asked again.
    Suppressed {
        /// When the suppression expires.
        until: Option<Timestamp>,
    },
}
