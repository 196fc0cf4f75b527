//! The reference for [`HostStore`].

use std::collections::BTreeMap;
use std::sync::Mutex;

use async_trait::async_trait;

use super::lock;
use crate::error::StoreError;
use crate::host_store::{HostStore, Swap, Version, Versioned, check_key, check_value};

/// A [`HostStore`] within one process, for `memory:` and for tests.
#[derive(Debug, Default)]
pub struct MemoryStore {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    values: BTreeMap<String, Versioned>,
    /// The last version given to any key: one count for all of them makes every version new.
    last: u64,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }
}

#[async_trait]
impl HostStore for MemoryStore {
    async fn load(&self, key: &str) -> Result<Option<Versioned>, StoreError> {
        check_key(key)?;
        Ok(lock(&self.inner).values.get(key).cloned())
    }

    async fn compare_and_swap(
        &self,
        key: &str,
        expected: Version,
        value: Vec<u8>,
    ) -> Result<Swap, StoreError> {
        check_key(key)?;
        check_value(&value)?;
        let inner = &mut *lock(&self.inner);
        if let Some(conflict) = inner.conflict(key, expected) {
            return Ok(conflict);
        }
        inner.last += 1;
        let version = Version::from_number(inner.last);
        inner
            .values
            .insert(key.to_owned(), Versioned { version, value });
        Ok(Swap::Stored(version))
    }

    async fn remove(&self, key: &str, expected: Version) -> Result<Swap, StoreError> {
        check_key(key)?;
        let inner = &mut *lock(&self.inner);
        if let Some(conflict) = inner.conflict(key, expected) {
            return Ok(conflict);
        }
        inner.values.remove(key);
        Ok(Swap::Stored(Version::ABSENT))
    }

    async fn keys(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let inner = lock(&self.inner);
        Ok(inner
            .values
            .range(prefix.to_owned()..)
            .map(|(key, _)| key)
            .take_while(|key| key.starts_with(prefix))
            .cloned()
            .collect())
    }
}

impl Inner {
    fn conflict(&self, key: &str, expected: Version) -> Option<Swap> {
        let present = self.values.get(key);
        let version = present.map_or(Version::ABSENT, |present| present.version);
        (version != expected).then(|| Swap::Conflict(present.cloned()))
    }
}
