//! Recording what became of URLs.

use std::collections::BTreeMap;

use curtsy_core::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use super::lease::refresh;
use super::to_sql;
use crate::queue::{Settled, Settlement, UrlId};

/// So many finished URLs are looked at in one go.
const REOPEN_PAGE: usize = 1000;

pub(super) fn settle(
    connection: &Connection,
    settlements: &[Settlement],
) -> rusqlite::Result<Settled> {
    let mut settled = Settled::default();
    let mut changes = Changes::default();
    for settlement in settlements {
        let id = settlement.id();
        let Some((scope, due)) = waiting(connection, id)? else {
            settled.stale.push(id);
            continue;
        };
        settled.recorded += 1;
        match settlement {
            Settlement::Retry { attempts, .. } => {
                connection
                    .prepare_cached("UPDATE url SET attempts = ?2 WHERE id = ?1")?
                    .execute(params![number(id), attempts])?;
            }
            Settlement::Finished { outcome, line, .. } => {
                place(connection, id, None, None)?;
                record(connection, id, Some(outcome), line)?;
                changes.finished(scope, outcome, 1);
                changes.deferred(scope, -i64::from(due > 0));
            }
            Settlement::Deferred {
                not_before,
                reason,
                line,
                ..
            } => {
                // 0 is the place of those that were never deferred.
                let not_before = (*not_before).max(Timestamp::from_micros(1));
                place(connection, id, Some(to_sql(not_before)), Some(reason))?;
                record(connection, id, None, line)?;
                changes.deferred(scope, i64::from(due == 0));
            }
        }
    }
    changes.write(connection)?;
    Ok(settled)
}

/// The scope of a URL that is not done with, and when it is due.
fn waiting(connection: &Connection, id: UrlId) -> rusqlite::Result<Option<(i64, i64)>> {
    connection
        .prepare_cached("SELECT scope, due FROM url WHERE id = ?1 AND due IS NOT NULL")?
        .query_row([number(id)], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
}

fn place(
    connection: &Connection,
    id: UrlId,
    due: Option<i64>,
    reason: Option<&str>,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE url SET due = ?2, reason = ?3 WHERE id = ?1")?
        .execute(params![number(id), due, reason])?;
    Ok(())
}

fn record(
    connection: &Connection,
    id: UrlId,
    outcome: Option<&str>,
    line: &str,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO result (id, outcome, line) VALUES (?1, ?2, ?3)
             ON CONFLICT (id) DO UPDATE SET outcome = excluded.outcome, line = excluded.line",
        )?
        .execute(params![number(id), outcome, line])?;
    Ok(())
}

/// What a transaction changes in the counts: written once a scope instead of once a URL.
#[derive(Default)]
struct Changes<'a> {
    scopes: BTreeMap<i64, ScopeChange<'a>>,
}

#[derive(Default)]
struct ScopeChange<'a> {
    deferred: i64,
    finished: BTreeMap<&'a str, i64>,
}

impl<'a> Changes<'a> {
    fn finished(&mut self, scope: i64, outcome: &'a str, by: i64) {
        let scope = self.scopes.entry(scope).or_default();
        *scope.finished.entry(outcome).or_default() += by;
    }

    fn deferred(&mut self, scope: i64, by: i64) {
        self.scopes.entry(scope).or_default().deferred += by;
    }

    fn write(self, connection: &Connection) -> rusqlite::Result<()> {
        let mut job = ScopeChange::default();
        let mut of_scope =
            connection.prepare_cached("UPDATE scope SET deferred = deferred + ?2 WHERE id = ?1")?;
        for (scope, change) in self.scopes {
            refresh(connection, scope)?;
            if change.deferred != 0 {
                of_scope.execute([scope, change.deferred])?;
                job.deferred += change.deferred;
            }
            for (outcome, by) in change.finished {
                tally(connection, scope, outcome, by)?;
                *job.finished.entry(outcome).or_default() += by;
            }
        }
        if job.deferred != 0 {
            connection
                .prepare_cached("UPDATE job SET deferred = deferred + ?1")?
                .execute([job.deferred])?;
        }
        for (outcome, by) in job.finished {
            tally(connection, 0, outcome, by)?;
        }
        Ok(())
    }
}

fn tally(connection: &Connection, scope: i64, outcome: &str, by: i64) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO tally (scope, outcome, number) VALUES (?1, ?2, ?3)
             ON CONFLICT (scope, outcome) DO UPDATE SET number = number + excluded.number",
        )?
        .execute(params![scope, outcome, by])?;
    Ok(())
}

pub(super) fn reopen(connection: &Connection, outcomes: &[String]) -> rusqlite::Result<u64> {
    let mut changes = Changes::default();
    let mut reopened = 0;
    for outcome in outcomes {
        let mut after = 0;
        loop {
            let page = ended_with(connection, outcome, after)?;
            for (id, scope) in &page {
                connection
                    .prepare_cached("UPDATE result SET outcome = NULL WHERE id = ?1")?
                    .execute([id])?;
                connection
                    .prepare_cached("UPDATE url SET due = 0, attempts = 0 WHERE id = ?1")?
                    .execute([id])?;
                changes.finished(*scope, outcome, -1);
                reopened += 1;
            }
            match page.last() {
                Some((id, _)) => after = *id,
                None => break,
            }
        }
    }
    changes.write(connection)?;
    connection
        .prepare_cached("DELETE FROM tally WHERE number = 0")?
        .execute([])?;
    Ok(reopened)
}

fn ended_with(
    connection: &Connection,
    outcome: &str,
    after: i64,
) -> rusqlite::Result<Vec<(i64, i64)>> {
    connection
        .prepare_cached(
            "SELECT result.id, url.scope FROM result JOIN url ON url.id = result.id
             WHERE result.id > ?1 AND result.outcome = ?2 ORDER BY result.id LIMIT ?3",
        )?
        .query_map(params![after, outcome, REOPEN_PAGE as i64], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?
        .collect()
}

fn number(id: UrlId) -> i64 {
    id.0.cast_signed()
}
