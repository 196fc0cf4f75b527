//! Joining what different fields tell of one quota.

use super::super::ledger::{Entry, IETF, Origin};
use super::super::name::Unit;
use super::steering;

/// Joins lone resets, families that tell the same, and quota lists.
pub(super) fn join(entries: &mut Vec<Entry<'_>>) {
    if entries.len() > 1 {
        lend_reset(entries);
        merge_families(entries);
        spread_windows(entries);
    }
}

/// A reset that a family tells alone (Contentful) goes to its quotas that are used up, or else to the
/// one that would steer.
fn lend_reset(entries: &mut Vec<Entry<'_>>) {
    let is_lone_reset = |entry: &Entry<'_>| {
        entry.is_nameless()
            && entry.reset.is_some()
            && entry.limit.is_none()
            && entry.remaining.is_none()
            && entry.window.is_none()
    };
    let Some(lone) = entries.iter().position(is_lone_reset) else {
        return;
    };
    let (family, reset, field) = {
        let lone = &entries[lone];
        (lone.family, lone.reset, lone.reset_field)
    };
    let mut takers: Vec<&mut Entry<'_>> = entries
        .iter_mut()
        .filter(|entry| entry.family == family && entry.name.is_some() && entry.reset.is_none())
        .collect();
    if takers.is_empty() {
        return;
    }
    takers.sort_by(|a, b| steering::order(a, b));
    for (rank, taker) in takers.into_iter().enumerate() {
        if rank == 0 || taker.is_exhausted() {
            taker.reset = reset;
            taker.reset_field = field;
            taker.is_reset_lent = true;
        }
    }
    entries.remove(lone);
}

/// Families that tell the same limit in different generations of fields are one policy: the smaller
/// remainder, the longer reset. A nameless one goes into the other.
fn merge_families(entries: &mut Vec<Entry<'_>>) {
    let mut at = 0;
    while at < entries.len() {
        let one = &entries[at];
        let is_twin = |other: &Entry<'_>| {
            // Of two nameless ones the drafts' own fields stay.
            let is_other =
                other.name.is_some() || (other.family != one.family && one.family != IETF);
            let is_limit_same = match (one.limit, other.limit) {
                (Some(one), Some(other)) => one == other,
                // Two nameless trios, one of them without a limit, are about the same quota.
                _ => other.is_nameless(),
            };
            is_other && is_limit_same && other.is_counted() && other.unit == Unit::Requests
        };
        let twin = one
            .is_nameless()
            .then(|| entries.iter().position(is_twin))
            .flatten();
        let Some(twin) = twin else {
            at += 1;
            continue;
        };
        let gone = entries.remove(at);
        merge(&mut entries[if twin > at { twin - 1 } else { twin }], gone);
    }
}

fn merge<'h>(kept: &mut Entry<'h>, gone: Entry<'h>) {
    kept.limit = kept.limit.or(gone.limit);
    kept.window = kept.window.or(gone.window);
    kept.stated_rate = kept.stated_rate.or(gone.stated_rate);
    if let Some(reset) = gone.reset {
        kept.reset_at(reset, gone.reset_field);
    }
    kept.remaining = match (kept.remaining, gone.remaining) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    };
    if let (Some(left), Some(limit)) = (kept.remaining, kept.limit) {
        kept.remaining = Some(left.min(limit));
    }
}

/// A quota list gives the trio beside it the window of its own policy; the trio steers.
fn spread_windows(entries: &mut [Entry<'_>]) {
    let (mut counted, mut listed): (Vec<_>, Vec<_>) =
        entries.iter_mut().partition(|entry| entry.is_counted());
    if listed.is_empty() {
        return;
    }
    let mut has_counters = false;
    for entry in counted.iter_mut().filter(|entry| entry.is_nameless()) {
        has_counters = true;
        let own = listed.iter().find(|policy| policy.limit == entry.limit);
        // A server may lower the limit for the moment and leave its only policy as it was.
        let only = listed
            .first()
            .filter(|policy| listed.len() == 1 && policy.family == entry.family);
        entry.window = entry
            .window
            .or(own.or(only).and_then(|policy| policy.window));
    }
    if has_counters {
        for policy in &mut listed {
            policy.origin = Origin::ListBesideCounters;
        }
    }
}
