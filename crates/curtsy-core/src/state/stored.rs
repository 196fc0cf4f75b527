//! How a state is written, so that it stays under 1.25 KiB: short names, what says nothing left out, and
//! times as microseconds from the last departure.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{CrawlDelay, Hold, HostState};
use crate::backoff::Backoff;
use crate::breaker::{Breaker, Outcomes};
use crate::bucket::Bucket;
use crate::concurrency::Concurrency;
use crate::day::Day;
use crate::flights::Flights;
use crate::latency::Latencies;
use crate::learned::{Learned, StoredLearned};
use crate::quota::StoredQuota;
use crate::suppression::Suppression;
use crate::time::Offset;
use crate::{Draw, Timestamp};

/// A [`HostState`] as JSON has it.
#[derive(Serialize, Deserialize)]
pub(super) struct Stored {
    format: u32,
    #[serde(rename = "n", default)]
    departures: u64,
    /// The time that all offsets count from.
    #[serde(rename = "at", default, skip_serializing_if = "Option::is_none")]
    last_departure: Option<Timestamp>,
    #[serde(rename = "d", default)]
    interval_draw: Draw,
    #[serde(rename = "a", default, skip_serializing_if = "is_default")]
    answered: bool,
    #[serde(rename = "f", default, skip_serializing_if = "is_default")]
    flights: Flights,
    #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
    bucket: Option<(f64, Offset)>,
    #[serde(rename = "r", default, skip_serializing_if = "Option::is_none")]
    rate: Option<f64>,
    #[serde(rename = "q", default, skip_serializing_if = "Vec::is_empty")]
    quotas: Vec<StoredQuota>,
    #[serde(rename = "y", default, skip_serializing_if = "is_default")]
    day: Day,
    /// Since; told, from there; until, from there; source.
    #[serde(rename = "h", default, skip_serializing_if = "Option::is_none")]
    hold: Option<(Offset, Offset, Offset, String)>,
    /// Delay; multiplied at; until, from there; over the trip delay so often.
    #[serde(rename = "o", default, skip_serializing_if = "Option::is_none")]
    backoff: Option<(u64, Offset, Option<Offset>, u32)>,
    #[serde(rename = "g", default, skip_serializing_if = "Option::is_none")]
    learned: Option<StoredLearned>,
    #[serde(rename = "m", default, skip_serializing_if = "is_default")]
    concurrency: Concurrency,
    #[serde(rename = "k", default, skip_serializing_if = "Option::is_none")]
    breaker: Option<StoredBreaker>,
    #[serde(rename = "c", default, skip_serializing_if = "is_default")]
    outcomes: Outcomes,
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    suppression: Option<StoredSuppression>,
    #[serde(rename = "l", default, skip_serializing_if = "is_default")]
    latencies: Latencies,
    /// Fingerprint of the origin, delay in milliseconds.
    #[serde(rename = "x", default, skip_serializing_if = "Vec::is_empty")]
    crawl_delays: Vec<(u32, u64)>,
}

/// [`Breaker`], when it is not closed.
#[derive(Serialize, Deserialize)]
enum StoredBreaker {
    #[serde(rename = "o")]
    Open(Offset, u64),
    #[serde(rename = "h")]
    HalfOpen(u64, u64),
}

/// [`Suppression`], when it has begun.
#[derive(Serialize, Deserialize)]
enum StoredSuppression {
    #[serde(rename = "n")]
    None(u32),
    #[serde(rename = "a")]
    Active(Offset, Option<Offset>),
    #[serde(rename = "p")]
    Probing(u64),
}

impl From<HostState> for Stored {
    fn from(state: HostState) -> Self {
        let base = state.last_departure.unwrap_or(Timestamp::EPOCH);
        let offset = |at| Offset::of(at, base);
        let backoff = state.backoff;
        Self {
            format: state.format,
            departures: state.departures,
            last_departure: state.last_departure,
            interval_draw: state.interval_draw,
            answered: state.answered,
            flights: state.flights,
            bucket: state
                .bucket
                .map(|bucket| (bucket.tokens, offset(bucket.at))),
            rate: state.rate,
            quotas: state
                .quotas
                .into_iter()
                .map(|quota| StoredQuota::of(quota, base, state.departures))
                .collect(),
            day: state.day,
            hold: state.hold.map(|hold| {
                let told = Offset::of(hold.told, hold.since);
                let until = Offset::of(hold.until, hold.told);
                (offset(hold.since), told, until, hold.source)
            }),
            backoff: (backoff != Backoff::default()).then(|| {
                let until = Some(backoff.until).filter(|until| *until > Timestamp::EPOCH);
                (
                    micros(backoff.delay),
                    offset(backoff.multiplied_at),
                    until.map(|until| Offset::of(until, backoff.multiplied_at)),
                    backoff.over_trip,
                )
            }),
            concurrency: state.concurrency,
            learned: StoredLearned::of(&state.learned, base, state.departures),
            breaker: match state.breaker {
                Breaker::Closed => None,
                Breaker::Open { until, cool_down } => {
                    Some(StoredBreaker::Open(offset(until), micros(cool_down)))
                }
                Breaker::HalfOpen { probe, cool_down } => {
                    Some(StoredBreaker::HalfOpen(probe, micros(cool_down)))
                }
            },
            outcomes: state.outcomes,
            suppression: match state.suppression {
                Suppression::None { forbidden: 0 } => None,
                Suppression::None { forbidden } => Some(StoredSuppression::None(forbidden)),
                Suppression::Active { since, until } => {
                    Some(StoredSuppression::Active(offset(since), until.map(offset)))
                }
                Suppression::Probing { probe } => Some(StoredSuppression::Probing(probe)),
            },
            latencies: state.latencies,
            crawl_delays: state
                .crawl_delays
                .iter()
                .map(|known| (known.origin, micros(known.delay) / 1_000))
                .collect(),
        }
    }
}

impl From<Stored> for HostState {
    fn from(stored: Stored) -> Self {
        let base = stored.last_departure.unwrap_or(Timestamp::EPOCH);
        let at = |offset: Offset| offset.from(base);
        Self {
            format: stored.format,
            departures: stored.departures,
            last_departure: stored.last_departure,
            interval_draw: stored.interval_draw,
            answered: stored.answered,
            flights: stored.flights,
            bucket: stored.bucket.map(|(tokens, since)| Bucket {
                tokens,
                at: at(since),
            }),
            rate: stored.rate,
            quotas: stored
                .quotas
                .into_iter()
                .map(|quota| quota.restore(base, stored.departures))
                .collect(),
            day: stored.day,
            hold: stored.hold.map(|(since, told, until, source)| {
                let since = at(since);
                let told = told.from(since);
                Hold {
                    since,
                    told,
                    until: until.from(told),
                    source,
                }
            }),
            backoff: stored.backoff.map_or_else(
                Backoff::default,
                |(delay, multiplied_at, until, over_trip)| {
                    let multiplied_at = at(multiplied_at);
                    Backoff {
                        delay: Duration::from_micros(delay),
                        multiplied_at,
                        until: until.map_or(Timestamp::EPOCH, |until| until.from(multiplied_at)),
                        over_trip,
                    }
                },
            ),
            concurrency: stored.concurrency,
            learned: stored.learned.map_or_else(Learned::default, |learned| {
                learned.restore(base, stored.departures)
            }),
            breaker: match stored.breaker {
                None => Breaker::Closed,
                Some(StoredBreaker::Open(until, cool_down)) => Breaker::Open {
                    until: at(until),
                    cool_down: Duration::from_micros(cool_down),
                },
                Some(StoredBreaker::HalfOpen(probe, cool_down)) => Breaker::HalfOpen {
                    probe,
                    cool_down: Duration::from_micros(cool_down),
                },
            },
            outcomes: stored.outcomes,
            suppression: match stored.suppression {
                None => Suppression::default(),
                Some(StoredSuppression::None(forbidden)) => Suppression::None { forbidden },
                Some(StoredSuppression::Active(since, until)) => Suppression::Active {
                    since: at(since),
                    until: until.map(at),
                },
                Some(StoredSuppression::Probing(probe)) => Suppression::Probing { probe },
            },
            latencies: stored.latencies,
            crawl_delays: stored
                .crawl_delays
                .into_iter()
                .map(|(origin, delay)| CrawlDelay {
                    origin,
                    delay: Duration::from_millis(delay),
                })
                .collect(),
        }
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
