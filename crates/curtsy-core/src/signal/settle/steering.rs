//! Which quota steers, what it states, and what it is known by.

use std::cmp::{Ordering, Reverse};
use std::fmt::Write;
use std::time::Duration;

use super::super::Figures;
use super::super::ledger::{Entry, IETF};
use super::super::name::QuotaKey;

/// The most restrictive first: those that are used up (the latest or an unknown reset first), then by
/// what they leave or allow for each second, a known remainder before an unknown one. What does not
/// steer comes last.
pub(super) fn order(one: &Entry<'_>, other: &Entry<'_>) -> Ordering {
    let rank = |entry: &Entry<'_>| {
        let reset = entry.reset.map_or(Duration::MAX, |reset| reset.after);
        let held = entry.is_exhausted().then_some(reset);
        (!entry.steers(), Reverse(held))
    };
    let rate = |entry: &Entry<'_>| rate(entry).unwrap_or(f64::INFINITY);
    let remaining = |entry: &Entry<'_>| entry.remaining.unwrap_or(u64::MAX);
    rank(one)
        .cmp(&rank(other))
        .then_with(|| rate(one).total_cmp(&rate(other)))
        .then_with(|| remaining(one).cmp(&remaining(other)))
}

/// The figures as stated.
pub(super) fn figures(entry: &Entry<'_>) -> Figures {
    let (limit, window) = match entry.stated_rate {
        Some((rate, interval)) => (Some(rate), Some(interval)),
        None => (entry.limit.map(|limit| limit as f64), entry.window),
    };
    Figures {
        limit,
        remaining: entry.remaining,
        reset: entry.reset.map(|reset| reset.after),
        window,
    }
}

/// What tells a quota from response to response: its name in its family, or the family with its
/// limit. The names of the IETF drafts stand for themselves.
pub(super) fn key(entry: &Entry<'_>, tag: Option<&str>) -> QuotaKey {
    let mut key = String::with_capacity(32);
    if let Some(name) = &entry.name {
        if entry.family != IETF {
            key.push_str(entry.family);
            key.push(':');
        }
        key.push_str(name);
        if let Some(partition) = entry.partition {
            let _ = write!(key, "#{partition:016x}");
        }
        return QuotaKey::new(key);
    }
    key.push_str(entry.family);
    if let Some(limit) = entry.limit {
        let _ = write!(key, ":{limit}");
    }
    if let Some(window) = entry.window.filter(|_| !entry.is_counted()) {
        let _ = write!(key, ";w={}", window.as_secs());
    }
    if let Some(tag) = tag {
        key.push(':');
        key.push_str(tag);
    }
    QuotaKey::new(key)
}

/// What is left, or allowed, for each second.
fn rate(entry: &Entry<'_>) -> Option<f64> {
    let span = match entry.reset {
        Some(reset) if !reset.after.is_zero() => Some(reset.after),
        _ => entry.window,
    };
    match (entry.remaining, span) {
        (Some(left), Some(span)) => Some(left as f64 / span.as_secs_f64()),
        _ => Some(entry.limit? as f64 / entry.window?.as_secs_f64()),
    }
}
