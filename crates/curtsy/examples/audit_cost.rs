//! What the audit log costs a job: the same job with and without, in turn, and the CPU time of each. The
//! server is another process, such as `curtsy origin`:
//!
//! ```text
//! cargo run --release --example audit_cost -- http://127.0.0.1:8080 10000 5
//! ```

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use curtsy::clock::Clock;
use curtsy::core::PolicyValues;
use curtsy::store::{SqliteQueue, SqliteStore};
use curtsy::{Audit, Client, Job, JobDir, JobOptions, NewEntry};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let base = arguments.next().ok_or("which server?")?;
    let urls: usize = arguments.next().ok_or("how many URLs?")?.parse()?;
    let rounds: usize = arguments.next().ok_or("how often?")?.parse()?;
    // The least of each: whatever else the machine does only adds to it.
    let (mut with, mut without) = (Duration::MAX, Duration::MAX);
    for round in 0..2 * rounds {
        let is_on = round % 2 == 0;
        // Each in a new directory, and none removed before the end: a file system is slow to make files where
        // it has just removed others.
        let took = job(&place().join(round.to_string()), &base, urls, is_on).await?;
        println!(
            "{}: {:.0} µs a URL",
            if is_on { "with" } else { "without" },
            took.as_secs_f64() * 1e6 / urls as f64
        );
        let least = if is_on { &mut with } else { &mut without };
        *least = took.min(*least);
    }
    std::fs::remove_dir_all(place())?;
    let share = 1.0 - without.as_secs_f64() / with.as_secs_f64();
    println!("the audit takes {:.1} % of the CPU time", share * 100.0);
    Ok(())
}

/// The CPU time of one job.
async fn job(at: &Path, base: &str, urls: usize, is_on: bool) -> Result<Duration, Box<dyn Error>> {
    let begun = cpu_time()?;
    {
        let dir = JobDir::open(at)?;
        let clock = Clock::system();
        let audit = match is_on {
            true => Audit::append(&dir.audit(), "cost", clock.clone())?,
            false => Audit::off(),
        };
        let mut values = PolicyValues::compliant();
        (values.rate, values.max_rate) = (Some(100_000.0), Some(100_000.0));
        (values.burst, values.per_host) = (1000, 16);
        let state = SqliteStore::open(&at.join("state.sqlite")).await?;
        let queue = SqliteQueue::open(&dir.queue()).await?;
        let client = Client::builder()
            .policy(values.build()?)
            .store(Arc::new(state))
            .clock(clock)
            .audit(audit)
            .build()?;
        let job = Job::open(client, Arc::new(queue), dir, JobOptions::default()).await?;
        let entries = (0..urls).map(|n| NewEntry {
            url: format!("{base}/some/path/of/a/page/{n}"),
            ..NewEntry::default()
        });
        job.add(entries.collect()).await?;
        let summary = job.run().await?;
        if summary.outcomes.get("fetched") != Some(&(urls as u64)) {
            return Err(format!("not all were fetched: {:?}", summary.outcomes).into());
        }
    }
    Ok(cpu_time()? - begun)
}

fn place() -> PathBuf {
    std::env::temp_dir().join(format!("audit-cost-{}", std::process::id()))
}

/// The CPU time of this process so far, that of threads that have ended too.
fn cpu_time() -> Result<Duration, Box<dyn Error>> {
    /// What `sysconf(_SC_CLK_TCK)` is on every Linux.
    const TICKS: u64 = 100;
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit_once(')').ok_or("no such field")?.1;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>()? + fields[12].parse::<u64>()?;
    Ok(Duration::from_millis(ticks * 1000 / TICKS))
}
