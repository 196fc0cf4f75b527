//! Concluding from what the fields say: which figures are sane, which quota steers, which wait holds.
//!
//! A doubt is settled on the slower side, and a figure that cannot be used is unknown, never zero and
//! never without bound.

mod check;
mod join;
mod policies;
mod steering;
mod wait;

use super::ledger::Ledger;
use super::name::QuotaKey;
use super::{Quota, Signal};

/// Concludes; `speaks_of_limits` tells whether the body of a 403 does.
pub(super) fn settle(
    mut ledger: Ledger<'_>,
    status: u16,
    speaks_of_limits: impl FnOnce() -> bool,
) -> Signal {
    check::check(&mut ledger, status);
    join::join(&mut ledger.entries);
    let policies = policies::list(&ledger.entries);
    if ledger.entries.len() > 1 {
        ledger.entries.sort_by(steering::order);
    }
    let explicit = wait::explicit(&ledger);
    let wait = wait::settle(&mut ledger, status, speaks_of_limits);
    let steers = ledger.entries.first().filter(|entry| entry.steers());
    Signal {
        wait,
        explicit,
        figures: steers.map(steering::figures).unwrap_or_default(),
        quotas: quotas(&ledger),
        policies,
        ignored: ledger.ignored,
    }
}

fn quotas(ledger: &Ledger<'_>) -> Vec<Quota> {
    let mut quotas: Vec<Quota> = Vec::with_capacity(ledger.entries.len());
    for entry in &ledger.entries {
        let is_told = |quota: &Quota| {
            quota.unit == entry.unit && quota.limit == entry.limit && quota.window == entry.window
        };
        // A policy of a list that the counters before it tell as well.
        if !entry.is_counted() && quotas.iter().any(is_told) {
            continue;
        }
        let mut name = steering::key(entry, ledger.tag);
        while quotas.iter().any(|quota| quota.name == name) {
            name = QuotaKey::new(format!("{name}'"));
        }
        quotas.push(Quota {
            name,
            unit: entry.unit,
            limit: entry.limit,
            remaining: entry.remaining,
            reset: entry.reset,
            window: entry.window,
        });
    }
    quotas
}
