//! What an answer says of a quota.

use std::time::Duration;

use crate::Timestamp;
use crate::signal;

/// What an answer says of a quota, and which departure it answers. Times are to the millisecond, which
/// keeps what is stored short; each is rounded to the side that is no faster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading<'a> {
    pub(crate) quota: &'a signal::Quota,
    pub(crate) seq: u64,
    pub(crate) departed: Timestamp,
    pub(crate) received: Timestamp,
    /// Departed after it, or still unanswered from before it: the server had not counted them.
    pub(crate) uncounted: u64,
    /// So many are in flight at once at most: answers overtake each other by fewer.
    pub(crate) concurrent: u64,
    pub(crate) is_refusal: bool,
}

impl Reading<'_> {
    pub(super) fn way(&self) -> Duration {
        self.received.since(self.departed) / 2
    }

    pub(super) fn counted_at(&self) -> Timestamp {
        self.departed.after(self.way()).up_to_milli()
    }
}
