//! The SQLite drivers pass the suites.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use curtsy_store::{HostStore, Queue, SqliteQueue, SqliteStore};
use tempfile::TempDir;

mod store {
    use super::*;

    async fn open() -> (Arc<dyn HostStore>, TempDir) {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&dir.path().join("state.db")).await;
        (Arc::new(store.unwrap()), dir)
    }

    curtsy_store::host_store_conformance!(open);
}

mod queue {
    use super::*;

    async fn open() -> (Arc<dyn Queue>, TempDir) {
        let dir = tempfile::tempdir().unwrap();
        let queue = SqliteQueue::open(&dir.path().join("queue.db")).await;
        (Arc::new(queue.unwrap()), dir)
    }

    curtsy_store::queue_conformance!(open);
}
