//! Origins, clients and jobs as the tests need them.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use curtsy::clock::Clock;
use curtsy::core::audit::{Event, Record};
use curtsy::core::{Policy, PolicyValues, Reason};
use curtsy::store::{HostStore, MemoryQueue, Queue};
use curtsy::transport::{Limits, Transport};
use curtsy::{
    Audit, Client, ClientBuilder, Deferred, Error, Job, JobDir, JobOptions, Line, NewEntry, Reply,
    Response, Summary,
};
use curtsy_origin::{Arrival, Origin, Script};
use serde_json::Value;

/// What arrives may have been held up on its way by this much more than what arrived before it.
pub(crate) const SLACK: Duration = Duration::from_millis(20);

pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// An origin with a script in JSON.
pub(crate) async fn origin(script: &str) -> Origin {
    origin_at(script, Ipv4Addr::LOCALHOST).await
}

/// The same at an address, or at all of them: the whole of 127/8 is this machine, a scope for each address.
pub(crate) async fn origin_at(script: &str, address: Ipv4Addr) -> Origin {
    let script = Script::from_json(script).unwrap_or_else(|error| panic!("{error}: {script}"));
    Origin::start(script, (address, 0)).await.unwrap()
}

/// An address at which nothing listens.
pub(crate) fn nobody() -> SocketAddr {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap()
}

/// `compliant`, but for what tests would have to wait for.
pub(crate) fn fast(change: impl FnOnce(&mut PolicyValues)) -> Policy {
    let mut values = PolicyValues::compliant();
    (values.rate, values.max_rate) = (Some(1000.0), Some(1000.0));
    values.burst = 100;
    values.backoff_base = ms(30);
    change(&mut values);
    values.build().unwrap()
}

/// A client whose audit log must prove, when the test ends, that every rule was kept.
pub(crate) fn builder(policy: Policy) -> ClientBuilder {
    let (_, _, audit) = log();
    Client::builder().policy(policy).audit(audit)
}

pub(crate) fn client(change: impl FnOnce(&mut PolicyValues)) -> Client {
    builder(fast(change)).build().unwrap()
}

/// A transport that waits for nothing longer than a test may.
pub(crate) fn impatient(limits: Limits) -> Transport {
    Transport::builder(Clock::system())
        .limits(limits)
        .build()
        .unwrap()
}

/// A client on this store.
pub(crate) fn on_store(
    store: &Arc<dyn HostStore>,
    change: impl FnOnce(&mut PolicyValues),
) -> Client {
    builder(fast(change))
        .store(Arc::clone(store))
        .build()
        .unwrap()
}

pub(crate) fn response(reply: Result<Reply, Error>) -> Response {
    match reply {
        Ok(Reply::Response(response)) => response,
        other => panic!("no response: {other:?}"),
    }
}

pub(crate) fn deferred(reply: Result<Reply, Error>) -> Deferred {
    match reply {
        Ok(Reply::Deferred(deferred)) => deferred,
        other => panic!("not deferred: {other:?}"),
    }
}

pub(crate) fn disallowed(reply: Result<Reply, Error>) -> curtsy::Disallowed {
    match reply {
        Ok(Reply::Disallowed(no)) => no,
        other => panic!("not disallowed: {other:?}"),
    }
}

/// The status, once the body is read.
pub(crate) async fn status(client: &Client, url: &str) -> u16 {
    let response = response(client.get(url).await);
    response.body.collect(1 << 20).await.unwrap();
    response.status.as_u16()
}

/// Gets these URLs at once, each in a task of its own, and answers with their statuses.
pub(crate) async fn statuses(client: &Client, urls: impl IntoIterator<Item = String>) -> Vec<u16> {
    let tasks: Vec<_> = urls
        .into_iter()
        .map(|url| {
            let client = client.clone();
            tokio::spawn(async move { status(&client, &url).await })
        })
        .collect();
    let mut statuses = Vec::new();
    for task in tasks {
        statuses.push(task.await.unwrap());
    }
    statuses
}

pub(crate) fn paths(origin: &Origin) -> Vec<String> {
    origin.arrivals().into_iter().map(|a| a.path).collect()
}

/// The arrivals that are no robots.txt.
pub(crate) fn pages(origin: &Origin) -> Vec<Arrival> {
    let mut arrivals = origin.arrivals();
    arrivals.retain(|arrival| arrival.path != "/robots.txt");
    arrivals
}

/// How often a path arrived.
pub(crate) fn count(origin: &Origin, path: &str) -> usize {
    paths(origin).iter().filter(|other| *other == path).count()
}

/// The time from each arrival to the next.
pub(crate) fn gaps(arrivals: &[Arrival]) -> Vec<Duration> {
    arrivals
        .windows(2)
        .map(|pair| pair[1].at - pair[0].at)
        .collect()
}

/// The records of an audit log.
pub(crate) fn records(log: &Path) -> Vec<Record> {
    let text = std::fs::read_to_string(log).unwrap();
    let record =
        |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    text.lines().map(record).collect()
}

/// When requests really left, by their outcomes: microseconds.
pub(crate) fn departed(records: &[Record]) -> Vec<u64> {
    let at = |record: &Record| match &record.event {
        Event::Outcome(outcome) => Some(outcome.departed_at.as_micros()),
        _ => None,
    };
    records.iter().filter_map(at).collect()
}

/// The logs of a test, in a directory of its own. When the test ends, they must prove that every rule was kept.
struct Logs {
    dir: tempfile::TempDir,
    paths: Vec<std::path::PathBuf>,
}

thread_local! {
    // A test has a thread of its own, which ends after its runtime.
    static LOGS: std::cell::RefCell<Logs> = std::cell::RefCell::new(Logs {
        dir: tempfile::tempdir().unwrap(),
        paths: Vec::new(),
    });
}

impl Drop for Logs {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        for path in &self.paths {
            let Some(wrong) = violations(path) else {
                continue;
            };
            let name = std::thread::current().name().map(str::to_owned);
            let log = std::fs::read_to_string(path).unwrap_or_default();
            eprintln!("{log}\n{name:?}: its log proves otherwise: {wrong:#?}");
            // Nobody is left who could catch a panic.
            std::process::exit(101);
        }
    }
}

/// What a log shows that must not be.
pub(crate) fn violations(log: &Path) -> Option<Vec<curtsy::core::audit::verify::Violation>> {
    let logs = curtsy::Logs::find(&[log.to_owned()]).unwrap();
    let proof = logs.verify(None).unwrap();
    Some(proof.violations).filter(|violations| !violations.is_empty())
}

/// A log that must prove, when the test ends, that every rule was kept.
pub(crate) fn log() -> ((), std::path::PathBuf, Audit) {
    let path = LOGS.with_borrow_mut(|logs| {
        let path = logs.dir.path().join(format!("{}.jsonl", logs.paths.len()));
        logs.paths.push(path.clone());
        path
    });
    let audit = Audit::append(&path, "test", Clock::system()).unwrap();
    ((), path, audit)
}

/// A job of these URLs in a directory, on a queue that is gone with it.
pub(crate) async fn run_job(client: Client, dir: &Path, urls: Vec<String>) -> Summary {
    let entries = urls.into_iter().map(entry).collect();
    run_entries(client, dir, entries).await.unwrap()
}

pub(crate) async fn run_entries(
    client: Client,
    dir: &Path,
    entries: Vec<NewEntry>,
) -> Result<Summary, Error> {
    let queue: Arc<dyn Queue> = Arc::new(MemoryQueue::new());
    run_on(client, queue, dir, entries, JobOptions::default()).await
}

pub(crate) async fn run_on(
    client: Client,
    queue: Arc<dyn Queue>,
    dir: &Path,
    entries: Vec<NewEntry>,
    options: JobOptions,
) -> Result<Summary, Error> {
    let job = Job::open(client, queue, JobDir::open(dir)?, options).await?;
    job.add(entries).await?;
    job.run().await
}

pub(crate) fn entry(url: impl Into<String>) -> NewEntry {
    NewEntry {
        url: url.into(),
        ..NewEntry::default()
    }
}

/// The lines of a job's manifest.
pub(crate) fn manifest(dir: &Path) -> Vec<Line> {
    let text = std::fs::read_to_string(dir.join("manifest.jsonl")).unwrap();
    let line = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    text.lines().map(line).collect()
}

/// The manifest's one line of a URL.
pub(crate) fn line(dir: &Path, url: &str) -> Line {
    let lines: Vec<Line> = manifest(dir)
        .into_iter()
        .filter(|line| line.url == url)
        .collect();
    match <[Line; 1]>::try_from(lines) {
        Ok([line]) => line,
        Err(lines) => panic!("{url}: {lines:?}"),
    }
}

/// Every file of a job that is no file of its own, relative to its directory.
pub(crate) fn bodies(dir: &Path) -> Vec<String> {
    fn walk(at: &Path, dir: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(dir).unwrap().to_str().unwrap().to_owned();
            if name == ".curtsy" || name == "manifest.jsonl" {
                continue;
            }
            if path.is_dir() {
                walk(&path, dir, found);
            } else {
                found.push(name);
            }
        }
    }
    let mut found = Vec::new();
    walk(dir, dir, &mut found);
    found.sort();
    found
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The label of a reason as a line's error has it.
pub(crate) fn label(reason: Reason) -> Option<String> {
    Some(reason.label().to_owned())
}

/// A line of the log as anybody reads it.
pub(crate) fn json_lines(log: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(log).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
