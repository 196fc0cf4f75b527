//! Where the job stands.

use std::collections::BTreeMap;

use rusqlite::{Connection, Row, params};

use super::from_sql;
use super::lease::integer;
pub(super) use super::lease::next_due;
use crate::queue::{Counts, ScopeCounts, UrlId, UrlRecord, UrlState};

pub(super) fn counts(connection: &Connection) -> rusqlite::Result<Counts> {
    let (urls, deferred): (i64, i64) = connection
        .prepare_cached("SELECT urls, deferred FROM job")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let leased: i64 = connection
        .prepare_cached("SELECT count(*) FROM scope WHERE leased_until IS NOT NULL")?
        .query_row([], |row| row.get(0))?;
    // Those that wait for their scope alone.
    let parked: i64 = connection
        .prepare_cached(
            "SELECT ifnull(sum(urls - deferred
                - (SELECT ifnull(sum(number), 0) FROM tally WHERE tally.scope = scope.id)), 0)
             FROM scope WHERE parked IS NOT NULL",
        )?
        .query_row([], |row| row.get(0))?;
    let finished = finished(connection, 0)?;
    let waiting = urls.cast_unsigned() - finished.values().sum::<u64>();
    let deferred = (deferred + parked).cast_unsigned();
    Ok(Counts {
        pending: waiting - deferred,
        deferred,
        finished,
        leased_scopes: leased.cast_unsigned(),
    })
}

pub(super) fn scope_counts(
    connection: &Connection,
    after: Option<&str>,
    number: usize,
) -> rusqlite::Result<Vec<ScopeCounts>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, name, urls, deferred, parked IS NOT NULL, worker FROM scope
         WHERE name > ?1 ORDER BY name LIMIT ?2",
    )?;
    // No scope has an empty name.
    let mut rows = statement.query(params![after.unwrap_or_default(), integer(number)])?;
    let mut scopes = Vec::new();
    while let Some(row) = rows.next()? {
        let finished = finished(connection, row.get(0)?)?;
        let waiting = row.get::<_, i64>(2)?.cast_unsigned() - finished.values().sum::<u64>();
        let parked: bool = row.get(4)?;
        let deferred = if parked {
            waiting
        } else {
            row.get::<_, i64>(3)?.cast_unsigned()
        };
        scopes.push(ScopeCounts {
            scope: row.get(1)?,
            pending: waiting - deferred,
            deferred,
            finished,
            worker: row.get(5)?,
        });
    }
    Ok(scopes)
}

fn finished(connection: &Connection, scope: i64) -> rusqlite::Result<BTreeMap<String, u64>> {
    connection
        .prepare_cached("SELECT outcome, number FROM tally WHERE scope = ?1")?
        .query_map([scope], |row| {
            Ok((row.get(0)?, row.get::<_, i64>(1)?.cast_unsigned()))
        })?
        .collect()
}

pub(super) fn records(
    connection: &Connection,
    after: Option<UrlId>,
    number: usize,
) -> rusqlite::Result<Vec<UrlRecord>> {
    let after = after.map_or(0, |id| id.0.cast_signed());
    connection
        .prepare_cached(
            "SELECT url.id, scope.name, url.url, url.out, url.attempts, result.line,
                    result.outcome, url.due, url.reason, scope.not_before, scope.parked
             FROM url JOIN scope ON scope.id = url.scope LEFT JOIN result ON result.id = url.id
             WHERE url.id > ?1 ORDER BY url.id LIMIT ?2",
        )?
        .query_map(params![after, integer(number)], record)?
        .collect()
}

fn record(row: &Row<'_>) -> rusqlite::Result<UrlRecord> {
    Ok(UrlRecord {
        id: UrlId(row.get::<_, i64>(0)?.cast_unsigned()),
        scope: row.get(1)?,
        url: row.get(2)?,
        out: row.get(3)?,
        attempts: row.get(4)?,
        line: row.get(5)?,
        state: state(row)?,
    })
}

fn state(row: &Row<'_>) -> rusqlite::Result<UrlState> {
    if let Some(outcome) = row.get(6)? {
        return Ok(UrlState::Finished { outcome });
    }
    let due: i64 = row.get(7)?;
    let not_before: i64 = row.get(9)?;
    let reason: Option<String> = if due > 0 { row.get(8)? } else { row.get(10)? };
    Ok(match reason {
        Some(reason) => UrlState::Deferred {
            not_before: from_sql(due.max(not_before)),
            reason,
        },
        None => UrlState::Pending,
    })
}
