//! [`Queue`] in a SQLite file.
//!
//! The work per URL does not grow with the job: every statement finds its rows by an index, and a
//! page of URLs is all that is ever read into memory. A URL's row is written when it is added and when
//! it is settled, not when it is handed out.

#[cfg(test)]
mod cost;
mod enqueue;
mod lease;
mod settle;
mod tell;

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use curtsy_core::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use super::file::Format;
use super::thread::{Later, Thread};
use crate::error::StoreError;
use crate::queue::{
    Counts, Enqueued, Lease, LeaseToken, LeasedScope, NewUrl, Page, Queue, Rest, ScopeCounts,
    Settled, Settlement, UrlId, UrlRecord,
};

/// "cuQU" in ASCII.
const APPLICATION_ID: i32 = 0x6375_5155;

const FORMAT: Format = Format {
    application_id: APPLICATION_ID,
    version: 1,
    schema: include_str!("schema.sql"),
    synchronous: "full",
    cache_kib: 64 * 1024,
};

/// A [`Queue`] in one SQLite file.
#[derive(Debug)]
pub struct SqliteQueue {
    thread: Thread,
}

impl SqliteQueue {
    /// Opens the file at `path`, or makes it and its parent directories.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        let thread = Thread::start(path, &FORMAT, false).await?;
        Ok(Self { thread })
    }

    /// So many write transactions this handle has committed.
    pub fn commits(&self) -> u64 {
        self.thread.commits()
    }

    /// Waits until all that was called before is done, and closes the file; every later call fails.
    pub async fn close(&self) {
        self.thread.close().await;
    }
}

#[async_trait]
impl Queue for SqliteQueue {
    async fn enqueue(&self, urls: Vec<NewUrl>) -> Result<Enqueued, StoreError> {
        self.thread
            .write(move |connection| enqueue::enqueue(connection, &urls))
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
        let worker = worker.to_owned();
        let later = self.thread.later();
        let leased = self
            .thread
            .write(move |connection| {
                let leased = lease::lease_due(connection, &worker, scopes, page, length, now)?;
                Ok(Unclaimed { leased, later })
            })
            .await?;
        Ok(leased.claim())
    }

    async fn more(
        &self,
        lease: &mut Lease,
        page: usize,
        now: Timestamp,
    ) -> Result<Page, StoreError> {
        let mut ahead = lease.clone();
        let (ahead, found) = self
            .thread
            .read(move |connection| {
                let found = lease::more(connection, &mut ahead, page, now)?;
                Ok((ahead, found))
            })
            .await?;
        *lease = ahead;
        Ok(found)
    }

    async fn renew(
        &self,
        leases: &[Lease],
        length: Duration,
        now: Timestamp,
    ) -> Result<Vec<LeaseToken>, StoreError> {
        let leases = leases.to_vec();
        self.thread
            .write(move |connection| lease::renew(connection, &leases, now.after(length)))
            .await
    }

    async fn release(&self, released: Vec<(Lease, Rest)>) -> Result<(), StoreError> {
        self.thread
            .write(move |connection| lease::release(connection, &released))
            .await
    }

    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Settled, StoreError> {
        self.thread
            .write(move |connection| settle::settle(connection, &settlements))
            .await
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        self.thread.read(tell::next_due).await
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        self.thread.read(tell::counts).await
    }

    async fn scope_counts(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<ScopeCounts>, StoreError> {
        let after = after.map(str::to_owned);
        self.thread
            .read(move |connection| tell::scope_counts(connection, after.as_deref(), limit))
            .await
    }

    async fn records(
        &self,
        after: Option<UrlId>,
        limit: usize,
    ) -> Result<Vec<UrlRecord>, StoreError> {
        self.thread
            .read(move |connection| tell::records(connection, after, limit))
            .await
    }

    async fn reopen(&self, outcomes: &[&str]) -> Result<u64, StoreError> {
        let outcomes: Vec<String> = outcomes.iter().map(|&outcome| outcome.to_owned()).collect();
        self.thread
            .write(move |connection| settle::reopen(connection, &outcomes))
            .await
    }

    async fn take_over(&self, worker: &str) -> Result<u64, StoreError> {
        let worker = worker.to_owned();
        self.thread
            .write(move |connection| lease::take_over(connection, &worker))
            .await
    }

    async fn meta(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let name = name.to_owned();
        self.thread
            .read(move |connection| meta(connection, &name))
            .await
    }

    async fn set_meta(&self, entries: Vec<(String, Vec<u8>)>) -> Result<(), StoreError> {
        self.thread
            .write(move |connection| set_meta(connection, &entries))
            .await
    }
}

/// Leases on their way to the caller. Where the caller has gone, they are given back.
struct Unclaimed {
    leased: Vec<LeasedScope>,
    later: Later,
}

impl Unclaimed {
    fn claim(mut self) -> Vec<LeasedScope> {
        std::mem::take(&mut self.leased)
    }
}

impl Drop for Unclaimed {
    fn drop(&mut self) {
        if self.leased.is_empty() {
            return;
        }
        let leased = std::mem::take(&mut self.leased);
        self.later.write(move |connection| {
            leased
                .iter()
                .try_for_each(|leased| lease::give_back(connection, &leased.lease))
        });
    }
}

fn meta(connection: &Connection, name: &str) -> rusqlite::Result<Option<Vec<u8>>> {
    connection
        .prepare_cached("SELECT value FROM meta WHERE name = ?1")?
        .query_row([name], |row| row.get(0))
        .optional()
}

fn set_meta(connection: &Connection, entries: &[(String, Vec<u8>)]) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO meta (name, value) VALUES (?1, ?2)
         ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    )?;
    for (name, value) in entries {
        statement.execute(params![name, value])?;
    }
    Ok(())
}

/// SQLite's integers are signed: what lies beyond them is as good as the end of time.
fn to_sql(instant: Timestamp) -> i64 {
    i64::try_from(instant.as_micros()).unwrap_or(i64::MAX)
}

fn from_sql(micros: i64) -> Timestamp {
    match u64::try_from(micros) {
        Ok(micros) if micros < i64::MAX.cast_unsigned() => Timestamp::from_micros(micros),
        Ok(_) => Timestamp::MAX,
        Err(_) => Timestamp::EPOCH,
    }
}
