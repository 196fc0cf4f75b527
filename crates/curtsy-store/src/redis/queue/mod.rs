//! [`Queue`] in Redis.
//!
//! Every call is one script, whose work per URL does not grow with the job. What a call changes is the same
//! where it runs twice: a lease is renewed or given back by its token, and adding, leasing and settling keep
//! their answer for ten minutes under a number of the call.

mod answer;
mod argument;
mod scripts;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use curtsy_core::Timestamp;
use redis::{FromRedisValue, Value, from_redis_value};
use sha2::{Digest, Sha256};

use self::answer::{FoundUrl, Leased, Record, counts, scope_counts};
use self::argument::{digits, number, of_lease, of_settlement, optional};
use self::scripts::Scripts;
use super::link::Link;
use super::script::{Call, Script};
use super::state::PREFIX;
use crate::error::{StoreError, StoreErrorKind};
use crate::queue::{
    Counts, Cursor, Enqueued, Horizon, Lease, LeaseToken, LeasedScope, MAX_PAGE, NewUrl, Page,
    Queue, Rest, ScopeCounts, Settled, Settlement, UrlId, UrlRecord,
};
use crate::redis_url::RedisUrl;
use crate::shared_clock::SharedClock;
use crate::watch::Watch;

/// URLs of one call of a script: Redis does nothing else meanwhile, for some milliseconds.
const BATCH: usize = 500;
/// The names of all jobs.
const JOBS: &str = "curtsy:jobs";

/// The [`Queue`] of one job in a Redis that workers on many machines share.
#[derive(Clone, Debug)]
pub struct RedisQueue {
    link: Arc<Link>,
    scripts: &'static Scripts,
    /// What all keys of the job begin with.
    prefix: String,
    /// Tells it from another job that had the name before.
    id: String,
    /// Whose small values it keeps.
    worker: String,
}

impl RedisQueue {
    /// Connects to a Redis as this worker, and makes the job where there is none of this name.
    ///
    /// # Errors
    /// As [`RedisStore::open`](super::RedisStore::open).
    pub async fn open(url: &RedisUrl, job: &str, worker: &str) -> Result<Self, StoreError> {
        let link = Link::open(url).await?;
        let scripts = scripts::all();
        let prefix = prefix_of(job);
        let id = format!("{:016x}", fastrand::u64(..));
        let call = scripts.open.call(prefix.as_str()).with(&id);
        let id = read(link.call(&call).await?.value)?;
        let mut note = redis::cmd("SADD");
        link.send(note.arg(JOBS).arg(job)).await?;
        Ok(Self {
            link,
            scripts,
            prefix,
            id,
            worker: worker.to_owned(),
        })
    }

    /// The names of all jobs in a Redis, in byte order.
    ///
    /// # Errors
    /// As [`RedisStore::open`](super::RedisStore::open).
    pub async fn jobs(url: &RedisUrl) -> Result<Vec<String>, StoreError> {
        let link = Link::open(url).await?;
        let names = link.send(redis::cmd("SMEMBERS").arg(JOBS)).await?;
        let mut names: Vec<String> = read(names)?;
        names.sort_unstable();
        Ok(names)
    }

    /// Forgets a job with all its URLs and results: every later call of its workers fails with
    /// [`StoreErrorKind::Gone`]. False where there was none.
    ///
    /// # Errors
    /// As [`RedisStore::open`](super::RedisStore::open).
    pub async fn cancel(url: &RedisUrl, job: &str) -> Result<bool, StoreError> {
        let link = Link::open(url).await?;
        let call = scripts::all().cancel.call(prefix_of(job));
        let there: u64 = read(link.call(&call).await?.value)?;
        link.send(redis::cmd("SREM").arg(JOBS).arg(job)).await?;
        Ok(there == 1)
    }

    fn call_of<'a>(&self, script: &'a Script) -> Call<'a> {
        script.call(self.prefix.as_str()).with(&self.id)
    }

    /// With a number by which the script knows it when it is repeated.
    fn numbered<'a>(&self, script: &'a Script) -> Call<'a> {
        let number = format!("{:016x}", fastrand::u64(..));
        self.call_of(script).with(number)
    }

    async fn run<T: FromRedisValue>(&self, call: Call<'_>) -> Result<T, StoreError> {
        match self.link.call(&call).await?.value {
            Value::BulkString(word) if word == b"gone" => Err(StoreError::new(
                StoreErrorKind::Gone,
                "the job was cancelled",
            )),
            answer => read(answer),
        }
    }

    /// What a small value of this worker is called.
    fn own(&self, name: &str) -> String {
        format!("{}/{name}", self.worker)
    }

    /// Ends leases as if they had not been.
    async fn give_back(&self, leased: &[LeasedScope]) -> Result<(), StoreError> {
        let mut call = self.call_of(&self.scripts.release);
        for LeasedScope { lease, .. } in leased {
            call = of_lease(call, lease).with("").with("");
        }
        self.run(call).await
    }
}

#[async_trait]
impl Queue for RedisQueue {
    async fn enqueue(&self, urls: Vec<NewUrl>) -> Result<Enqueued, StoreError> {
        let mut enqueued = Enqueued::default();
        for batch in urls.chunks(BATCH) {
            let mut call = self.numbered(&self.scripts.enqueue);
            for url in batch {
                let digest = Sha256::digest(url.key.as_deref().unwrap_or(&url.url));
                call = call
                    .with(&digest[..16])
                    .with(&url.scope)
                    .with(&url.url)
                    .with(optional(url.out.as_deref()))
                    .with(optional(url.headers.as_deref()));
            }
            let (added, duplicates): (u64, u64) = self.run(call).await?;
            enqueued.added += added;
            enqueued.duplicates += duplicates;
        }
        Ok(enqueued)
    }

    async fn feed(&self, worker: &str, until: Option<Timestamp>) -> Result<(), StoreError> {
        let until = until.map(digits).unwrap_or_default();
        self.run(self.call_of(&self.scripts.feed).with(worker).with(until))
            .await
    }

    async fn lease_due(
        &self,
        worker: &str,
        scopes: usize,
        page: usize,
        length: Duration,
        now: Timestamp,
    ) -> Result<Vec<LeasedScope>, StoreError> {
        let until = now.after(length);
        let (queue, worker) = (self.clone(), worker.to_owned());
        let (answer, answered) = tokio::sync::oneshot::channel();
        // Where the caller goes away, what it was to get is given back.
        tokio::spawn(async move {
            let call = queue
                .numbered(&queue.scripts.lease)
                .with(worker)
                .with(number(scopes))
                .with(number(page.clamp(1, MAX_PAGE)))
                .with(digits(until))
                .with(digits(now));
            let leased = queue.run::<Vec<Leased>>(call).await;
            let leased: Result<Vec<LeasedScope>, _> =
                leased.map(|all| all.into_iter().map(|of| of.until(until)).collect());
            if let Err(Ok(leased)) = answer.send(leased) {
                // If this fails too, the lease ends by itself.
                let _ = queue.give_back(&leased).await;
            }
        });
        answered.await.unwrap_or_else(|_| {
            let what = "the connection to Redis was closed";
            Err(StoreError::new(StoreErrorKind::Unavailable, what))
        })
    }

    async fn more(
        &self,
        lease: &mut Lease,
        page: usize,
        now: Timestamp,
    ) -> Result<Page, StoreError> {
        let Cursor { fresh, deferred } = lease.cursor;
        let (due, id) = deferred;
        // 0 is the place of those that were never deferred.
        let behind = format!("{:020}{id:020}", due.max(1));
        let call = of_lease(self.call_of(&self.scripts.more), lease)
            .with(number(page.clamp(1, MAX_PAGE)))
            .with(format!("{fresh:020}"))
            .with(behind)
            .with(digits(now));
        match self.run(call).await? {
            Value::BulkString(_) => Ok(Page::Lost),
            found => {
                let found: Vec<FoundUrl> = read(found)?;
                found.iter().for_each(|url| url.advance(&mut lease.cursor));
                Ok(Page::Urls(
                    found.into_iter().map(|url| url.queued).collect(),
                ))
            }
        }
    }

    async fn renew(
        &self,
        leases: &[Lease],
        length: Duration,
        now: Timestamp,
    ) -> Result<Vec<LeaseToken>, StoreError> {
        let mut call = self
            .call_of(&self.scripts.renew)
            .with(digits(now.after(length)));
        for lease in leases {
            call = of_lease(call, lease);
        }
        let lost: Vec<u64> = self.run(call).await?;
        Ok(lost.into_iter().map(LeaseToken).collect())
    }

    async fn release(&self, released: Vec<(Lease, Rest)>) -> Result<(), StoreError> {
        let mut call = self.call_of(&self.scripts.release);
        for (lease, rest) in &released {
            let (before, parked) = match rest {
                Rest::Due(before) => (before, ""),
                Rest::Parked { until, reason } => (until, reason.as_str()),
            };
            call = of_lease(call, lease).with(digits(*before)).with(parked);
        }
        self.run(call).await
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Settled, StoreError> {
        let mut settled = Settled::default();
        for batch in settlements.chunks(BATCH) {
            let mut call = self.numbered(&self.scripts.settle);
            for settlement in batch {
                call = of_settlement(call, settlement);
            }
            let stale: Vec<u64> = self.run(call).await?;
            settled.recorded += (batch.len() - stale.len()) as u64;
            settled.stale.extend(stale.into_iter().map(UrlId));
        }
        Ok(settled)
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.horizon().await?.due)
    }

    async fn horizon(&self) -> Result<Horizon, StoreError> {
        let call = self.call_of(&self.scripts.tell).with("due");
        self.run(call).await
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        let call = self.call_of(&self.scripts.tell).with("counts");
        Ok(counts(self.run(call).await?))
    }

    async fn scope_counts(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<ScopeCounts>, StoreError> {
        let mut scopes: Vec<ScopeCounts> = Vec::new();
        while scopes.len() < limit {
            let after = scopes.last().map_or(after, |last| Some(&last.scope));
            // No scope has an empty name.
            let call = self
                .call_of(&self.scripts.tell)
                .with("scopes")
                .with(after.unwrap_or_default())
                .with(number(BATCH.min(limit - scopes.len())));
            let told: Vec<_> = self.run(call).await?;
            if told.is_empty() {
                break;
            }
            scopes.extend(told.into_iter().map(scope_counts));
        }
        Ok(scopes)
    }

    async fn records(
        &self,
        after: Option<UrlId>,
        limit: usize,
    ) -> Result<Vec<UrlRecord>, StoreError> {
        let mut records: Vec<UrlRecord> = Vec::new();
        let first = after.map_or(0, |id| id.0) + 1;
        while records.len() < limit {
            let from = first + records.len() as u64;
            let asked = BATCH.min(limit - records.len()) as u64;
            let call = self
                .call_of(&self.scripts.tell)
                .with("records")
                .with(from.to_string())
                .with((from + asked - 1).to_string());
            let told: Vec<Record> = self.run(call).await?;
            let is_last = (told.len() as u64) < asked;
            let told = (from..).zip(told);
            records.extend(told.map(|(id, record)| record.of(UrlId(id))));
            if is_last {
                break;
            }
        }
        Ok(records)
    }

    async fn reopen(&self, outcomes: &[&str]) -> Result<u64, StoreError> {
        let (mut from, mut reopened) = (1, 0);
        loop {
            let to = from + BATCH as u64 - 1;
            let mut call = self.call_of(&self.scripts.reopen);
            call = call.with(from.to_string()).with(to.to_string());
            for outcome in outcomes {
                call = call.with(outcome);
            }
            let (last, some): (u64, u64) = self.run(call).await?;
            reopened += some;
            if to >= last {
                return Ok(reopened);
            }
            from = to + 1;
        }
    }

    async fn take_over(&self, worker: &str) -> Result<u64, StoreError> {
        let call = self.call_of(&self.scripts.take_over).with(worker);
        self.run(call).await
    }

    async fn meta(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let call = self.call_of(&self.scripts.tell).with("meta");
        let call = call.with(self.own(name));
        let (value,) = self.run(call).await?;
        Ok(value)
    }

    async fn set_meta(&self, entries: Vec<(String, Vec<u8>)>) -> Result<(), StoreError> {
        let mut call = self.call_of(&self.scripts.set_meta);
        for (name, value) in entries {
            call = call.with(self.own(&name)).with(value);
        }
        self.run(call).await
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn clock(&self) -> Option<Arc<SharedClock>> {
        Some(Arc::clone(self.link.clock()))
    }

    fn watch(&self) -> Option<Watch> {
        Some(self.link.watch(format!("{}wake", self.prefix)))
    }
}

fn prefix_of(job: &str) -> String {
    format!("{PREFIX}{{job:{job}}}:")
}

fn read<T: FromRedisValue>(answer: Value) -> Result<T, StoreError> {
    from_redis_value(answer).map_err(super::state::damaged)
}
