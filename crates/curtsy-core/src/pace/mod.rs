//! [`decide`]: the only code that turns policy, state and what the server said into a time.
//!
//! A departure is allowed at the latest of four times (rule P2): Crawl-delay, configured delay or rate,
//! dynamic delay, what the server asked for. Causes never add up and never cancel; the latest binds and
//! is named.

mod tokens;

use std::time::Duration;

use crate::breaker::Breaker;
use crate::bucket::Bucket;
use crate::decision::{Bound, Decision, Decline, Permit};
use crate::outcome::Kind;
use crate::policy::{OverCap, Policy};
use crate::quota::Quota;
use crate::reason::Time;
use crate::state::HostState;
use crate::suppression::Suppression;
use crate::{Draw, Interval, Reason, Timestamp};

pub(crate) use tokens::capacity;
use tokens::{bucket, price, token_bound};

/// A request that wants to depart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ask {
    /// What kind of request it is.
    pub kind: Kind,
    /// Since when it has been waiting its turn.
    pub since: Timestamp,
    /// A bound of its own: its retry ladder, a robots.txt that cannot be read.
    pub own: Bound,
}

impl Ask {
    /// A page that has been waiting since `since`, with no bound of its own.
    #[must_use]
    pub const fn page(since: Timestamp) -> Self {
        Self {
            kind: Kind::Page,
            since,
            own: Bound::FREE,
        }
    }
}

/// The four times of rule P2; what does not bind is [`Bound::FREE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// (1) Crawl-delay.
    pub crawl_delay: Bound,
    /// (2) The configured delay or rate.
    pub configured: Bound,
    /// (3) The dynamic delay.
    pub dynamic: Bound,
    /// (4) What the server asked for.
    pub server: Bound,
}

impl Bounds {
    /// The one that binds.
    #[must_use]
    pub fn latest(&self) -> Bound {
        self.crawl_delay
            .latest(self.configured)
            .latest(self.dynamic)
            .latest(self.server)
    }

    fn add(&mut self, bound: Bound) {
        let slot = match bound.reason.time() {
            None => return,
            Some(Time::CrawlDelay) => &mut self.crawl_delay,
            Some(Time::Configured) => &mut self.configured,
            Some(Time::Dynamic) => &mut self.dynamic,
            Some(Time::Server) => &mut self.server,
        };
        *slot = slot.latest(bound);
    }
}

/// May this request depart at `now`? `draw` is the sample for the interval after it (P4).
#[must_use]
pub fn decide(
    policy: &Policy,
    state: &HostState,
    ask: &Ask,
    now: Timestamp,
    draw: Draw,
) -> Decision {
    if ask.own.reason == Reason::Paused {
        // Not even raw access departs, and nothing is declined or deferred since nobody knows for how long.
        return Decision::Wait(ask.own);
    }
    if !policy.polite {
        return Decision::Depart(Box::new(depart(policy, state, ask, Bound::FREE, now, draw)));
    }
    if let Suppression::Active { until, .. } = state.suppression
        && until.is_none_or(|until| now < until)
    {
        return Decision::Decline(Decline::Suppressed { until });
    }
    let bound = bounds(policy, state, ask, now).latest();
    if bound.not_before <= now {
        Decision::Depart(Box::new(depart(policy, state, ask, bound, now, draw)))
    } else if beyond_patience(policy, state, bound, now) {
        Decision::Defer(bound)
    } else {
        Decision::Wait(bound)
    }
}

/// The four times for a request that asks at `now`.
#[must_use]
pub fn bounds(policy: &Policy, state: &HostState, ask: &Ask, now: Timestamp) -> Bounds {
    let mut bounds = Bounds {
        crawl_delay: Bound::FREE,
        configured: Bound::FREE,
        dynamic: Bound::FREE,
        server: Bound::FREE,
    };
    bounds.add(ask.own);
    if let Some(last) = state.last_departure {
        add_intervals(&mut bounds, policy, state, last);
    }
    if let Some(pace) = pace(policy, state)
        && let Some(bound) = token_bound(policy, state, pace, now)
    {
        bounds.add(bound);
    }
    if let Some(cap) = policy.day_cap
        && let Some(not_before) = state.day.free_at(cap, now)
    {
        bounds.add(Bound {
            not_before,
            reason: Reason::DayCap,
        });
    }
    if state.backoff.until > Timestamp::EPOCH {
        bounds.add(Bound {
            not_before: state.backoff.until,
            reason: Reason::DynamicDelay,
        });
    }
    if let Some(hold) = &state.hold {
        bounds.add(Bound {
            not_before: hold.until,
            reason: Reason::ServerHold,
        });
    }
    if policy.steer {
        for not_before in state
            .quotas
            .iter()
            .filter_map(|quota| quota.exhausted_until(now))
        {
            bounds.add(Bound {
                not_before,
                reason: Reason::QuotaExhausted,
            });
        }
    }
    add_solo(&mut bounds, policy, state, now);
    bounds
}

/// The rate of the token bucket, departures/s, and whose it is; `None` where there is no bucket.
///
/// P3: a configured delay or a Crawl-delay takes the place of the default rate. The server's own is still
/// no reason to go above `max_rate` (H8), were it zero.
#[must_use]
pub fn pace(policy: &Policy, state: &HostState) -> Option<(f64, Reason)> {
    if let Some(rate) = state.rate.filter(|_| policy.bucket && policy.steer) {
        return Some((policy.clamp_rate(rate), Reason::Quota));
    }
    let own = own_rate(policy, state);
    if !policy.learns() {
        return own.map(|rate| (rate, Reason::Rate));
    }
    let most = own.unwrap_or(f64::INFINITY);
    match state.learned.rate(state.departures, most) {
        Some(learned) => Some((learned.max(policy.min_rate.min(most)), Reason::LearnedRate)),
        None => own.map(|rate| (rate, Reason::Rate)),
    }
}

/// The most that may depart a second in the long run, by all bounds that are no holds; `None` where nothing
/// limits it but the answers.
#[must_use]
pub fn allowed_rate(policy: &Policy, state: &HostState) -> Option<f64> {
    if !policy.polite {
        return None;
    }
    let asked = crawl_delay(policy, state);
    let chosen = match policy.delay {
        Some(delay) => Some(delay.min()),
        None if paces_unstated(policy, state, asked) => Some(policy.rate_limit.min()),
        None => None,
    };
    let least = asked.max(chosen).filter(|least| !least.is_zero());
    let of_interval = least.map(|least| 1.0 / least.as_secs_f64());
    let of_bucket = pace(policy, state).map(|(rate, _)| rate);
    match (of_interval, of_bucket) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// P3: the tokens that there are in the bucket; `None` where there is no bucket.
#[must_use]
pub fn tokens(policy: &Policy, state: &HostState, now: Timestamp) -> Option<f64> {
    let (rate, _) = pace(policy, state)?;
    let capacity = capacity(policy, state);
    let bucket = bucket(policy, state, rate);
    Some(bucket.map_or(capacity, |bucket| bucket.tokens(rate, capacity, now, now)))
}

/// P3: the bucket's rate where nothing is known of the server's.
fn own_rate(policy: &Policy, state: &HostState) -> Option<f64> {
    match policy.rate {
        _ if !policy.bucket => policy.tos_cap,
        None if policy.delay.is_some() => policy.tos_cap,
        None if crawl_delay(policy, state).is_some() => Some(policy.clamp_rate(f64::INFINITY)),
        _ => Some(policy.silent_rate()),
    }
}

/// P5: the Crawl-delay, where robots.txt is respected.
fn crawl_delay(policy: &Policy, state: &HostState) -> Option<Duration> {
    state.crawl_delay().filter(|_| policy.respect_robots)
}

/// P4–P7: the intervals since the last departure, each counted to who made it.
fn add_intervals(bounds: &mut Bounds, policy: &Policy, state: &HostState, last: Timestamp) {
    let crawl_delay = crawl_delay(policy, state);
    let (base, reason) = match policy.delay {
        Some(delay) => (Some(delay), Reason::ConfiguredDelay),
        None if paces_unstated(policy, state, crawl_delay) => {
            (Some(policy.rate_limit), Reason::UnstatedPace)
        }
        None => (None, Reason::Free),
    };
    let raise = |range: Option<Interval>, floor: Duration| {
        Some(range.map_or(Interval::fixed(floor), |range| range.raise_floor(floor)))
    };
    let sample = |range: Option<Interval>| {
        range.map_or(Duration::ZERO, |range| range.at(state.interval_draw))
    };

    let floor = crawl_delay.unwrap_or_default();
    let stated = if crawl_delay.is_some() {
        raise(base, floor)
    } else {
        base
    };
    let chosen = sample(stated);
    if !floor.is_zero() {
        bounds.add(Bound {
            not_before: last.after(floor),
            reason: Reason::CrawlDelay,
        });
    }
    if chosen > floor {
        bounds.add(Bound {
            not_before: last.after(chosen),
            reason,
        });
    }
    // P7: where the pace is learned the delay is only a hold.
    let backed_off = if state.backoff.delay.is_zero() || policy.learns() {
        chosen
    } else {
        sample(raise(stated, state.backoff.delay))
    };
    if backed_off > chosen {
        bounds.add(Bound {
            not_before: last.after(backed_off),
            reason: Reason::DynamicDelay,
        });
    }
}

/// P6: robots are respected, and neither they nor the operator nor a quota has said anything about pace.
fn paces_unstated(policy: &Policy, state: &HostState, crawl_delay: Option<Duration>) -> bool {
    policy.respect_robots
        && crawl_delay.is_none()
        && policy.rate.is_none()
        && (state.rate.is_none() || !policy.steer)
}

/// P8, K2, K3, R4: times in which only one request may be in flight, or none.
fn add_solo(bounds: &mut Bounds, policy: &Policy, state: &HostState, now: Timestamp) {
    if let Breaker::Open { until, .. } = state.breaker {
        bounds.add(Bound {
            not_before: until,
            reason: Reason::BreakerOpen,
        });
    }
    if policy.learns()
        && let Some(most) = state.concurrency.most()
        && let Some(not_before) = state.flights.fewer_by(most as usize, policy.timeout, now)
    {
        bounds.add(Bound {
            not_before,
            reason: Reason::Concurrency,
        });
    }
    // L4: one probe at a time until one is answered well.
    if policy.learns()
        && !state.backoff.delay.is_zero()
        && let Some(not_before) =
            state
                .flights
                .down_since(state.backoff.multiplied_at, policy.timeout, now)
    {
        bounds.add(Bound {
            not_before,
            reason: Reason::Probe,
        });
    }
    for probe in [breaker_probe(state), suppression_probe(state)]
        .into_iter()
        .flatten()
    {
        if let Some(not_before) = state.flights.down_by(probe, policy.timeout, now) {
            bounds.add(Bound {
                not_before,
                reason: Reason::Probe,
            });
        }
    }
    // Last, since a quota may have reset by when all else is over.
    let then = now.max(bounds.latest().not_before);
    let is_blind = |quota: &Quota| quota.needs_reading(then);
    if (!state.answered || policy.steer && state.quotas.iter().any(is_blind))
        && let Some(not_before) = state.flights.all_down_by(policy.timeout, now)
    {
        bounds.add(Bound {
            not_before,
            reason: Reason::FirstAnswer,
        });
    }
}

fn breaker_probe(state: &HostState) -> Option<u64> {
    if let Breaker::HalfOpen { probe, .. } = state.breaker {
        Some(probe)
    } else {
        None
    }
}

fn suppression_probe(state: &HostState) -> Option<u64> {
    if let Suppression::Probing { probe } = state.suppression {
        Some(probe)
    } else {
        None
    }
}

/// H10, K2: whether the caller had better not wait. A pace is waited for however slow it is; a hold only
/// within patience, which is measured against what was told, without the buffer that curtsy adds. Where
/// holds are cut to patience instead, every one is waited for.
fn beyond_patience(policy: &Policy, state: &HostState, bound: Bound, now: Timestamp) -> bool {
    if matches!(state.breaker, Breaker::Open { until, .. } if until > now) {
        return true;
    }
    let until = match bound.reason {
        Reason::ServerHold => state
            .hold
            .as_ref()
            .map_or(bound.not_before, |hold| hold.told),
        Reason::DynamicDelay
        | Reason::RetryBackoff
        | Reason::RobotsUnreachable
        | Reason::DayCap
        | Reason::QuotaExhausted => bound.not_before,
        _ => return false,
    };
    policy.retry_after_over_cap == OverCap::Defer && until.since(now) > policy.max_retry_after
}

/// The departure itself, whatever binds it.
pub(crate) fn depart(
    policy: &Policy,
    state: &HostState,
    ask: &Ask,
    bound: Bound,
    now: Timestamp,
    draw: Draw,
) -> Permit {
    let mut next = state.clone();
    let seq = state.departures.saturating_add(1);
    next.departures = seq;
    next.last_departure = state.last_departure.max(Some(now));
    next.interval_draw = draw.shortened();
    next.flights.forget_lost(policy.timeout, now);
    next.flights.depart(seq, now);
    let rate = pace(policy, state).map_or(f64::INFINITY, |(rate, _)| rate);
    next.learned.depart(seq, state.last_departure, rate, now);
    let in_flight = next.flights.count() as u64 - 1;
    next.quotas
        .iter_mut()
        .for_each(|quota| quota.depart(in_flight, now));
    if policy.day_cap.is_some() {
        next.day.depart(now);
    }
    if let Some((rate, reason)) = pace(policy, state) {
        let capacity = capacity(policy, state);
        let mut bucket = bucket(policy, state, rate).unwrap_or(Bucket::full(capacity, now));
        let price = price(policy, state, (rate, reason), now);
        bucket.take(price, rate, capacity, ask.since, now);
        next.bucket = Some(bucket);
    }
    // Raw access probes nothing: nobody looks at its answers.
    if policy.polite {
        next.breaker = match state.breaker {
            Breaker::Closed => Breaker::Closed,
            Breaker::Open { cool_down, .. } | Breaker::HalfOpen { cool_down, .. } => {
                Breaker::HalfOpen {
                    probe: seq,
                    cool_down,
                }
            }
        };
        next.suppression = match state.suppression {
            Suppression::None { .. } => state.suppression,
            Suppression::Active { .. } | Suppression::Probing { .. } => {
                Suppression::Probing { probe: seq }
            }
        };
    }
    Permit {
        seq,
        at: now,
        ask: *ask,
        bound,
        state: next,
    }
}
