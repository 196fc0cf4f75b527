//! [`HostStore`] in a SQLite file.

use std::path::Path;

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, params};

use super::file::Format;
use super::thread::Thread;
use crate::error::StoreError;
use crate::host_store::{HostStore, Swap, Version, Versioned, check_key, check_value};

/// "cuST" in ASCII.
const APPLICATION_ID: i32 = 0x6375_5354;

const FORMAT: Format = Format {
    application_id: APPLICATION_ID,
    version: 1,
    // A value is changed in place, which the index on its key does not notice. A version grows by one
    // with each swap; a new value begins above every version that was ever removed, whatever its key.
    schema: "
        CREATE TABLE state (
            key TEXT NOT NULL UNIQUE,
            version INTEGER NOT NULL,
            value BLOB NOT NULL
        ) STRICT;
        CREATE TABLE removed (last_version INTEGER NOT NULL) STRICT;
        INSERT INTO removed VALUES (0);
    ",
    synchronous: "normal",
    cache_kib: 8 * 1024,
};

/// A [`HostStore`] in one SQLite file that several processes may share; the module says what survives
/// what.
#[derive(Debug)]
pub struct SqliteStore {
    thread: Thread,
}

impl SqliteStore {
    /// Opens the file at `path`, or makes it and its parent directories.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        let thread = Thread::start(path, &FORMAT, true).await?;
        Ok(Self { thread })
    }

    /// So many write transactions this handle has committed.
    pub fn commits(&self) -> u64 {
        self.thread.commits()
    }

    /// Waits until all that was called before is done, and closes the file; every later call fails.
    pub async fn close(&self) {
        self.thread.close().await;
    }
}

#[async_trait]
impl HostStore for SqliteStore {
    async fn load(&self, key: &str) -> Result<Option<Versioned>, StoreError> {
        check_key(key)?;
        let key = key.to_owned();
        self.thread
            .read(move |connection| load(connection, &key))
            .await
    }

    async fn compare_and_swap(
        &self,
        key: &str,
        expected: Version,
        value: Vec<u8>,
    ) -> Result<Swap, StoreError> {
        check_key(key)?;
        check_value(&value)?;
        let key = key.to_owned();
        self.thread
            .write(move |connection| {
                let stored = if expected == Version::ABSENT {
                    insert(connection, &key, &value)?
                } else {
                    update(connection, &key, expected, &value)?
                };
                stored.map_or_else(|| conflict(connection, &key), |new| Ok(Swap::Stored(new)))
            })
            .await
    }

    async fn remove(&self, key: &str, expected: Version) -> Result<Swap, StoreError> {
        check_key(key)?;
        let key = key.to_owned();
        self.thread
            .write(move |connection| {
                if delete(connection, &key, expected)? {
                    return Ok(Swap::Stored(Version::ABSENT));
                }
                match conflict(connection, &key)? {
                    Swap::Conflict(None) if expected == Version::ABSENT => {
                        Ok(Swap::Stored(Version::ABSENT))
                    }
                    conflict => Ok(conflict),
                }
            })
            .await
    }

    async fn keys(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let prefix = prefix.to_owned();
        self.thread
            .read(move |connection| keys(connection, &prefix))
            .await
    }
}

fn load(connection: &Connection, key: &str) -> rusqlite::Result<Option<Versioned>> {
    connection
        .prepare_cached("SELECT version, value FROM state WHERE key = ?1")?
        .query_row([key], |row| {
            Ok(Versioned {
                version: version(row.get(0)?),
                value: row.get(1)?,
            })
        })
        .optional()
}

fn insert(connection: &Connection, key: &str, value: &[u8]) -> rusqlite::Result<Option<Version>> {
    connection
        .prepare_cached(
            "INSERT INTO state (key, version, value)
             SELECT ?1, last_version + 1, ?2 FROM removed WHERE true
             ON CONFLICT (key) DO NOTHING RETURNING version",
        )?
        .query_row(params![key, value], |row| row.get(0).map(version))
        .optional()
}

fn update(
    connection: &Connection,
    key: &str,
    expected: Version,
    value: &[u8],
) -> rusqlite::Result<Option<Version>> {
    let changed = connection
        .prepare_cached(
            "UPDATE state SET version = version + 1, value = ?3 WHERE key = ?1 AND version = ?2",
        )?
        .execute(params![key, expected.number().cast_signed(), value])?;
    Ok((changed == 1).then(|| Version::from_number(expected.number() + 1)))
}

fn delete(connection: &Connection, key: &str, expected: Version) -> rusqlite::Result<bool> {
    let number = expected.number().cast_signed();
    let deleted = connection
        .prepare_cached("DELETE FROM state WHERE key = ?1 AND version = ?2")?
        .execute(params![key, number])?;
    if deleted == 1 {
        connection
            .prepare_cached("UPDATE removed SET last_version = max(last_version, ?1)")?
            .execute([number])?;
    }
    Ok(deleted == 1)
}

fn conflict(connection: &Connection, key: &str) -> rusqlite::Result<Swap> {
    Ok(Swap::Conflict(load(connection, key)?))
}

fn keys(connection: &Connection, prefix: &str) -> rusqlite::Result<Vec<String>> {
    let mut keys = Vec::new();
    let mut statement =
        connection.prepare_cached("SELECT key FROM state WHERE key >= ?1 ORDER BY key")?;
    let mut rows = statement.query([prefix])?;
    // All that begin with the prefix lie together, from the prefix itself on.
    while let Some(row) = rows.next()? {
        let key: String = row.get(0)?;
        if !key.starts_with(prefix) {
            break;
        }
        keys.push(key);
    }
    Ok(keys)
}

fn version(number: i64) -> Version {
    Version::from_number(number.cast_unsigned())
}
