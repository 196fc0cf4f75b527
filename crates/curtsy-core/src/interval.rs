//! A range of intervals between departures, and how a floor raises it (rules P4 and P5).

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Draw;

/// From the shortest to the longest interval between two departures; never inverted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "(f64, f64)", into = "(f64, f64)")]
pub struct Interval {
    min: Duration,
    max: Duration,
}

impl Interval {
    /// From the two bounds, as P4 says: only a minimum → the maximum is three times it; only a
    /// maximum → the minimum is zero; neither → no interval.
    ///
    /// # Errors
    /// [`Inverted`] where the minimum exceeds the maximum.
    pub fn from_bounds(
        min: Option<Duration>,
        max: Option<Duration>,
    ) -> Result<Option<Self>, Inverted> {
        let (min, max) = match (min, max) {
            (None, None) => return Ok(None),
            (Some(min), None) => (min, min.saturating_mul(3)),
            (None, Some(max)) => (Duration::ZERO, max),
            (Some(min), Some(max)) => (min, max),
        };
        if min > max {
            return Err(Inverted);
        }
        Ok(Some(Self { min, max }))
    }

    /// Always the same interval.
    #[must_use]
    pub const fn fixed(interval: Duration) -> Self {
        Self {
            min: interval,
            max: interval,
        }
    }

    /// A range whose ends are known to be in order.
    #[must_use]
    pub(crate) const fn between(min: Duration, max: Duration) -> Self {
        assert!(min.as_nanos() <= max.as_nanos());
        Self { min, max }
    }

    /// The shortest interval.
    #[must_use]
    pub const fn min(self) -> Duration {
        self.min
    }

    /// The longest interval.
    #[must_use]
    pub const fn max(self) -> Duration {
        self.max
    }

    /// The range with its floor at `floor` or above, the ceiling raised if need be; nothing is ever lowered.
    #[must_use]
    pub fn raise_floor(self, floor: Duration) -> Self {
        Self {
            min: self.min.max(floor),
            max: self.max.max(floor),
        }
    }

    /// The interval at this draw.
    #[must_use]
    pub fn at(self, draw: Draw) -> Duration {
        draw.between(self.min, self.max)
    }
}

/// The minimum of an interval exceeds its maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the shortest delay is longer than the longest")]
pub struct Inverted;

impl TryFrom<(f64, f64)> for Interval {
    type Error = Inverted;

    fn try_from((min, max): (f64, f64)) -> Result<Self, Inverted> {
        let (min, max) = (
            crate::time::duration_from_secs(min),
            crate::time::duration_from_secs(max),
        );
        if min > max {
            Err(Inverted)
        } else {
            Ok(Self { min, max })
        }
    }
}

impl From<Interval> for (f64, f64) {
    fn from(interval: Interval) -> Self {
        (interval.min.as_secs_f64(), interval.max.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn secs(s: f64) -> Duration {
        Duration::from_millis((s * 1000.0) as u64)
    }

    #[test]
    fn p4_one_bound_gives_the_other() {
        let range = |min: Option<f64>, max: Option<f64>| {
            Interval::from_bounds(min.map(secs), max.map(secs))
        };
        assert_eq!(
            range(Some(2.0), None),
            Ok(Some(Interval::between(secs(2.0), secs(6.0))))
        );
        assert_eq!(
            range(None, Some(4.0)),
            Ok(Some(Interval::between(secs(0.0), secs(4.0))))
        );
        assert_eq!(
            range(Some(1.0), Some(5.0)),
            Ok(Some(Interval::between(secs(1.0), secs(5.0))))
        );
        assert_eq!(range(None, None), Ok(None));
        assert_eq!(range(Some(5.0), Some(1.0)), Err(Inverted));
    }

    #[test]
    fn p5_a_crawl_delay_raises_the_floor_and_never_lowers_anything() {
        for ((min, max), crawl_delay, (floor, ceiling)) in [
            ((1.0, 5.0), 3.0, (3.0, 5.0)),
            ((1.0, 5.0), 0.5, (1.0, 5.0)),
            ((1.0, 3.0), 10.0, (10.0, 10.0)),
        ] {
            let raised = Interval::between(secs(min), secs(max)).raise_floor(secs(crawl_delay));
            assert_eq!(
                raised,
                Interval::between(secs(floor), secs(ceiling)),
                "{min}–{max} with {crawl_delay}"
            );
        }
    }
}
