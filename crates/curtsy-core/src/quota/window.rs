//! Which window a reading is of: answers overtake each other, and a reset is known only so exactly.

use super::{Bracket, Quota, Reading, sane};
use crate::Timestamp;

/// Which window a reading is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Window {
    /// One that has ended: the answer was overtaken by a later one.
    Former,
    /// The one that is known.
    This,
    /// A later one.
    Next,
    /// None in particular: the reset moved on before it can have come.
    Rolling,
}

impl Quota {
    pub(super) fn window_of(&self, reading: &Reading<'_>) -> Window {
        let is_later = reading.seq > self.read_by;
        let overtaken_or_next = if is_later {
            Window::Next
        } else {
            Window::Former
        };
        if self.rolling {
            return overtaken_or_next;
        }
        if self.has_reset_by(reading.departed)
            || self.has_refilled(reading)
            || self.has_moved_on(reading)
        {
            return Window::Next;
        }
        if self.is_overtaken(reading) {
            return Window::Former;
        }
        let (Some(known), Some(told)) = (self.reset, reading.quota.reset) else {
            return match self.reset {
                None if reading.quota.reset.is_some() => Window::Next,
                _ => Window::This,
            };
        };
        let bracket = Bracket::of(told, reading.departed, reading.received);
        let since = reading.received.since(self.opened);
        if !bracket.is_after(&known, told, since) {
            if self.unread {
                Window::Former
            } else {
                Window::This
            }
        } else if is_later && reading.received < known.earliest() {
            Window::Rolling
        } else {
            Window::Next
        }
    }

    pub(super) fn can_have_reset_by(&self, then: Timestamp) -> bool {
        self.reset.is_some_and(|known| known.earliest() <= then)
    }

    pub(super) fn has_reset_by(&self, then: Timestamp) -> bool {
        self.resets_by().is_some_and(|reset| reset <= then)
    }

    /// Whether more is left than before, and not only since answers overtook each other: then at most as
    /// many more as are in flight at once.
    pub(super) fn has_refilled(&self, reading: &Reading<'_>) -> bool {
        let (Some(now), Some(before)) = (reading.quota.remaining.map(sane), self.remaining) else {
            return false;
        };
        let overtaken = reading.concurrent + self.read_by.saturating_sub(reading.seq);
        now > before && (reading.departed >= self.counted_at || now - before >= overtaken)
    }

    /// Whether as much is left as before although the server has counted one more, and the window can have
    /// ended between the two.
    fn has_moved_on(&self, reading: &Reading<'_>) -> bool {
        let is_same = self.remaining.is_some_and(|before| before > 0)
            && reading.quota.remaining.map(sane) == self.remaining;
        is_same && reading.departed >= self.counted_at && self.can_have_reset_by(reading.received)
    }

    /// Whether less is left than all that departed can have used up, and it left before this window was
    /// seen to open: then it was counted in the one before.
    fn is_overtaken(&self, reading: &Reading<'_>) -> bool {
        let is_less = reading
            .quota
            .remaining
            .is_some_and(|told| told < self.left());
        is_less && reading.departed < self.opened
    }
}
