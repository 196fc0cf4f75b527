//! The reference drivers pass the suites.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use curtsy_store::{HostStore, MemoryQueue, MemoryStore, Queue};

mod store {
    use super::*;

    async fn open() -> (Arc<dyn HostStore>, ()) {
        (Arc::new(MemoryStore::new()), ())
    }

    curtsy_store::host_store_conformance!(open);
}

mod queue {
    use super::*;

    async fn open() -> (Arc<dyn Queue>, ()) {
        (Arc::new(MemoryQueue::new()), ())
    }

    curtsy_store::queue_conformance!(open);
}
