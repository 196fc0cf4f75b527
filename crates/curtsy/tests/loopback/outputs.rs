//! What a job does when its disk or its queue fails.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use curtsy::core::Timestamp;
use curtsy::store::{
    Counts, Enqueued, Lease, LeaseToken, LeasedScope, MemoryQueue, NewUrl, Page, Queue, Rest,
    ScopeCounts, Settled, Settlement, StoreError, StoreErrorKind, UrlId, UrlRecord,
};
use curtsy::{ErrorKind, JobDir, JobOptions, Outcome};

use crate::support::*;

#[tokio::test]
async fn a_directory_that_cannot_be_made_or_is_taken_is_told_before_anything_departs() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = JobDir::open(&file.join("out")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Output);
    let _held = JobDir::open(dir.path()).unwrap();
    let error = JobDir::open(dir.path()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Locked);
}

#[tokio::test]
async fn a_directory_that_disappears_ends_the_job_and_hangs_nobody() {
    for gone in [".curtsy/partial", ""] {
        let origin = origin(r#"{"robots": 404, "service": {"latency_ms": 5}}"#).await;
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        let entries = (0..500)
            .map(|n| entry(origin.url(&format!("/{n}"))))
            .collect();
        let (client, path) = (client(|p| p.rate = Some(200.0)), out.clone());
        let job = tokio::spawn(async move { run_entries(client, &path, entries).await });
        while origin.arrived() < 20 {
            tokio::time::sleep(ms(2)).await;
        }
        // What is being written meanwhile may come back.
        while std::fs::remove_dir_all(out.join(gone)).is_err() {}
        let ended = tokio::time::timeout(ms(10_000), job).await;
        let error = ended.unwrap_or_else(|_| panic!("{gone:?} hangs")).unwrap();
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Output, "{gone:?}");
        assert!(origin.arrived() < 400, "{gone:?}: it went on");
    }
}

#[tokio::test]
async fn an_output_that_fails_with_the_last_url_hangs_nobody() {
    let origin = origin(r#"{"robots": 404, "page": {"latency_ms": 100}}"#).await;
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let (client, path, url) = (client(|_| ()), out.clone(), origin.url("/x"));
    let job = tokio::spawn(async move { run_entries(client, &path, vec![entry(url)]).await });
    while count(&origin, "/x") == 0 {
        tokio::time::sleep(ms(2)).await;
    }
    std::fs::remove_dir_all(out.join(".curtsy/partial")).unwrap();
    let ended = tokio::time::timeout(ms(5000), job).await.unwrap().unwrap();
    assert_eq!(ended.unwrap_err().kind(), ErrorKind::Output);
}

/// A queue that can be lost.
#[derive(Debug, Default)]
struct Flaky {
    inner: MemoryQueue,
    lost: AtomicBool,
}

impl Flaky {
    fn there(&self) -> Result<&MemoryQueue, StoreError> {
        if self.lost.load(Ordering::SeqCst) {
            return Err(StoreError::new(StoreErrorKind::Unavailable, "gone"));
        }
        Ok(&self.inner)
    }
}

#[async_trait]
impl Queue for Flaky {
    async fn enqueue(&self, urls: Vec<NewUrl>) -> Result<Enqueued, StoreError> {
        self.there()?.enqueue(urls).await
    }
    async fn lease_due(
        &self,
        worker: &str,
        scopes: usize,
        page: usize,
        length: Duration,
        now: Timestamp,
    ) -> Result<Vec<LeasedScope>, StoreError> {
        self.there()?
            .lease_due(worker, scopes, page, length, now)
            .await
    }
    async fn more(
        &self,
        lease: &mut Lease,
        page: usize,
        now: Timestamp,
    ) -> Result<Page, StoreError> {
        self.there()?.more(lease, page, now).await
    }
    async fn renew(
        &self,
        leases: &[Lease],
        length: Duration,
        now: Timestamp,
    ) -> Result<Vec<LeaseToken>, StoreError> {
        self.there()?.renew(leases, length, now).await
    }
    async fn release(&self, released: Vec<(Lease, Rest)>) -> Result<(), StoreError> {
        self.there()?.release(released).await
    }
    async fn settle(&self, settlements: Vec<Settlement>) -> Result<Settled, StoreError> {
        self.there()?.settle(settlements).await
    }
    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        self.there()?.next_due().await
    }
    async fn counts(&self) -> Result<Counts, StoreError> {
        self.there()?.counts().await
    }
    async fn scope_counts(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<ScopeCounts>, StoreError> {
        self.there()?.scope_counts(after, limit).await
    }
    async fn records(
        &self,
        after: Option<UrlId>,
        limit: usize,
    ) -> Result<Vec<UrlRecord>, StoreError> {
        self.there()?.records(after, limit).await
    }
    async fn reopen(&self, outcomes: &[&str]) -> Result<u64, StoreError> {
        self.there()?.reopen(outcomes).await
    }
    async fn take_over(&self, worker: &str) -> Result<u64, StoreError> {
        self.there()?.take_over(worker).await
    }
    async fn meta(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.there()?.meta(name).await
    }
    async fn set_meta(&self, entries: Vec<(String, Vec<u8>)>) -> Result<(), StoreError> {
        self.there()?.set_meta(entries).await
    }
}

#[tokio::test]
async fn s4_a_queue_that_is_lost_for_a_while_is_waited_for() {
    let origin = origin(r#"{"robots": 404, "service": {"latency_ms": 5}}"#).await;
    let dir = tempfile::tempdir().unwrap();
    let queue = Arc::new(Flaky::default());
    let (shared, path) = (Arc::clone(&queue), dir.path().to_owned());
    let entries = (0..120)
        .map(|n| entry(origin.url(&format!("/{n}"))))
        .collect();
    let client = client(|_| ());
    let job =
        tokio::spawn(
            async move { run_on(client, shared, &path, entries, JobOptions::default()).await },
        );
    for at in [10, 60] {
        while origin.arrived() < at {
            tokio::time::sleep(ms(1)).await;
        }
        queue.lost.store(true, Ordering::SeqCst);
        tokio::time::sleep(ms(200)).await;
        queue.lost.store(false, Ordering::SeqCst);
    }
    let summary = tokio::time::timeout(ms(20_000), job).await.unwrap();
    let summary = summary.unwrap().unwrap();
    assert_eq!(summary.count(Outcome::Fetched), 120);
    let mut arrived: BTreeMap<String, usize> = BTreeMap::new();
    for path in paths(&origin) {
        *arrived.entry(path).or_default() += 1;
    }
    assert!(arrived.values().all(|times| *times == 1), "{arrived:?}");
    assert_eq!(manifest(dir.path()).len(), 120);
}
