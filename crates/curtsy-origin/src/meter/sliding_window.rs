//! So many requests in any window: a log.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Limiter, Reading};

pub(super) struct SlidingWindow {
    limit: u64,
    window: Duration,
    count_refused: bool,
    /// When the last `limit` requests counted; older ones bind nothing.
    log: VecDeque<Duration>,
}

impl SlidingWindow {
    pub(super) fn new(limit: u64, window: Duration, count_refused: bool) -> Self {
        Self {
            limit,
            window,
            count_refused,
            log: VecDeque::new(),
        }
    }

    fn forget(&mut self, now: Duration) {
        while let Some(oldest) = self.log.front()
            && now.saturating_sub(*oldest) >= self.window
        {
            self.log.pop_front();
        }
    }

    fn expires_in(&self, counted: Option<&Duration>, now: Duration) -> Duration {
        counted.map_or(Duration::ZERO, |at| (*at + self.window).saturating_sub(now))
    }
}

impl Limiter for SlidingWindow {
    fn wait(&mut self, now: Duration) -> Duration {
        self.read(now).next
    }

    fn settle(&mut self, admitted: bool, now: Duration) -> Duration {
        if admitted || self.count_refused {
            self.forget(now);
            self.log.push_back(now);
            if self.log.len() as u64 > self.limit {
                self.log.pop_front();
            }
        }
        Duration::ZERO
    }

    fn read(&mut self, now: Duration) -> Reading {
        self.forget(now);
        let remaining = self.limit.saturating_sub(self.log.len() as u64);
        Reading {
            limit: self.limit,
            remaining,
            window: self.window,
            next: if remaining > 0 {
                Duration::ZERO
            } else {
                self.expires_in(self.log.front(), now)
            },
            full: self.expires_in(self.log.back(), now),
        }
    }
}
