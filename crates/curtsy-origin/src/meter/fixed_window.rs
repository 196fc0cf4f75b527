//! So many requests in each window.

use std::time::Duration;

use super::{Limiter, Reading, from_nanos};
use crate::script::Anchor;

pub(super) struct FixedWindow {
    limit: u64,
    window: Duration,
    anchor: Anchor,
    epoch: Duration,
    /// The end of the open window; its start may lie before the instant zero.
    end: Duration,
    used: u64,
}

impl FixedWindow {
    pub(super) fn new(limit: u64, window: Duration, anchor: Anchor, epoch: Duration) -> Self {
        Self {
            limit,
            window,
            anchor,
            epoch,
            end: Duration::ZERO,
            used: 0,
        }
    }

    fn roll(&mut self, now: Duration) {
        if now < self.end {
            return;
        }
        let into = match self.anchor {
            Anchor::FirstRequest => Duration::ZERO,
            Anchor::Clock => {
                from_nanos((self.epoch + now).as_nanos() % self.window.as_nanos().max(1))
            }
        };
        self.end = now + self.window.saturating_sub(into);
        self.used = 0;
    }
}

impl Limiter for FixedWindow {
    fn wait(&mut self, now: Duration) -> Duration {
        self.read(now).next
    }

    fn settle(&mut self, admitted: bool, now: Duration) -> Duration {
        self.roll(now);
        self.used += u64::from(admitted);
        Duration::ZERO
    }

    fn read(&mut self, now: Duration) -> Reading {
        self.roll(now);
        let full = self.end - now;
        let remaining = self.limit.saturating_sub(self.used);
        Reading {
            limit: self.limit,
            remaining,
            window: self.window,
            next: if remaining > 0 { Duration::ZERO } else { full },
            full,
        }
    }
}
