//! A job that was stopped or killed goes on where it stopped.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use curtsy::store::{Queue, SqliteQueue, SqliteStore};
use curtsy::{Bodies, Client, Job, JobDir, JobOptions, NewEntry, Outcome, Summary};
use curtsy_origin::{Origin, sized_body};

use crate::support::*;

/// The job of these tests: pages of one origin, on files in its directory.
async fn open(dir: &Path, base: &str, urls: usize, rate: f64) -> (Job, Client) {
    open_with(dir, base, urls, rate, JobOptions::default()).await
}

pub(crate) async fn open_with(
    dir: &Path,
    base: &str,
    urls: usize,
    rate: f64,
    options: JobOptions,
) -> (Job, Client) {
    let dir = JobDir::open(dir).unwrap();
    let queue: Arc<dyn Queue> = Arc::new(SqliteQueue::open(&dir.queue()).await.unwrap());
    let state = dir.path().join(".curtsy/state.sqlite");
    let client = builder(fast(|p| {
        (p.rate, p.per_host, p.burst, p.timeout) = (Some(rate), 4, 10, ms(1000))
    }))
    .store(Arc::new(SqliteStore::open(&state).await.unwrap()))
    .build()
    .unwrap();
    let job = Job::open(client.clone(), queue, dir, options)
        .await
        .unwrap();
    let entries: Vec<NewEntry> = (0..urls).map(|n| entry(format!("{base}{n}"))).collect();
    job.add(entries).await.unwrap();
    (job, client)
}

async fn run(dir: &Path, base: &str, urls: usize) -> Summary {
    open(dir, base, urls, 800.0).await.0.run().await.unwrap()
}

fn arrived(origin: &Origin) -> BTreeMap<String, usize> {
    let mut arrived = BTreeMap::new();
    for page in pages(origin) {
        *arrived.entry(page.path).or_default() += 1;
    }
    arrived
}

/// The URLs whose end is in the manifest, as far as its lines are whole.
fn recorded(dir: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(dir.join("manifest.jsonl")).unwrap_or_default();
    let line = |line| serde_json::from_str::<curtsy::Line>(line).ok();
    text.lines().filter_map(line).map(|line| line.url).collect()
}

/// Every URL once, each with a whole body.
fn check(dir: &Path, base: &str, urls: usize, body: &[u8]) {
    assert_eq!(manifest(dir).len(), urls);
    for n in 0..urls {
        let line = line(dir, &format!("{base}{n}"));
        assert_eq!(line.outcome, Outcome::Fetched, "{line:?}");
        assert_eq!(line.sha256, Some(sha256(body)));
        let file = dir.join(line.file.unwrap());
        assert!(std::fs::read(&file).unwrap() == body, "{file:?}");
    }
    assert_eq!(bodies(dir).len(), urls);
}

#[tokio::test]
async fn a_stopped_job_lets_the_departed_land_and_goes_on_when_run_again() {
    let origin =
        origin(r#"{"robots": 404, "service": {"latency_ms": 30}, "page": {"body_bytes": 500}}"#)
            .await;
    let dir = tempfile::tempdir().unwrap();
    let base = origin.url("/");
    for stop_at in [3, 30, 60] {
        let (job, _) = open(dir.path(), &base, 100, 200.0).await;
        let stopper = job.stopper();
        let running = tokio::spawn(job.run());
        while origin.arrived() < stop_at {
            tokio::time::sleep(ms(1)).await;
        }
        stopper.stop();
        let stopped = tokio::time::timeout(ms(5000), running).await.unwrap();
        let summary = stopped.unwrap().unwrap();
        assert!(summary.interrupted && summary.count(Outcome::Fetched) < 100);
        let landed = recorded(dir.path()).len() as u64;
        assert_eq!(
            landed,
            arrived(&origin).len() as u64,
            "what departed is recorded"
        );
        assert_eq!(landed, summary.count(Outcome::Fetched));
    }
    let summary = run(dir.path(), &base, 100).await;
    assert!(!summary.interrupted);
    check(dir.path(), &base, 100, &sized_body(500));
    assert!(arrived(&origin).values().all(|times| *times == 1));
    // And once more: there is nothing to do.
    let before = origin.arrived();
    assert_eq!(
        run(dir.path(), &base, 100).await.count(Outcome::Fetched),
        100
    );
    assert_eq!(origin.arrived(), before);
    check(dir.path(), &base, 100, &sized_body(500));
}

#[tokio::test]
async fn failed_urls_are_taken_up_again_only_where_that_is_asked_for() {
    let origin =
        origin(r#"{"robots": 404, "pages": {"/0": [{"status": 404}, {"status": 200}]}}"#).await;
    let dir = tempfile::tempdir().unwrap();
    let base = origin.url("/");
    for (retry_failed, arrivals) in [(false, 2), (false, 2), (true, 3)] {
        let queue = SqliteQueue::open(&dir.path().join(".curtsy/queue.sqlite"))
            .await
            .unwrap();
        let entries = vec![entry(format!("{base}0")), entry(format!("{base}1"))];
        let options = JobOptions {
            retry_failed,
            ..JobOptions::default()
        };
        run_on(
            client(|_| ()),
            Arc::new(queue),
            dir.path(),
            entries,
            options,
        )
        .await
        .unwrap();
        assert_eq!(pages(&origin).len(), arrivals, "{retry_failed}");
    }
    check(dir.path(), &base, 2, b"ok\n");
}

const DIR: &str = "CURTSY_TEST_JOB_DIR";
const BASE: &str = "CURTSY_TEST_JOB_BASE";
const URLS: usize = 240;
const WARC: &str = "CURTSY_TEST_JOB_WARC";
const REFRESH: &str = "CURTSY_TEST_JOB_REFRESH";

/// The process that is killed: this test binary, started anew by the test below.
#[test]
#[ignore = "runs only as the child of the test that kills it"]
fn child() {
    let (Some(dir), Ok(base)) = (std::env::var_os(DIR), std::env::var(BASE)) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let options = JobOptions {
            bodies: std::env::var_os(WARC).map_or(Bodies::Files, |file| Bodies::Warc(file.into())),
            refresh: std::env::var_os(REFRESH).is_some(),
            ..JobOptions::default()
        };
        let (job, _) = open_with(Path::new(&dir), &base, URLS, 150.0, options).await;
        job.run().await.unwrap();
    });
}

fn start(dir: &Path, base: &str) -> Child {
    start_with(dir, base, &[])
}

fn start_with(dir: &Path, base: &str, more: &[(&str, &Path)]) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "resume::child", "--ignored", "--test-threads=1"])
        .env(DIR, dir)
        .env(BASE, base)
        .envs(more.iter().copied())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[tokio::test]
async fn s1_a_job_that_is_killed_at_any_moment_loses_nothing_and_fetches_no_recorded_url_again() {
    let origin =
        origin(r#"{"robots": 404, "service": {"latency_ms": 5}, "page": {"body_bytes": 30000}}"#)
            .await;
    let dir = tempfile::tempdir().unwrap();
    let base = origin.url("/");
    let body = sized_body(30_000);
    let mut done: BTreeMap<String, usize> = BTreeMap::new();
    for (kill, arrivals) in [1, 12, 45, 80, 120, 150].into_iter().enumerate() {
        let child = start(dir.path(), &base);
        kill_when(child, kill, || arrived(&origin).len() >= arrivals).await;
        let times = arrived(&origin);
        for (path, before) in &done {
            assert_eq!(times[path], *before, "{path} was recorded and came again");
        }
        for url in recorded(dir.path()) {
            let path = url.replace(&base, "/");
            done.insert(path.clone(), times[&path]);
        }
        for file in bodies(dir.path()) {
            let found = std::fs::read(dir.path().join(&file)).unwrap();
            assert!(found == body, "{file} is not whole");
        }
    }
    assert!(
        done.len() > 40,
        "{} recorded before the last kill",
        done.len()
    );
    let summary = run(dir.path(), &base, URLS).await;
    assert_eq!(summary.count(Outcome::Fetched), URLS as u64);
    check(dir.path(), &base, URLS, &body);
    let times = arrived(&origin);
    for (path, before) in &done {
        assert_eq!(times[path], *before, "{path} was recorded and came again");
    }
}

/// Kills children at these many arrivals after those that there are, and answers with what was recorded.
async fn kill_at(
    origin: &Origin,
    arrivals: &[usize],
    start: impl Fn() -> Child,
    mut killed: impl FnMut(),
) {
    for (kill, more) in arrivals.iter().enumerate() {
        let (child, before) = (start(), pages(origin).len());
        kill_when(child, kill, || pages(origin).len() >= before + more).await;
        killed();
    }
}

/// Kills a child once so much has arrived, and a little later each time.
async fn kill_when(mut child: Child, kill: usize, has_arrived: impl Fn() -> bool) {
    let mut patience = 4000;
    while !has_arrived() && patience > 0 {
        tokio::time::sleep(ms(2)).await;
        patience -= 1;
    }
    tokio::time::sleep(Duration::from_micros(1700 * kill as u64)).await;
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(patience > 0, "the child did not start");
    // What arrived of it before it died is counted before the next one starts.
    tokio::time::sleep(ms(20)).await;
}

#[tokio::test]
async fn an_archive_whose_writer_is_killed_at_any_moment_holds_all_that_was_recorded() {
    let origin =
        origin(r#"{"robots": 404, "service": {"latency_ms": 5}, "page": {"body_bytes": 30000}}"#)
            .await;
    let dir = tempfile::tempdir().unwrap();
    let (base, file) = (origin.url("/"), dir.path().join("a.warc.gz"));
    let start = || start_with(dir.path(), &base, &[(WARC, file.as_path())]);
    kill_at(&origin, &[1, 12, 40, 40, 30], start, || {
        let (records, _) = crate::warc::read(&file);
        for line in crate::warc::lines_of(dir.path()) {
            let found = records.iter().any(|record| {
                Some(record.offset) == line.warc_offset && record.field("warc-type") == "response"
            });
            assert!(found, "{line:?}");
        }
    })
    .await;
    let options = JobOptions {
        bodies: Bodies::Warc(file.clone()),
        ..JobOptions::default()
    };
    let (job, _) = open_with(dir.path(), &base, URLS, 800.0, options).await;
    let summary = job.run().await.unwrap();
    assert_eq!(summary.count(Outcome::Fetched), URLS as u64);
    let (records, rest) = crate::warc::read(&file);
    assert_eq!(rest, 0, "no torn record is left");
    for n in 0..URLS {
        let line = line(dir.path(), &format!("{base}{n}"));
        let record = records.iter().find(|r| Some(r.offset) == line.warc_offset);
        assert_eq!(record.unwrap().field("warc-target-uri"), line.url);
    }
}

#[tokio::test]
async fn a_refresh_that_is_killed_at_any_moment_loses_no_body_and_asks_nothing_recorded_again() {
    let page = r#"{"body": "b", "headers": [["ETag", "\"1\""]]}"#;
    let origin = origin(&format!(
        r#"{{"robots": 404, "service": {{"latency_ms": 5}}, "page": {page}}}"#
    ))
    .await;
    let dir = tempfile::tempdir().unwrap();
    let base = origin.url("/");
    run(dir.path(), &base, URLS).await;
    let start = || start_with(dir.path(), &base, &[(REFRESH, Path::new("yes"))]);
    kill_at(&origin, &[1, 30, 60], start, || {
        for n in 0..URLS {
            let line = recorded_line(dir.path(), &format!("{base}{n}"));
            let body = std::fs::read(dir.path().join(line.file.unwrap())).unwrap();
            assert_eq!(body, b"b", "{n}");
        }
    })
    .await;
    let options = JobOptions {
        refresh: true,
        ..JobOptions::default()
    };
    let (job, _) = open_with(dir.path(), &base, URLS, 800.0, options).await;
    job.run().await.unwrap();
    check(dir.path(), &base, URLS, b"b");
    // Twice each, and once more those that were under way at one of the kills.
    let times = arrived(&origin);
    let more: usize = times.values().map(|times| times - 2).sum();
    assert!(more < 60, "{more} asked again");
    let second = pages(&origin);
    let asked = second[URLS..]
        .iter()
        .filter(|a| a.header("if-none-match").is_some());
    assert_eq!(
        asked.count(),
        second.len() - URLS,
        "each with what was known"
    );
}

/// A URL's last line, whole as it must be.
fn recorded_line(dir: &Path, url: &str) -> curtsy::Line {
    let lines = crate::warc::lines_of(dir);
    let last = lines.into_iter().rfind(|line| line.url == url);
    last.unwrap_or_else(|| panic!("{url} has no line"))
}
