//! A random number that is handed in.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::duration_from_secs;

/// A uniform number in `0.0..=1.0`, drawn by the caller for one decision.
///
/// The core never draws: with the draw as an argument, every jitter in a test or a replay is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(from = "f64", into = "f64")]
pub struct Draw(f64);

impl Draw {
    /// The least draw: no jitter, the floor of every range.
    pub const LEAST: Self = Self(0.0);
    /// The greatest draw: the ceiling of every range.
    pub const GREATEST: Self = Self(1.0);

    /// From a number; what lies outside `0.0..=1.0` is clamped, and no number at all is the greatest
    /// (the more patient side).
    #[must_use]
    pub fn new(value: f64) -> Self {
        if value.is_nan() {
            Self::GREATEST
        } else {
            Self(value.clamp(0.0, 1.0))
        }
    }

    /// The number, in `0.0..=1.0`.
    #[must_use]
    pub fn value(self) -> f64 {
        self.0
    }

    /// The point this far along `from..=to`.
    #[must_use]
    pub fn between(self, from: Duration, to: Duration) -> Duration {
        let span = to.saturating_sub(from);
        let way = duration_from_secs(span.as_secs_f64() * self.0);
        from.saturating_add(way.min(span))
    }

    /// The draw to six decimals, rounded up: short when stored, and no less patient.
    pub(crate) fn shortened(self) -> Self {
        Self::new((self.0 * 1e6).ceil() / 1e6)
    }
}

impl From<f64> for Draw {
    fn from(value: f64) -> Self {
        Self::new(value)
    }
}

impl From<Draw> for f64 {
    fn from(draw: Draw) -> Self {
        draw.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_stays_in_its_range() {
        for (given, expected) in [
            (-3.0, 0.0),
            (0.25, 0.25),
            (7.0, 1.0),
            (f64::NAN, 1.0),
            (f64::INFINITY, 1.0),
        ] {
            assert_eq!(Draw::new(given).value(), expected, "{given}");
        }
        let (one, three) = (Duration::from_secs(1), Duration::from_secs(3));
        assert_eq!(Draw::LEAST.between(one, three), one);
        assert_eq!(Draw::GREATEST.between(one, three), three);
        assert_eq!(Draw::new(0.5).between(one, three), Duration::from_secs(2));
        assert_eq!(Draw::GREATEST.between(one, Duration::MAX), Duration::MAX);
    }
}
