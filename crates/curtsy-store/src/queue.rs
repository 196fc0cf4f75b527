//! The trait of a job's queue of URLs, and its words.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use curtsy_core::Timestamp;

use crate::error::StoreError;
use crate::shared_clock::SharedClock;
use crate::watch::Watch;

/// The most URLs that one lease or one page hands out.
pub const MAX_PAGE: usize = 32;

/// The URLs of one job, each waiting until it is finished, grouped into scopes.
///
/// A worker leases a *scope*: until the lease ends, no other worker is handed URLs of it, so that one
/// worker paces it. The queue does not note which URLs were handed out. Whatever is not settled when a
/// lease is released, taken over or has run out is handed out again.
///
/// Within a scope the order is: URLs that were never deferred in input order, then those whose
/// deferral has passed, earliest first. Scopes come up in the order of the instant from which they are
/// due; those that are due from the beginning come first, in input order.
///
/// What is acknowledged survives the end of the process; a driver whose medium can lose power keeps
/// its acknowledgement until that cannot undo it either. A call whose future was dropped has been
/// carried out wholly or not at all; a dropped [`lease_due`](Self::lease_due) leaves no lease behind
/// longer than `length`.
#[async_trait]
pub trait Queue: Send + Sync + fmt::Debug {
    /// Adds URLs in this order, except those whose key the job has already, whatever became of them:
    /// adding the same input again is harmless. Batches of some ten thousand are cheapest in a job of a
    /// million.
    async fn enqueue(&self, urls: Vec<NewUrl>) -> Result<Enqueued, StoreError>;

    /// Of a shared job: says that this worker may add URLs until then, or none any more.
    async fn feed(&self, _worker: &str, _until: Option<Timestamp>) -> Result<(), StoreError> {
        Ok(())
    }

    /// Leases up to `scopes` scopes that have something due and that nobody else has, until
    /// `now + length`, each with its first `page` (1 to [`MAX_PAGE`]) due URLs.
    ///
    /// `now` is by [`Queue::clock`] where that is given.
    async fn lease_due(
        &self,
        worker: &str,
        scopes: usize,
        page: usize,
        length: Duration,
        now: Timestamp,
    ) -> Result<Vec<LeasedScope>, StoreError>;

    /// The next `page` (1 to [`MAX_PAGE`]) due URLs of a leased scope after those that this lease was
    /// handed before. `lease` moves on only when the answer has arrived.
    async fn more(
        &self,
        lease: &mut Lease,
        page: usize,
        now: Timestamp,
    ) -> Result<Page, StoreError>;

    /// Makes these leases last until `now + length`; returns those that are no longer this worker's.
    async fn renew(
        &self,
        leases: &[Lease],
        length: Duration,
        now: Timestamp,
    ) -> Result<Vec<LeaseToken>, StoreError>;

    /// Gives scopes back, all of them or none. Nothing happens to one whose lease was lost.
    async fn release(&self, released: Vec<(Lease, Rest)>) -> Result<(), StoreError>;

    /// Records what became of URLs, all of it or nothing. Whoever held the lease, the first end of a
    /// URL stands: what comes later is not recorded and told as stale.
    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Settled, StoreError>;

    /// The instant from which [`lease_due`](Self::lease_due) has something to hand out that is not
    /// leased now: past where something is due, `None` where nothing waits outside the leases.
    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError>;

    /// Where the job's URLs stand.
    async fn counts(&self) -> Result<Counts, StoreError>;

    /// Where the URLs of each scope stand, in byte order of the scopes' names, at most `limit` of
    /// those after `after`.
    async fn scope_counts(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<ScopeCounts>, StoreError>;

    /// Every URL of the job with its last manifest line, in input order, at most `limit` of those
    /// after `after`.
    async fn records(
        &self,
        after: Option<UrlId>,
        limit: usize,
    ) -> Result<Vec<UrlRecord>, StoreError>;

    /// Makes the URLs that ended with one of these outcomes wait again, with no attempts, and says how
    /// many they were. A URL's line stays and is handed out with it, until it is settled anew. It reads
    /// all results once.
    async fn reopen(&self, outcomes: &[&str]) -> Result<u64, StoreError>;

    /// Ends all leases of this worker and says how many there were: for one that knows, by an exclusive
    /// lock, that whoever had its name before is gone.
    async fn take_over(&self, worker: &str) -> Result<u64, StoreError>;

    /// A small value of this worker's in the job, such as where its audit log stands.
    async fn meta(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// Sets small values of this worker's, all of them or none.
    async fn set_meta(&self, entries: Vec<(String, Vec<u8>)>) -> Result<(), StoreError>;

    /// Whether workers of other directories work on this job too.
    fn is_shared(&self) -> bool {
        false
    }

    /// What there is to wait for in a shared job, all of the same moment.
    async fn horizon(&self) -> Result<Horizon, StoreError> {
        Ok(Horizon {
            due: self.next_due().await?,
            lease_end: None,
        })
    }

    /// Tells when something may have become due, or the job is done or cancelled; `None` where nobody else
    /// works on it.
    fn watch(&self) -> Option<Watch> {
        None
    }

    /// The clock that all workers of this job go by; `None` where that is the caller's own.
    fn clock(&self) -> Option<Arc<SharedClock>> {
        None
    }
}

/// A URL to be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewUrl {
    /// What it is paced with.
    pub scope: String,
    /// The URL, handed back as it is.
    pub url: String,
    /// What makes it the same URL as another; the URL itself where `None`.
    pub key: Option<String>,
    /// The file that its body is to be written to, where the input named one.
    pub out: Option<String>,
    /// The request headers of its own, as JSON, where the input named some.
    pub headers: Option<String>,
}

/// What [`Queue::enqueue`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Enqueued {
    /// So many were new.
    pub added: u64,
    /// So many were there already.
    pub duplicates: u64,
}

/// One URL of a job; the order is that of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UrlId(pub u64);

/// A URL that is handed out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedUrl {
    /// What it is settled by.
    pub id: UrlId,
    /// As it was enqueued.
    pub url: String,
    /// As it was enqueued.
    pub out: Option<String>,
    /// As it was enqueued.
    pub headers: Option<String>,
    /// The attempts recorded by the last [`Settlement::Retry`], 0 at first.
    pub attempts: u32,
    /// The manifest line of its last settlement, where it was deferred or reopened.
    pub line: Option<String>,
}

/// A scope that was leased, with its first page of URLs: one or more.
#[derive(Clone, Debug)]
pub struct LeasedScope {
    /// The lease.
    pub lease: Lease,
    /// The first URLs.
    pub urls: Vec<QueuedUrl>,
}

/// The right to fetch the URLs of a scope, and how far into them its pages have come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub(crate) scope: String,
    pub(crate) token: LeaseToken,
    pub(crate) until: Timestamp,
    pub(crate) cursor: Cursor,
}

impl Lease {
    /// The scope.
    pub fn scope(&self) -> &str {
        &self.scope
    }

    /// Which lease of the job this is; no two have the same.
    pub fn token(&self) -> LeaseToken {
        self.token
    }

    /// When it was to end as it was leased; a renewal is not counted in.
    pub fn until(&self) -> Timestamp {
        self.until
    }
}

/// Names one lease of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseToken(pub u64);

/// How far a lease's pages have come. The two kinds need a place each, since a URL may be added while
/// deferred ones are already handed out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// The last one handed out that was never deferred.
    pub(crate) fresh: u64,
    /// The last deferred one handed out: when it was due, and which it was.
    pub(crate) deferred: (u64, u64),
}

/// What [`Queue::more`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Page {
    /// The next URLs; none where nothing else is due now.
    Urls(Vec<QueuedUrl>),
    /// The lease ran out and was taken over, or was released.
    Lost,
}

/// What [`Queue::release`] says of a scope's waiting URLs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rest {
    /// They are due from this instant on, each by its own deferral too. `Timestamp::EPOCH` puts the
    /// scope in front of all others.
    Due(Timestamp),
    /// They count as deferred for this reason until then, without a write for each.
    Parked {
        /// When the scope is due again.
        until: Timestamp,
        /// Why, as [`UrlState::Deferred`] tells it.
        reason: String,
    },
}

/// What became of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// It is done with, one way or the other.
    Finished {
        /// Which URL.
        id: UrlId,
        /// How it ended, in one word that [`Queue::counts`] counts by.
        outcome: String,
        /// Its line of the manifest.
        line: String,
    },
    /// It waits in the low-priority queue.
    Deferred {
        /// Which URL.
        id: UrlId,
        /// When it is due again.
        not_before: Timestamp,
        /// Why, in one word.
        reason: String,
        /// Its line of the manifest for now.
        line: String,
    },
    /// It was tried and goes on waiting: its lease keeps it, or the next one is handed it.
    Retry {
        /// Which URL.
        id: UrlId,
        /// So many attempts were made of it in all.
        attempts: u32,
    },
}

impl Settlement {
    /// Which URL it is about.
    pub fn id(&self) -> UrlId {
        match self {
            Self::Finished { id, .. } | Self::Deferred { id, .. } | Self::Retry { id, .. } => *id,
        }
    }
}

/// What there is to wait for in a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Horizon {
    /// As [`Queue::next_due`].
    pub due: Option<Timestamp>,
    /// When the first of those who hold a lease or add URLs is given up, unless it goes on; `None` also
    /// where the job is not shared.
    pub lease_end: Option<Timestamp>,
}

/// What [`Queue::settle`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// So many settlements were recorded.
    pub recorded: u64,
    /// These URLs had ended before, or are not of this job, and stay as they were.
    pub stale: Vec<UrlId>,
}

/// Where the URLs of a job stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Waiting or in the hands of a worker.
    pub pending: u64,
    /// Deferred one by one, or waiting in a parked scope; a deferral that has passed counts until the
    /// URL is settled.
    pub deferred: u64,
    /// Done with, by outcome.
    pub finished: BTreeMap<String, u64>,
    /// Scopes that are leased, also where the lease has run out and nobody took it over yet.
    pub leased_scopes: u64,
}

impl Counts {
    /// All URLs of the job.
    pub fn total(&self) -> u64 {
        self.pending + self.deferred + self.finished.values().sum::<u64>()
    }
}

/// Where the URLs of one scope stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeCounts {
    /// The scope.
    pub scope: String,
    /// Waiting or in the hands of a worker.
    pub pending: u64,
    /// As [`Counts::deferred`].
    pub deferred: u64,
    /// Done with, by outcome.
    pub finished: BTreeMap<String, u64>,
    /// The worker that has it.
    pub worker: Option<String>,
}

/// A URL of the job with all that is recorded of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlRecord {
    /// Which URL.
    pub id: UrlId,
    /// Its scope.
    pub scope: String,
    /// As it was enqueued.
    pub url: String,
    /// As it was enqueued.
    pub out: Option<String>,
    /// The attempts recorded by the last [`Settlement::Retry`].
    pub attempts: u32,
    /// Where it stands.
    pub state: UrlState,
    /// Its manifest line, where it was settled with one.
    pub line: Option<String>,
}

/// Where a URL stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UrlState {
    /// It waits or is in the hands of a worker.
    Pending,
    /// It waits for an instant, by itself or with its scope.
    Deferred {
        /// When it is due again.
        not_before: Timestamp,
        /// Why.
        reason: String,
    },
    /// It is done with.
    Finished {
        /// How it ended.
        outcome: String,
    },
}
