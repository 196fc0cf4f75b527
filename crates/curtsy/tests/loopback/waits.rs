//! What a job waits for, and who does not wait for it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use curtsy::clock::Clock;
use curtsy::core::{Interval, Reason, Scope, Timestamp};
use curtsy::store::{MemoryQueue, Queue};
use curtsy::{Client, JobOptions, Outcome, Policies};
use url::Url;

use crate::support::*;

#[tokio::test]
async fn h10_a_job_waits_for_what_is_due_within_max_wait_and_for_nothing_else() {
    let refusing = r#"{"robots": 404, "pages": {
        "/x": [{"status": 429, "headers": [["Retry-After", "1"]]}, {"status": 200}]}}"#;
    for (max_wait, waits) in [(ms(60_000), true), (ms(200), false)] {
        let origin = origin(refusing).await;
        let dir = tempfile::tempdir().unwrap();
        let options = JobOptions {
            max_wait,
            ..JobOptions::default()
        };
        let client = client(|p| p.max_retry_after = ms(100));
        let entries = vec![entry(origin.url("/x")), entry(origin.url("/y"))];
        let queue: Arc<dyn Queue> = Arc::new(MemoryQueue::new());
        let began = Instant::now();
        let summary = run_on(client, queue, dir.path(), entries, options)
            .await
            .unwrap();
        assert_eq!(began.elapsed() >= ms(1095), waits);
        let expected = if waits {
            Outcome::Fetched
        } else {
            Outcome::Deferred
        };
        assert_eq!(summary.count(expected), 2, "{summary:?}");
        let x = line(dir.path(), &origin.url("/x"));
        assert_eq!(x.outcome, expected);
        if !waits {
            assert_eq!((x.error, x.finished), (label(Reason::ServerHold), None));
        }
    }
}

#[tokio::test]
async fn o3_a_job_with_nothing_but_an_unreadable_robots_txt_left_ends_after_three_tries() {
    let shut = origin(r#"{"robots": 503}"#).await;
    let dir = tempfile::tempdir().unwrap();
    let urls = (0..9).map(|n| shut.url(&format!("/{n}"))).collect();
    let client = client(|p| p.backoff_base = ms(10));
    let summary = run_job(client, dir.path(), urls).await;
    assert_eq!(summary.count(Outcome::Deferred), 9);
    assert_eq!(paths(&shut), ["/robots.txt"; 3]);
    let deferred = line(dir.path(), &shut.url("/1"));
    assert_eq!(deferred.error, label(Reason::RobotsUnreachable));
    assert!(summary.next_due.is_some());
}

#[tokio::test]
async fn a_url_that_redirects_to_a_scope_that_waits_keeps_its_own_scope_going() {
    let held =
        origin(r#"{"robots": 404, "page": {"status": 429, "headers": [["Retry-After", "900"]]}}"#)
            .await;
    let origin = origin(&format!(
        r#"{{"robots": 404, "pages": {{"/away": {{"location": "{}"}}}}}}"#,
        held.url("/x")
    ))
    .await;
    let dir = tempfile::tempdir().unwrap();
    let urls: Vec<String> = ["/away", "/1", "/2", "/3", "/4", "/5"]
        .iter()
        .map(|path| origin.url(path))
        .collect();
    let summary = run_job(client(|p| p.per_host = 1), dir.path(), urls).await;
    assert_eq!(
        (
            summary.count(Outcome::Fetched),
            summary.count(Outcome::Deferred)
        ),
        (5, 1)
    );
    assert_eq!(line(dir.path(), &origin.url("/away")).attempts, 2);
}

#[tokio::test]
async fn d1_urls_that_climb_their_own_ladders_leave_the_lane_to_the_others() {
    let origin = origin(
        r#"{"robots": 404, "pages": {"/bad*": [{"status": 500}, {"status": 500}, {"status": 500},
            {"status": 500}, {"status": 500}, {"status": 500}, {"status": 200}]}}"#,
    )
    .await;
    let dir = tempfile::tempdir().unwrap();
    let urls: Vec<String> = (0..6)
        .map(|n| format!("/bad{n}"))
        .chain((0..20).map(|n| format!("/good{n}")))
        .map(|path| origin.url(&path))
        .collect();
    let client = client(|p| {
        (p.per_host, p.backoff_base, p.breaker) = (1, ms(700), None);
    });
    let summary = run_job(client, dir.path(), urls).await;
    assert_eq!(summary.count(Outcome::Fetched), 26);
    let arrivals = pages(&origin);
    let last_good = arrivals.iter().rposition(|a| a.path.starts_with("/good"));
    let first_again = arrivals
        .iter()
        .enumerate()
        .filter(|(_, arrival)| arrival.path.starts_with("/bad"))
        .nth(6)
        .map(|(at, _)| at);
    assert!(last_good < first_again, "{:?}", paths(&origin));
}

#[tokio::test]
async fn a_lane_that_outlives_its_lease_keeps_its_scope() {
    let slow = origin(r#"{"robots": 404, "pages": {"/slow": {"latency_ms": 400}}}"#).await;
    let quick = origin(r#"{"robots": 404, "service": {"latency_ms": 100}}"#).await;
    let (clock, hand) = Clock::manual(Timestamp::from_secs(1_700_000_000));
    let policy = fast(|p| p.timeout = ms(3_600_000));
    let client = builder(policy).clock(clock).build().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let urls = vec![slow.url("/slow"), quick.url("/1"), quick.url("/2")];
    let path = dir.path().to_owned();
    let job = tokio::spawn(async move { run_job(client, &path, urls).await });
    while count(&slow, "/slow") == 0 || count(&quick, "/1") == 0 {
        tokio::time::sleep(ms(2)).await;
    }
    // Longer than a lease lasts; the lane of the quick one ends and wakes the job before the slow one.
    hand.advance(Duration::from_secs(61));
    let summary = job.await.unwrap();
    assert_eq!(summary.count(Outcome::Fetched), 3);
    assert_eq!(count(&slow, "/slow"), 1, "leased twice");
}

#[tokio::test]
async fn p9_in_a_job_a_slow_scope_keeps_nobody_waiting() {
    let (slow, quick) = (
        origin(r#"{"robots": 404}"#).await,
        origin(r#"{"robots": 404}"#).await,
    );
    let scope = Scope::of(&Url::parse(&slow.url("/")).unwrap()).unwrap();
    let delayed = fast(|p| p.delay = Some(Interval::fixed(ms(300))));
    let policies = Policies::new(fast(|_| ())).with_scope(scope, delayed);
    let client = Client::builder()
        .policies(policies)
        .concurrency(1)
        .build()
        .unwrap();
    let dir = tempfile::tempdir().unwrap();
    let urls = (0..40)
        .map(|n| quick.url(&format!("/{n}")))
        .chain((0..3).map(|n| slow.url(&format!("/{n}"))))
        .collect();
    let summary = run_job(client, dir.path(), urls).await;
    assert_eq!(summary.count(Outcome::Fetched), 43);
    let last_quick = quick.arrivals().last().unwrap().epoch_us;
    let last_slow = slow.arrivals().last().unwrap().epoch_us;
    assert!(
        last_quick < last_slow,
        "the quick scope ended after the slow one"
    );
}
