//! A least time between two.

use std::time::Duration;

use super::{Limiter, Reading};

pub(super) struct MinGap {
    gap: Duration,
    slack: Duration,
    last: Option<Duration>,
}

impl MinGap {
    pub(super) fn new(gap: Duration, slack: Duration) -> Self {
        Self {
            gap,
            slack,
            last: None,
        }
    }
}

impl Limiter for MinGap {
    fn wait(&mut self, now: Duration) -> Duration {
        self.last.map_or(Duration::ZERO, |last| {
            (last + self.gap)
                .saturating_sub(self.slack)
                .saturating_sub(now)
        })
    }

    fn settle(&mut self, admitted: bool, now: Duration) -> Duration {
        if admitted {
            self.last = Some(now);
        }
        Duration::ZERO
    }

    fn read(&mut self, now: Duration) -> Reading {
        let next = self.wait(now);
        Reading {
            limit: 1,
            remaining: u64::from(next.is_zero()),
            window: self.gap,
            next,
            full: next,
        }
    }
}
