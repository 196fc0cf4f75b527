//! URLs that are added while the job runs.

use std::sync::Arc;

use curtsy::store::MemoryQueue;
use curtsy::{ErrorKind, Job, JobDir, JobOptions, Outcome};

use crate::support::*;

#[tokio::test]
async fn a_job_fetches_what_it_is_fed_while_it_runs_and_ends_after_the_last_feed() {
    let origin = origin(r#"{"robots": 404}"#).await;
    let dir = tempfile::tempdir().unwrap();
    let queue = Arc::new(MemoryQueue::new());
    let job_dir = JobDir::open(dir.path()).unwrap();
    let job = Job::open(client(|_| ()), queue, job_dir, JobOptions::default());
    let job = job.await.unwrap();
    let (feed, other, view) = (job.feed(), job.feed(), job.progress());
    let running = tokio::spawn(job.run());
    let fetched = async |count| {
        while view.now().ended_now < count {
            tokio::time::sleep(ms(1)).await;
        }
    };
    for (n, count) in [(0, 1), (1, 2), (1, 2), (2, 3)] {
        let added = feed.add(vec![entry(origin.url(&format!("/{n}")))]).await;
        assert_eq!(added.unwrap().added + view.now().ended_now, count);
        tokio::time::timeout(ms(5_000), fetched(count))
            .await
            .unwrap();
        assert!(!running.is_finished());
    }
    drop(feed);
    other.add(vec![entry(origin.url("/last"))]).await.unwrap();
    drop(other);
    let summary = running.await.unwrap().unwrap();
    assert_eq!(summary.count(Outcome::Fetched), 4);
    assert_eq!(pages(&origin).len(), 4);
}

#[tokio::test]
async fn a_stopped_job_ends_whatever_may_still_be_fed_to_it() {
    let dir = tempfile::tempdir().unwrap();
    let queue = Arc::new(MemoryQueue::new());
    let job_dir = JobDir::open(dir.path()).unwrap();
    let job = Job::open(client(|_| ()), queue, job_dir, JobOptions::default());
    let job = job.await.unwrap();
    let (feed, stopper) = (job.feed(), job.stopper());
    let running = tokio::spawn(job.run());
    stopper.stop();
    let summary = tokio::time::timeout(ms(5_000), running).await.unwrap();
    assert!(summary.unwrap().unwrap().interrupted);
    let refused = feed
        .add(vec![entry("http://example.org/".to_owned())])
        .await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Closed);
}
