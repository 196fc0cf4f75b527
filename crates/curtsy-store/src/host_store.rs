//! The trait of a store of versioned values, and its words.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::error::{StoreError, StoreErrorKind};
use crate::shared_clock::SharedClock;
use crate::watch::Watch;

/// The longest key, in bytes.
pub const MAX_KEY_BYTES: usize = 1024;
/// The largest value, in bytes (1 MiB). A scope's state is usually below 1 KiB, a robots file may
/// take 500 KiB.
pub const MAX_VALUE_BYTES: usize = 1024 * 1024;

/// A store of opaque, versioned values under keys such as `scope:example.org` or
/// `robots:https://example.org:8443`.
///
/// It holds state and no logic: load, decide, compare-and-swap; on a conflict decide again on what
/// came back. Every acknowledged swap is there after the caller was killed. A call whose future was
/// dropped has been carried out wholly or not at all.
///
/// A key is 1 to [`MAX_KEY_BYTES`] bytes, a value at most [`MAX_VALUE_BYTES`]; beyond that a call
/// fails with [`StoreErrorKind::Invalid`].
#[async_trait]
pub trait HostStore: Send + Sync + fmt::Debug {
    /// The value under `key` with its version, or `None` where there is none.
    async fn load(&self, key: &str) -> Result<Option<Versioned>, StoreError>;

    /// Stores `value` if the version under `key` is still `expected`; [`Version::ABSENT`] means that
    /// there must be no value.
    async fn compare_and_swap(
        &self,
        key: &str,
        expected: Version,
        value: Vec<u8>,
    ) -> Result<Swap, StoreError>;

    /// Removes the value under `key` if its version is still `expected`. On success the answer is
    /// `Swap::Stored(Version::ABSENT)`, also where there was none and none was expected.
    async fn remove(&self, key: &str, expected: Version) -> Result<Swap, StoreError>;

    /// All keys that begin with `prefix`, in byte order.
    async fn keys(&self, prefix: &str) -> Result<Vec<String>, StoreError>;

    /// The clock that all who share this store go by; `None` where that is the caller's own.
    fn clock(&self) -> Option<Arc<SharedClock>> {
        None
    }

    /// Tells of changes that others make of the value under `key`; `None` where the store cannot.
    fn watch(&self, _key: &str) -> Option<Watch> {
        None
    }
}

/// Names one value that was once stored under a key. It never comes back for that key, not even after
/// the value was removed. Versions are compared for equality only; their order means nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Version(u64);

impl Version {
    /// No value is stored.
    pub const ABSENT: Self = Self(0);

    /// From a driver's number; 0 is [`Version::ABSENT`].
    pub const fn from_number(number: u64) -> Self {
        Self(number)
    }

    /// The driver's number.
    pub const fn number(self) -> u64 {
        self.0
    }
}

/// A stored value and its version, which is never [`Version::ABSENT`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versioned {
    /// Which value this is.
    pub version: Version,
    /// The value, opaque to the store.
    pub value: Vec<u8>,
}

/// What became of a compare-and-swap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Swap {
    /// It is stored, under this version.
    Stored(Version),
    /// Someone else was faster: this is there now, and nothing was changed.
    Conflict(Option<Versioned>),
}

/// Refuses a key that no driver could keep.
pub fn check_key(key: &str) -> Result<(), StoreError> {
    if key.is_empty() || key.len() > MAX_KEY_BYTES {
        return Err(StoreError::new(
            StoreErrorKind::Invalid,
            format!(
                "a key has 1 to {MAX_KEY_BYTES} bytes, this one {}",
                key.len()
            ),
        ));
    }
    Ok(())
}

/// Refuses a value that no driver could keep.
pub fn check_value(value: &[u8]) -> Result<(), StoreError> {
    if value.len() > MAX_VALUE_BYTES {
        return Err(StoreError::new(
            StoreErrorKind::Invalid,
            format!(
                "a value has at most {MAX_VALUE_BYTES} bytes, this one {}",
                value.len()
            ),
        ));
    }
    Ok(())
}
