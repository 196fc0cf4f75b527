//! H8: how many requests departed within the last day, where the operator caps that.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// Departures are counted by parts of a day. One counts until its part is a whole day old, so up to a part longer than a
/// day and never shorter.
const PART: Duration = Duration::from_secs(3 * 3_600);
/// The parts of a day.
const PARTS: u64 = 8;

/// The departures of the last day.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Day(
    /// Which part of time the first count is of.
    u64,
    /// From there on, without gaps.
    Vec<u32>,
);

impl Day {
    /// One more departs at `now`.
    pub(crate) fn depart(&mut self, now: Timestamp) {
        let part = part_of(now);
        let kept = part.saturating_sub(PARTS);
        let old = kept.saturating_sub(self.0).min(self.1.len() as u64);
        self.1.drain(..old as usize);
        self.0 = if self.1.is_empty() {
            part
        } else {
            self.0.max(kept)
        };
        let at = part.saturating_sub(self.0).min(PARTS) as usize;
        if self.1.len() <= at {
            self.1.resize(at + 1, 0);
        }
        self.1[at] = self.1[at].saturating_add(1);
    }

    /// When fewer than `cap` have departed within a day; `None` where that is so at `now`.
    pub(crate) fn free_at(&self, cap: u32, now: Timestamp) -> Option<Timestamp> {
        let mut left: u64 = self.1.iter().copied().map(u64::from).sum();
        let mut free = None;
        for (part, count) in (self.0..).zip(&self.1) {
            if left < u64::from(cap) {
                break;
            }
            left -= u64::from(*count);
            free = Some(end_of(part));
        }
        free.filter(|free| *free > now)
    }

    /// Counts of a clock that was ahead are as of `now`.
    pub(crate) fn clamp(&mut self, now: Timestamp) {
        let last = part_of(now);
        let most = usize::try_from(PARTS).unwrap_or(usize::MAX) + 1;
        if self.0 > last {
            let all = self
                .1
                .iter()
                .fold(0, |all: u32, count| all.saturating_add(*count));
            *self = Self(last, vec![all]);
        }
        let ahead = (last - self.0 + 1).min(most as u64) as usize;
        if self.1.len() > ahead {
            let late = self.1.split_off(ahead);
            let late = late.into_iter().fold(0, u32::saturating_add);
            if let Some(count) = self.1.last_mut() {
                *count = count.saturating_add(late);
            }
        }
    }
}

fn part_of(at: Timestamp) -> u64 {
    at.as_secs() / PART.as_secs()
}

/// When a departure of this part does not count any more.
fn end_of(part: u64) -> Timestamp {
    Timestamp::from_secs((part + 1 + PARTS).saturating_mul(PART.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_secs(1_700_000_000);
    const HOUR: Duration = Duration::from_secs(3_600);

    #[test]
    fn never_do_more_than_the_cap_depart_within_a_day() {
        for (cap, pause) in [(1, 1), (10, 600), (100, 863), (100, 865), (7, 40_000)] {
            let (mut day, mut now) = (Day::default(), START);
            let mut departures: Vec<Timestamp> = Vec::new();
            for _ in 0..500 {
                now = now.after(Duration::from_secs(pause));
                if let Some(free) = day.free_at(cap, now) {
                    now = free;
                    assert_eq!(day.free_at(cap, now), None, "when it says");
                }
                day.depart(now);
                departures.push(now);
                assert!(day.1.len() <= 9);
            }
            for window in departures.windows(cap as usize + 1) {
                let span = window[cap as usize].since(window[0]);
                assert!(span >= 24 * HOUR, "{cap} every {pause} s: {span:?}");
                if pause == 1 {
                    assert!(span <= 28 * HOUR, "{span:?}");
                }
            }
        }
    }

    #[test]
    fn a_clock_that_was_ahead_neither_frees_nor_holds_for_longer_than_a_day() {
        let mut day = Day::default();
        for hours in [0, 400] {
            (0..3).for_each(|_| day.depart(START.after(hours * HOUR)));
        }
        day.clamp(START);
        let free = day.free_at(3, START).unwrap();
        assert!(free.since(START) <= 27 * HOUR, "{free:?}");
        assert_eq!(day.free_at(3, free), None);
        day.clamp(free.after(1_000 * HOUR));
        assert_eq!(day.free_at(1, free.after(1_000 * HOUR)), None);
        let stored = serde_json::to_string(&day).unwrap();
        assert_eq!(serde_json::from_str::<Day>(&stored).unwrap(), day);
    }
}
