//! More scopes than are worked on at once.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use curtsy::store::MemoryQueue;
use curtsy::{Job, JobDir, JobOptions, Outcome};

use crate::support::*;

#[tokio::test]
async fn scopes_that_wait_make_room_and_come_back_when_they_may_depart() {
    let origin = origin_at(r#"{"robots": 404}"#, Ipv4Addr::UNSPECIFIED).await;
    let url = |host: u8, page: u8| format!("http://127.0.0.{host}:{}/{page}", origin.addr().port());
    let dir = tempfile::tempdir().unwrap();
    let options = JobOptions {
        scopes: 2,
        ..JobOptions::default()
    };
    let client = client(|p| p.delay = Some(curtsy::core::Interval::fixed(ms(1500))));
    let job_dir = JobDir::open(dir.path()).unwrap();
    let job = Job::open(client, Arc::new(MemoryQueue::new()), job_dir, options);
    let job = job.await.unwrap();
    let entries = (1..=8).flat_map(|host| [entry(url(host, 1)), entry(url(host, 2))]);
    job.add(entries.collect()).await.unwrap();
    let summary = job.run().await.unwrap();
    assert_eq!(summary.count(Outcome::Fetched), 16);
    // Two at a time to their end, they would take four rounds of 1.5 s.
    assert!(summary.elapsed_s < 4.5, "{} s", summary.elapsed_s);
    let arrivals = pages(&origin);
    for host in 1..=8 {
        let host = format!("127.0.0.{host}:{}", origin.addr().port());
        let mut of_host = arrivals.clone();
        of_host.retain(|arrival| arrival.host.as_deref() == Some(&host));
        assert_eq!(of_host.len(), 2, "{host}");
        assert!(gaps(&of_host)[0] + SLACK >= Duration::from_millis(1500));
    }
}

#[tokio::test]
async fn a_scope_keeps_its_connection_beside_hundreds_of_others() {
    let origin = origin_at(r#"{"robots": 404}"#, Ipv4Addr::UNSPECIFIED).await;
    let port = origin.addr().port();
    // More than would be kept by a pool of the usual size, and fewer than half of the files of a usual process.
    let hosts = 300;
    let page = |n: u32| {
        let host = n % hosts;
        format!("http://127.0.{}.{}:{port}/{n}", host / 250, 1 + host % 250)
    };
    let dir = tempfile::tempdir().unwrap();
    let urls = (0..3 * hosts).map(page).collect();
    let summary = run_job(client(|p| p.per_host = 1), dir.path(), urls).await;
    assert_eq!(summary.count(Outcome::Fetched), 900);
    assert_eq!(origin.connections(), u64::from(hosts));
}
