//! What the scripts answer, read.

use std::collections::HashMap;

use curtsy_core::Timestamp;
use redis::{FromRedisValue, ParsingError, Value, from_redis_value};

use crate::queue::{
    Counts, Cursor, Horizon, Lease, LeaseToken, LeasedScope, QueuedUrl, ScopeCounts, UrlId,
    UrlRecord, UrlState,
};

/// How many bytes a number has in a member.
const DIGITS: usize = 20;

/// A URL with its place among those that wait.
pub(super) struct FoundUrl {
    due: u64,
    pub(super) queued: QueuedUrl,
}

impl FoundUrl {
    /// Moves a lease behind it.
    pub(super) fn advance(&self, cursor: &mut Cursor) {
        if self.due == 0 {
            cursor.fresh = self.queued.id.0;
        } else {
            cursor.deferred = (self.due, self.queued.id.0);
        }
    }
}

impl FromRedisValue for FoundUrl {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        type Parts = (String, String, String, String, u32, Option<String>);
        let (member, url, out, headers, attempts, line): Parts = from_redis_value(value)?;
        let (due, id) = parts(&member)?;
        let queued = QueuedUrl {
            id: UrlId(id),
            url,
            out: optional(&out),
            headers: optional(&headers),
            attempts,
            line,
        };
        Ok(Self { due, queued })
    }
}

/// A scope that was leased.
pub(super) struct Leased {
    scope: String,
    token: u64,
    urls: Vec<FoundUrl>,
}

impl Leased {
    pub(super) fn until(self, until: Timestamp) -> LeasedScope {
        let mut cursor = Cursor::default();
        self.urls.iter().for_each(|url| url.advance(&mut cursor));
        let lease = Lease {
            scope: self.scope,
            token: LeaseToken(self.token),
            until,
            cursor,
        };
        let urls = self.urls.into_iter().map(|url| url.queued).collect();
        LeasedScope { lease, urls }
    }
}

impl FromRedisValue for Leased {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let (scope, token, urls) = from_redis_value(value)?;
        Ok(Self { scope, token, urls })
    }
}

impl FromRedisValue for Horizon {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let (due, lease, feed) = from_redis_value(value)?;
        let instant = |micros: Option<u64>| micros.map(Timestamp::from_micros);
        let ends = [instant(lease), instant(feed)];
        Ok(Self {
            due: instant(due),
            lease_end: ends.into_iter().flatten().min(),
        })
    }
}

/// What is recorded of a URL.
pub(super) struct Record {
    scope: String,
    before: Option<u64>,
    parked: Option<String>,
    url: String,
    out: String,
    attempts: u32,
    line: Option<String>,
    outcome: Option<String>,
    due: Option<u64>,
    reason: Option<String>,
}

impl FromRedisValue for Record {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let (scope, before, parked, url, out, attempts, line, outcome, due, reason) =
            from_redis_value(value)?;
        Ok(Self {
            scope,
            before,
            parked,
            url,
            out,
            attempts,
            line,
            outcome,
            due,
            reason,
        })
    }
}

impl Record {
    pub(super) fn of(self, id: UrlId) -> UrlRecord {
        let before = self.before.unwrap_or_default();
        let deferred = |micros, reason| UrlState::Deferred {
            not_before: Timestamp::from_micros(micros),
            reason,
        };
        let state = match (self.outcome, self.due, self.reason, self.parked) {
            (Some(outcome), ..) => UrlState::Finished { outcome },
            (None, Some(due), Some(reason), _) => deferred(due.max(before), reason),
            (None, _, _, Some(reason)) => deferred(before, reason),
            (None, ..) => UrlState::Pending,
        };
        UrlRecord {
            id,
            scope: self.scope,
            url: self.url,
            out: optional(&self.out),
            attempts: self.attempts,
            state,
            line: self.line,
        }
    }
}

pub(super) fn counts(job: HashMap<String, String>) -> Counts {
    let number = |name: &str| count(&job, name);
    let deferred = number("deferred");
    Counts {
        pending: number("waiting") - deferred,
        deferred,
        leased_scopes: number("leased"),
        finished: finished(&job),
    }
}

pub(super) fn scope_counts(scope: HashMap<String, String>) -> ScopeCounts {
    let waiting = count(&scope, "waiting");
    let deferred = if scope.contains_key("parked") {
        waiting
    } else {
        count(&scope, "deferred")
    };
    ScopeCounts {
        scope: scope.get("name").cloned().unwrap_or_default(),
        pending: waiting - deferred,
        deferred,
        finished: finished(&scope),
        worker: scope.get("worker").cloned(),
    }
}

fn finished(counts: &HashMap<String, String>) -> std::collections::BTreeMap<String, u64> {
    let outcomes = counts.keys().filter_map(|name| name.strip_prefix('='));
    let numbers =
        outcomes.map(|outcome| (outcome.to_owned(), count(counts, &format!("={outcome}"))));
    numbers.filter(|(_, number)| *number > 0).collect()
}

fn count(counts: &HashMap<String, String>, name: &str) -> u64 {
    let number = counts.get(name).map(|number| number.parse());
    number.and_then(Result::ok).unwrap_or_default()
}

/// The two numbers of a member.
fn parts(member: &str) -> Result<(u64, u64), ParsingError> {
    let (first, second) = member
        .split_at_checked(DIGITS)
        .ok_or("a member is too short")?;
    match (first.parse(), second.parse()) {
        (Ok(first), Ok(second)) => Ok((first, second)),
        _ => Err("a member is no pair of numbers".into()),
    }
}

/// See the place where it is written.
fn optional(text: &str) -> Option<String> {
    text.strip_prefix('+').map(str::to_owned)
}
