//! All that is remembered of a scope: the only thing that a store saves.

mod stored;

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::backoff::Backoff;
use crate::breaker::{Breaker, Outcomes};
use crate::bucket::Bucket;
use crate::concurrency::Concurrency;
use crate::day::Day;
use crate::flights::Flights;
use crate::latency::Latencies;
use crate::learned::{Learned, LearnedPace};
use crate::policy::{LONGEST_DURATION, Policy};
use crate::quota::Quota;
use crate::signal::LONGEST_WAIT;
use crate::suppression::Suppression;
use crate::time::whole_millis;
use crate::{Draw, Origin, Timestamp};

/// The format that this version writes, and the newest that it reads.
pub const FORMAT: u32 = 1;
/// How long after it is stored a departure may be said to leave: 3 ms.
pub const LEEWAY: Duration = Duration::from_millis(3);

/// Quotas of one scope that are told apart; more are not seen in practice.
pub(crate) const MAX_QUOTAS: usize = 4;
/// Origins of one scope whose Crawl-delay is remembered, the largest delays first.
const MAX_CRAWL_DELAYS: usize = 3;
/// Names from a server's headers are cut to so many bytes.
const MAX_NAME: usize = 24;

/// The state of one scope. It changes only by [`decide`](crate::decide), [`observe`](crate::observe)
/// and the few methods here; under 1.25 KiB when written as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "stored::Stored", into = "stored::Stored")]
pub struct HostState {
    pub(crate) format: u32,
    /// Departures ever; the last one's number.
    pub(crate) departures: u64,
    pub(crate) last_departure: Option<Timestamp>,
    /// P4: the sample that the last departure drew for the interval after it.
    pub(crate) interval_draw: Draw,
    /// P8: something but its robots.txt has been answered.
    pub(crate) answered: bool,
    pub(crate) flights: Flights,
    pub(crate) bucket: Option<Bucket>,
    /// H5: the rate that the last reading of a quota allowed, departures/s.
    pub(crate) rate: Option<f64>,
    pub(crate) quotas: Vec<Quota>,
    /// H8: the departures of the last day, where those are capped.
    pub(crate) day: Day,
    pub(crate) hold: Option<Hold>,
    pub(crate) backoff: Backoff,
    pub(crate) learned: Learned,
    pub(crate) concurrency: Concurrency,
    pub(crate) breaker: Breaker,
    pub(crate) outcomes: Outcomes,
    pub(crate) suppression: Suppression,
    pub(crate) latencies: Latencies,
    pub(crate) crawl_delays: Vec<CrawlDelay>,
}

/// A time in which the server wants nothing to depart to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Since when.
    pub since: Timestamp,
    /// Until when, as told.
    pub told: Timestamp,
    /// Until when, with the safety buffer.
    pub until: Timestamp,
    /// The header that said so.
    pub source: String,
}

/// The Crawl-delay of one origin of the scope, which is known by its fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CrawlDelay {
    origin: u32,
    delay: Duration,
}

impl Default for HostState {
    /// A scope that nothing is known of.
    fn default() -> Self {
        Self {
            format: FORMAT,
            departures: 0,
            last_departure: None,
            interval_draw: Draw::LEAST,
            answered: false,
            flights: Flights::default(),
            bucket: None,
            rate: None,
            quotas: Vec::new(),
            day: Day::default(),
            hold: None,
            backoff: Backoff::default(),
            learned: Learned::default(),
            concurrency: Concurrency::default(),
            breaker: Breaker::default(),
            outcomes: Outcomes::default(),
            suppression: Suppression::default(),
            latencies: Latencies::default(),
            crawl_delays: Vec::new(),
        }
    }
}

impl HostState {
    /// The format of a stored state; above [`FORMAT`] it is of a newer version and must not be touched.
    #[must_use]
    pub fn format(&self) -> u32 {
        self.format
    }

    /// D6: a state read back from a store, with every value within what the policy allows at `now`.
    #[must_use]
    pub fn restored(mut self, policy: &Policy, now: Timestamp) -> Self {
        let farthest = now.after(LONGEST_WAIT);
        // A clock that was ahead must not hold a scope for as long as it was.
        let latest = now.after(LEEWAY);
        self.last_departure = self.last_departure.map(|at| at.min(latest));
        self.flights.clamp(now);
        self.day.clamp(now);
        self.backoff.clamp(policy, now);
        self.learned.clamp(now);
        self.concurrency.clamp(self.departures);
        self.breaker = self.breaker.clamp(policy.breaker, now);
        self.suppression = self.suppression.clamp(policy, now);
        self.rate = self
            .rate
            .filter(|rate| rate.is_finite())
            .map(|rate| policy.clamp_rate(rate));
        self.quotas.truncate(MAX_QUOTAS);
        self.quotas
            .iter_mut()
            .for_each(|quota| quota.clamp(now, farthest));
        self.crawl_delays.truncate(MAX_CRAWL_DELAYS);
        for known in &mut self.crawl_delays {
            known.delay = known.delay.min(LONGEST_DURATION);
        }
        let mut drained = now.max(self.backoff.until);
        if let Some(hold) = &mut self.hold {
            hold.since = hold.since.min(now);
            hold.told = hold.told.min(farthest);
            hold.until = hold.until.min(farthest);
            drained = drained.max(hold.until);
        }
        if let Some(bucket) = &mut self.bucket {
            bucket.clamp(f64::from(policy.burst), drained);
        }
        self
    }

    /// P5, O3: the largest Crawl-delay of the scope's origins.
    #[must_use]
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delays.iter().map(|known| known.delay).max()
    }

    /// What an origin's robots.txt says about Crawl-delay now. Whether that changed anything.
    pub fn note_crawl_delay(&mut self, origin: &Origin, delay: Option<Duration>) -> bool {
        let before = self.crawl_delays.clone();
        let origin = fingerprint(origin.as_str());
        self.crawl_delays.retain(|known| known.origin != origin);
        if let Some(delay) = delay {
            self.crawl_delays.push(CrawlDelay {
                origin,
                delay: whole_millis(delay),
            });
        }
        self.crawl_delays
            .sort_by_key(|known| (std::cmp::Reverse(known.delay), known.origin));
        self.crawl_delays.truncate(MAX_CRAWL_DELAYS);
        self.crawl_delays != before
    }

    /// P1: departure `seq` really left at `at`, later than permitted: what follows counts from there.
    /// Whether that changed anything.
    pub fn note_departed(&mut self, seq: u64, at: Timestamp) -> bool {
        let is_later = self.last_departure.is_some_and(|last| last < at);
        if is_later {
            self.last_departure = Some(at);
            if let Some(bucket) = &mut self.bucket {
                bucket.postpone(at);
            }
        }
        let is_postponed = self.flights.postpone(seq, at);
        is_later || is_postponed
    }

    /// The last departure is stored before it leaves: as if it left at `at`, at most [`LEEWAY`] from now, so that
    /// whoever reads that is not measured from before it does.
    pub fn leaves_by(&mut self, at: Timestamp) {
        self.last_departure = self.last_departure.max(Some(at));
    }

    /// Ends a suppression or a breaker, never a server's hold. Whether there was one.
    pub fn lift(&mut self) -> bool {
        let lifted = self.breaker != Breaker::Closed
            || matches!(
                self.suppression,
                Suppression::Active { .. } | Suppression::Probing { .. }
            );
        self.breaker = Breaker::Closed;
        self.outcomes = Outcomes::default();
        self.backoff.over_trip = 0;
        self.suppression = Suppression::default();
        lifted
    }

    /// Departures ever.
    #[must_use]
    pub fn departures(&self) -> u64 {
        self.departures
    }

    /// When the last request departed.
    #[must_use]
    pub fn last_departure(&self) -> Option<Timestamp> {
        self.last_departure
    }

    /// Requests in the air.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.flights.count()
    }

    /// The dynamic delay; zero when all is well.
    #[must_use]
    pub fn dynamic_delay(&self) -> Duration {
        self.backoff.delay
    }

    /// When the dynamic delay was last raised; `None` when all is well.
    #[must_use]
    pub fn overloaded_at(&self) -> Option<Timestamp> {
        (!self.backoff.delay.is_zero()).then_some(self.backoff.multiplied_at)
    }

    /// The hold that the server asked for, if it has not ended at `now`.
    #[must_use]
    pub fn hold(&self, now: Timestamp) -> Option<&Hold> {
        self.hold.as_ref().filter(|hold| hold.until > now)
    }

    /// Nothing departs before then on curtsy's own account: backoff.
    #[must_use]
    pub fn backoff_until(&self, now: Timestamp) -> Option<Timestamp> {
        (self.backoff.until > now).then_some(self.backoff.until)
    }

    /// The rate that the last reading of a quota allowed, departures/s.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        self.rate
    }

    /// L1: what the server was found to bear; `None` where it has never refused.
    #[must_use]
    pub fn learned_pace(&self) -> Option<LearnedPace> {
        self.learned.pace(self.departures)
    }

    /// L5: how many requests at once it was found to bear; `None` where only the policy limits them.
    #[must_use]
    pub fn learned_concurrency(&self) -> Option<u32> {
        self.concurrency.most()
    }

    /// The quotas that the server publishes.
    #[must_use]
    pub fn quotas(&self) -> &[Quota] {
        &self.quotas
    }

    /// Where the breaker stands.
    #[must_use]
    pub fn breaker(&self) -> Breaker {
        self.breaker
    }

    /// Whether the scope is suppressed.
    #[must_use]
    pub fn suppression(&self) -> Suppression {
        self.suppression
    }

    /// The 95th percentile of its response-head latency, once 20 answers have been seen.
    #[must_use]
    pub fn latency_percentile_95(&self) -> Option<Duration> {
        self.latencies.percentile_95()
    }
}

/// A name from a header; what is longer than [`MAX_NAME`] is cut and made unique by a fingerprint.
pub(crate) fn short(name: &str) -> Cow<'_, str> {
    if name.len() <= MAX_NAME {
        return Cow::Borrowed(name);
    }
    let cut = name.floor_char_boundary(MAX_NAME - 9);
    Cow::Owned(format!("{}#{:08x}", &name[..cut], fingerprint(name)))
}

/// FNV-1a, 32 bits: the same for all time, since stores keep it.
fn fingerprint(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}
