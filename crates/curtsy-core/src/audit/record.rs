//! [`Record`]: one line of the log.

use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};

use super::event::Event;
use super::noted::Noted;
use crate::Scope;
use crate::outcome::Kind;

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// What every line has; its fields are the record's own.
    #[serde(flatten)]
    pub head: Head,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// What every line has: where it stands in its log, the fields of all, and whom it is about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// When it was written: RFC 3339, UTC, ms.
    pub timestamp: String,
    /// Which run.
    pub pipeline_id: String,
    /// The line's number in its pipeline, from 1.
    pub seq: u64,
    /// SHA-256 of the line before, in hex; of nothing for the first.
    pub prev: String,
    /// The host that is talked to.
    pub target_domain: Option<String>,
    /// What caused the event.
    pub trigger: Option<String>,
    /// The delay before jitter or buffer.
    pub base_delay_ms: Option<f64>,
    /// The delay that applies.
    pub computed_delay_ms: Option<f64>,
    /// What randomness added.
    pub jitter_ms: Option<f64>,
    /// Whether curtsy kept every rule; `false` where the operator switched the rules off.
    pub compliance_flag: bool,
    /// The response's status.
    pub status_code: Option<u16>,
    /// The scope that is paced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// The URL, without credentials and query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Which try of the URL, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// What kind of request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// Of an event that changes what is remembered of the scope: the number of that change in this process.
    /// Lines of one scope may be a little out of order; in the order of their turns they can be replayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// The changes just before this turn that have no line of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub noted: Vec<Noted>,
}

impl Deref for Record {
    type Target = Head;

    fn deref(&self) -> &Head {
        &self.head
    }
}

impl DerefMut for Record {
    fn deref_mut(&mut self) -> &mut Head {
        &mut self.head
    }
}
