//! Lines that belong together: what leads to a turn, the turn, and what follows from it.

use std::sync::Arc;

use super::violation::Place;
use crate::Scope;
use crate::audit::{Event, Head, Record, StateRead};
use crate::policy::Policy;

/// The lines of one turn.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) at: Place,
    pub(super) turn: u64,
    pub(super) head: Head,
    pub(super) event: Event,
    pub(super) lead: Lead,
    /// What followed from it, by its own account.
    pub(super) changes: Vec<(Place, Record)>,
    /// Whether its process wrote nothing after it: it may have come no further.
    pub(super) is_last: bool,
}

/// What stands before the event of a turn.
#[derive(Debug, Default)]
pub(super) struct Lead {
    pub(super) state: Option<(Box<StateRead>, Arc<Policy>)>,
    /// Of what scope and turn that is.
    pub(super) of: Option<(Scope, u64)>,
    /// Whether it says that the departure is a probe.
    pub(super) half_open: Option<Place>,
}

impl Lead {
    pub(super) fn is_empty(&self) -> bool {
        self.state.is_none() && self.half_open.is_none()
    }
}

impl Group {
    /// Whether a line is one of what followed.
    pub(super) fn takes(&self, record: &Record) -> bool {
        matches!(self.event, Event::Outcome(_) | Event::BodyRead(_))
            && record.scope == self.head.scope
            && record.url == self.head.url
    }
}

/// Whether a line only tells what an answer changed.
pub(super) fn is_change(record: &Record) -> bool {
    let is_of_answer = matches!(
        record.event,
        Event::DynamicDelayApplied { .. }
            | Event::RateAdjusted { .. }
            | Event::HoldStarted { .. }
            | Event::BreakerOpened { .. }
            | Event::BreakerClosed {}
            | Event::ScopeSuppressed { .. }
            | Event::SuppressionLifted {}
    );
    is_of_answer && record.trigger.as_deref() != Some("by_hand")
}
