//! Making the figures of each quota sane.

use std::time::Duration;

use super::super::LONGEST_WAIT;
use super::super::ledger::{Entry, Ledger};
use super::super::number::Count;

/// Checks every entry's figures and drops the entries that say nothing.
pub(super) fn check(ledger: &mut Ledger<'_>, status: u16) {
    let is_success = (200..300).contains(&status);
    let may_be_sentinel = is_success && ledger.wait.is_none();
    let cost = ledger.cost.filter(|cost| *cost > 1);
    ledger.entries.retain_mut(|entry| {
        if entry.is_limit_minus_one && entry.count == Some(Count::MinusOne) {
            // "No quota": neither zero nor without bound.
            return false;
        }
        flow(entry);
        entry.remaining = remaining(entry, may_be_sentinel);
        if let (Some(used), None, Some(left)) = (entry.used, entry.limit, entry.remaining) {
            entry.limit = Some(left.saturating_add(used));
        }
        if let Some(cost) = cost {
            entry.limit = entry.limit.map(|limit| limit / cost);
            entry.remaining = entry.remaining.map(|left| left / cost);
        }
        // A name's window alone says nothing: its count was unusable, or of no known limit.
        entry.limit.is_some()
            || entry.remaining.is_some()
            || entry.reset.is_some()
            || (entry.window.is_some() && entry.name.is_none())
    });
}

/// What is left: at most the limit, and what is unknown stays unknown.
fn remaining(entry: &Entry<'_>, may_be_sentinel: bool) -> Option<u64> {
    let remaining = match entry.count {
        Some(Count::Of(count)) => Some(count),
        // A gateway that lost its store says -1 and lets everything through.
        Some(Count::MinusOne) if may_be_sentinel && entry.reset.is_none() => None,
        Some(Count::MinusOne | Count::Negative) => Some(0),
        // Wrapped: full, or unknown where the limit is.
        Some(Count::Wrapped) => entry.limit,
        None => entry
            .limit
            .zip(entry.used)
            .map(|(limit, used)| limit.saturating_sub(used)),
    };
    match (remaining, entry.limit) {
        (Some(left), Some(limit)) => Some(left.min(limit)),
        (left, _) => left,
    }
}

/// What flows in per interval, as a count in a window: where the limit is told, the window in which
/// the whole of it flows in.
fn flow(entry: &mut Entry<'_>) {
    let Some(rate) = entry.fill_rate else {
        return;
    };
    let interval = entry.window.unwrap_or(Duration::from_secs(1));
    let time_for = |count: f64| {
        Duration::try_from_secs_f64(interval.as_secs_f64() * count / rate.as_f64())
            .map_or(LONGEST_WAIT, |time| time.min(LONGEST_WAIT))
    };
    if let Some(limit) = entry.limit {
        entry.window = Some(time_for(limit as f64)).filter(|window| !window.is_zero());
        return;
    }
    entry.stated_rate = Some((rate.as_f64(), interval));
    (entry.limit, entry.window) = match rate.count() {
        Some(count) if rate.nanos == 0 => (Some(count), Some(interval)),
        // One request in the time that it needs, since a count has no fractions.
        _ => (Some(1), Some(time_for(1.0)).filter(|time| !time.is_zero())),
    };
}
