//! Readings of quotas, and the rate that they allow (rules H5–H8).

use std::time::Duration;

use super::{Change, Observation};
use crate::Timestamp;
use crate::bucket::Bucket;
use crate::outcome::{Answer, Class};
use crate::pace::{capacity, pace};
use crate::quota::{Quota, Reading};
use crate::signal::{self, Signal, Unit};
use crate::state::{MAX_QUOTAS, short};

impl Observation<'_> {
    /// Quotas that the answer does not speak of.
    pub(super) fn pass_over_quotas(&mut self) {
        let Answer::Head { signal, .. } = *self.answer else {
            return;
        };
        for quota in &mut self.state.quotas {
            if !told(signal).any(|told| short(told.name.as_str()) == quota.key) {
                quota.pass_over(self.attempt.departed);
            }
        }
    }

    /// H5: on every answer; a refusal is read, but does not steer.
    pub(super) fn read_quotas(&mut self) {
        let Answer::Head { status, signal, .. } = *self.answer else {
            return;
        };
        if !self.policy.steer {
            return;
        }
        let is_silent = told(signal).next().is_none();
        for told in told(signal) {
            self.read(&Reading {
                quota: told,
                seq: self.attempt.seq,
                departed: self.attempt.departed.down_to_milli(),
                received: self.now.up_to_milli(),
                uncounted: self.uncounted,
                concurrent: u64::from(self.policy.per_host),
                is_refusal: self.class == Class::Throttled,
            });
        }
        if is_silent {
            return;
        }
        if self.class != Class::Throttled {
            self.steer();
            self.record_exhaustion(status, signal);
        }
    }

    fn read(&mut self, reading: &Reading<'_>) {
        let quotas = &mut self.state.quotas;
        let name = short(reading.quota.name.as_str());
        if let Some(known) = quotas.iter_mut().find(|known| known.key == name) {
            known.read(reading);
            return;
        }
        if quotas.len() == MAX_QUOTAS {
            // The one whose window ended first has the least left to say.
            let oldest = (0..MAX_QUOTAS).min_by_key(|&at| quotas[at].resets_by());
            quotas.remove(oldest.unwrap_or(0));
        }
        quotas.push(Quota::new(reading));
    }

    /// The quota that yields the lowest rate steers. H7: where none says anything, the rate stays; a quota
    /// that is used up holds instead, and is no reason for another to take the pace up.
    fn steer(&mut self) {
        let Self { policy, now, .. } = *self;
        let state = &mut self.state;
        let rates = state.quotas.iter().enumerate();
        let rates = rates.filter_map(|(at, quota)| Some((at, quota.rate(now, state.rate)?)));
        let Some((steering, published)) = rates.min_by(|(_, a), (_, b)| a.total_cmp(b)) else {
            return;
        };
        let after = millionths(policy.clamp_rate(published));
        let mut quotas = state.quotas.iter();
        let is_used_up = quotas.any(|quota| quota.exhausted_until(now).is_some());
        if is_used_up && state.rate.is_some_and(|before| before <= after) {
            return;
        }
        let capacity = capacity(policy, state);
        let before = pace(policy, state).map(|(rate, _)| rate);
        let budgets = state.quotas.iter().filter_map(|quota| quota.budget(now));
        let most = budgets.fold(capacity, |most, budget| most.min(budget as f64));
        state
            .bucket
            .get_or_insert(Bucket::full(capacity, now))
            .settle(before.unwrap_or(after), capacity, most, now);
        state.rate = Some(after);
        for (at, quota) in state.quotas.iter_mut().enumerate() {
            quota.steers = at == steering;
        }
        if before != Some(after) {
            self.changes.push(Change::RateAdjusted {
                before,
                after,
                trigger: state.quotas[steering].key.clone(),
            });
        }
    }

    /// H6, H11: an answer that finds a quota used up starts a hold. It is put on record by the last answer
    /// under way: one before it may yet tell the reset more exactly.
    fn record_exhaustion(&mut self, status: u16, signal: &Signal) {
        if self.state.flights.count() > 0 || !has_used_up(signal) {
            return;
        }
        let ends = self.state.quotas.iter();
        let until: Option<Timestamp> = ends
            .filter_map(|quota| quota.exhausted_until(self.now))
            .max();
        if let Some(until) = until {
            self.changes.push(Change::HoldStarted {
                told: until.since(self.now),
                buffer: Duration::ZERO,
                until,
                trigger: format!("{status}_remaining"),
            });
        }
    }
}

/// The quotas that steer: those that count requests.
fn told(signal: &Signal) -> impl Iterator<Item = &signal::Quota> {
    let quotas = signal.quotas.iter();
    quotas
        .filter(|quota| quota.unit == Unit::Requests)
        .take(MAX_QUOTAS)
}

fn has_used_up(signal: &Signal) -> bool {
    let mut quotas = signal.quotas.iter();
    quotas.any(|quota| quota.unit == Unit::Requests && quota.remaining == Some(0))
}

/// A rate to six decimals, so that it is short when stored; never zero.
fn millionths(rate: f64) -> f64 {
    ((rate * 1e6).round() / 1e6).max(1e-6)
}
