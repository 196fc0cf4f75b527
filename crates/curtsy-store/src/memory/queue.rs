//! The reference for [`Queue`].

use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use curtsy_core::Timestamp;

use super::job::{Held, Job};
use super::lock;
use crate::error::StoreError;
use crate::queue::{
    Counts, Cursor, Enqueued, Lease, LeaseToken, LeasedScope, NewUrl, Page, Queue, Rest,
    ScopeCounts, Settled, Settlement, UrlId, UrlRecord,
};

/// A [`Queue`] within one process; every URL of the job stays in memory.
#[derive(Debug, Default)]
pub struct MemoryQueue {
    job: Mutex<Job>,
}

impl MemoryQueue {
    /// A queue of no URLs.
    pub fn new() -> Self {
        Self::default()
    }
}

#[async_trait]
impl Queue for MemoryQueue {
    async fn enqueue(&self, urls: Vec<NewUrl>) -> Result<Enqueued, StoreError> {
        let job = &mut *lock(&self.job);
        let mut enqueued = Enqueued::default();
        for new in urls {
            if job.add(new) {
                enqueued.added += 1;
            } else {
                enqueued.duplicates += 1;
            }
        }
        Ok(enqueued)
    }

    async fn lease_due(
        &self,
        worker: &str,
        scopes: usize,
        page: usize,
        length: Duration,
        now: Timestamp,
    ) -> Result<Vec<LeasedScope>, StoreError> {
        let job = &mut *lock(&self.job);
        job.end_leases(|held| held.until <= now);
        let due: Vec<usize> = job
            .ready
            .range(..=(now, usize::MAX))
            .take(scopes)
            .map(|(_, scope)| *scope)
            .collect();
        let mut leased = Vec::with_capacity(due.len());
        for scope in due {
            job.last_token += 1;
            let mut lease = Lease {
                scope: job.scopes[scope].name.clone(),
                token: LeaseToken(job.last_token),
                until: now.after(length),
                cursor: Cursor::default(),
            };
            let urls = job.page(scope, &mut lease.cursor, page, now);
            job.scopes[scope].parked = None;
            job.scopes[scope].held = Some(Held {
                token: lease.token,
                worker: worker.to_owned(),
                until: lease.until,
            });
            job.refresh(scope);
            leased.push(LeasedScope { lease, urls });
        }
        Ok(leased)
    }

    async fn more(
        &self,
        lease: &mut Lease,
        page: usize,
        now: Timestamp,
    ) -> Result<Page, StoreError> {
        let job = lock(&self.job);
        let Some(scope) = job.leased(lease) else {
            return Ok(Page::Lost);
        };
        Ok(Page::Urls(job.page(scope, &mut lease.cursor, page, now)))
    }

    async fn renew(
        &self,
        leases: &[Lease],
        length: Duration,
        now: Timestamp,
    ) -> Result<Vec<LeaseToken>, StoreError> {
        let job = &mut *lock(&self.job);
        let mut lost = Vec::new();
        for lease in leases {
            match job.leased(lease) {
                Some(scope) => {
                    if let Some(held) = &mut job.scopes[scope].held {
                        held.until = now.after(length);
                    }
                }
                None => lost.push(lease.token),
            }
        }
        Ok(lost)
    }

    async fn release(&self, released: Vec<(Lease, Rest)>) -> Result<(), StoreError> {
        let job = &mut *lock(&self.job);
        for (lease, rest) in released {
            job.release(&lease, rest);
        }
        Ok(())
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Settled, StoreError> {
        let job = &mut *lock(&self.job);
        let mut settled = Settled::default();
        for settlement in settlements {
            let id = settlement.id();
            if job.settle(settlement) {
                settled.recorded += 1;
            } else {
                settled.stale.push(id);
            }
        }
        Ok(settled)
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(lock(&self.job).ready.first().map(|(due, _)| *due))
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        let job = lock(&self.job);
        let mut counts = Counts::default();
        for scope in &job.scopes {
            let of_scope = scope.counts();
            counts.pending += of_scope.pending;
            counts.deferred += of_scope.deferred;
            counts.leased_scopes += u64::from(scope.held.is_some());
            for (outcome, number) in of_scope.finished {
                *counts.finished.entry(outcome).or_default() += number;
            }
        }
        Ok(counts)
    }

    async fn scope_counts(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<ScopeCounts>, StoreError> {
        let job = lock(&self.job);
        Ok(job
            .scopes_by_name
            .iter()
            .filter(|(name, _)| after.is_none_or(|after| name.as_str() > after))
            .take(limit)
            .map(|(_, scope)| job.scopes[*scope].counts())
            .collect())
    }

    async fn records(
        &self,
        after: Option<UrlId>,
        limit: usize,
    ) -> Result<Vec<UrlRecord>, StoreError> {
        let after = after.map_or(0, |id| id.0);
        Ok(lock(&self.job).records(after, limit))
    }

    async fn reopen(&self, outcomes: &[&str]) -> Result<u64, StoreError> {
        Ok(lock(&self.job).reopen(outcomes))
    }

    async fn take_over(&self, worker: &str) -> Result<u64, StoreError> {
        Ok(lock(&self.job).end_leases(|held| held.worker == worker))
    }

    async fn meta(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(lock(&self.job).meta.get(name).cloned())
    }

    async fn set_meta(&self, entries: Vec<(String, Vec<u8>)>) -> Result<(), StoreError> {
        lock(&self.job).meta.extend(entries);
        Ok(())
    }
}
