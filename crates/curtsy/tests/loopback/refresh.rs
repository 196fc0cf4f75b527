//! A second run that asks only for what changed.

use std::path::Path;
use std::sync::Arc;

use curtsy::store::{MemoryQueue, Queue};
use curtsy::{Bodies, Job, JobDir, JobOptions, Line, Outcome, Summary};
use curtsy_origin::{Arrival, Origin};

use crate::support::*;

const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

/// Runs of one job, on a queue that outlives them.
struct Runs {
    queue: Arc<dyn Queue>,
    dir: tempfile::TempDir,
    urls: Vec<String>,
}

impl Runs {
    fn of(urls: impl IntoIterator<Item = String>) -> Self {
        Self {
            queue: Arc::new(MemoryQueue::new()),
            dir: tempfile::tempdir().unwrap(),
            urls: urls.into_iter().collect(),
        }
    }

    async fn open(&self, options: JobOptions) -> Job {
        let dir = JobDir::open(self.dir.path()).unwrap();
        let client = client(|policy| policy.max_retries = 0);
        let job = Job::open(client, Arc::clone(&self.queue), dir, options);
        let job = job.await.unwrap();
        let entries = self.urls.iter().map(entry).collect();
        job.add(entries).await.unwrap();
        job
    }

    async fn run(&self, refresh: bool) -> Summary {
        let bodies = Bodies::Files;
        self.run_with(refresh, bodies).await
    }

    async fn run_with(&self, refresh: bool, bodies: Bodies) -> Summary {
        let options = JobOptions {
            refresh,
            bodies,
            ..JobOptions::default()
        };
        self.open(options).await.run().await.unwrap()
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn line(&self, at: usize) -> Line {
        line(self.path(), &self.urls[at])
    }

    fn body(&self, at: usize) -> String {
        let file = self.line(at).file.unwrap();
        std::fs::read_to_string(self.path().join(file)).unwrap()
    }
}

/// `If-None-Match` and `If-Modified-Since`.
fn asked(arrival: &Arrival) -> (Option<&str>, Option<&str>) {
    (
        arrival.header("if-none-match"),
        arrival.header("if-modified-since"),
    )
}

async fn one_page(answers: &str) -> (Origin, Runs) {
    let origin = origin(&format!(
        r#"{{"robots": 404, "pages": {{"/a": [{answers}]}}}}"#
    ))
    .await;
    let runs = Runs::of([origin.url("/a")]);
    (origin, runs)
}

#[tokio::test]
async fn what_is_not_modified_keeps_its_file_and_what_changed_replaces_it() {
    let script = format!(
        r#"{{"robots": 404, "pages": {{
            "/same": [{{"body": "one", "headers": [["ETag", "\"1\""], ["Last-Modified", "{DATE}"]]}},
                      {{"status": 304, "headers": [["ETag", "\"1\""]]}}],
            "/other": [{{"body": "old", "headers": [["Last-Modified", "{DATE}"]]}},
                       {{"body": "new one", "headers": [["ETag", "\"2\""]]}}],
            "/bare": [{{"body": "was"}}, {{"body": "is"}}]
        }}}}"#
    );
    let origin = origin(&script).await;
    let runs = Runs::of(["/same", "/other", "/bare"].map(|path| origin.url(path)));
    assert_eq!(runs.run(false).await.count(Outcome::Fetched), 3);
    let first = [0, 1, 2].map(|at| runs.line(at));
    assert_eq!(first[0].etag.as_deref(), Some("\"1\""));

    let summary = runs.run(true).await;
    assert_eq!(summary.count(Outcome::Fetched), 3);
    assert_eq!(summary.bytes, 9, "a 304 costs no body");
    let arrivals = pages(&origin);
    let of = |path: &str| arrivals.iter().filter(|a| a.path == path).nth(1).unwrap();
    assert_eq!(asked(of("/same")), (Some("\"1\""), Some(DATE)));
    assert_eq!(asked(of("/other")), (None, Some(DATE)));
    assert_eq!(asked(of("/bare")), (None, None));

    let same = runs.line(0);
    assert_eq!((same.status, same.not_modified), (Some(304), true));
    assert_eq!(
        (&same.file, &same.sha256),
        (&first[0].file, &first[0].sha256)
    );
    assert_eq!(same.etag, first[0].etag);
    let other = runs.line(1);
    assert_eq!((other.status, other.not_modified), (Some(200), false));
    assert_eq!(other.etag.as_deref(), Some("\"2\""));
    assert_eq!(other.sha256, Some(sha256(b"new one")));
    assert_eq!([0, 1, 2].map(|at| runs.body(at)), ["one", "new one", "is"]);
}

#[tokio::test]
async fn a_run_without_refresh_asks_for_nothing_again() {
    let (origin, runs) = one_page(r#"{"headers": [["ETag", "\"1\""]]}"#).await;
    for _ in 0..2 {
        runs.run(false).await;
    }
    assert_eq!(pages(&origin).len(), 1);
}

#[tokio::test]
async fn no_condition_is_set_where_the_file_is_gone_or_is_not_as_it_was() {
    for spoil in [
        |file: &Path| std::fs::remove_file(file).unwrap(),
        |file: &Path| std::fs::write(file, "cut").unwrap(),
    ] {
        let (origin, runs) = one_page(r#"{"body": "whole", "headers": [["ETag", "\"1\""]]}"#).await;
        runs.run(false).await;
        spoil(&runs.path().join(runs.line(0).file.unwrap()));
        runs.run(true).await;
        assert_eq!(asked(&pages(&origin)[1]), (None, None));
        assert_eq!(runs.body(0), "whole");
    }
}

#[tokio::test]
async fn a_304_about_another_body_is_asked_again_without_a_condition() {
    let (origin, runs) = one_page(
        r#"{"body": "old", "headers": [["ETag", "\"1\""]]},
           {"status": 304, "headers": [["ETag", "\"2\""]]},
           {"body": "new", "headers": [["ETag", "\"2\""]]}"#,
    )
    .await;
    runs.run(false).await;
    runs.run(true).await;
    assert_eq!(asked(&pages(&origin)[2]), (None, None));
    assert_eq!((runs.body(0).as_str(), runs.line(0).attempts), ("new", 2));
}

#[tokio::test]
async fn what_cannot_be_had_anew_keeps_the_body_of_before() {
    for (answer, outcome) in [
        (r#"{"status": 404}"#, Outcome::HttpError),
        (r#"{"status": 500}"#, Outcome::HttpError),
        (r#"{"fault": "reset_before_head"}"#, Outcome::Failed),
        (
            r#"{"status": 429, "headers": [["Retry-After", "3600"]]}"#,
            Outcome::Deferred,
        ),
        // As where somebody's condition of an earlier request leaks out of a cache.
        (
            r#"{"status": 304, "headers": [["ETag", "\"2\""]]},
               {"status": 304, "headers": [["ETag", "\"2\""]]}"#,
            Outcome::Failed,
        ),
    ] {
        let first = r#"{"body": "good", "headers": [["ETag", "\"1\""]]}"#;
        let (_origin, runs) = one_page(&format!("{first}, {answer}")).await;
        runs.run(false).await;
        runs.run(true).await;
        let line = runs.line(0);
        assert_eq!(line.outcome, outcome, "{answer}: {line:?}");
        assert_eq!(line.sha256, Some(sha256(b"good")), "{answer}");
        assert_eq!(line.etag.as_deref(), Some("\"1\""), "{answer}");
        assert_eq!(runs.body(0), "good", "{answer}");
    }
}

#[tokio::test]
async fn validators_go_to_the_url_that_they_came_from_and_no_other() {
    let origin = origin(
        r#"{"robots": 404, "pages": {
            "/from": {"location": "/to"},
            "/to": [{"body": "x", "headers": [["ETag", "\"1\""]]}, {"status": 304}]
        }}"#,
    )
    .await;
    let runs = Runs::of([origin.url("/from")]);
    runs.run(false).await;
    runs.run(true).await;
    let arrivals = pages(&origin);
    assert_eq!(asked(&arrivals[2]), (None, None), "{}", arrivals[2].path);
    assert_eq!(asked(&arrivals[3]), (Some("\"1\""), None));
    let line = runs.line(0);
    assert!(line.not_modified && line.final_url.is_some(), "{line:?}");
}

#[tokio::test]
async fn without_bodies_a_304_counts_as_well() {
    let (origin, runs) = one_page(
        r#"{"body": "four", "headers": [["ETag", "\"1\""]]}, {"status": 304}, {"body": "four"}"#,
    )
    .await;
    runs.run_with(false, Bodies::Dropped).await;
    let line = runs.line(0);
    assert_eq!((line.bytes, line.file, line.sha256), (Some(4), None, None));
    assert_eq!(bodies(runs.path()), [""; 0]);
    runs.run_with(true, Bodies::Dropped).await;
    assert!(runs.line(0).not_modified);
    // Where a file is wanted now, it takes the body.
    runs.run(true).await;
    assert_eq!(asked(&pages(&origin)[2]), (None, None));
    assert_eq!(runs.body(0), "four");
}

#[tokio::test]
async fn a_round_that_was_stopped_goes_on_and_asks_nothing_twice() {
    let origin = origin(
        r#"{"robots": 404, "service": {"latency_ms": 5},
            "page": {"headers": [["ETag", "\"1\""]]}}"#,
    )
    .await;
    let urls: Vec<String> = (0..60).map(|n| origin.url(&format!("/{n}"))).collect();
    let runs = Runs::of(urls);
    runs.run(false).await;
    let options = || JobOptions {
        refresh: true,
        ..JobOptions::default()
    };
    let job = runs.open(options()).await;
    let stopper = job.stopper();
    let running = tokio::spawn(job.run());
    while origin.arrived() < 61 + 15 {
        tokio::time::sleep(ms(1)).await;
    }
    stopper.stop();
    assert!(running.await.unwrap().unwrap().interrupted);
    let arrived = pages(&origin).len();
    assert!(arrived < 120, "{arrived} before it was stopped");
    // One that only goes on knows what to ask with too.
    assert_eq!(runs.run(false).await.count(Outcome::Fetched), 60);
    let arrivals = pages(&origin);
    assert_eq!(arrivals.len(), 120);
    let again = &arrivals[60..];
    assert!(again.iter().all(|a| asked(a) == (Some("\"1\""), None)));
    // And the next round begins anew.
    runs.run(true).await;
    assert_eq!(pages(&origin).len(), 180);
}
