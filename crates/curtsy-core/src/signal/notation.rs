//! Notations of one vendor each: figures that do not come as one number a field.

use std::time::Duration;

use super::LONGEST_WAIT;
use super::json::{self, Scalar};
use super::number::{Decimal, trim};
use super::value::{self, Scale};

/// The most members that are read of one value.
const MAX_MEMBERS: usize = 32;

/// `used/limit`, perhaps named.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Usage<'h> {
    pub(super) name: Option<&'h str>,
    pub(super) used: u64,
    pub(super) limit: u64,
}

/// Shopify's `32/40` and Salesforce's `api-usage=18/5000; per-app-api-usage=17/250(appName=x)`.
pub(super) fn usages(text: &str) -> impl Iterator<Item = Usage<'_>> {
    text.split([',', ';'])
        .take(MAX_MEMBERS)
        .filter_map(read_usage)
}

fn read_usage(member: &str) -> Option<Usage<'_>> {
    let (name, figures) = match member.split_once('=') {
        Some((name, figures)) => (Some(name.trim_ascii()), figures),
        None => (None, member),
    };
    let figures = figures.split('(').next()?;
    let (used, limit) = figures.split_once('/')?;
    Some(Usage {
        name,
        used: whole(used)?,
        limit: whole(limit)?,
    })
}

/// Riot's `20:1,100:120`: a count and the window's seconds, in any order, perhaps with a comma at the
/// end.
pub(super) fn per_seconds(text: &str) -> impl Iterator<Item = (u64, u64)> {
    text.split(',').take(MAX_MEMBERS).filter_map(|member| {
        let (count, seconds) = member.split_once(':')?;
        Some((
            whole(count)?,
            whole(seconds).filter(|seconds| *seconds > 0)?,
        ))
    })
}

/// Two counts joined by a comma, as Strava prints them.
pub(super) fn pair(text: &str) -> Option<(u64, u64)> {
    let (one, other) = trim(text).split_once(',')?;
    Some((whole(one)?, whole(other)?))
}

/// Zendesk's `total=100; remaining=99; resets=41`.
pub(super) fn key_values(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split([';', ','])
        .take(MAX_MEMBERS)
        .filter_map(|member| {
            let (key, figure) = member.split_once('=')?;
            Some((key.trim_ascii(), figure.trim_ascii()))
        })
}

/// Azure's `Microsoft.Compute/HighCostGet3Min;107`: policies with what is left of each and the window
/// that the name ends with.
pub(super) fn named_counts(text: &str) -> impl Iterator<Item = (&str, u64, Option<Duration>)> {
    text.split(',').take(MAX_MEMBERS).filter_map(|member| {
        let (name, left) = member.trim_ascii().split_once(';')?;
        name.starts_with(|first: char| first.is_ascii_alphabetic())
            .then_some(())?;
        Some((name, whole(left)?, window_in_name(name)))
    })
}

/// `20r/s`, `300r/m`: a rate as nginx writes it, as a count and a window.
pub(super) fn nginx_rate(text: &str) -> Option<(u64, Duration)> {
    let (count, per) = trim(text).split_once("r/")?;
    let window = match per {
        "s" => Duration::from_secs(1),
        "m" => Duration::from_secs(60),
        _ => return None,
    };
    Some((whole(count)?, window))
}

/// Sentry's `60:transaction;span:organization:reason, 2700:default:organization`: the longest wait.
pub(super) fn category_waits(text: &str) -> Option<Duration> {
    text.split(',')
        .take(MAX_MEMBERS)
        .filter_map(|member| {
            let seconds = member.trim_ascii().split(':').next()?;
            value::window(seconds, Scale::Seconds)
        })
        .max()
}

/// Meta's JSON: percentages used by name, and minutes until access is regained.
#[derive(Debug, Default)]
pub(super) struct PercentUsage<'h> {
    pub(super) used: Vec<(&'h str, u64)>,
    pub(super) regain: Option<Duration>,
}

/// Reads Meta's usage fields.
pub(super) fn percent_usage(text: &str) -> PercentUsage<'_> {
    let mut usage = PercentUsage::default();
    json::walk(text, |way, scalar| {
        let (Some(key), Scalar::Word(word)) = (way.last(), scalar) else {
            return;
        };
        let Some(number) = Decimal::read(word) else {
            return;
        };
        if key.contains("regain_access") {
            let regain = Duration::from_secs(number.whole.saturating_mul(60));
            usage.regain = usage.regain.max((number.whole > 0).then_some(regain));
        } else if is_percentage(key) && usage.used.len() < MAX_MEMBERS {
            let used = number.whole.saturating_add(u64::from(number.nanos > 0));
            usage.used.push((key, used));
        }
    });
    usage
}

fn is_percentage(key: &str) -> bool {
    matches!(
        key,
        "call_count" | "total_time" | "total_cputime" | "call_volume" | "cpu_time"
    ) || key.ends_with("_pct")
}

fn whole(text: &str) -> Option<u64> {
    Decimal::read(text.trim_ascii())?.count()
}

/// `…30Min` ends with a window of 30 minutes.
fn window_in_name(name: &str) -> Option<Duration> {
    for (word, seconds) in [("Sec", 1), ("Min", 60), ("Hour", 3_600), ("Day", 86_400)] {
        if let Some(rest) = name.strip_suffix(word) {
            let digits = rest.bytes().rev().take_while(u8::is_ascii_digit).count();
            let count = whole(&rest[rest.len() - digits..]).filter(|count| *count > 0)?;
            return Some(Duration::from_secs(count.saturating_mul(seconds)).min(LONGEST_WAIT));
        }
    }
    None
}
