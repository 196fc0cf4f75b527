//! What became of each scope: the busiest one by one, the others in all.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::time::Duration;

use curtsy_core::{Scope, Timestamp};
use curtsy_store::{Queue, ScopeCounts};
use serde::Serialize;

use super::Outcome;
use crate::error::Error;

/// Scopes that have a summary of their own.
const MOST: usize = 20;
/// Scopes that are asked of the queue at once.
const PAGE: usize = 1000;

/// What became of one scope, or of several.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ScopeSummary {
    /// Which; `None` where it is several.
    pub scope: Option<String>,
    /// How many scopes this is about.
    pub scopes: u64,
    /// URLs.
    pub total: u64,
    /// URLs by outcome, as in the summary of the whole job.
    pub outcomes: BTreeMap<String, u64>,
    /// Bytes of the bodies stored in this run.
    pub bytes: u64,
    /// URLs that ended in this run, per second from the first to the last; `None` for fewer than two, and
    /// for several scopes.
    pub rate: Option<f64>,
}

/// What this run did, by scope.
#[derive(Default)]
pub(super) struct Deeds(HashMap<Scope, Deed>);

struct Deed {
    ended: u64,
    bytes: u64,
    first: Timestamp,
    last: Timestamp,
}

impl Deeds {
    pub(super) fn note(&mut self, scope: Scope, bytes: u64, now: Timestamp) {
        let deed = self.0.entry(scope).or_insert(Deed {
            ended: 0,
            bytes: 0,
            first: now,
            last: now,
        });
        deed.ended += 1;
        deed.bytes += bytes;
        deed.last = now;
    }
}

impl Deed {
    fn rate(&self) -> Option<f64> {
        let took: Duration = self.last.since(self.first);
        (!took.is_zero()).then(|| (self.ended - 1) as f64 / took.as_secs_f64())
    }
}

/// The busiest scopes, most URLs first, and then all others in one.
pub(super) async fn of(
    queue: &dyn Queue,
    deeds: &Deeds,
    waiting: &str,
) -> Result<Vec<ScopeSummary>, Error> {
    // The least busy on top, to be replaced.
    let mut busiest: BinaryHeap<Reverse<(u64, Reverse<String>)>> = BinaryHeap::new();
    let mut kept: HashMap<String, ScopeSummary> = HashMap::new();
    let mut others = ScopeSummary::default();
    let mut after: Option<String> = None;
    loop {
        let page = queue.scope_counts(after.as_deref(), PAGE).await?;
        for counts in &page {
            let summary = summary(counts, deeds, waiting);
            busiest.push(Reverse((summary.total, Reverse(counts.scope.clone()))));
            kept.insert(counts.scope.clone(), summary);
            if busiest.len() > MOST
                && let Some(Reverse((_, Reverse(least)))) = busiest.pop()
                && let Some(least) = kept.remove(&least)
            {
                others.add(least);
            }
        }
        match page.into_iter().next_back() {
            Some(last) => after = Some(last.scope),
            None => break,
        }
    }
    let mut summaries: Vec<ScopeSummary> = kept.into_values().collect();
    summaries.sort_by(|a, b| b.total.cmp(&a.total).then_with(|| a.scope.cmp(&b.scope)));
    if others.scopes > 0 {
        summaries.push(others);
    }
    Ok(summaries)
}

fn summary(counts: &ScopeCounts, deeds: &Deeds, waiting: &str) -> ScopeSummary {
    let mut outcomes = counts.finished.clone();
    for (name, count) in [
        (waiting, counts.pending),
        (Outcome::Deferred.label(), counts.deferred),
    ] {
        if count > 0 {
            *outcomes.entry(name.to_owned()).or_default() += count;
        }
    }
    let deed = deeds.0.get(&Scope::named(&counts.scope));
    ScopeSummary {
        scope: Some(counts.scope.clone()),
        scopes: 1,
        total: outcomes.values().sum(),
        outcomes,
        bytes: deed.map_or(0, |deed| deed.bytes),
        rate: deed.and_then(Deed::rate),
    }
}

impl ScopeSummary {
    fn add(&mut self, other: Self) {
        self.scopes += other.scopes;
        self.total += other.total;
        self.bytes += other.bytes;
        for (outcome, count) in other.outcomes {
            *self.outcomes.entry(outcome).or_default() += count;
        }
    }
}
