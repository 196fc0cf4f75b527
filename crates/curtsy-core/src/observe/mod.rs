//! [`observe`]: what an answer changes in the state of its scope.

mod body;
mod hold;
mod quotas;

use std::time::Duration;

use crate::backoff::Step;
use crate::breaker::Breaker;
use crate::learned::Sign;
use crate::outcome::{Answer, Class, Failure, Kind, classify};
use crate::pace::pace;
use crate::policy::Policy;
use crate::state::HostState;
use crate::suppression::Suppression;
use crate::{Draw, Timestamp};

pub use body::observe_body;

/// A departure that has come to an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt<'a> {
    /// Its number in the scope.
    pub seq: u64,
    /// What kind of request it was.
    pub kind: Kind,
    /// When it left.
    pub departed: Timestamp,
    /// The host that was asked, for the exemptions of R4.
    pub host: &'a str,
}

/// What an answer did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// The state after it.
    pub state: HostState,
    /// Its class; `None` where nobody waited for the answer.
    pub class: Option<Class>,
    /// H11: every hold, rate change and delay change, and whatever else there is to put on record.
    pub changes: Vec<Change>,
}

/// One change of a scope's state, with its trigger.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The rate of the bucket, departures/s.
    RateAdjusted {
        /// Before; `None` where there was no bucket.
        before: Option<f64>,
        /// After.
        after: f64,
        /// The quota that steers.
        trigger: String,
    },
    /// A hold that the server asked for.
    HoldStarted {
        /// How long, as told.
        told: Duration,
        /// How much longer, for safety.
        buffer: Duration,
        /// Until when.
        until: Timestamp,
        /// What said so: status and header.
        trigger: String,
    },
    /// The dynamic delay.
    DynamicDelay {
        /// Before.
        before: Duration,
        /// After.
        after: Duration,
        /// The jitter of the hold that came with it.
        jitter: Duration,
        /// Until when nothing departs; `None` where no hold came with it.
        until: Option<Timestamp>,
        /// What caused it.
        trigger: String,
    },
    /// K1: the breaker opened.
    BreakerOpened {
        /// Until when nothing departs.
        until: Timestamp,
        /// Which of the two conditions.
        trigger: String,
    },
    /// K3: the probe was answered well.
    BreakerClosed,
    /// R4: the scope is suppressed.
    Suppressed {
        /// Until when; `None`: as long as the client lives.
        until: Option<Timestamp>,
    },
    /// R4: the probe was answered well.
    SuppressionLifted,
}

/// What the answer to `attempt`, in at `now`, changes. `draw` is for the jitter of a hold.
#[must_use]
pub fn observe(
    policy: &Policy,
    state: &HostState,
    attempt: &Attempt<'_>,
    answer: &Answer<'_>,
    now: Timestamp,
    draw: Draw,
) -> Observed {
    let mut next = state.clone();
    let uncounted = uncounted(state, attempt);
    let among = next.flights.land(attempt.seq);
    next.flights.forget_lost(policy.timeout, now);
    let (Some(mut class), true) = (classify(answer), policy.polite) else {
        return Observed {
            state: next,
            class: classify(answer),
            changes: Vec::new(),
        };
    };

    if let Answer::Head { latency, .. } = *answer {
        next.answered |= attempt.kind != Kind::Robots;
        // A robots.txt tells nothing of how long the pages of a quiet server take.
        if policy.watch_latency
            && class == Class::Healthy
            && attempt.kind != Kind::Robots
            && is_slow(policy, &mut next, attempt.seq, among, latency)
        {
            class = Class::Slow;
        }
    }
    let mut observation = Observation {
        policy,
        state: next,
        attempt,
        answer,
        class,
        uncounted,
        among,
        now,
        draw,
        changes: Vec::new(),
    };
    observation.pass_over_quotas();
    observation.read_quotas();
    let is_directed = observation.hold_as_told();
    observation.adjust_delay(is_directed);
    observation.note_round_trip();
    observation.note_forbidden();
    observation.turn_breaker();
    Observed {
        state: observation.state,
        class: Some(class),
        changes: observation.changes,
    }
}

/// D3: notes how long the answer to departure `seq`, one of `among`, took, and whether that is slow.
fn is_slow(
    policy: &Policy,
    state: &mut HostState,
    seq: u64,
    among: u32,
    latency: Duration,
) -> bool {
    let is_above = state.latencies.note(latency);
    if !policy.learns() {
        return is_above;
    }
    let was_alone = among == 1 && state.departures == seq;
    let under_way = match was_alone {
        true => 1,
        false => among.max(state.flights.count() as u32 + 1).max(2),
    };
    let concurrency = &mut state.concurrency;
    concurrency.feel(seq, latency, under_way, state.departures)
}

/// Departures that the server had not counted when it answered, for all that is known.
fn uncounted(state: &HostState, attempt: &Attempt<'_>) -> u64 {
    state.departures.saturating_sub(attempt.seq) + state.flights.before(attempt.seq)
}

/// One answer on its way into the state.
struct Observation<'a> {
    policy: &'a Policy,
    state: HostState,
    attempt: &'a Attempt<'a>,
    answer: &'a Answer<'a>,
    class: Class,
    /// Departures that the server had not counted when it answered, for all that is known.
    uncounted: u64,
    /// L5: how many were in the air when it departed, itself included.
    among: u32,
    now: Timestamp,
    draw: Draw,
    changes: Vec<Change>,
}

impl Observation<'_> {
    /// D1–D5, H9: the dynamic delay after this outcome. `is_directed`: the answer told how long to wait.
    fn adjust_delay(&mut self, is_directed: bool) {
        let Self { policy, now, .. } = *self;
        let departed = self.attempt.departed;
        let is_overload = self.class == Class::Throttled || is_of_the_host(self.answer);
        let least = if policy.learns() && !is_directed {
            self.state.learned.wait(departed)
        } else {
            Duration::ZERO
        };
        let backoff = &mut self.state.backoff;
        let step = match self.class {
            _ if is_overload && is_directed && !policy.multiply_on_directive => None,
            _ if is_overload => backoff.multiply(policy, departed, least, now),
            Class::Healthy | Class::Slow if policy.learns() => backoff.end(departed),
            Class::Slow => backoff.stretch(policy, departed, now),
            Class::Healthy => backoff.recover(policy, departed),
            _ => None,
        };
        let Some(Step { before, after }) = step else {
            return;
        };
        if policy.learns() {
            self.learn(is_overload, is_directed);
        }
        let backoff = &mut self.state.backoff;
        let (mut jitter, mut until) = (Duration::ZERO, None);
        if is_overload && !is_directed {
            jitter = backoff.hold(policy, now, self.draw);
            if let (Answer::Head { status: 429, .. }, Some(least)) =
                (self.answer, policy.default_retry_after)
            {
                backoff.until = backoff.until.max(now.after(least));
            }
            until = Some(backoff.until);
            self.drain_bucket(self.state.backoff.until);
        }
        self.changes.push(Change::DynamicDelay {
            before,
            after,
            jitter,
            until,
            trigger: self.trigger(),
        });
    }

    /// L4: after an outage load returns with each clean round trip.
    fn note_round_trip(&mut self) {
        if matches!(self.class, Class::Healthy | Class::Slow) {
            let (departures, per_host) = (self.state.departures, self.policy.per_host);
            self.state.learned.clean(self.attempt.seq);
            self.state
                .concurrency
                .bear(self.among, departures, per_host);
        }
    }

    /// L2, L4: what an overload, or its end, tells of the server's limit.
    fn learn(&mut self, is_overload: bool, is_directed: bool) {
        let Attempt { seq, departed, .. } = *self.attempt;
        if is_overload {
            let departures = self.state.departures;
            // Of several that left together any may arrive last.
            let among = self.state.flights.count() as u32 + 1;
            let sign = match self.answer {
                Answer::Failed(_) => Sign::Broken,
                _ if self.state.concurrency.refuse(among, departures) => Sign::Crowded,
                Answer::Head {
                    status: 503 | 504, ..
                } => Sign::Unavailable,
                _ => Sign::Limit,
            };
            let rate = pace(self.policy, &self.state).map(|(rate, _)| rate);
            let told = self.state.hold.as_ref().map(|hold| hold.told);
            let told = told.filter(|_| is_directed);
            let learned = &mut self.state.learned;
            learned.overload(sign, told, seq, departed, rate);
        } else if self.state.rate.is_some() && self.policy.steer {
            // L1: the server says itself how fast it may be asked.
            self.state.learned.forgive(seq, departed);
        } else if let Some((before, after)) = self.state.learned.recover(seq, departed, self.now) {
            self.changes.push(Change::RateAdjusted {
                before: Some(before),
                after,
                trigger: "overload".to_owned(),
            });
        }
    }

    /// R4: 403s in a row suppress; a success between starts over. Never for a robots.txt or an exempt host.
    fn note_forbidden(&mut self) {
        let (before, seq) = (self.state.suppression, self.attempt.seq);
        let is_robots = self.attempt.kind == Kind::Robots;
        self.state.suppression = match self.class {
            Class::Forbidden
                if !is_robots && !self.policy.is_suppression_exempt(self.attempt.host) =>
            {
                before.forbidden(self.policy, seq, self.now)
            }
            Class::Healthy | Class::Slow if !is_robots => before.healthy(seq),
            _ => before,
        };
        match (before, self.state.suppression) {
            (
                Suppression::None { .. } | Suppression::Probing { .. },
                Suppression::Active { until, .. },
            ) => self.changes.push(Change::Suppressed { until }),
            (Suppression::Probing { .. }, Suppression::None { .. }) => {
                self.changes.push(Change::SuppressionLifted);
            }
            _ => {}
        }
    }

    /// K1, K3.
    fn turn_breaker(&mut self) {
        let Some(rules) = self.policy.breaker else {
            return;
        };
        let state = &mut self.state;
        state.outcomes.note(self.class == Class::Failed);
        let trigger = match state.breaker {
            Breaker::HalfOpen { probe, .. } if probe == self.attempt.seq => {
                if matches!(self.class, Class::Healthy | Class::Slow) {
                    state.breaker = Breaker::Closed;
                    state.outcomes = Default::default();
                    state.backoff.over_trip = 0;
                    self.changes.push(Change::BreakerClosed);
                    self.drain_bucket(self.now);
                    return;
                }
                "probe_failed"
            }
            // Stragglers from before it opened say nothing new.
            Breaker::HalfOpen { .. } | Breaker::Open { .. } => return,
            Breaker::Closed if state.backoff.over_trip >= rules.trip_after => "dynamic_delay",
            Breaker::Closed if state.outcomes.too_many_failed(rules) => "failure_share",
            Breaker::Closed => return,
        };
        state.breaker = state.breaker.open(rules, self.now);
        if let Breaker::Open { until, .. } = state.breaker {
            self.changes.push(Change::BreakerOpened {
                until,
                trigger: trigger.to_owned(),
            });
        }
    }

    /// P3: no token accrues while nothing departs.
    fn drain_bucket(&mut self, until: Timestamp) {
        if let Some(bucket) = &mut self.state.bucket {
            bucket.drain(until);
        }
    }

    /// What caused a change, for the record.
    fn trigger(&self) -> String {
        match self.answer {
            Answer::Head { status, .. } if self.class == Class::Throttled => status.to_string(),
            Answer::Failed(failure) => failure.label().to_owned(),
            _ => self.class.label().to_owned(),
        }
    }
}

/// D1: a failure of the connection is the host's; an answer that is no HTTP is one URL's.
fn is_of_the_host(answer: &Answer<'_>) -> bool {
    matches!(answer, Answer::Failed(failure) if *failure != Failure::Protocol)
}
