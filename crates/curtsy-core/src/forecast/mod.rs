//! [`forecast`]: when so many requests will have departed.
//!
//! Nothing is computed here that [`decide`] computes: it is run forward in virtual time, each request
//! answered well and at once, until the interval between two departures stays the same; the rest is
//! counted by that interval. Of a range that is drawn from, the middle is taken.
//!
//! Not foreseen: how long answers take and how many of them may be under way, retries and redirects,
//! refusals, and what else an answer may say that none has said yet.

mod windows;

use std::time::Duration;

use crate::decision::{Bound, Decision, Decline};
use crate::flights::Flights;
use crate::observe::{Attempt, observe};
use crate::outcome::{Answer, Kind};
use crate::pace::{Ask, decide};
use crate::policy::Policy;
use crate::state::HostState;
use crate::time::duration_from_secs;
use crate::{Draw, Reason, Timestamp};
use windows::Windows;

/// Departures that are tried one by one before the interval of the last one is taken for all.
const MOST_STEPS: u32 = 4096;
/// Waits before one departure: each bound may lead to one more, and to no circle.
const MOST_WAITS: u32 = 16;
/// What two intervals may differ by and be the same: a share of the longer, and what clocks round.
const ALIKE: (f64, Duration) = (0.02, Duration::from_micros(10));
/// Tokens that a departure may cost beyond what accrued before it, and be sustained.
const SUSTAINED: f64 = 0.01;

/// What becomes of requests to a scope, as far as can be told beforehand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Forecast {
    /// They depart.
    Departs(Course),
    /// They are declined without a departure.
    Declined(Decline),
}

/// How requests depart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Course {
    /// What the first one waits for; past where it may depart at once.
    pub first: Bound,
    /// H10, K2: whether that wait is so long that requests are deferred meanwhile.
    pub is_deferred: bool,
    /// From one departure to the next in the long run; zero where nothing binds.
    pub interval: Duration,
    /// What makes this interval.
    pub reason: Reason,
    /// When the last one departs.
    pub end: Timestamp,
}

/// When `count` requests to a scope in this state will have departed, from `now` on.
#[must_use]
pub fn forecast(policy: &Policy, state: &HostState, count: u64, now: Timestamp) -> Forecast {
    let scene = Scene::new(policy, state, now);
    let (first, is_deferred) = match scene.ask(now) {
        Decision::Depart(permit) => (permit.bound, false),
        Decision::Wait(bound) => (bound, false),
        Decision::Defer(bound) => (bound, true),
        Decision::Decline(decline) => return Forecast::Declined(decline),
    };
    let (gait, end) = scene.travel(count);
    Forecast::Departs(Course {
        first,
        is_deferred,
        interval: gait.interval,
        reason: gait.reason,
        end,
    })
}

/// A scope in virtual time.
struct Scene<'a> {
    policy: &'a Policy,
    state: HostState,
    windows: Windows,
    departed: u64,
    now: Timestamp,
}

/// How one departure followed the one before.
#[derive(Clone, Copy)]
struct Gait {
    interval: Duration,
    reason: Reason,
    /// Tokens that were spent beyond what accrued.
    spent: f64,
    /// Whether the next may well be another: the dynamic delay has changed, or a window has ended.
    changes: bool,
}

impl<'a> Scene<'a> {
    fn new(policy: &'a Policy, state: &HostState, now: Timestamp) -> Self {
        let mut state = state.clone();
        // Whatever is under way is answered at once, as all that follows.
        state.flights = Flights::default();
        Self {
            windows: Windows::of(policy, &state, now),
            policy,
            state,
            departed: 0,
            now,
        }
    }

    /// Goes on until `count` have departed and the gait stays; that gait, and when the last departed.
    fn travel(mut self, count: u64) -> (Gait, Timestamp) {
        let mut end = (count == 0).then_some(self.now);
        let mut gait = self.step();
        let mut last = None;
        for _ in 1..MOST_STEPS {
            if self.departed >= count {
                end.get_or_insert(self.now);
            }
            if let Some(interval) = self.windows.interval() {
                gait.interval = interval;
                break;
            }
            if last.is_some_and(|last| gait.is_like(last)) {
                let Some(lasts) = self.lasts(gait) else { break };
                if lasts >= count.saturating_sub(self.departed) {
                    end.get_or_insert(self.rest(count, gait));
                }
                self.skip(lasts, gait);
            }
            last = Some(gait);
            gait = self.step();
        }
        let end = end.unwrap_or_else(|| self.rest(count, gait));
        (gait, end)
    }

    /// When the last of `count` departs at this gait.
    fn rest(&self, count: u64, gait: Gait) -> Timestamp {
        let left = count.saturating_sub(self.departed);
        self.now.after(duration_from_secs(
            gait.interval.as_secs_f64() * left as f64,
        ))
    }

    /// The next departure, as soon as it may be, and its answer.
    fn step(&mut self) -> Gait {
        let (since, saved) = (self.now, self.saved());
        let (delay, turned) = (self.state.backoff.delay, self.windows.turned());
        let mut reason = Reason::Free;
        for _ in 0..MOST_WAITS {
            match self.ask(since) {
                Decision::Depart(permit) => {
                    if permit.bound.reason != Reason::Free {
                        reason = permit.bound.reason;
                    }
                    self.answer(permit.seq, permit.state);
                    break;
                }
                Decision::Wait(bound) | Decision::Defer(bound) => {
                    reason = bound.reason;
                    self.now = self.now.max(bound.not_before);
                }
                // No answer here is a 403.
                Decision::Decline(_) => break,
            }
        }
        self.departed += 1;
        Gait {
            interval: self.now.since(since),
            reason,
            spent: saved - self.saved(),
            changes: self.state.backoff.delay != delay || self.windows.turned() != turned,
        }
    }

    fn ask(&self, since: Timestamp) -> Decision {
        let ask = Ask::page(since);
        decide(self.policy, &self.state, &ask, self.now, middle())
    }

    fn answer(&mut self, seq: u64, state: HostState) {
        let signal = self.windows.count(self.departed, self.now);
        let attempt = Attempt {
            seq,
            kind: Kind::Page,
            departed: self.now,
            host: "",
        };
        let answer = Answer::Head {
            status: 200,
            latency: Duration::ZERO,
            signal: &signal,
        };
        self.state = observe(self.policy, &state, &attempt, &answer, self.now, middle()).state;
    }

    /// How many more depart at this gait; `None`: all.
    fn lasts(&self, gait: Gait) -> Option<u64> {
        let savings = (gait.spent > SUSTAINED).then(|| (self.saved() / gait.spent) as u64);
        let window = self.windows.lasts(
            self.policy,
            &self.state,
            gait.interval,
            gait.reason,
            self.now,
        );
        match (savings, window) {
            (Some(savings), Some(window)) => Some(savings.min(window)),
            (savings, window) => savings.or(window),
        }
    }

    /// `count` departures at this gait, in one.
    fn skip(&mut self, count: u64, gait: Gait) {
        let took = duration_from_secs(gait.interval.as_secs_f64() * count as f64);
        self.departed = self.departed.saturating_add(count);
        self.now = self.now.after(took);
        self.windows.skip(count);
        self.state.departures = self.state.departures.saturating_add(count);
        self.state.last_departure = Some(self.now);
        if let Some(bucket) = &mut self.state.bucket {
            bucket.tokens = (bucket.tokens - gait.spent * count as f64).max(0.0);
            bucket.at = self.now;
        }
    }

    /// Tokens in the bucket after a departure.
    fn saved(&self) -> f64 {
        self.state.bucket.map_or(0.0, |bucket| bucket.tokens)
    }
}

impl Gait {
    fn is_like(&self, last: Self) -> bool {
        let (share, noise) = ALIKE;
        let apart = self.interval.abs_diff(last.interval);
        !self.changes
            && self.reason == last.reason
            && apart <= self.interval.max(last.interval).mul_f64(share) + noise
    }
}

/// The expected value of every draw.
fn middle() -> Draw {
    Draw::new(0.5)
}
