//! Several processes on one file, and processes that are killed.
//!
//! A child is this test program again, asked for one of the ignored tests. Each is bounded by itself
//! and ends when its parent has gone.

#![allow(clippy::unwrap_used)]
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::Timestamp;
use curtsy_store::conformance::host_store::{count, count_up};
use curtsy_store::{
    DirLock, LockErrorKind, NewUrl, Page, Queue, Settlement, SqliteQueue, SqliteStore, UrlId,
};

const DIR: &str = "CURTSY_STORE_TEST_DIR";
const LEASE: Duration = Duration::from_secs(60);
const NOW: Timestamp = Timestamp::from_secs(1);

const PROCESSES: u64 = 4;
const TASKS: u64 = 4;
const SWAPS: u64 = 50;

#[tokio::test]
async fn four_processes_lose_no_swap() {
    let dir = tempfile::tempdir().unwrap();
    // All of them open a file that is not there yet.
    let children: Vec<_> = (0..PROCESSES)
        .map(|_| spawn("child_counts", dir.path()))
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    let store = SqliteStore::open(&dir.path().join("state.db"))
        .await
        .unwrap();
    assert_eq!(
        count(&store, "scope:shared").await,
        PROCESSES * TASKS * SWAPS
    );
}

#[tokio::test]
#[ignore = "a child of four_processes_lose_no_swap"]
async fn child_counts() {
    let store = SqliteStore::open(&dir().join("state.db")).await.unwrap();
    let store = Arc::new(store);
    // Several at once, so that one transaction holds the loads of some and the swaps of others.
    let tasks: Vec<_> = (0..TASKS)
        .map(|_| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                for _ in 0..SWAPS {
                    count_up(&*store, "scope:shared").await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

#[tokio::test]
async fn a_killed_process_loses_no_swap_that_was_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    for round in 0..8 {
        let mut child = spawn("child_counts_and_tells", dir.path());
        let acknowledged = kill_after(&mut child, 1 + round * 37);
        let store = SqliteStore::open(&dir.path().join("state.db"))
            .await
            .unwrap();
        for (key, told) in ["scope:0", "scope:1", "scope:2"]
            .iter()
            .zip(last_of_three(&acknowledged))
        {
            let there = count(&store, key).await;
            // The one under way at the end may have gone through.
            assert!(
                there == told || there == told + 1,
                "{key}: {there}, told {told}, round {round}"
            );
        }
        check(&dir.path().join("state.db"));
    }
}

#[tokio::test]
#[ignore = "a child of a_killed_process_loses_no_swap_that_was_acknowledged"]
async fn child_counts_and_tells() {
    let store = SqliteStore::open(&dir().join("state.db")).await.unwrap();
    let counts = ["scope:0", "scope:1", "scope:2"];
    for key in counts {
        tell(count(&store, key).await);
    }
    for n in 0..30_000 {
        tell(count_up(&store, counts[n % 3]).await);
    }
}

/// What was told last of each of three counts that are told in turn.
fn last_of_three(told: &[u64]) -> [u64; 3] {
    let mut last = [0; 3];
    for (n, count) in told.iter().enumerate() {
        last[n % 3] = *count;
    }
    last
}

#[tokio::test]
async fn a_killed_worker_loses_no_result_that_was_acknowledged() {
    const URLS: usize = 600;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("queue.db");
    let queue = SqliteQueue::open(&path).await.unwrap();
    let urls = (0..URLS).map(|n| NewUrl {
        scope: format!("{}.org", n % 20),
        url: format!("http://{}.org/{n}", n % 20),
        key: None,
        out: None,
        headers: None,
    });
    queue.enqueue(urls.collect()).await.unwrap();
    queue.close().await;
    let mut done = Vec::new();
    for round in 0..5 {
        let mut child = spawn("child_works", dir.path());
        done.extend(kill_after(&mut child, 1 + round * 9));
        let queue = SqliteQueue::open(&path).await.unwrap();
        let records = queue.records(None, URLS).await.unwrap();
        for id in &done {
            let record = &records[*id as usize - 1];
            assert!(
                record.line.is_some(),
                "{id} was acknowledged, round {round}"
            );
        }
        queue.close().await;
        check(&path);
    }
    // Nothing that was recorded is fetched again, and all of the rest is.
    let recorded = told_to_the_end(spawn("child_works", dir.path()));
    let once: std::collections::HashSet<_> = done.iter().chain(&recorded).collect();
    assert_eq!(once.len(), done.len() + recorded.len());
    let queue = SqliteQueue::open(&path).await.unwrap();
    assert_eq!(
        queue.counts().await.unwrap().finished["fetched"],
        URLS as u64
    );
}

#[tokio::test]
#[ignore = "a child of a_killed_worker_loses_no_result_that_was_acknowledged"]
async fn child_works() {
    let queue = SqliteQueue::open(&dir().join("queue.db")).await.unwrap();
    queue.take_over("w").await.unwrap();
    loop {
        let leased = queue.lease_due("w", 3, 2, LEASE, NOW).await.unwrap();
        if leased.is_empty() {
            return;
        }
        for mut of in leased {
            let mut page = of.urls;
            while !page.is_empty() {
                let ids: Vec<UrlId> = page.iter().map(|url| url.id).collect();
                let ends = ids.iter().map(|id| Settlement::Finished {
                    id: *id,
                    outcome: "fetched".to_owned(),
                    line: format!("line {}", id.0),
                });
                let told = queue.settle(ends.collect()).await.unwrap();
                assert_eq!(told.stale, []);
                ids.iter().for_each(|id| tell(id.0));
                page = match queue.more(&mut of.lease, 2, NOW).await.unwrap() {
                    Page::Urls(urls) => urls,
                    Page::Lost => panic!("the only worker lost {:?}", of.lease),
                };
            }
        }
    }
}

#[test]
fn a_directory_is_locked_by_one_process_until_it_ends() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = spawn("child_locks", dir.path());
    let held = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let told = held.take_while(|line| !line.contains("ack ")).count();
    let error = DirLock::acquire(dir.path()).unwrap_err();
    assert_eq!(
        error.kind(),
        LockErrorKind::Held(Some(child.id())),
        "after {told} lines"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    DirLock::acquire(dir.path()).unwrap();
}

#[test]
#[ignore = "a child of a_directory_is_locked_by_one_process_until_it_ends"]
fn child_locks() {
    let _lock = DirLock::acquire(&dir()).unwrap();
    tell(1);
    // Until it is killed; the parent's end closes the pipe.
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
}

#[tokio::test]
async fn what_may_not_be_written_is_read_only_and_left_as_it_is() {
    for (name, dir_mode, file_mode) in [
        ("the file", 0o777, 0o444),
        ("the directory", 0o555, 0o666),
        ("both", 0o555, 0o444),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let stores = dir.path().join("stores");
        let path = stores.join("state.db");
        let store = SqliteStore::open(&path).await.unwrap();
        count_up(&store, "scope:a.org").await;
        store.close().await;
        let before = fs::read(&path).unwrap();
        chmod(dir.path(), 0o755);
        chmod(&path, file_mode);
        chmod(&stores, dir_mode);
        assert_eq!(open_as_nobody(dir.path(), &path), "ReadOnly", "{name}");
        if dir_mode == 0o555 {
            let new = stores.join("new.db");
            assert_eq!(
                open_as_nobody(dir.path(), &new),
                "ReadOnly",
                "a new file, {name}"
            );
        }
        chmod(&stores, 0o755);
        assert_eq!(fs::read(&path).unwrap(), before, "{name}");
        assert_eq!(fs::read_dir(&stores).unwrap().count(), 1, "{name}");
    }
}

/// Opens the store as a user who is not above permissions, and says what kind of error that gave.
fn open_as_nobody(dir: &Path, path: &Path) -> String {
    // Where that user can read it.
    let program = dir.join("program");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    chmod(&program, 0o755);
    let mut command = child(&program, "child_opens", path);
    if fs::metadata("/proc/self")
        .is_ok_and(|process| std::os::unix::fs::MetadataExt::uid(&process) == 0)
    {
        command.uid(65534).gid(65534);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    match text.split_once("opened: ") {
        Some((_, rest)) => rest.lines().next().unwrap().to_owned(),
        None => panic!("{text}{}", String::from_utf8_lossy(&output.stderr)),
    }
}

#[tokio::test]
#[ignore = "a child of what_may_not_be_written_is_read_only_and_left_as_it_is"]
async fn child_opens() {
    let opened = match SqliteStore::open(&dir()).await {
        Ok(_) => "well".to_owned(),
        Err(error) => format!("{:?}", error.kind()),
    };
    writeln!(std::io::stdout(), "opened: {opened}").unwrap();
}

fn spawn(name: &str, dir: &Path) -> Child {
    let program = std::env::current_exe().unwrap();
    child(&program, name, dir).spawn().unwrap()
}

fn child(program: &Path, name: &str, dir: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .args(["--ignored", "--exact", "--nocapture", name])
        .env(DIR, dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command
}

/// In a child: where its parent wants it to work.
fn dir() -> PathBuf {
    std::env::var_os(DIR).unwrap().into()
}

/// In a child: tells its parent a number, past the capture of the test harness.
fn tell(number: u64) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "ack {number}").unwrap();
    out.flush().unwrap();
}

/// Kills the child when it has told so many numbers; returns all that it told.
fn kill_after(child: &mut Child, numbers: usize) -> Vec<u64> {
    let mut told = Vec::new();
    for number in numbers_told(child) {
        told.push(number);
        if told.len() == numbers {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert!(told.len() >= numbers, "it ended by itself after {told:?}");
    told
}

fn told_to_the_end(mut child: Child) -> Vec<u64> {
    let told = numbers_told(&mut child).collect();
    assert!(child.wait().unwrap().success());
    told
}

fn numbers_told(child: &mut Child) -> impl Iterator<Item = u64> + use<> {
    // A line is one write to a pipe, which a kill does not tear.
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.filter_map(|line| line.unwrap().split_once("ack ")?.1.parse().ok())
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn check(path: &Path) {
    let connection = rusqlite::Connection::open(path).unwrap();
    let verdict: String = connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(verdict, "ok");
}
