//! [`observe`]: what an answer changes in the state of its scope.

use std::time::Duration;

use crate::backoff::Step;
use crate::breaker::Breaker;
use crate::bucket::Bucket;
use crate::outcome::{Answer, Class, Failure, Kind, classify};
use crate::pace::{capacity, pace};
use crate::policy::{OverCap, Policy, RETRY_AFTER_BUFFER_CAP};
use crate::quota::{Quota, Reading};
use crate::signal::{self, Signal, Unit};
use crate::state::{Hold, HostState, MAX_QUOTAS, short};
use crate::suppression::Suppression;
use crate::{Draw, Timestamp};

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
#[derive(Clone, Debug, PartialEq)]
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
    let mut observed = Observed {
        state: state.clone(),
        class: classify(answer),
        changes: Vec::new(),
    };
    let next = &mut observed.state;
    let uncounted =
        state.departures.saturating_sub(attempt.seq) + state.flights.before(attempt.seq);
    next.flights.land(attempt.seq);
    next.flights.forget_lost(policy.timeout, now);
    let (Some(mut class), true) = (observed.class, policy.polite) else {
        return observed;
    };

    let changes = &mut observed.changes;
    if let Answer::Head {
        latency, signal, ..
    } = *answer
    {
        next.answered |= attempt.kind != Kind::Robots;
        if policy.watch_latency && class == Class::Healthy && next.latencies.note(latency) {
            class = Class::Slow;
            observed.class = Some(class);
        }
        if policy.steer {
            let told = Told {
                signal,
                attempt,
                uncounted,
                concurrent: u64::from(policy.per_host),
                refused: class == Class::Throttled,
                received: now,
            };
            read_quotas(next, &told);
            if class != Class::Throttled {
                steer(policy, next, signal, now, changes);
            }
        }
    }
    let hold = hold_asked_for(policy, class, answer);
    if let Some(hold) = &hold {
        start_hold(policy, next, hold, now, draw, changes);
    }
    adjust_delay(
        policy,
        next,
        attempt,
        answer,
        class,
        hold.is_some(),
        now,
        draw,
        changes,
    );
    note_forbidden(policy, next, attempt, class, now, changes);
    turn_breaker(policy, next, attempt, class, now, changes);
    observed
}

/// The reading of one answer.
struct Told<'a> {
    signal: &'a Signal,
    attempt: &'a Attempt<'a>,
    uncounted: u64,
    concurrent: u64,
    refused: bool,
    received: Timestamp,
}

fn read_quotas(state: &mut HostState, told: &Told<'_>) {
    for quota in told
        .signal
        .quotas
        .iter()
        .filter(|quota| quota.unit == Unit::Requests)
        .take(MAX_QUOTAS)
    {
        let reading = Reading {
            quota,
            seq: told.attempt.seq,
            departed: told.attempt.departed,
            received: told.received,
            uncounted: told.uncounted,
            concurrent: told.concurrent,
            refused: told.refused,
        };
        match state
            .quotas
            .iter_mut()
            .find(|known| known.key == quota.name.as_str())
        {
            Some(known) => known.read(&reading),
            None => {
                if state.quotas.len() == MAX_QUOTAS {
                    // The one whose window ended first has the least left to say.
                    let oldest = (0..MAX_QUOTAS).min_by_key(|&at| state.quotas[at].resets_by());
                    state.quotas.remove(oldest.unwrap_or(0));
                }
                state.quotas.push(Quota::new(&reading));
            }
        }
    }
}

/// H5: the quota that yields the lowest rate steers. H7: where none says anything, the rate stays.
fn steer(
    policy: &Policy,
    state: &mut HostState,
    signal: &Signal,
    now: Timestamp,
    changes: &mut Vec<Change>,
) {
    if !signal
        .quotas
        .iter()
        .any(|quota| quota.unit == Unit::Requests)
    {
        return;
    }
    let rates = state
        .quotas
        .iter()
        .filter_map(|quota| Some((quota, quota.rate(now, state.rate)?)));
    let Some((quota, published)) = rates.min_by(|(_, a), (_, b)| a.total_cmp(b)) else {
        return;
    };
    let (trigger, steered_until) = (
        quota.key.clone(),
        quota.resets_by().filter(|_| !quota.rolling),
    );
    let budget = state
        .quotas
        .iter()
        .filter_map(|quota| quota.budget(now))
        .min();

    let (capacity, after) = (capacity(policy, state), policy.clamp_rate(published));
    let before = pace(policy, state).map(|(rate, _)| rate);
    let most = budget.map_or(capacity, |budget| capacity.min(budget as f64));
    state
        .bucket
        .get_or_insert(Bucket::full(capacity, now))
        .settle(before.unwrap_or(after), capacity, most, now);
    state.rate = Some(after);
    state.steered_until = steered_until;
    if before != Some(after) {
        changes.push(Change::RateAdjusted {
            before,
            after,
            trigger,
        });
    }
}

/// A hold that an answer asks for.
struct Asked {
    wait: Duration,
    source: String,
    status: u16,
}

/// H1–H3, H6: the longest wait that the answer asks for, if it asks for any.
fn hold_asked_for(policy: &Policy, class: Class, answer: &Answer<'_>) -> Option<Asked> {
    let Answer::Head { status, signal, .. } = *answer else {
        return None;
    };
    let told = signal.wait.as_ref().filter(|wait| !wait.after.is_zero());
    // On a success an exhausted quota holds by its bracketed reset, which needs no buffer (H6).
    let told = told.filter(|wait| {
        !policy.steer || class == Class::Throttled || !is_reset_of_exhausted(signal, wait.after)
    });
    let asked = match told {
        Some(wait) => Some((wait.after, wait.source.to_string())),
        None => exhausted_other_unit(signal),
    };
    asked.map(|(wait, source)| Asked {
        wait,
        source: short(&source),
        status,
    })
}

fn is_reset_of_exhausted(signal: &Signal, wait: Duration) -> bool {
    let exhausted =
        |quota: &&signal::Quota| quota.unit == Unit::Requests && quota.remaining == Some(0);
    signal
        .quotas
        .iter()
        .filter(exhausted)
        .any(|quota| quota.reset.is_some_and(|reset| reset.after == wait))
}

/// A quota of tokens, bytes or points says one thing about requests: used up, it holds until its reset.
fn exhausted_other_unit(signal: &Signal) -> Option<(Duration, String)> {
    let used_up = signal
        .quotas
        .iter()
        .filter(|quota| quota.unit != Unit::Requests && quota.remaining == Some(0));
    let resets = used_up.filter_map(|quota| Some((quota.reset?.after, quota.name.to_string())));
    resets.max().filter(|(wait, _)| !wait.is_zero())
}

fn start_hold(
    policy: &Policy,
    state: &mut HostState,
    asked: &Asked,
    now: Timestamp,
    draw: Draw,
    changes: &mut Vec<Change>,
) {
    let wait = match policy.retry_after_over_cap {
        OverCap::Clamp => asked.wait.min(policy.max_retry_after),
        OverCap::Defer => asked.wait,
    };
    let (least, most) = policy.retry_after_buffer;
    let buffer = draw
        .between(wait.mul_f64(least), wait.mul_f64(most))
        .min(RETRY_AFTER_BUFFER_CAP);
    let (told, until) = (now.after(wait), now.after(wait.saturating_add(buffer)));
    if let Some(bucket) = &mut state.bucket {
        bucket.drain(until);
    }
    // A shorter instruction that comes later takes nothing back from a longer one.
    if state.hold.as_ref().is_some_and(|hold| hold.until >= until) {
        return;
    }
    state.hold = Some(Hold {
        since: now,
        told,
        until,
        source: asked.source.clone(),
    });
    let header = asked.source.to_ascii_lowercase().replace('-', "_");
    changes.push(Change::HoldStarted {
        told: wait,
        buffer,
        until,
        trigger: format!("{}_{header}", asked.status),
    });
}

/// D1–D5, H9: the dynamic delay after an outcome of this class.
#[expect(
    clippy::too_many_arguments,
    reason = "one outcome seen from all sides; a struct for one call would only rename them"
)]
fn adjust_delay(
    policy: &Policy,
    state: &mut HostState,
    attempt: &Attempt<'_>,
    answer: &Answer<'_>,
    class: Class,
    directed: bool,
    now: Timestamp,
    draw: Draw,
    changes: &mut Vec<Change>,
) {
    let overload = class == Class::Throttled || is_of_the_host(answer);
    let step = match class {
        _ if overload && directed && !policy.multiply_on_directive => None,
        _ if overload => state.backoff.multiply(policy, attempt.departed, now),
        Class::Slow => state.backoff.stretch(policy, attempt.departed),
        Class::Healthy => state.backoff.recover(policy, attempt.departed),
        _ => None,
    };
    let Some(Step { before, after }) = step else {
        return;
    };
    let mut jitter = Duration::ZERO;
    let holds = overload && !directed;
    if holds {
        jitter = state.backoff.hold(policy, now, draw);
        if let (Answer::Head { status: 429, .. }, Some(least)) =
            (answer, policy.default_retry_after)
        {
            state.backoff.until = state.backoff.until.max(now.after(least));
        }
        if let Some(bucket) = &mut state.bucket {
            bucket.drain(state.backoff.until);
        }
    }
    let until = holds.then_some(state.backoff.until);
    changes.push(Change::DynamicDelay {
        before,
        after,
        jitter,
        until,
        trigger: trigger_of(class, answer),
    });
}

/// R4: 403s in a row suppress; a success between starts over. Never for a robots.txt or an exempt host.
fn note_forbidden(
    policy: &Policy,
    state: &mut HostState,
    attempt: &Attempt<'_>,
    class: Class,
    now: Timestamp,
    changes: &mut Vec<Change>,
) {
    let before = state.suppression;
    state.suppression = match class {
        Class::Forbidden
            if attempt.kind == Kind::Robots || policy.is_suppression_exempt(attempt.host) =>
        {
            before
        }
        Class::Forbidden => before.forbidden(policy, attempt.seq, now),
        Class::Healthy | Class::Slow if attempt.kind != Kind::Robots => before.healthy(attempt.seq),
        _ => before,
    };
    match (before, state.suppression) {
        (
            Suppression::None { .. } | Suppression::Probing { .. },
            Suppression::Active { until, .. },
        ) => changes.push(Change::Suppressed { until }),
        (Suppression::Probing { .. }, Suppression::None { .. }) => {
            changes.push(Change::SuppressionLifted)
        }
        _ => {}
    }
}

/// K1, K3.
fn turn_breaker(
    policy: &Policy,
    state: &mut HostState,
    attempt: &Attempt<'_>,
    class: Class,
    now: Timestamp,
    changes: &mut Vec<Change>,
) {
    let Some(rules) = policy.breaker else { return };
    state.outcomes.note(class == Class::Failed);
    let trigger = match state.breaker {
        Breaker::HalfOpen { probe, .. } if probe == attempt.seq => {
            if !matches!(class, Class::Failed | Class::Throttled) {
                state.breaker = Breaker::Closed;
                state.outcomes = Default::default();
                state.backoff.over_trip = 0;
                changes.push(Change::BreakerClosed);
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
    state.breaker = state.breaker.open(rules, now);
    if let Breaker::Open { until, .. } = state.breaker {
        changes.push(Change::BreakerOpened {
            until,
            trigger: trigger.to_owned(),
        });
    }
}

/// D1: a failure of the connection is the host's; an answer that is no HTTP is one URL's.
fn is_of_the_host(answer: &Answer<'_>) -> bool {
    matches!(answer, Answer::Failed(failure) if *failure != Failure::Protocol)
}

fn trigger_of(class: Class, answer: &Answer<'_>) -> String {
    match answer {
        Answer::Head { status, .. } if class == Class::Throttled => status.to_string(),
        Answer::Failed(failure) => failure.label().to_owned(),
        _ => class.label().to_owned(),
    }
}
