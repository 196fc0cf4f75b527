//! H5a: where the instant of a reset lies, by all readings of one window.

use std::time::Duration;

use crate::Timestamp;
use crate::signal;

const SECOND: Duration = Duration::from_secs(1);
const HALF: Duration = Duration::from_millis(500);
/// Brackets that miss each other by less are of one window: clocks drift, and figures are cut.
const SLACK: Duration = Duration::from_millis(250);
/// A fraction is printed to the millisecond at the least.
const FINEST: Duration = Duration::from_millis(1);

/// The bracket of one reset.
///
/// `low` and `high` are the latest lower and the earliest upper end as printed. How a server rounds to
/// whole seconds widens them: down, it lies up to a second later; up, up to a second earlier. Which of
/// these a server does is learned from when its windows really ended, and kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bracket {
    pub(super) low: Timestamp,
    pub(super) high: Timestamp,
    pub(super) roundings: Roundings,
}

impl Bracket {
    /// By a single reading: the server wrote it between departure and receipt.
    pub(super) fn of(reset: signal::Reset, departed: Timestamp, received: Timestamp) -> Self {
        Self {
            low: departed
                .after(reset.after)
                .before(reset.skew)
                .down_to_milli(),
            high: received.after(reset.after).up_to_milli(),
            roundings: match reset.whole_seconds {
                false => Roundings::EXACT,
                // Who rounds up says 1 in the last second of a window, never 0.
                true if reset.after.is_zero() => Roundings::NOT_UP,
                true => Roundings::ANY,
            },
        }
    }

    /// Not before then.
    #[must_use]
    pub fn earliest(&self) -> Timestamp {
        self.low.before(self.roundings.early())
    }

    /// Not after then: this end steers, so that the last second of a window is never overrun.
    #[must_use]
    pub fn latest(&self) -> Timestamp {
        self.high.after(self.roundings.late())
    }

    /// D6: no later than `most`.
    pub(crate) fn clamp(&mut self, most: Timestamp) {
        self.low = self.low.min(most);
        self.high = self.high.min(most);
    }

    /// Whether this reading tells of a later reset than `known`, which has been read for as long as `since`,
    /// and not only of the same one rounded otherwise or by a clock that drifts.
    pub(super) fn is_after(&self, known: &Self, told: signal::Reset, since: Duration) -> bool {
        // Where clocks drift, `narrow` lets `high` follow; `low` stays.
        let known = if told.whole_seconds {
            known.high
        } else {
            known.low.min(known.high)
        };
        self.low > known.after(tolerance(told) + since / 8)
    }

    /// The same reading by a server whose ways are known from `known`.
    pub(super) fn knowing(self, known: &Self) -> Self {
        Self {
            roundings: self.roundings.both(known.roundings),
            ..self
        }
    }

    /// Another reading of the same window. Where it contradicts the others since clocks drift apart, the
    /// newer stands; how far they have drifted shows.
    pub(super) fn narrow(&mut self, told: &Self) {
        let narrowed = Self {
            low: self.low.max(told.low),
            high: self.high.min(told.high),
            roundings: told.roundings,
        };
        *self = if narrowed.earliest() <= narrowed.latest() {
            narrowed
        } else {
            Self {
                low: self.low.min(told.low),
                ..*told
            }
        };
    }

    /// The window had ended by `then`: roundings by which it would have lasted longer are ruled out.
    pub(super) fn ended_by(&mut self, then: Timestamp) {
        let low = self.low;
        self.roundings
            .keep(|rounding| low.before(rounding.early()) <= then);
    }

    /// The window had not ended by `then`: roundings by which it would have are ruled out.
    pub(super) fn not_ended_by(&mut self, then: Timestamp) {
        let high = self.high;
        self.roundings
            .keep(|rounding| high.after(rounding.late()) >= then);
    }

    /// What was learned was wrong.
    pub(super) fn unlearn(&mut self) {
        if self.roundings != Roundings::EXACT {
            self.roundings = Roundings::ANY;
        }
    }
}

/// By how much two readings of one reset may miss each other. A time of day is printed the same all
/// through a window; seconds to it, rounded, differ by up to one.
fn tolerance(told: signal::Reset) -> Duration {
    let rounding = match told.whole_seconds {
        true if told.skew.is_zero() => SECOND,
        true => Duration::ZERO,
        false => told.skew,
    };
    SLACK + rounding
}

/// The ways of rounding to whole seconds that a server may still have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Roundings(u8);

impl Roundings {
    const UP: Self = Self(1);
    const NEAREST: Self = Self(2);
    const DOWN: Self = Self(4);
    const NOT_UP: Self = Self(6);
    const ANY: Self = Self(7);
    /// Printed as it is.
    const EXACT: Self = Self(0);

    /// For a store.
    pub(super) fn bits(self) -> u8 {
        self.0
    }

    /// From a store.
    pub(super) fn of_bits(bits: u16) -> Self {
        Self((bits & u16::from(Self::ANY.0)) as u8)
    }

    /// How much earlier than printed it may be.
    fn early(self) -> Duration {
        if self.has(Self::UP) {
            SECOND
        } else if self.has(Self::NEAREST) {
            HALF
        } else {
            Duration::ZERO
        }
    }

    /// How much later than printed it may be.
    fn late(self) -> Duration {
        if self == Self::EXACT {
            FINEST
        } else if self.has(Self::DOWN) {
            SECOND
        } else if self.has(Self::NEAREST) {
            HALF
        } else {
            Duration::ZERO
        }
    }

    fn has(self, rounding: Self) -> bool {
        self.0 & rounding.0 != 0
    }

    /// What both allow; `self` where they exclude each other, being the newer.
    fn both(self, known: Self) -> Self {
        match self.0 & known.0 {
            0 => self,
            both => Self(both),
        }
    }

    /// Keeps those for which `holds`; a server that contradicts all of them may do anything again.
    fn keep(&mut self, holds: impl Fn(Self) -> bool) {
        if *self == Self::EXACT {
            return;
        }
        let kept = [Self::UP, Self::NEAREST, Self::DOWN]
            .into_iter()
            .filter(|rounding| self.has(*rounding) && holds(*rounding))
            .fold(0, |all, rounding| all | rounding.0);
        *self = if kept == 0 { Self::ANY } else { Self(kept) };
    }
}
