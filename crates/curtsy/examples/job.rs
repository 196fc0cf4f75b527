//! A list of URLs into a directory. Run it again with the same directory: it goes on where it stopped.
//!
//! ```text
//! cargo run --example job -- pages https://example.org/ https://example.com/
//! ```

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use curtsy::store::{SqliteQueue, SqliteStore};
use curtsy::{Client, Job, JobDir, JobOptions, NewEntry};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let dir = PathBuf::from(arguments.next().ok_or("which directory?")?);
    let entries = arguments.map(|url| NewEntry {
        url,
        ..NewEntry::default()
    });

    // The directory is this process's own until it is dropped.
    let dir = JobDir::open(&dir)?;
    // What was learned of each host outlives the process; several may share the file.
    let state = SqliteStore::open(&dir.path().join("state.sqlite")).await?;
    let queue = SqliteQueue::open(&dir.queue()).await?;
    let client = Client::builder()
        .contact("you@yours.org")
        .store(Arc::new(state))
        .build()?;

    let job = Job::open(client, Arc::new(queue), dir, JobOptions::default()).await?;
    job.add(entries.collect()).await?;
    let summary = job.run().await?;
    for (outcome, count) in &summary.outcomes {
        println!("{count} {outcome}");
    }
    Ok(())
}
