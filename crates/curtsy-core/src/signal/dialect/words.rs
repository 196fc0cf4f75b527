//! Taking a field name apart into its words: `x-ratelimit-limit-requests`, `x-ratelimit-requests-limit`,
//! `anthropic-ratelimit-tokens-reset`, `x-ms-ratelimit-remaining-subscription-reads`.

use std::time::Duration;

use super::super::duration;
use super::super::name::Unit;
use super::super::value::Scale::{Millis, Seconds, Told};
use super::Field;
use super::Role::{self, *};

/// The words that mark a rate-limit field, whatever stands around them.
const STEMS: [&str; 2] = ["ratelimit", "rate-limit"];

/// Role words, tried in this order at the end of a name, then at its beginning; so the longer and
/// the plainer ones come first.
const ROLES: &[(&str, Role)] = &[
    ("retry-after-seconds", Wait(Seconds)),
    ("retry-after-ms", Wait(Millis)),
    ("retry-after", Wait(Told)),
    ("reset-after-ms", Reset(Millis)),
    ("reset-after", Reset(Seconds)),
    ("time-reset-ms", Reset(Millis)),
    ("reset-ms", Reset(Millis)),
    ("reset-milliseconds", Reset(Millis)),
    ("reset-seconds", Reset(Seconds)),
    ("reset-timestamp", Reset(Told)),
    ("reset-time", Reset(Told)),
    ("resettime", Reset(Told)),
    ("time-window-ms", Window(Millis)),
    ("interval-milliseconds", Window(Millis)),
    ("interval-ms", Window(Millis)),
    ("interval-seconds", Window(Seconds)),
    ("window-ms", Window(Millis)),
    ("window-seconds", Window(Seconds)),
    ("remaining", Remaining),
    ("reset", Reset(Told)),
    ("limit", Limit),
    ("resets", Reset(Told)),
    ("next", Reset(Told)),
    ("left", Remaining),
    ("remain", Remaining),
    ("used", Used),
    ("max", Limit),
    ("total", Limit),
    ("interval", Window(Seconds)),
    ("window", Window(Seconds)),
    ("period", Window(Seconds)),
    ("fillrate", FillRate),
    ("fill-rate", FillRate),
    ("replenish-rate", FillRate),
    ("policy", Limit),
    ("quota", Limit),
];

/// Words that bear no figure of their own.
const INFO: &[&str] = &[
    "bucket",
    "burst-capacity",
    "category",
    "cost-usd",
    "credits-used",
    "global",
    "nearlimit",
    "observed",
    "problem",
    "reason",
    "requested-tokens",
    "resource",
    "scope",
    "source",
    "type",
    "who",
    "zone",
];

/// Quota names that tell their window, in seconds; a month is taken as 30 days.
const WINDOWS: &[(&str, u64)] = &[
    ("second", 1),
    ("secondly", 1),
    ("minute", 60),
    ("minutely", 60),
    ("hour", 3_600),
    ("hourly", 3_600),
    ("day", 86_400),
    ("daily", 86_400),
    ("24hour", 86_400),
    ("week", 604_800),
    ("weekly", 604_800),
    ("month", 2_592_000),
    ("monthly", 2_592_000),
    ("year", 31_536_000),
    ("yearly", 31_536_000),
];

/// Words in a quota's name that tell what it counts.
const UNITS: &[(&str, Unit)] = &[
    ("tokens", Unit::Tokens),
    ("byte", Unit::ContentBytes),
    ("bandwidth", Unit::ContentBytes),
    ("complexity", Unit::Complexity),
    ("concurren", Unit::ConcurrentRequests),
    ("parallel", Unit::ConcurrentRequests),
    ("weight", Unit::Weight),
    ("percent", Unit::Percent),
];

/// Takes a name apart; `None` where it holds no mark of a rate-limit field.
pub(super) fn take_apart(name: &str) -> Option<Field<'_>> {
    let (family, rest) = STEMS.iter().find_map(|stem| split_at_stem(name, stem))?;
    let (role, quota) = if rest.is_empty() {
        (Bare, "")
    } else if INFO.contains(&rest) {
        (Info, "")
    } else if let Some(found) = ROLES.iter().find_map(|(word, role)| {
        let quota = without(rest, word)?;
        Some((*role, quota))
    }) {
        found
    } else if INFO.iter().any(|word| without(rest, word).is_some()) {
        (Info, "")
    } else {
        (Bare, rest)
    };
    Some(Field {
        family,
        quota,
        role,
        unit: unit_of(quota),
        window: window_of(quota),
    })
}

/// Splits a name behind a stem that stands between hyphens or at an end.
fn split_at_stem<'n>(name: &'n str, stem: &str) -> Option<(&'n str, &'n str)> {
    let start = name.find(stem)?;
    let (family, rest) = name.split_at(start + stem.len());
    if start > 0 && name.as_bytes()[start - 1] != b'-' {
        return None;
    }
    if rest.is_empty() {
        return Some((family, rest));
    }
    rest.strip_prefix('-').map(|rest| (family, rest))
}

/// What is left of `text` without `word` at its end or at its beginning.
fn without<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    if text == word {
        return Some("");
    }
    let at_end = text
        .strip_suffix(word)
        .and_then(|rest| rest.strip_suffix('-'));
    at_end.or_else(|| text.strip_prefix(word)?.strip_prefix('-'))
}

fn unit_of(quota: &str) -> Unit {
    UNITS
        .iter()
        .find(|(word, _)| quota.contains(word))
        .map_or(Unit::Requests, |(_, unit)| *unit)
}

/// The window that a quota's name tells as its last word: `per-minute`, `10s`.
fn window_of(quota: &str) -> Option<Duration> {
    let last = quota.rsplit('-').next()?;
    match WINDOWS.iter().find(|(word, _)| *word == last) {
        Some((_, seconds)) => Some(Duration::from_secs(*seconds)),
        None => Some(duration::parse(last)?.0).filter(|length| !length.is_zero()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart_in_any_order_of_words() {
        for (name, family, quota, role, unit) in [
            (
                "x-ratelimit-limit-requests",
                "x-ratelimit",
                "requests",
                Limit,
                Unit::Requests,
            ),
            (
                "x-ratelimit-requests-limit",
                "x-ratelimit",
                "requests",
                Limit,
                Unit::Requests,
            ),
            (
                "x-ratelimit-reset-tokens",
                "x-ratelimit",
                "tokens",
                Reset(Told),
                Unit::Tokens,
            ),
            (
                "x-ratelimit-quota-remaining",
                "x-ratelimit",
                "quota",
                Remaining,
                Unit::Requests,
            ),
            (
                "x-ratelimit-rapid-free-plans-hard-limit-limit",
                "x-ratelimit",
                "rapid-free-plans-hard-limit",
                Limit,
                Unit::Requests,
            ),
            (
                "x-ms-ratelimit-remaining-subscription-reads",
                "x-ms-ratelimit",
                "subscription-reads",
                Remaining,
                Unit::Requests,
            ),
            (
                "x-sib-ratelimit-reset",
                "x-sib-ratelimit",
                "",
                Reset(Told),
                Unit::Requests,
            ),
            ("x-rate-limit", "x-rate-limit", "", Bare, Unit::Requests),
            (
                "zendesk-ratelimit-tickets-index",
                "zendesk-ratelimit",
                "tickets-index",
                Bare,
                Unit::Requests,
            ),
            (
                "x-figma-rate-limit-type",
                "x-figma-rate-limit",
                "",
                Info,
                Unit::Requests,
            ),
        ] {
            let field = take_apart(name);
            let found = field.map(|f| (f.family, f.quota, f.role, f.unit));
            assert_eq!(found, Some((family, quota, role, unit)), "{name}");
        }
        for name in [
            "stripe-rate-limited-reason",
            "x_ratelimit_reset",
            "x-mb-rate-limiter",
        ] {
            assert_eq!(take_apart(name), None, "{name}");
        }
    }
}
