//! Adding URLs.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};

use crate::queue::{Enqueued, NewUrl};

pub(super) fn enqueue(connection: &Connection, urls: &[NewUrl]) -> rusqlite::Result<Enqueued> {
    let mut enqueued = Enqueued::default();
    // By name: the scope's number, and how many URLs it gets.
    let mut scopes: HashMap<&str, (i64, i64)> = HashMap::new();
    let mut insert = connection.prepare_cached(
        "INSERT INTO url (scope, due, key_hash, url, key, out, headers)
         VALUES (?1, 0, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for url in urls {
        let key = url.key.as_deref().unwrap_or(&url.url);
        let hash = hash(key);
        if is_known(connection, hash, key)? {
            enqueued.duplicates += 1;
            continue;
        }
        let scope = match scopes.get_mut(url.scope.as_str()) {
            Some(scope) => scope,
            None => {
                let number = scope_number(connection, &url.scope)?;
                scopes.entry(&url.scope).or_insert((number, 0))
            }
        };
        scope.1 += 1;
        let own_key = Some(key).filter(|key| *key != url.url);
        insert.execute(params![
            scope.0,
            hash,
            url.url,
            own_key,
            url.out,
            url.headers
        ])?;
        enqueued.added += 1;
    }
    // Each of these scopes has a URL now that waits for nothing but the scope itself.
    let mut update = connection
        .prepare_cached("UPDATE scope SET urls = urls + ?2, due = not_before WHERE id = ?1")?;
    for (scope, added) in scopes.into_values() {
        update.execute([scope, added])?;
    }
    connection
        .prepare_cached("UPDATE job SET urls = urls + ?1")?
        .execute([enqueued.added.cast_signed()])?;
    Ok(enqueued)
}

fn is_known(connection: &Connection, hash: i64, key: &str) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM url WHERE key_hash = ?1 AND ifnull(key, url) = ?2")?
        .exists(params![hash, key])
}

fn scope_number(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    let known = connection
        .prepare_cached("SELECT id FROM scope WHERE name = ?1")?
        .query_row([name], |row| row.get(0))
        .optional()?;
    match known {
        Some(number) => Ok(number),
        None => connection
            .prepare_cached("INSERT INTO scope (name) VALUES (?1) RETURNING id")?
            .query_row([name], |row| row.get(0)),
    }
}

/// A cryptographic hash, so that nobody can write a list of URLs that all meet in one place of the
/// index.
fn hash(key: &str) -> i64 {
    let digest = Sha256::digest(key.as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    i64::from_be_bytes(first)
}
