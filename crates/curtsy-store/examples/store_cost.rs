//! What the SQLite drivers cost here: run it in release mode; it takes a directory on the disk that is
//! to be measured, or uses the temporary one.
//!
//! CPU is user and system time of the whole process, from `/proc`.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use curtsy_core::Timestamp;
use curtsy_store::{
    HostStore, NewUrl, Queue, Rest, Settlement, SqliteQueue, SqliteStore, Swap, Version,
};

/// URLs that are enqueued at once.
const BATCH: usize = 16_384;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    let base = std::env::args_os().nth(1).map(PathBuf::from);
    let dir = tempfile::tempdir_in(base.unwrap_or_else(std::env::temp_dir))?;
    println!(
        "{:<44} {:>10} {:>9} {:>12}",
        "", "per s", "CPU us", "per commit"
    );
    let path = dir.path().join("state.db");
    for tasks in [1, 64, 1024] {
        swaps(&path, tasks, 40_000).await?;
    }
    for urls in [10_000, 100_000, 1_000_000] {
        let path = dir.path().join(format!("queue-{urls}.db"));
        job(&path, urls).await?;
    }
    Ok(())
}

/// Swaps of 500 bytes, each task on a scope of its own.
async fn swaps(path: &std::path::Path, tasks: usize, swaps: usize) -> Outcome<()> {
    let store = Arc::new(SqliteStore::open(path).await?);
    let meter = Meter::start(store.commits());
    let running: Vec<_> = (0..tasks)
        .map(|task| tokio::spawn(swap(Arc::clone(&store), task, swaps / tasks)))
        .collect();
    for task in running {
        task.await??;
    }
    let done = swaps / tasks * tasks;
    meter.tell(&format!("swaps, {tasks} at once"), done, store.commits());
    store.close().await;
    Ok(())
}

async fn swap(store: Arc<SqliteStore>, task: usize, swaps: usize) -> Outcome<()> {
    let key = format!("scope:{task}.example");
    let there = store.load(&key).await?;
    let mut version = there.map_or(Version::ABSENT, |there| there.version);
    for round in 0..swaps {
        let value = vec![round as u8; 500];
        match store.compare_and_swap(&key, version, value).await? {
            Swap::Stored(new) => version = new,
            Swap::Conflict(_) => return Err("another process is at work".into()),
        }
    }
    Ok(())
}

/// A job of ten URLs a host, as an engine runs it: batches of 16,384, leases of 256 scopes, and results
/// recorded 64 at a time.
async fn job(path: &std::path::Path, urls: usize) -> Outcome<()> {
    let queue = SqliteQueue::open(path).await?;
    let hosts = urls / 10;
    let meter = Meter::start(queue.commits());
    let mut batch = Vec::with_capacity(BATCH);
    for n in 0..urls {
        let host = n % hosts;
        batch.push(NewUrl {
            scope: format!("h{host}.example.org"),
            url: format!("https://h{host}.example.org/articles/2024/{n}/full.html"),
            key: None,
            out: None,
            headers: None,
        });
        if batch.len() == BATCH || n + 1 == urls {
            queue.enqueue(std::mem::take(&mut batch)).await?;
        }
    }
    meter.tell(&format!("{urls} URLs: enqueued"), urls, queue.commits());

    let meter = Meter::start(queue.commits());
    let now = Timestamp::from_secs(1);
    let line = format!("{{\"url\":\"{}\"}}", "x".repeat(300));
    let mut ends = Vec::new();
    loop {
        let leased = queue
            .lease_due("w", 256, 32, Duration::from_secs(60), now)
            .await?;
        if leased.is_empty() {
            break;
        }
        for of in &leased {
            for url in &of.urls {
                ends.push(Settlement::Finished {
                    id: url.id,
                    outcome: "fetched".to_owned(),
                    line: line.clone(),
                });
            }
            if ends.len() >= 64 {
                queue.settle(std::mem::take(&mut ends)).await?;
            }
        }
        queue.settle(std::mem::take(&mut ends)).await?;
        let released = leased.into_iter().map(|of| (of.lease, Rest::Due(now)));
        queue.release(released.collect()).await?;
    }
    meter.tell(
        &format!("{urls} URLs: leased, settled"),
        urls,
        queue.commits(),
    );
    let done = queue.counts().await?.finished;
    if done.get("fetched") != Some(&(urls as u64)) {
        return Err(format!("{done:?} instead of {urls}").into());
    }
    queue.close().await;
    println!(
        "{:<44} {:>10} bytes a URL in the file",
        "",
        fs::metadata(path)?.len() / urls as u64
    );
    Ok(())
}

struct Meter {
    began: Instant,
    cpu: Duration,
    commits: u64,
}

impl Meter {
    fn start(commits: u64) -> Self {
        Self {
            began: Instant::now(),
            cpu: cpu_time(),
            commits,
        }
    }

    fn tell(&self, what: &str, done: usize, commits: u64) {
        let rate = done as f64 / self.began.elapsed().as_secs_f64();
        let cpu = (cpu_time() - self.cpu).as_secs_f64() * 1e6 / done as f64;
        let batch = done as f64 / (commits - self.commits).max(1) as f64;
        println!("{what:<44} {rate:>10.0} {cpu:>9.2} {batch:>12.1}");
    }
}

/// In ticks of 10 ms; 0 where there is no `/proc`.
fn cpu_time() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    Duration::from_millis(ticks * 10)
}
