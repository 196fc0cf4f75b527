//! When there is a token (rules P3, H5, H8).

use crate::bucket::Bucket;
use crate::decision::Bound;
use crate::policy::Policy;
use crate::quota::Quota;
use crate::state::HostState;
use crate::{Reason, Timestamp};

/// P3: when there is a token. The wait that a quota's rate makes ends with its reset at the latest (H5).
pub(super) fn token_bound(
    policy: &Policy,
    state: &HostState,
    (rate, reason): (f64, Reason),
    now: Timestamp,
) -> Option<Bound> {
    let bucket = bucket(policy, state, rate)?;
    // H8: never above what the operator allows, whatever a departure costs and even where the reset is sooner.
    let fastest = state
        .bucket?
        .ready_at(policy.clamp_rate(f64::INFINITY), 1.0);
    let price = price(policy, state, (rate, reason), now);
    let ready = bucket.ready_at(rate, price).max(fastest);
    let mut quotas = state.quotas.iter();
    let steering = quotas.find(|quota| quota.steers && !quota.rolling);
    let not_before = match (reason, steering.and_then(Quota::resets_by)) {
        (Reason::Quota, Some(reset)) if state.last_departure.is_none_or(|last| last < reset) => {
            ready.min(reset.max(fastest))
        }
        _ => ready,
    };
    // A token that is late since none accrued during a hold is late by that hold.
    let held_until = state.hold.as_ref().map(|hold| hold.until);
    let reason = if held_until == Some(bucket.at) {
        Reason::ServerHold
    } else if state.backoff.until == bucket.at {
        Reason::DynamicDelay
    } else {
        reason
    };
    Some(Bound { not_before, reason })
}

/// The bucket. Where a used-up quota holds, nothing accrues until its reset but for one departure (P3).
pub(super) fn bucket(policy: &Policy, state: &HostState, rate: f64) -> Option<Bucket> {
    let mut bucket = state.bucket?;
    let quotas = state.quotas.iter().filter(|_| policy.steer);
    if let Some(refilled) = quotas.filter_map(Quota::exhausted).max() {
        bucket.restart(rate, refilled);
    }
    Some(bucket)
}

/// How many tokens a departure takes. At a quota's rate the last of what is left would depart on the reset
/// and be charged to the next window. `left` departures before it make `left + 1` intervals, so that each
/// takes that much less than a token; at the floor and at every ceiling it is a whole one.
pub(super) fn price(
    policy: &Policy,
    state: &HostState,
    (rate, reason): (f64, Reason),
    now: Timestamp,
) -> f64 {
    if reason != Reason::Quota || rate <= policy.clamp_rate(0.0) {
        return 1.0;
    }
    let sustained = state.quotas.iter().filter_map(Quota::sustained);
    let ceiling = policy.clamp_rate(sustained.fold(f64::INFINITY, f64::min));
    let mut quotas = state.quotas.iter();
    let left = quotas
        .find(|quota| quota.steers && !quota.rolling)
        .and_then(|quota| quota.budget(now));
    left.map_or(1.0, |left| {
        let left = left as f64;
        (left / (left + 1.0)).max(rate / ceiling).min(1.0)
    })
}

/// P3: the most tokens that there can be. A window that rolls gives back one by one, so that no burst fits
/// in; neither does one into a limit that was found by its refusals (L2).
pub(crate) fn capacity(policy: &Policy, state: &HostState) -> f64 {
    let is_found = policy.learns() && state.rate.is_none() && state.learned.bracket.is_some();
    if is_found || state.quotas.iter().any(|quota| quota.rolling) {
        1.0
    } else {
        f64::from(policy.burst)
    }
}
