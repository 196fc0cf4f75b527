//! A published quota as a scope remembers it (rules H5, H5a, H5b, H6).
//!
//! A reading says how much is left and when it is full again. The first number is reduced by what the
//! server had not counted when it wrote it; the second is an instant that all readings of one window
//! bracket ever more narrowly. Supported: fixed windows in any rounding of whole-second resets, and
//! windows that roll (sliding logs, token buckets), told apart by a reset that does not count down.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Timestamp;
use crate::signal;

/// A reset printed in whole seconds lies within this much of the instant that it was rounded from.
const SECOND: Duration = Duration::from_secs(1);
const HALF: Duration = Duration::from_millis(500);

/// One quota of a scope.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quota {
    /// Tells it from the scope's other quotas.
    pub key: String,
    /// How much a window allows.
    pub limit: Option<u64>,
    /// How long a window is, seconds.
    pub window: Option<Duration>,
    /// What the last reading said is left; `None` where the server never says.
    pub remaining: Option<u64>,
    /// What of it nothing has been sent for yet.
    pub left: u64,
    /// When it is full again.
    pub reset: Option<Bracket>,
    /// H5b: the reset does not count down.
    pub rolling: bool,
    /// The departure whose answer brought the last reading.
    read_by: u64,
}

/// What an answer says of a quota, and which departure it answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading<'a> {
    pub(crate) quota: &'a signal::Quota,
    pub(crate) seq: u64,
    pub(crate) departed: Timestamp,
    pub(crate) received: Timestamp,
    /// Departed after it, or still unanswered from before it: the server had not counted them.
    pub(crate) uncounted: u64,
}

impl Quota {
    pub(crate) fn new(reading: &Reading<'_>) -> Self {
        let told = reading.quota;
        let mut quota = Self {
            key: told.name.as_str().to_owned(),
            limit: None,
            window: None,
            remaining: None,
            left: 0,
            reset: None,
            rolling: false,
            read_by: 0,
        };
        quota.read(reading);
        quota
    }

    /// Takes a reading; one by an earlier departure than the last is older news and changes nothing.
    pub(crate) fn read(&mut self, reading: &Reading<'_>) {
        if reading.seq <= self.read_by {
            return;
        }
        let told = reading.quota;
        self.limit = told.limit.or(self.limit);
        self.window = told.window.or(self.window);
        if let Some(reset) = told.reset {
            self.read_reset(
                &Bracket::of(reset, reading.departed, reading.received),
                reading,
            );
        }
        if let Some(remaining) = told.remaining {
            self.remaining = Some(remaining);
            self.left = remaining.saturating_sub(reading.uncounted);
        }
        self.read_by = reading.seq;
    }

    /// One departure was sent against it.
    pub(crate) fn depart(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// H5, H5b: the rate at which it lasts until its reset, departures/s; `None` where it says nothing (any more).
    pub(crate) fn rate(&self, now: Timestamp) -> Option<f64> {
        let sustained = self.sustained();
        if self.rolling && sustained.is_some() {
            return sustained;
        }
        self.remaining?;
        let rate = match self.reset {
            Some(reset) if reset.latest() <= now => return None,
            Some(reset) => self.left as f64 / reset.latest().since(now).max(SECOND).as_secs_f64(),
            None if self.left == 0 => 0.0,
            None => return sustained,
        };
        // What is left may be more than the server sustains: 10,000 in 10 s under a policy of 10 per second.
        Some(sustained.map_or(rate, |sustained| rate.min(sustained)))
    }

    /// H6: used up, and not full again before the instant returned.
    pub(crate) fn exhausted_until(&self, now: Timestamp) -> Option<Timestamp> {
        let reset = self.reset?.latest();
        (self.remaining.is_some() && self.left == 0 && reset > now).then_some(reset)
    }

    /// What of it may be sent before its reset; `None` when that has passed, or nothing is known.
    pub(crate) fn budget(&self, now: Timestamp) -> Option<u64> {
        self.remaining?;
        self.reset
            .is_none_or(|reset| reset.latest() > now)
            .then_some(self.left)
    }

    /// limit / window, departures/s. A rolling window is paced a little under it: a pace exactly at the
    /// limit meets an empty window at every departure.
    fn sustained(&self) -> Option<f64> {
        let (limit, window) = (self.limit? as f64, self.window?.as_secs_f64());
        let share = if self.rolling {
            limit / (limit + 1.0)
        } else {
            1.0
        };
        (window > 0.0).then(|| limit / window * share)
    }

    fn read_reset(&mut self, told: &Bracket, reading: &Reading<'_>) {
        let refilled = match (reading.quota.remaining, self.remaining) {
            (Some(now), Some(before)) => now > before,
            _ => false,
        };
        let Some(mut known) = self.reset else {
            self.reset = Some(*told);
            return;
        };
        let moved = told.earliest() > known.latest() || reading.received > known.latest();
        if self.rolling {
            // Each reading stands for itself.
            self.reset = Some(*told);
        } else if moved && !refilled && reading.received < known.earliest() {
            // The reset went back before it could have come, and nothing was refilled.
            self.rolling = true;
            self.window = self.window.or(reading.quota.reset.map(|reset| reset.after));
            self.reset = Some(*told);
        } else if moved || refilled {
            if refilled && self.refilled_whole(reading) {
                known.ended_by(reading.received);
            }
            self.reset = Some(Bracket {
                roundings: known.roundings,
                ..*told
            });
        } else {
            known.narrow(told);
            known.not_ended_by(reading.departed);
            self.reset = Some(known);
        }
    }

    /// Whether so much came back at once that a fixed window must have ended.
    fn refilled_whole(&self, reading: &Reading<'_>) -> bool {
        let more = reading
            .quota
            .remaining
            .unwrap_or(0)
            .saturating_sub(self.remaining.unwrap_or(0));
        self.limit
            .is_some_and(|limit| more > 1 && more >= limit / 2)
    }
}

/// H5a: where the instant of a reset lies, by all readings of one window.
///
/// `low` and `high` are the latest lower and the earliest upper end as printed. How a server rounds to
/// whole seconds widens them: down, it lies up to a second later; up, up to a second earlier. Which of
/// these a server does is learned from when its windows really ended, and kept.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bracket {
    low: Timestamp,
    high: Timestamp,
    roundings: Roundings,
}

impl Bracket {
    fn of(reset: signal::Reset, departed: Timestamp, received: Timestamp) -> Self {
        Self {
            low: departed.after(reset.after).before(reset.skew),
            high: received.after(reset.after),
            roundings: if reset.whole_seconds {
                Roundings::ANY
            } else {
                Roundings::EXACT
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

    fn narrow(&mut self, told: &Self) {
        let (low, high) = (self.low.max(told.low), self.high.min(told.high));
        let narrowed = Self { low, high, ..*self };
        // Readings that contradict each other are of two windows: the newer stands.
        *self = if narrowed.earliest() > narrowed.latest() {
            Self {
                roundings: self.roundings,
                ..*told
            }
        } else {
            narrowed
        };
    }

    /// The window had ended by `then`: roundings by which it would have lasted longer are ruled out.
    fn ended_by(&mut self, then: Timestamp) {
        let low = self.low;
        self.roundings
            .keep(|rounding| low.before(rounding.early()) <= then);
    }

    /// The window had not ended by `then`: roundings by which it would have are ruled out.
    fn not_ended_by(&mut self, then: Timestamp) {
        let high = self.high;
        self.roundings
            .keep(|rounding| high.after(rounding.late()) >= then);
    }
}

/// The ways of rounding to whole seconds that a server may still have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
struct Roundings(u8);

impl Roundings {
    const UP: Self = Self(1);
    const NEAREST: Self = Self(2);
    const DOWN: Self = Self(4);
    const ANY: Self = Self(7);
    /// Printed as it is.
    const EXACT: Self = Self(0);

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
        if self.has(Self::DOWN) {
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

    /// Keeps those for which `holds`; a server that contradicts all of them may do anything again.
    fn keep(&mut self, holds: impl Fn(Self) -> bool) {
        if *self == Self::EXACT {
            return;
        }
        let kept = [Self::UP, Self::NEAREST, Self::DOWN]
            .into_iter()
            .filter(|rounding| self.has(*rounding) && holds(*rounding));
        let kept = kept.fold(0, |all, rounding| all | rounding.0);
        *self = if kept == 0 { Self::ANY } else { Self(kept) };
    }
}
