//! A bucket that refills steadily.

use std::time::Duration;

use super::{Limiter, Reading, fits, times};

/// Kept as the instant at which the bucket is full again, which says the same as a count of tokens and
/// stays a whole number.
pub(super) struct TokenBucket {
    interval: Duration,
    burst: u64,
    full_at: Duration,
}

impl TokenBucket {
    pub(super) fn new(rate_per_s: f64, burst: u64) -> Self {
        Self {
            interval: interval(rate_per_s),
            burst,
            full_at: Duration::ZERO,
        }
    }
}

impl Limiter for TokenBucket {
    fn wait(&mut self, now: Duration) -> Duration {
        self.full_at
            .saturating_sub(now)
            .saturating_sub(times(self.interval, self.burst - 1))
    }

    fn settle(&mut self, admitted: bool, now: Duration) -> Duration {
        if admitted {
            self.full_at = self.full_at.max(now) + self.interval;
        }
        Duration::ZERO
    }

    fn read(&mut self, now: Duration) -> Reading {
        let window = times(self.interval, self.burst);
        let full = self.full_at.saturating_sub(now);
        Reading {
            limit: self.burst,
            remaining: fits(window.saturating_sub(full), self.interval),
            window,
            next: self.wait(now),
            full,
        }
    }
}

/// The time between two at this rate, to the nanosecond, rounded down: no honest client is refused
/// for the rounding.
pub(super) fn interval(rate_per_s: f64) -> Duration {
    let nanos = (1e9 / rate_per_s).floor().max(1.0);
    // A float that is too large saturates.
    Duration::from_nanos(nanos as u64)
}
