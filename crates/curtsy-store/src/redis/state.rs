//! [`HostStore`] in Redis.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use async_trait::async_trait;
use redis::{Value, from_redis_value};

use super::link::{Answer, Link};
use super::script::{Call, Script};
use crate::error::{StoreError, StoreErrorKind};
use crate::host_store::{HostStore, Swap, Version, Versioned, check_key, check_value};
use crate::redis_url::RedisUrl;
use crate::shared_clock::SharedClock;
use crate::watch::Watch;

/// How long a value is kept after its last change: 400 days. The longest wait that is taken from a server
/// is 365 days, so that a value never ends before a hold in it.
pub const KEPT: Duration = Duration::from_secs(400 * 24 * 60 * 60);

/// What all keys begin with.
pub(super) const PREFIX: &str = "curtsy:";

/// The versions before a value, the newest first, and how many bytes they take.
const DEFINITIONS: &str = "local key, expected, version, value, kept = KEYS[1], unpack(ARGV)";
const VERSIONS: usize = 8 * VERSION;
const VERSION: usize = 8;

static LOAD: LazyLock<Script> =
    LazyLock::new(|| Script::new("", "return redis.call('GET', KEYS[1])"));

static SWAP: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        DEFINITIONS,
        "local versions = redis.call('GETRANGE', key, 0, 63)
        -- It has run before, and its answer was lost.
        if string.find(versions, version, 1, true) then return 1 end
        if string.sub(versions, 1, 8) ~= expected then return {redis.call('GET', key)} end
        if versions == '' then versions = string.rep('\\0', 56) end
        redis.call('SET', key, version .. string.sub(versions, 1, 56) .. value, 'PX', kept)
        redis.call('PUBLISH', key, version)
        return 1",
    )
});

static REMOVE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        DEFINITIONS,
        "local versions = redis.call('GETRANGE', key, 0, 63)
        if string.sub(versions, 1, 8) ~= expected then return {redis.call('GET', key)} end
        if redis.call('DEL', key) == 1 then redis.call('PUBLISH', key, '') end
        return 1",
    )
});

/// A [`HostStore`] in a Redis that workers on many machines share; the module says what survives what.
#[derive(Debug)]
pub struct RedisStore {
    link: Arc<Link>,
}

impl RedisStore {
    /// Connects to a Redis.
    ///
    /// # Errors
    /// It cannot be reached (`Unavailable`), refuses user or password (`Denied`), is too old or none at
    /// all (`Foreign`), or a replica (`ReadOnly`).
    pub async fn open(url: &RedisUrl) -> Result<Self, StoreError> {
        let link = Link::open(url).await?;
        Ok(Self { link })
    }

    async fn swap(&self, call: Call<'_>) -> Result<Option<Swap>, StoreError> {
        let Answer { value, is_repeated } = self.link.call(&call).await?;
        match value {
            Value::Int(_) => Ok(None),
            // It may have run the first time, and been overwritten by so many that its version is gone.
            _ if is_repeated => Err(self.link.unknown()),
            there => {
                let there = from_redis_value::<(Option<Vec<u8>>,)>(there).map_err(damaged)?;
                Ok(Some(Swap::Conflict(there.0.map(versioned).transpose()?)))
            }
        }
    }
}

#[async_trait]
impl HostStore for RedisStore {
    async fn load(&self, key: &str) -> Result<Option<Versioned>, StoreError> {
        check_key(key)?;
        let there = self.link.call(&LOAD.call(place(key))).await?;
        let there: Option<Vec<u8>> = from_redis_value(there.value).map_err(damaged)?;
        there.map(versioned).transpose()
    }

    async fn compare_and_swap(
        &self,
        key: &str,
        expected: Version,
        value: Vec<u8>,
    ) -> Result<Swap, StoreError> {
        check_key(key)?;
        check_value(&value)?;
        let version = new_version();
        let call = SWAP
            .call(place(key))
            .with(bytes(expected))
            .with(bytes(version))
            .with(value)
            .with(KEPT.as_millis().to_string());
        let conflict = self.swap(call).await?;
        Ok(conflict.unwrap_or(Swap::Stored(version)))
    }

    async fn remove(&self, key: &str, expected: Version) -> Result<Swap, StoreError> {
        check_key(key)?;
        let call = REMOVE.call(place(key)).with(bytes(expected));
        let conflict = self.swap(call).await?;
        Ok(conflict.unwrap_or(Swap::Stored(Version::ABSENT)))
    }

    /// It goes through all keys of the database, which takes its time in one that others fill.
    async fn keys(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let pattern = format!("{PREFIX}{{{}*", escaped(prefix));
        let found = self.link.scan(&pattern).await?;
        let ours = found.iter().filter_map(|key| of_place(key));
        let mut keys: Vec<String> = ours.map(str::to_owned).collect();
        // One that moves during the scan may be told twice.
        keys.sort_unstable();
        keys.dedup();
        Ok(keys)
    }

    fn clock(&self) -> Option<Arc<SharedClock>> {
        Some(Arc::clone(self.link.clock()))
    }

    fn watch(&self, key: &str) -> Option<Watch> {
        Some(self.link.watch(place(key)))
    }
}

/// Where a key is kept. What stands in the braces decides about the slot of a cluster.
fn place(key: &str) -> String {
    format!("{PREFIX}{{{key}}}")
}

fn of_place(place: &str) -> Option<&str> {
    place
        .strip_prefix(PREFIX)?
        .strip_prefix('{')?
        .strip_suffix('}')
}

/// A prefix without its meaning as a pattern.
fn escaped(prefix: &str) -> String {
    let mut escaped = String::with_capacity(prefix.len());
    for c in prefix.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '\\') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// A number that no other writer draws: of two in 2⁶⁴ nobody will ever see the same for one key.
fn new_version() -> Version {
    Version::from_number(fastrand::u64(1..))
}

/// Empty for no value.
fn bytes(version: Version) -> Vec<u8> {
    match version {
        Version::ABSENT => Vec::new(),
        version => version.number().to_be_bytes().to_vec(),
    }
}

fn versioned(stored: Vec<u8>) -> Result<Versioned, StoreError> {
    let (versions, value) = stored.split_at_checked(VERSIONS).ok_or_else(|| {
        let what = "a value in Redis is cut short";
        StoreError::new(StoreErrorKind::Damaged, what)
    })?;
    let mut version = [0; VERSION];
    version.copy_from_slice(&versions[..VERSION]);
    Ok(Versioned {
        version: Version::from_number(u64::from_be_bytes(version)),
        value: value.to_vec(),
    })
}

pub(super) fn damaged(error: redis::ParsingError) -> StoreError {
    let what = "Redis answered something unexpected";
    StoreError::new(StoreErrorKind::Damaged, what).caused_by(error)
}
