//! A server, the tap before it, and a job that is judged by both.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use curtsy::clock::Clock;
use curtsy::core::PolicyValues;
use curtsy::store::MemoryQueue;
use curtsy::transport::{Limits, Transport};
use curtsy::{Client, Job, JobDir, JobOptions, Line, NewEntry, Outcome, Summary};
use tempfile::TempDir;

use crate::reading::Told;
use crate::server::Server;
use crate::tap::{Exchange, Tap};

/// No scenario takes longer.
const WITHIN: Duration = Duration::from_secs(10);

/// A client's way to a server.
pub(crate) struct Scene {
    pub(crate) tap: Tap,
    limits: Limits,
    /// Ends the server with the scene; `None` where it is shared.
    _server: Option<Server>,
}

/// A job that has ended.
pub(crate) struct Done {
    pub(crate) summary: Summary,
    /// The manifest, in the order of the input.
    pub(crate) lines: Vec<Line>,
    pub(crate) exchanges: Vec<Exchange>,
    dir: TempDir,
}

impl Scene {
    pub(crate) fn with(server: Server) -> Self {
        Self {
            tap: Tap::before(&server.socket()),
            limits: Limits::default(),
            _server: Some(server),
        }
    }

    pub(crate) fn before(server: &Server) -> Self {
        Self {
            tap: Tap::before(&server.socket()),
            limits: Limits::default(),
            _server: None,
        }
    }

    pub(crate) fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    pub(crate) fn client(&self, policy: PolicyValues) -> Client {
        let clock = Clock::system();
        let transport = Transport::builder(clock.clone()).limits(self.limits);
        Client::builder()
            .clock(clock)
            .transport(transport.build().unwrap())
            .policy(policy.build().unwrap())
            .build()
            .unwrap()
    }

    /// Fetches these paths as one job.
    pub(crate) async fn fetch(&self, policy: PolicyValues, paths: &[String]) -> Done {
        let dir = tempfile::tempdir().unwrap();
        let job_dir = JobDir::open(dir.path()).unwrap();
        let manifest = job_dir.manifest();
        let queue = Arc::new(MemoryQueue::new());
        let client = self.client(policy);
        let job = Job::open(client, queue, job_dir, JobOptions::default());
        let job = job.await.unwrap();
        let entries = paths.iter().map(|path| NewEntry {
            url: self.tap.url(path),
            ..NewEntry::default()
        });
        job.add(entries.collect()).await.unwrap();
        let summary = tokio::time::timeout(WITHIN, job.run()).await;
        let manifest = std::fs::read_to_string(manifest).unwrap();
        Done {
            summary: summary.expect("it takes too long").unwrap(),
            lines: manifest
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect(),
            exchanges: self.tap.exchanges(),
            dir,
        }
    }
}

impl Scene {
    /// A job that is refused without a directive: backed off from, nothing lost, and nothing read.
    pub(crate) async fn assert_bare_refusals_are_backed_off_from(&self) {
        let (policy, paths) = (eager(), numbered(30));
        let (base, per_host) = (policy.backoff_base, policy.per_host as usize);
        let done = self.fetch(policy, &paths).await;
        done.assert_each_is_fetched_once(&paths);
        assert!(!done.refused().is_empty(), "the limit was never met");
        done.assert_no_arrival_in_a_hold(base, per_host);
        done.assert_nothing_is_read();
    }

    /// A job of so many URLs that is refused by 429s with `Retry-After: 1`: nothing arrives in the hold.
    pub(crate) async fn assert_retry_after_is_obeyed(&self, count: usize) {
        let paths = numbered(count);
        // One at a time: then nothing at all can be in flight when a refusal comes.
        let policy = PolicyValues {
            per_host: 1,
            ..eager()
        };
        let done = self.fetch(policy, &paths).await;
        done.assert_each_is_fetched_once(&paths);
        assert!(!done.refused().is_empty(), "the limit was never met");
        done.assert_no_arrival_in_a_hold(Duration::ZERO, 1);
        for answer in done.answers() {
            let wait = answer.reading().wait.map(|wait| wait.after);
            let expected = (answer.status == 429).then_some(Duration::from_secs(1));
            assert_eq!(wait, expected, "{answer:?}");
        }
    }

    /// A job of so many URLs against a published quota of 12 in 2 s: read right, and never overrun.
    pub(crate) async fn assert_a_quota_is_never_overrun(
        &self,
        count: usize,
        names_window: bool,
    ) -> Done {
        let paths = numbered(count);
        let done = self.fetch(obedient(), &paths).await;
        done.assert_each_is_fetched_once(&paths);
        assert_eq!(done.refused().len(), 0);
        done.assert_quota_is_read(&Told {
            limit: 12,
            window: Duration::from_secs(2),
            names_window,
        });
        done
    }
}

impl Done {
    /// Nothing lost, nothing fetched twice: each path has one line and was served once.
    pub(crate) fn assert_each_is_fetched_once(&self, paths: &[String]) {
        assert_eq!(self.lines.len(), paths.len());
        assert_eq!(
            self.summary.count(Outcome::Fetched),
            paths.len() as u64,
            "{:?}",
            self.summary
        );
        for (path, line) in paths.iter().zip(&self.lines) {
            assert!(line.url.ends_with(path), "{line:?}");
            let served = self
                .exchanges
                .iter()
                .filter(|exchange| exchange.path == *path && exchange.status() == Some(200));
            assert_eq!(served.count(), 1, "{path}");
        }
    }

    /// Requests that the server refused for now.
    pub(crate) fn refused(&self) -> Vec<&Exchange> {
        let refusals = self.exchanges.iter();
        refusals
            .filter(|exchange| matches!(exchange.status(), Some(429 | 503)))
            .collect()
    }

    /// From each refusal on, nothing arrives for as long as it told, or else for `untold`; except what
    /// was in flight already, which is at most one less than `per_host`.
    pub(crate) fn assert_no_arrival_in_a_hold(&self, untold: Duration, per_host: usize) {
        for refusal in self.refused() {
            let answer = refusal.answer.as_ref().unwrap();
            let hold = answer.retry_after().unwrap_or(untold);
            let in_hold = |exchange: &&Exchange| {
                answer.at < exchange.arrived && exchange.arrived < answer.at + hold
            };
            let early: Vec<Duration> = self
                .exchanges
                .iter()
                .filter(in_hold)
                .map(|exchange| exchange.arrived - answer.at)
                .collect();
            assert!(early.len() < per_host, "{early:?} into a hold of {hold:?}");
        }
    }

    /// A URL's body as it was stored.
    pub(crate) fn body_of(&self, path: &str) -> Vec<u8> {
        let line = self.lines.iter().find(|line| line.url.ends_with(path));
        let file = line.unwrap().file.as_ref();
        std::fs::read(self.dir.path().join(PathBuf::from(file.unwrap()))).unwrap()
    }
}

impl Exchange {
    pub(crate) fn status(&self) -> Option<u16> {
        self.answer.as_ref().map(|answer| answer.status)
    }
}

/// `/0`, `/1` and so on.
pub(crate) fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("/{number}")).collect()
}

/// `compliant`, faster than these servers permit, so that it is they who set the pace.
pub(crate) fn eager() -> PolicyValues {
    PolicyValues {
        rate: Some(100.0),
        burst: 10,
        backoff_base: Duration::from_millis(100),
        ..PolicyValues::compliant()
    }
}

/// `compliant`, and where a quota is told as fast as that permits.
pub(crate) fn obedient() -> PolicyValues {
    PolicyValues {
        max_rate: Some(100.0),
        ..PolicyValues::compliant()
    }
}
