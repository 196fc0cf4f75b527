//! The file of a SQLite driver, from its making to its removal.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use curtsy_store::{HostStore, Queue, SqliteQueue, SqliteStore, StoreErrorKind, Swap, Version};
use rusqlite::Connection;

#[tokio::test]
async fn what_was_stored_is_there_when_the_file_is_opened_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state.db");
    let store = SqliteStore::open(&path).await.unwrap();
    let version = swap(&store, "scope:a.org", Version::ABSENT, b"held").await;
    store.close().await;
    let store = SqliteStore::open(&path).await.unwrap();
    let there = store.load("scope:a.org").await.unwrap().unwrap();
    assert_eq!((there.version, there.value), (version, b"held".to_vec()));
}

#[tokio::test]
async fn many_swaps_at_once_take_few_transactions() {
    const TASKS: u64 = 64;
    const EACH: u64 = 50;
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&dir.path().join("state.db"))
        .await
        .unwrap();
    let store = Arc::new(store);
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let mut version = Version::ABSENT;
                for _ in 0..EACH {
                    version = swap(&store, &format!("scope:{task}"), version, b"state").await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let (swaps, commits) = (TASKS * EACH, store.commits());
    assert!(
        commits <= swaps / 4,
        "{commits} transactions for {swaps} swaps"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_new_file_is_for_its_owner_alone_in_directories_that_are_made() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("made/too/state ?#%.db");
    let store = SqliteStore::open(&path).await.unwrap();
    swap(&store, "scope:a.org", Version::ABSENT, b"x").await;
    let files: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(files.len(), 3, "the file, its log and the log's index");
    for file in files {
        let file = file.unwrap();
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{:?}", file.file_name());
    }
    store.close().await;
    SqliteStore::open(&path).await.unwrap();
}

#[tokio::test]
async fn a_file_that_cannot_be_ours_is_told_and_left_as_it_is() {
    type Spoil = fn(&Path);
    let cases: [(&str, Spoil, StoreErrorKind); 8] = [
        (
            "a newer schema",
            |path| sql(path, "PRAGMA user_version = 2"),
            StoreErrorKind::Newer,
        ),
        (
            "no schema",
            |path| sql(path, "PRAGMA user_version = 0"),
            StoreErrorKind::Damaged,
        ),
        (
            "another application",
            |path| sql(path, "PRAGMA application_id = 5"),
            StoreErrorKind::Foreign,
        ),
        (
            "another application's tables",
            |path| sql(path, "PRAGMA application_id = 0; PRAGMA user_version = 0"),
            StoreErrorKind::Foreign,
        ),
        (
            "a text",
            |path| fs::write(path, "scope,delay\n".repeat(1000)).unwrap(),
            StoreErrorKind::Damaged,
        ),
        (
            "a short text",
            |path| fs::write(path, "hello").unwrap(),
            StoreErrorKind::Damaged,
        ),
        ("cut short", |path| cut(path, 2), StoreErrorKind::Damaged),
        (
            "overwritten inside",
            overwrite_inside,
            StoreErrorKind::Damaged,
        ),
    ];
    for (name, spoil, kind) in cases {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.db");
        fill(&path).await;
        spoil(&path);
        let before = contents(dir.path());
        let error = SqliteStore::open(&path).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{name}: {error:?}");
        assert!(
            error.to_string().starts_with(&path.display().to_string()),
            "{name}: {error}"
        );
        let after = contents(dir.path());
        assert!(after.keys().eq(before.keys()), "{name}: {:?}", after.keys());
        assert!(after == before, "{name}: the file has changed");
    }
}

#[tokio::test]
async fn a_newer_schema_is_seen_in_a_log_that_is_not_written_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state.db");
    fill(&path).await;
    let newer = Connection::open(&path).unwrap();
    newer.pragma_update(None, "user_version", 2).unwrap();
    // As a crash leaves them behind.
    let log = dir.path().join("crashed.db-wal");
    fs::copy(dir.path().join("state.db-wal"), &log).unwrap();
    let path = dir.path().join("crashed.db");
    fs::copy(dir.path().join("state.db"), &path).unwrap();
    let read = || (fs::read(&path).unwrap(), fs::read(&log).unwrap());
    let before = read();
    assert!(!before.1.is_empty());
    let error = SqliteStore::open(&path).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Newer);
    assert!(read() == before, "the file or its log has changed");
}

#[tokio::test]
async fn a_state_file_is_no_queue_and_a_queue_no_state_file() {
    let dir = tempfile::tempdir().unwrap();
    let (state, queue) = (dir.path().join("state.db"), dir.path().join("queue.db"));
    let _state = SqliteStore::open(&state).await.unwrap();
    let _queue = SqliteQueue::open(&queue).await.unwrap();
    let error = SqliteStore::open(&queue).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Foreign);
    let error = SqliteQueue::open(&state).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Foreign);
}

#[tokio::test]
async fn an_empty_file_is_a_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state.db");
    fs::write(&path, "").unwrap();
    let store = SqliteStore::open(&path).await.unwrap();
    swap(&store, "scope:a.org", Version::ABSENT, b"x").await;
}

#[tokio::test]
async fn a_path_that_leads_to_no_file_is_unavailable() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    for path in [dir.path().to_owned(), file.join("state.db")] {
        let error = SqliteStore::open(&path).await.unwrap_err();
        assert_eq!(
            error.kind(),
            StoreErrorKind::Unavailable,
            "{}",
            path.display()
        );
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_that_was_removed_or_replaced_takes_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("queue.db");
    let queue = SqliteQueue::open(&path).await.unwrap();
    let set = async || {
        queue
            .set_meta(vec![("seq".to_owned(), b"1".to_vec())])
            .await
    };
    set().await.unwrap();
    fs::rename(&path, dir.path().join("aside")).unwrap();
    assert_eq!(set().await.unwrap_err().kind(), StoreErrorKind::Unavailable);
    fs::write(&path, "another file").unwrap();
    let error = set().await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unavailable);
    assert!(
        error.to_string().ends_with("was removed or replaced"),
        "{error}"
    );
    fs::rename(dir.path().join("aside"), &path).unwrap();
    set().await.unwrap();
}

#[tokio::test]
async fn a_closed_store_is_unavailable() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&dir.path().join("state.db"))
        .await
        .unwrap();
    store.close().await;
    store.close().await;
    let error = store.load("scope:a.org").await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unavailable);
}

async fn swap(store: &SqliteStore, key: &str, expected: Version, value: &[u8]) -> Version {
    match store.compare_and_swap(key, expected, value.to_vec()).await {
        Ok(Swap::Stored(version)) => version,
        other => panic!("{other:?}"),
    }
}

/// A state file with some pages of values, closed.
async fn fill(path: &Path) {
    let store = SqliteStore::open(path).await.unwrap();
    for n in 0..100 {
        swap(
            &store,
            &format!("scope:{n}.org"),
            Version::ABSENT,
            &[b'x'; 500],
        )
        .await;
    }
    store.close().await;
}

fn sql(path: &Path, sql: &str) {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(sql).unwrap();
}

fn cut(path: &Path, part: u64) {
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(file.metadata().unwrap().len() / part).unwrap();
}

fn overwrite_inside(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle..middle + 4096].fill(0x55);
    fs::write(path, bytes).unwrap();
}

/// Every file of the directory by its name.
fn contents(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    fs::read_dir(dir)
        .unwrap()
        .map(|file| {
            let file = file.unwrap();
            let name = file.file_name().into_string().unwrap();
            (name, fs::read(file.path()).unwrap())
        })
        .collect()
}
