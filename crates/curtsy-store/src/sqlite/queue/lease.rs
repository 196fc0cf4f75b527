//! Handing out scopes and taking them back.

use std::time::Duration;

use curtsy_core::Timestamp;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Params, params};

use super::{from_sql, to_sql};
use crate::queue::{
    Cursor, Lease, LeaseToken, LeasedScope, MAX_PAGE, Page, QueuedUrl, Rest, UrlId,
};

/// What becomes of a scope's columns when nobody has it any more.
macro_rules! set_free {
    () => {
        "lease = NULL, worker = NULL, leased_until = NULL"
    };
}

/// The instant from which something of a scope is due, for `UPDATE scope SET due = …`.
macro_rules! first_due {
    ($not_before:literal) => {
        concat!(
            "(SELECT max(",
            $not_before,
            ", url.due) FROM url WHERE url.scope = scope.id AND url.due IS NOT NULL
              ORDER BY url.due LIMIT 1)"
        )
    };
}

pub(super) fn lease_due(
    connection: &Connection,
    worker: &str,
    scopes: usize,
    page: usize,
    length: Duration,
    now: Timestamp,
) -> rusqlite::Result<Vec<LeasedScope>> {
    end_expired(connection, now)?;
    let due = due_scopes(connection, scopes, now)?;
    if due.is_empty() {
        return Ok(Vec::new());
    }
    let until = now.after(length);
    let mut token = reserve_tokens(connection, due.len())?;
    let mut update = connection.prepare_cached(
        "UPDATE scope SET lease = ?2, worker = ?3, leased_until = ?4, parked = NULL WHERE id = ?1",
    )?;
    let mut leased = Vec::with_capacity(due.len());
    for (scope, name) in due {
        token += 1;
        update.execute(params![scope, token, worker, to_sql(until)])?;
        let mut cursor = Cursor::default();
        let urls = next_page(connection, scope, &mut cursor, page, now)?;
        let lease = Lease {
            scope: name,
            token: LeaseToken(token.cast_unsigned()),
            until,
            cursor,
        };
        leased.push(LeasedScope { lease, urls });
    }
    Ok(leased)
}

fn due_scopes(
    connection: &Connection,
    scopes: usize,
    now: Timestamp,
) -> rusqlite::Result<Vec<(i64, String)>> {
    connection
        .prepare_cached(
            "SELECT id, name FROM scope
             WHERE due <= ?1 AND due IS NOT NULL AND leased_until IS NULL
             ORDER BY due, id LIMIT ?2",
        )?
        .query_map(params![to_sql(now), integer(scopes)], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?
        .collect()
}

/// The number before the first of so many that no lease of this job ever had.
fn reserve_tokens(connection: &Connection, number: usize) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("UPDATE job SET last_lease = last_lease + ?1 RETURNING last_lease - ?1")?
        .query_row([integer(number)], |row| row.get(0))
}

pub(super) fn more(
    connection: &Connection,
    lease: &mut Lease,
    page: usize,
    now: Timestamp,
) -> rusqlite::Result<Page> {
    let scope = connection
        .prepare_cached("SELECT id FROM scope WHERE name = ?1 AND lease = ?2")?
        .query_row(of_lease(lease), |row| row.get(0))
        .optional()?;
    match scope {
        Some(scope) => next_page(connection, scope, &mut lease.cursor, page, now).map(Page::Urls),
        None => Ok(Page::Lost),
    }
}

fn next_page(
    connection: &Connection,
    scope: i64,
    cursor: &mut Cursor,
    page: usize,
    now: Timestamp,
) -> rusqlite::Result<Vec<QueuedUrl>> {
    let page = page.clamp(1, MAX_PAGE);
    let mut urls = Vec::with_capacity(page);
    let fresh = connection.prepare_cached(
        "SELECT id, url, out, headers, attempts,
                (SELECT line FROM result WHERE result.id = url.id)
         FROM url WHERE scope = ?1 AND due = 0 AND id > ?2 ORDER BY id LIMIT ?3",
    )?;
    take(
        fresh,
        params![scope, cursor.fresh.cast_signed(), integer(page)],
        &mut urls,
    )?;
    if let Some(last) = urls.last() {
        cursor.fresh = last.id.0;
    }
    let room = page - urls.len();
    if room == 0 {
        return Ok(urls);
    }
    let mut deferred = connection.prepare_cached(
        "SELECT id, url, out, headers, attempts,
                (SELECT line FROM result WHERE result.id = url.id), due
         FROM url WHERE scope = ?1 AND due > 0 AND due <= ?2 AND (due, id) > (?3, ?4)
         ORDER BY due, id LIMIT ?5",
    )?;
    let (due, id) = cursor.deferred;
    let mut rows = deferred.query(params![
        scope,
        to_sql(now),
        due.cast_signed(),
        id.cast_signed(),
        integer(room)
    ])?;
    while let Some(row) = rows.next()? {
        let url = queued(row)?;
        cursor.deferred = (row.get::<_, i64>(6)?.cast_unsigned(), url.id.0);
        urls.push(url);
    }
    Ok(urls)
}

fn take(
    mut statement: CachedStatement<'_>,
    params: impl Params,
    urls: &mut Vec<QueuedUrl>,
) -> rusqlite::Result<()> {
    let mut rows = statement.query(params)?;
    while let Some(row) = rows.next()? {
        urls.push(queued(row)?);
    }
    Ok(())
}

fn queued(row: &rusqlite::Row<'_>) -> rusqlite::Result<QueuedUrl> {
    Ok(QueuedUrl {
        id: UrlId(row.get::<_, i64>(0)?.cast_unsigned()),
        url: row.get(1)?,
        out: row.get(2)?,
        headers: row.get(3)?,
        attempts: row.get(4)?,
        line: row.get(5)?,
    })
}

pub(super) fn renew(
    connection: &Connection,
    leases: &[Lease],
    until: Timestamp,
) -> rusqlite::Result<Vec<LeaseToken>> {
    let mut update = connection
        .prepare_cached("UPDATE scope SET leased_until = ?3 WHERE name = ?1 AND lease = ?2")?;
    let mut lost = Vec::new();
    for lease in leases {
        let (name, token) = of_lease(lease);
        if update.execute(params![name, token, to_sql(until)])? == 0 {
            lost.push(lease.token);
        }
    }
    Ok(lost)
}

pub(super) fn release(connection: &Connection, released: &[(Lease, Rest)]) -> rusqlite::Result<()> {
    let mut update = connection.prepare_cached(concat!(
        "UPDATE scope SET not_before = ?3, parked = ?4, due = ",
        first_due!("?3"),
        ", ",
        set_free!(),
        " WHERE name = ?1 AND lease = ?2"
    ))?;
    for (lease, rest) in released {
        let (not_before, parked) = match rest {
            Rest::Due(not_before) => (*not_before, None),
            Rest::Parked { until, reason } => (*until, Some(reason)),
        };
        let (name, token) = of_lease(lease);
        update.execute(params![name, token, to_sql(not_before), parked])?;
    }
    Ok(())
}

/// Ends a lease as if it had not been.
pub(super) fn give_back(connection: &Connection, lease: &Lease) -> rusqlite::Result<()> {
    connection
        .prepare_cached(concat!(
            "UPDATE scope SET due = ",
            first_due!("not_before"),
            ", ",
            set_free!(),
            " WHERE name = ?1 AND lease = ?2"
        ))?
        .execute(of_lease(lease))?;
    Ok(())
}

fn end_expired(connection: &Connection, now: Timestamp) -> rusqlite::Result<()> {
    connection
        .prepare_cached(concat!(
            "UPDATE scope SET due = ",
            first_due!("not_before"),
            ", ",
            set_free!(),
            " WHERE leased_until <= ?1"
        ))?
        .execute([to_sql(now)])?;
    Ok(())
}

pub(super) fn take_over(connection: &Connection, worker: &str) -> rusqlite::Result<u64> {
    let ended = connection
        .prepare_cached(concat!(
            "UPDATE scope SET due = ",
            first_due!("not_before"),
            ", ",
            set_free!(),
            " WHERE leased_until IS NOT NULL AND worker = ?1"
        ))?
        .execute([worker])?;
    Ok(ended as u64)
}

/// Puts a scope where it belongs after its URLs have changed; one that is leased waits for its
/// release.
pub(super) fn refresh(connection: &Connection, scope: i64) -> rusqlite::Result<()> {
    connection
        .prepare_cached(concat!(
            "UPDATE scope SET due = ",
            first_due!("not_before"),
            " WHERE id = ?1 AND leased_until IS NULL"
        ))?
        .execute([scope])?;
    Ok(())
}

/// The instant from which something is due that nobody has.
pub(super) fn next_due(connection: &Connection) -> rusqlite::Result<Option<Timestamp>> {
    connection
        .prepare_cached(
            "SELECT due FROM scope WHERE due IS NOT NULL AND leased_until IS NULL
             ORDER BY due LIMIT 1",
        )?
        .query_row([], |row| row.get(0).map(from_sql))
        .optional()
}

fn of_lease(lease: &Lease) -> (&str, i64) {
    (&lease.scope, lease.token.0.cast_signed())
}

/// A number as SQL takes it, for its `LIMIT` above all.
pub(super) fn integer(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
