//! Where curtsy remembers scopes and queues URLs.
//!
//! - [`HostStore`] keeps opaque, versioned values under string keys and changes them by
//!   compare-and-swap alone. What the values mean, and when a request may depart, is not known here.
//! - [`Queue`] keeps the URLs of a job: it leases *scopes*, so that one worker at a time paces a
//!   scope, and it keeps what became of each URL.
//! - [`DirLock`] sees to it that one process at a time works on a directory.
//!
//! Drivers: [`MemoryStore`] and [`MemoryQueue`] are the reference that forgets everything at the end
//! of the process; [`SqliteStore`] and [`SqliteQueue`] (feature `sqlite`, on by default) keep one file
//! each; [`RedisStore`] and [`RedisQueue`] (feature `redis`) are for workers on many machines, and so is
//! `DynamoDbStore` (feature `dynamodb`). The feature `conformance` opens the suites that every
//! driver has to pass.

#[cfg(feature = "conformance")]
pub mod conformance;
#[cfg(feature = "dynamodb")]
pub mod dynamodb;
mod dynamodb_table;
pub mod error;
pub mod host_store;
pub mod lock;
pub mod memory;
pub mod queue;
#[cfg(feature = "redis")]
pub mod redis;
mod redis_url;
mod shared_clock;
#[cfg(feature = "sqlite")]
pub mod sqlite;
mod watch;

#[cfg(feature = "dynamodb")]
pub use dynamodb::DynamoDbStore;
pub use dynamodb_table::DynamoDbTable;
pub use error::{StoreError, StoreErrorKind};
pub use host_store::{HostStore, Swap, Version, Versioned};
pub use lock::{DirLock, LockError, LockErrorKind};
pub use memory::{MemoryQueue, MemoryStore};
pub use queue::{
    Counts, Enqueued, Horizon, Lease, LeaseToken, LeasedScope, NewUrl, Page, Queue, QueuedUrl,
    Rest, ScopeCounts, Settled, Settlement, UrlId, UrlRecord, UrlState,
};
#[cfg(feature = "redis")]
pub use redis::{RedisQueue, RedisStore};
pub use redis_url::RedisUrl;
pub use shared_clock::{Reading, SharedClock};
#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteQueue, SqliteStore};
pub use watch::Watch;
