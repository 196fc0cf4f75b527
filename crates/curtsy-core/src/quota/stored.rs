//! How a quota is written in a stored state: one list, times as distances from a known one.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Bracket, Quota};
use crate::Timestamp;
use crate::time::Offset;

const ROLLING: u16 = 1;
const UNREAD: u16 = 2;
const OVERLONG: u16 = 4;
const WHOLE: u16 = 8;
const DOUBTFUL: u16 = 16;
const STEERS: u16 = 32;
/// Above the flags stand the number of hasty resets and the roundings.
const HASTY: u16 = 64;
const ROUNDINGS: u16 = 256;

/// A [`Quota`] as JSON has it.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredQuota(
    String,
    /// Limit, window in microseconds, remaining.
    (Option<u64>, Option<u64>, Option<u64>),
    /// Uncounted, and how many departures before the last one it was read by.
    (u64, u64),
    /// Flags, hasty resets and roundings.
    u16,
    /// The bracket's low end, and its high end from there.
    Option<(Offset, Offset)>,
    /// Counted at, opened, opened after.
    (Offset, Offset, Option<Offset>),
);

impl StoredQuota {
    pub(crate) fn of(quota: Quota, base: Timestamp, departures: u64) -> Self {
        let flags: u16 = [
            (quota.rolling, ROLLING),
            (quota.unread, UNREAD),
            (quota.overlong, OVERLONG),
            (quota.whole, WHOLE),
            (quota.doubtful, DOUBTFUL),
            (quota.steers, STEERS),
        ]
        .into_iter()
        .filter_map(|(is_set, flag)| is_set.then_some(flag))
        .sum();
        let roundings = quota.reset.map_or(0, |reset| reset.roundings.bits());
        Self(
            quota.key,
            (
                quota.limit,
                quota
                    .window
                    .map(|window| u64::try_from(window.as_micros()).unwrap_or(u64::MAX)),
                quota.remaining,
            ),
            (quota.uncounted, departures.wrapping_sub(quota.read_by)),
            flags + u16::from(quota.hasty.min(3)) * HASTY + u16::from(roundings) * ROUNDINGS,
            quota.reset.map(|reset| {
                (
                    Offset::of(reset.low, base),
                    Offset::of(reset.high, reset.low),
                )
            }),
            (
                Offset::of(quota.counted_at, base),
                Offset::of(quota.opened, base),
                quota
                    .opened_after
                    .map(|after| Offset::of(after, quota.opened)),
            ),
        )
    }

    pub(crate) fn restore(self, base: Timestamp, departures: u64) -> Quota {
        let Self(
            key,
            (limit, window, remaining),
            (uncounted, read_ago),
            flags,
            reset,
            (counted_at, opened, opened_after),
        ) = self;
        let opened = opened.from(base);
        Quota {
            key,
            limit,
            window: window.map(Duration::from_micros),
            remaining,
            reset: reset.map(|(low, width)| {
                let low = low.from(base);
                Bracket {
                    low,
                    high: width.from(low),
                    roundings: super::bracket::Roundings::of_bits(flags / ROUNDINGS),
                }
            }),
            rolling: flags & ROLLING != 0,
            steers: flags & STEERS != 0,
            overlong: flags & OVERLONG != 0,
            whole: flags & WHOLE != 0,
            doubtful: flags & DOUBTFUL != 0,
            hasty: (flags / HASTY % 4) as u8,
            unread: flags & UNREAD != 0,
            uncounted,
            read_by: departures.wrapping_sub(read_ago),
            counted_at: counted_at.from(base),
            opened,
            opened_after: opened_after.map(|after| after.from(opened)),
        }
    }
}
