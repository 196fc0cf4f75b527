//! So many at a time.

use std::time::Duration;

use super::{Limiter, Reading};

pub(super) struct Concurrency {
    limit: u64,
    retry: Duration,
    in_flight: u64,
}

impl Concurrency {
    pub(super) fn new(limit: u64, retry: Duration) -> Self {
        Self {
            limit,
            retry,
            in_flight: 0,
        }
    }
}

impl Limiter for Concurrency {
    fn wait(&mut self, _now: Duration) -> Duration {
        if self.in_flight < self.limit {
            Duration::ZERO
        } else {
            self.retry
        }
    }

    fn settle(&mut self, admitted: bool, _now: Duration) -> Duration {
        self.in_flight += u64::from(admitted);
        Duration::ZERO
    }

    fn release(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    fn read(&mut self, now: Duration) -> Reading {
        Reading {
            limit: self.limit,
            remaining: self.limit.saturating_sub(self.in_flight),
            window: self.retry,
            next: self.wait(now),
            full: if self.in_flight == 0 {
                Duration::ZERO
            } else {
                self.retry
            },
        }
    }
}
