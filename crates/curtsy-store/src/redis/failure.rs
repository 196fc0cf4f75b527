//! From what Redis answers to the kinds that callers act on, each with a way out.

use redis::{ErrorKind, RedisError, ServerErrorKind};

use crate::error::{StoreError, StoreErrorKind};
use crate::redis_url::RedisUrl;

/// What a failed call means.
pub(super) fn of_redis(url: &RedisUrl, error: RedisError) -> StoreError {
    let (kind, what) = meaning(&error);
    told(url, kind, what).caused_by(error)
}

/// What it means that no connection came about.
pub(super) fn of_dial(url: &RedisUrl, error: RedisError) -> StoreError {
    let hangs = is_lost(&error) && !error.is_connection_refusal();
    match (hangs, url.is_tls()) {
        (true, true) => told(
            url,
            StoreErrorKind::Unavailable,
            "does not answer over TLS: is it redis:// that it speaks?",
        ),
        (true, false) => told(
            url,
            StoreErrorKind::Unavailable,
            "does not answer: is it rediss:// that it speaks?",
        ),
        _ => return of_redis(url, error),
    }
    .caused_by(error)
}

/// Whether nobody listens there.
pub(super) fn is_refusal(error: &StoreError) -> bool {
    std::error::Error::source(error)
        .and_then(|source| source.downcast_ref::<RedisError>())
        .is_some_and(RedisError::is_connection_refusal)
}

/// The line for a Redis in this condition.
pub(super) fn told(url: &RedisUrl, kind: StoreErrorKind, what: &str) -> StoreError {
    StoreError::new(kind, format!("{url} {what}"))
}

/// Whether the answer was lost on the way: the call may have run.
pub(super) fn is_lost(error: &RedisError) -> bool {
    error.is_io_error() || error.is_timeout() || error.is_connection_dropped()
}

/// Whether the server does not know a script.
pub(super) fn is_no_script(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoScript)
}

fn meaning(error: &RedisError) -> (StoreErrorKind, &'static str) {
    use StoreErrorKind::{Damaged, Denied, Foreign, Full, Invalid, ReadOnly, Unavailable};
    match (error.kind(), error.code()) {
        (ErrorKind::AuthenticationFailed, _) | (_, Some("WRONGPASS" | "NOAUTH")) => (
            Denied,
            "refuses user or password: write redis://user:password@host, or redis://:password@host",
        ),
        (ErrorKind::Server(ServerErrorKind::NoPerm), _) => (
            Denied,
            "lets this user not do what is needed: allow it ~curtsy:* &curtsy:* +@all -@dangerous +scan",
        ),
        _ if error
            .detail()
            .is_some_and(|detail| detail.contains("SELECT is not allowed")) =>
        {
            (
                Invalid,
                "is a cluster, which has database 0 alone: leave out the number",
            )
        }
        (ErrorKind::RESP3NotSupported, _) => (Foreign, TOO_OLD),
        (ErrorKind::Server(ServerErrorKind::ReadOnly), _) => (ReadOnly, REPLICA),
        (_, Some("OOM")) => (Full, "has no memory left: raise its maxmemory"),
        (_, Some("WRONGTYPE")) => (Damaged, "holds something else under a key of curtsy's"),
        (ErrorKind::Parse | ErrorKind::UnexpectedReturnType, _) => {
            (Foreign, "does not answer as a Redis: is that its port?")
        }
        _ => (Unavailable, "is not available"),
    }
}

/// What a server before Redis 6 is told.
pub(super) const TOO_OLD: &str = "is too old: Redis 6 or later is needed";

/// What a replica is told.
pub(super) const REPLICA: &str = "is a read-only replica: take the address of its master";
