//! Hints that stand only in a body: Stack Exchange's `backoff` and quota, Google's `retryDelay`,
//! Discord's `retry_after`, and header fields that OpenRouter hands on inside its error.
//!
//! Looked at only where the content type says JSON or a profile says so, the first 64 KiB.

use std::time::Duration;

use http::HeaderMap;
use http::header::CONTENT_TYPE;

use super::dialect::{self, Role};
use super::json;
use super::ledger::Ledger;
use super::name::Profile;
use super::number::Count;
use super::value::{self, Scale};

/// The most of a body that is looked at, in bytes.
pub const MAX_BODY: usize = 64 * 1024;
/// Keys that may hold a hint: without one the body is not walked.
const KEYS: [&str; 6] = [
    "backoff",
    "quota_remaining",
    "retryDelay",
    "retry_after",
    "ateLimit",
    "atelimit",
];
/// What a refusal for pace is called.
const WORDS: [&[u8]; 7] = [
    b"rate limit",
    b"rate-limit",
    b"ratelimit",
    b"too many requests",
    b"throttl",
    b"quota exceeded",
    b"request limit",
];

pub(super) fn may_hold_hints(headers: &HeaderMap, profile: Option<Profile>) -> bool {
    profile == Some(Profile::DiscordV6) || is_json(headers)
}

/// The beginning of a body that may hold hints.
#[derive(Debug)]
pub(super) struct Hints {
    /// In lower case, as the names of fields are.
    text: String,
    is_in_millis: bool,
}

impl Hints {
    /// `None` where nothing says that the body holds any.
    pub(super) fn of(body: &[u8], headers: &HeaderMap, profile: Option<Profile>) -> Option<Self> {
        if !may_hold_hints(headers, profile) {
            return None;
        }
        let body = &body[..body.len().min(MAX_BODY)];
        let text = match std::str::from_utf8(body) {
            Ok(text) => text,
            // Cut in the middle of a character, or no text from there on.
            Err(error) => std::str::from_utf8(&body[..error.valid_up_to()]).ok()?,
        };
        KEYS.iter().any(|key| text.contains(key)).then(|| Self {
            text: text.to_ascii_lowercase(),
            is_in_millis: profile == Some(Profile::DiscordV6),
        })
    }

    /// Adds what the body says to what the fields say.
    pub(super) fn add_to<'h>(&'h self, status: u16, ledger: &mut Ledger<'h>) {
        let (clock, is_error) = (ledger.clock, status >= 400);
        let mut daily = (None, None);
        json::walk(&self.text, |way, scalar| {
            let (Some(key), text) = (way.last(), scalar.as_str()) else {
                return;
            };
            let seconds = || value::wait(text, Scale::Seconds, clock);
            match (*key, way.len()) {
                ("backoff", 1) => ask(ledger, "body: backoff", seconds()),
                ("retry_after", _) if is_error && self.is_in_millis => {
                    let millis = value::wait(text, Scale::Millis, clock);
                    ask(ledger, "body: retry_after", millis);
                }
                ("retry_after", _) if is_error => ask(ledger, "body: retry_after", seconds()),
                ("retrydelay", _) if is_error => ask(ledger, "body: retryDelay", seconds()),
                ("quota_max", 1) => daily.0 = value::count(text),
                ("quota_remaining", 1) => daily.1 = value::count(text),
                (field, 2..) if is_error && way[way.len() - 2] == "headers" => {
                    take_field(ledger, status, field, text);
                }
                _ => {}
            }
        });
        if let (limit, Some(remaining)) = daily
            && let Ok(entry) = ledger.entry("body", "daily")
        {
            if let Some(Count::Of(limit)) = limit {
                entry.limit_to(limit);
            }
            // Overdrawn, never a sentinel here.
            entry.leave(match remaining {
                Count::MinusOne | Count::Negative => Count::Of(0),
                count => count,
            });
        }
    }
}

/// Whether the beginning of a body speaks of limits: on a 403 it tells a throttle from a prohibition.
pub(super) fn speaks_of_limits(body: &[u8]) -> bool {
    let body = body[..body.len().min(MAX_BODY)].to_ascii_lowercase();
    WORDS
        .iter()
        .any(|word| body.windows(word.len()).any(|part| part == *word))
}

fn ask(ledger: &mut Ledger<'_>, key: &'static str, wait: Option<Duration>) {
    let longest = ledger.body_wait.map(|(longest, _)| longest);
    if let Some(wait) = wait.filter(|wait| Some(*wait) > longest) {
        ledger.body_wait = Some((wait, key));
    }
}

fn take_field<'h>(ledger: &mut Ledger<'h>, status: u16, name: &'h str, text: &'h str) {
    if let Some(field) = dialect::lookup(name, None)
        && !matches!(field.role, Role::Structured | Role::Policy)
    {
        ledger.take(status, name, field, text);
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|kind| {
        kind.as_bytes()
            .windows(4)
            .any(|part| part.eq_ignore_ascii_case(b"json"))
    })
}
