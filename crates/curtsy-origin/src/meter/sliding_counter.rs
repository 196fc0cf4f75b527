//! The sliding-window counter: this window's count and the fading one of the window before.

use std::time::Duration;

use super::{Limiter, Reading, from_nanos};

/// Admits while `current + previous × (1 − elapsed / window) + 1 ≤ limit`, in whole numbers: both
/// sides times the window in nanoseconds.
pub(super) struct SlidingCounter {
    limit: u64,
    window: Duration,
    count_refused: bool,
    start: Option<Duration>,
    current: u64,
    previous: u64,
}

impl SlidingCounter {
    pub(super) fn new(limit: u64, window: Duration, count_refused: bool) -> Self {
        Self {
            limit,
            window,
            count_refused,
            start: None,
            current: 0,
            previous: 0,
        }
    }

    /// How far into the window `now` lies, after the windows have moved on to it.
    fn roll(&mut self, now: Duration) -> Duration {
        let start = self.start.unwrap_or(now);
        let elapsed = now.saturating_sub(start);
        if elapsed >= self.window + self.window {
            (self.current, self.previous) = (0, 0);
            self.start = Some(now);
            return Duration::ZERO;
        }
        if elapsed >= self.window {
            (self.current, self.previous) = (0, self.current);
            self.start = Some(start + self.window);
            return elapsed - self.window;
        }
        self.start = Some(start);
        elapsed
    }

    /// How far into a window `fading` must have faded that `room` more are left beside it.
    fn faded_at(&self, fading: u64, room: u64) -> Duration {
        if fading <= room {
            return Duration::ZERO;
        }
        let window = self.window.as_nanos();
        from_nanos(window - u128::from(room) * window / u128::from(fading))
    }
}

impl Limiter for SlidingCounter {
    fn wait(&mut self, now: Duration) -> Duration {
        let elapsed = self.roll(now);
        match self.limit.checked_sub(self.current + 1) {
            Some(room) => self.faded_at(self.previous, room).saturating_sub(elapsed),
            None => self.window - elapsed + self.faded_at(self.current, self.limit - 1),
        }
    }

    fn settle(&mut self, admitted: bool, now: Duration) -> Duration {
        self.roll(now);
        self.current += u64::from(admitted || self.count_refused);
        Duration::ZERO
    }

    fn read(&mut self, now: Duration) -> Reading {
        let elapsed = self.roll(now);
        let window = self.window.as_nanos();
        let fading = (u128::from(self.previous) * (window - elapsed.as_nanos())).div_ceil(window);
        let counted = u128::from(self.current) + fading;
        let remaining = u128::from(self.limit).saturating_sub(counted);
        Reading {
            limit: self.limit,
            remaining: u64::try_from(remaining).unwrap_or(u64::MAX),
            window: self.window,
            next: self.wait(now),
            full: if counted == 0 {
                Duration::ZERO
            } else if self.current == 0 {
                self.window - elapsed
            } else {
                self.window + self.window - elapsed
            },
        }
    }
}
