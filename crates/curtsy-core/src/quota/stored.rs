//! How a quota is written in a stored state: one list, times as distances from a known one.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::bracket::Roundings;
use super::{Bracket, Quota};
use crate::Timestamp;
use crate::signal::Form;
use crate::time::Offset;

const ROLLING: u32 = 1;
const UNREAD: u32 = 2;
const OVERLONG: u32 = 4;
const WHOLE: u32 = 8;
const DOUBTFUL: u32 = 16;
const STEERS: u32 = 32;
const PARTIAL: u32 = 64;
const ODD: u32 = 128;
/// Above the flags stand the number of hasty resets and the roundings.
const HASTY: u32 = 256;
const ROUNDINGS: u32 = 1_024;

/// Above those, how resets are named.
const DELAYS: u32 = 8_192;
const INSTANTS: u32 = 16_384;
const OTHERWISE: u32 = 32_768;
const FRESH: u32 = 65_536;

/// A [`Quota`] as JSON has it. All times are in milliseconds.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredQuota(
    /// Its key.
    String,
    /// Its limit.
    Option<u64>,
    /// Its window.
    Option<u64>,
    /// What is left of it.
    Option<u64>,
    /// How many departures are not counted in that.
    u64,
    /// How many departures before the last one it was read by.
    u64,
    /// Flags, hasty resets and roundings.
    u32,
    /// The low end of its reset's bracket.
    Option<Offset>,
    /// The high end, from the low one.
    Offset,
    /// When it was last counted.
    Offset,
    /// When it opened.
    Offset,
    /// When it had not opened yet, from when it had.
    Option<Offset>,
);

impl StoredQuota {
    pub(crate) fn of(quota: Quota, base: Timestamp, departures: u64) -> Self {
        let flags: u32 = [
            (quota.rolling, ROLLING),
            (quota.unread, UNREAD),
            (quota.overlong, OVERLONG),
            (quota.odd, ODD),
            (quota.whole == Some(true), WHOLE),
            (quota.whole == Some(false), PARTIAL),
            (quota.doubtful, DOUBTFUL),
            (quota.steers, STEERS),
            (quota.form == Some(Form::Delay), DELAYS),
            (quota.form == Some(Form::Instant), INSTANTS),
            (quota.is_form_doubtful, OTHERWISE),
            (quota.fresh, FRESH),
        ]
        .into_iter()
        .filter_map(|(is_set, flag)| is_set.then_some(flag))
        .sum();
        let roundings = quota.reset.map_or(0, |reset| reset.roundings.bits());
        let window = |window: Duration| u64::try_from(window.as_millis()).unwrap_or(u64::MAX);
        let width = quota.reset.map_or(base, |reset| reset.high);
        Self(
            quota.key,
            quota.limit,
            quota.window.map(window),
            quota.remaining,
            quota.uncounted,
            departures.wrapping_sub(quota.read_by),
            flags + u32::from(quota.hasty.min(3)) * HASTY + u32::from(roundings) * ROUNDINGS,
            quota.reset.map(|reset| Offset::of_millis(reset.low, base)),
            Offset::of_millis(width, quota.reset.map_or(base, |reset| reset.low)),
            Offset::of_millis(quota.counted_at, base),
            Offset::of_millis(quota.opened, base),
            quota
                .opened_after
                .map(|after| Offset::of_millis(after, quota.opened)),
        )
    }

    pub(crate) fn restore(self, base: Timestamp, departures: u64) -> Quota {
        let Self(
            key,
            limit,
            window,
            remaining,
            uncounted,
            read_ago,
            flags,
            low,
            width,
            counted_at,
            opened,
            opened_after,
        ) = self;
        let opened = opened.millis_from(base);
        Quota {
            key,
            limit,
            window: window.map(Duration::from_millis),
            remaining,
            reset: low.map(|low| {
                let low = low.millis_from(base);
                Bracket {
                    low,
                    high: width.millis_from(low),
                    roundings: Roundings::of_bits((flags / ROUNDINGS) as u16),
                }
            }),
            rolling: flags & ROLLING != 0,
            steers: flags & STEERS != 0,
            odd: flags & ODD != 0,
            overlong: flags & OVERLONG != 0,
            whole: match flags & (WHOLE | PARTIAL) {
                WHOLE => Some(true),
                PARTIAL => Some(false),
                _ => None,
            },
            doubtful: flags & DOUBTFUL != 0,
            form: match flags & (DELAYS | INSTANTS) {
                DELAYS => Some(Form::Delay),
                INSTANTS => Some(Form::Instant),
                _ => None,
            },
            is_form_doubtful: flags & OTHERWISE != 0,
            fresh: flags & FRESH != 0,
            hasty: (flags / HASTY % 4) as u8,
            unread: flags & UNREAD != 0,
            uncounted,
            read_by: departures.wrapping_sub(read_ago),
            counted_at: counted_at.millis_from(base),
            opened,
            opened_after: opened_after.map(|after| after.millis_from(opened)),
        }
    }
}
