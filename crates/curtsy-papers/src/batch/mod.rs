//! Thousands of papers: [`Batch`], a job on the same durable queue as every other job of curtsy.
//!
//! A paper is an entry of the queue, leased and settled as a URL is, so that what ended stands after a crash at any
//! moment and everything else is taken up again. Identifiers are converted two hundred at once; every paper then goes
//! its own [way](crate::plan), and each request waits at the one gate for its own host. Memory does not grow with the
//! number of papers: so many are under way, and the rest is in the queue.
//!
//! A paper that is in the batch by two of its names is fetched once, and had by the other.
//!
//! A paper that has to wait is deferred, and taken up when that is over; one that failed stays so, unless it is asked
//! for again.

mod lane;
mod report;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use curtsy::Audit;
use curtsy::core::Timestamp;
use curtsy::store::{NewUrl, Queue, StoreError};
use serde::{Deserialize, Serialize};

pub use report::{FAILURES, Held, Later, PAPERS, REPORT, Report};

use crate::error::Error;
use crate::id::Identifier;
use crate::plan::{Outcome, Verdict};
use crate::reason::Reason;
use crate::retrieve::PaperRetriever;

/// What this process is called in its queue.
const WORKER: &str = "papers";
/// Papers under way at once, but for those of arXiv. Each waits for its own host most of the time.
pub const DEFAULT_JOBS: usize = 256;
/// Papers of arXiv under way at once: more would only wait in line at one host.
const ARXIV_JOBS: usize = 2;
/// What the papers of arXiv are queued under, so that their slow host is in nobody's way.
const ARXIV: &str = "arxiv";
/// What all other papers are queued under.
const OTHERS: &str = "papers";
/// How long a lease lasts where the process dies; the folder's lock ends it sooner.
const LEASE: Duration = Duration::from_secs(600);
/// The longest text of a line that is kept to be shown.
const MAX_GIVEN: usize = 1_000;

/// How a batch is run.
#[derive(Clone, Debug)]
pub struct BatchOptions {
    /// Papers under way at once. Default: [`DEFAULT_JOBS`].
    pub jobs: usize,
    /// Reasons for which papers are taken up again; all that failed where it is empty. Default: none is.
    pub retry_failed: Option<Vec<Reason>>,
    /// Whether deferred papers are waited for. Default: no.
    pub wait: bool,
    /// The log of the retriever's client, whose end the queue is to keep so that a tail that is cut off shows. Default:
    /// none.
    pub audit: Audit,
}

impl Default for BatchOptions {
    fn default() -> Self {
        Self {
            jobs: DEFAULT_JOBS,
            retry_failed: None,
            wait: false,
            audit: Audit::off(),
        }
    }
}

/// A line of the input.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its number, from 1.
    pub line: u64,
    /// Its text.
    pub given: String,
    /// What it names; `None` where that is no paper.
    pub id: Option<Identifier>,
}

/// Thousands of papers in a folder.
pub struct Batch {
    shared: Arc<Shared>,
    options: BatchOptions,
    input: Input,
}

/// What was added in this run.
#[derive(Debug, Default)]
struct Input {
    lines: u64,
    /// Hashes of the papers that the lines name.
    named: HashSet<u64>,
}

struct Shared {
    retriever: PaperRetriever,
    queue: Arc<dyn Queue>,
    folder: PathBuf,
    audit: Audit,
    counters: Counters,
}

/// What the queue keeps of a line beside the identifier.
#[derive(Debug, Deserialize, Serialize)]
struct Origin {
    line: u64,
    given: String,
}

#[derive(Debug, Default)]
struct Counters {
    total: AtomicU64,
    ended: [AtomicU64; 5],
}

/// How far a batch has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchProgress {
    /// All papers.
    pub total: u64,
    /// Those whose PDF was fetched or was there.
    pub had: u64,
    /// Those without an open copy.
    pub not_open: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those that wait for a time.
    pub deferred: u64,
}

impl BatchProgress {
    /// How many have ended, or wait for a time.
    #[must_use]
    pub fn ended(&self) -> u64 {
        self.had + self.not_open + self.failed + self.deferred
    }
}

/// Looks at a batch, and stops it.
#[derive(Clone)]
pub struct BatchHandle(Arc<Shared>);

impl BatchHandle {
    /// How far it has come.
    #[must_use]
    pub fn progress(&self) -> BatchProgress {
        let ended =
            |outcome: Outcome| self.0.counters.ended[outcome as usize].load(Ordering::Relaxed);
        BatchProgress {
            total: self.0.counters.total.load(Ordering::Relaxed),
            had: ended(Outcome::Pdf) + ended(Outcome::Had),
            not_open: ended(Outcome::NotOpen),
            failed: ended(Outcome::Failed),
            deferred: ended(Outcome::Deferred),
        }
    }

    /// Lets nothing depart any more: what is coming in is taken to its end, and the rest is taken up next time.
    pub fn stop(&self) {
        self.0.retriever.access().client().close();
    }
}

impl Batch {
    /// Opens the batch of the retriever's folder on its queue, which nobody else works on.
    ///
    /// # Errors
    /// The queue failed.
    pub async fn open(
        retriever: PaperRetriever,
        queue: Arc<dyn Queue>,
        options: BatchOptions,
    ) -> Result<Self, Error> {
        queue.take_over(WORKER).await.map_err(failed)?;
        if let Some(reasons) = &options.retry_failed {
            let counts = queue.counts().await.map_err(failed)?;
            let wanted = |word: &&str| {
                // What is not open has not failed, but may be named.
                let (outcome, reason) = word.split_once(':').unwrap_or((word, ""));
                match reasons.is_empty() {
                    true => outcome == Outcome::Failed.label(),
                    false => reasons.iter().any(|named| named.label() == reason),
                }
            };
            let words: Vec<&str> = counts
                .finished
                .keys()
                .map(String::as_str)
                .filter(wanted)
                .collect();
            queue.reopen(&words).await.map_err(failed)?;
        }
        let shared = Shared {
            folder: retriever.download_directory().clone(),
            retriever,
            audit: options.audit.clone(),
            counters: Counters::default(),
            queue,
        };
        shared.count().await?;
        Ok(Self {
            shared: Arc::new(shared),
            options,
            input: Input::default(),
        })
    }

    /// What looks at this batch and stops it.
    #[must_use]
    pub fn handle(&self) -> BatchHandle {
        BatchHandle(Arc::clone(&self.shared))
    }

    /// Adds lines, and says how many were new; the others are papers that the batch has already.
    ///
    /// # Errors
    /// The queue failed.
    pub async fn add(&mut self, entries: Vec<Entry>) -> Result<u64, Error> {
        let input = &mut self.input;
        let papers = entries.into_iter().map(|entry| {
            let name = match &entry.id {
                Some(id) => id.to_string(),
                None => format!("{BAD}{}", entry.given.trim()),
            };
            input.lines += 1;
            let mut hasher = DefaultHasher::new();
            name.hash(&mut hasher);
            input.named.insert(hasher.finish());
            let scope = match &entry.id {
                Some(Identifier::Arxiv(_)) => ARXIV,
                _ => OTHERS,
            };
            let origin = Origin {
                line: entry.line,
                given: entry.given.chars().take(MAX_GIVEN).collect(),
            };
            NewUrl {
                scope: scope.to_owned(),
                key: Some(name.clone()),
                url: name,
                out: None,
                headers: serde_json::to_string(&origin).ok(),
            }
        });
        let enqueued = self
            .shared
            .queue
            .enqueue(papers.collect())
            .await
            .map_err(failed)?;
        self.shared
            .counters
            .total
            .fetch_add(enqueued.added, Ordering::Relaxed);
        Ok(enqueued.added)
    }

    /// Works until every paper has ended or waits, or it is stopped; then the folder has the list of results, the
    /// report and the table of failures.
    ///
    /// # Errors
    /// The engine, the queue or the disk failed, or a provider does not take the contact. What ended stands.
    pub async fn run(self) -> Result<Report, Error> {
        loop {
            let ended = lane::work(&self.shared, self.options.jobs).await;
            if let Err(error) = ended {
                if !error.is_closed() {
                    return Err(error);
                }
                break;
            }
            let next = self.shared.queue.next_due().await.map_err(failed)?;
            let Some(next) = next.filter(|_| self.options.wait) else {
                break;
            };
            let now = self.shared.retriever.access().client().now();
            tokio::time::sleep(next.since(now).max(Duration::from_millis(10))).await;
        }
        let Input { lines, named } = &self.input;
        let input = (*lines, lines - named.len() as u64);
        report::write(&*self.shared.queue, &self.shared.folder, input).await
    }
}

/// What stands before the text of a line that names no paper.
const BAD: &str = "bad:";

/// The report of a batch from its queue, also while it runs. Of its input nothing is known there.
///
/// # Errors
/// The queue failed.
pub async fn report(queue: &dyn Queue) -> Result<Report, Error> {
    report::read(queue, None, (0, 0)).await
}

impl Shared {
    async fn count(&self) -> Result<(), Error> {
        let counts = self.queue.counts().await.map_err(failed)?;
        self.counters.total.store(counts.total(), Ordering::Relaxed);
        let deferred = &self.counters.ended[Outcome::Deferred as usize];
        deferred.store(counts.deferred, Ordering::Relaxed);
        for (word, number) in &counts.finished {
            if let Some(outcome) = Outcome::named(word.split(':').next().unwrap_or_default()) {
                self.counters.ended[outcome as usize].fetch_add(*number, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Where a file lies in the folder of the batch.
    fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.folder)
            .unwrap_or(path)
            .display()
            .to_string()
    }

    fn now(&self) -> Timestamp {
        self.retriever.access().client().now()
    }
}

/// In one word for the queue: `pdf`, `failed:walled`.
fn word(verdict: &Verdict) -> String {
    match verdict.reason {
        Some(reason) => format!("{}:{reason}", verdict.outcome.label()),
        None => verdict.outcome.label().to_owned(),
    }
}

fn failed(error: StoreError) -> Error {
    Error::from(curtsy::Error::from(error))
}
