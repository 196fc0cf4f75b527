//! A queue that drains steadily.

use std::time::Duration;

use super::token_bucket::interval;
use super::{Limiter, Reading, fits, times};

pub(super) struct LeakyQueue {
    interval: Duration,
    queue: u64,
    /// When the next turn is free.
    free_at: Duration,
}

impl LeakyQueue {
    pub(super) fn new(rate_per_s: f64, queue: u64) -> Self {
        Self {
            interval: interval(rate_per_s),
            queue,
            free_at: Duration::ZERO,
        }
    }
}

impl Limiter for LeakyQueue {
    fn wait(&mut self, now: Duration) -> Duration {
        self.free_at
            .saturating_sub(now)
            .saturating_sub(times(self.interval, self.queue))
    }

    fn settle(&mut self, admitted: bool, now: Duration) -> Duration {
        if !admitted {
            return Duration::ZERO;
        }
        let turn = self.turn(now);
        self.free_at = now + turn + self.interval;
        turn
    }

    fn turn(&self, now: Duration) -> Duration {
        self.free_at.saturating_sub(now)
    }

    fn read(&mut self, now: Duration) -> Reading {
        let window = times(self.interval, self.queue.saturating_add(1));
        let full = self.turn(now);
        Reading {
            limit: self.queue.saturating_add(1),
            remaining: fits(window.saturating_sub(full), self.interval),
            window,
            next: self.wait(now),
            full,
        }
    }
}
