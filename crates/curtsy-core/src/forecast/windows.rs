//! The quotas of a server that answers as it has described itself.

use std::time::Duration;

use crate::policy::Policy;
use crate::quota::Quota;
use crate::signal::{self, Form, QuotaKey, Reset, Signal, Unit};
use crate::state::HostState;
use crate::{Reason, Timestamp};

/// A pace within so much of what a quota sustains is the pace that it sustains.
const NEAR: f64 = 0.98;

/// The windows of a scope's quotas, as the server would count them.
pub(super) struct Windows {
    windows: Vec<Window>,
    /// How many have ended.
    turned: u64,
    /// When the last window ended that bound, and how many had departed by then.
    ended: Option<(Timestamp, u64)>,
    /// H5: the interval that whole windows came to, once one was seen from end to end.
    interval: Option<Duration>,
}

struct Window {
    name: QuotaKey,
    limit: Option<u64>,
    length: Option<Duration>,
    remaining: Option<u64>,
    /// When it ends; `None` where it rolls, or no end was told.
    ends: Option<Timestamp>,
    rolling: bool,
    steers: bool,
    form: Form,
}

impl Windows {
    pub(super) fn of(policy: &Policy, state: &HostState, now: Timestamp) -> Self {
        let quotas = state.quotas.iter().filter(|_| policy.steer);
        Self {
            windows: quotas.map(|quota| Window::of(quota, now)).collect(),
            turned: 0,
            ended: None,
            interval: None,
        }
    }

    /// Counts a departure at `now`, before which `departed` had; what its answer says.
    pub(super) fn count(&mut self, departed: u64, now: Timestamp) -> Signal {
        for window in &mut self.windows {
            if window.turn(now) {
                self.turned += 1;
                if window.steers
                    && let Some((ended, before)) = self.ended.replace((now, departed))
                {
                    let count = departed.saturating_sub(before).max(1);
                    self.interval = Some(now.since(ended).div_f64(count as f64));
                }
            }
            window.remaining = window.remaining.map(|left| left.saturating_sub(1));
        }
        Signal {
            quotas: self.windows.iter().filter_map(|w| w.told(now)).collect(),
            ..Signal::default()
        }
    }

    /// Counts `count` departures, none of which ends a window.
    pub(super) fn skip(&mut self, count: u64) {
        for window in &mut self.windows {
            window.remaining = window.remaining.map(|left| left.saturating_sub(count));
        }
    }

    /// How many have ended.
    pub(super) fn turned(&self) -> u64 {
        self.turned
    }

    /// The interval in the long run, where it is windows that make it.
    pub(super) fn interval(&self) -> Option<Duration> {
        self.interval
    }

    /// How many more depart at this interval before a window ends that changes it; `None`: all.
    pub(super) fn lasts(
        &self,
        policy: &Policy,
        state: &HostState,
        interval: Duration,
        reason: Reason,
        now: Timestamp,
    ) -> Option<u64> {
        let is_steered = matches!(reason, Reason::Quota | Reason::QuotaExhausted);
        let bound = self
            .windows
            .iter()
            .zip(&state.quotas)
            .filter_map(|(window, quota)| {
                window.lasts(policy, is_steered && quota.steers, interval, now)
            });
        bound.min()
    }
}

impl Window {
    fn of(quota: &Quota, now: Timestamp) -> Self {
        let mut window = Self {
            name: QuotaKey::new(quota.key.clone()),
            limit: quota.limit,
            length: quota.window.filter(|length| !length.is_zero()),
            remaining: quota.remaining.map(|_| quota.left()),
            ends: end_of(quota).filter(|_| !quota.rolling),
            rolling: quota.rolling,
            steers: quota.steers,
            form: quota.form(),
        };
        window.turn(now);
        window
    }

    /// Opens the next window where this one has ended by `now`. Whether it had.
    fn turn(&mut self, now: Timestamp) -> bool {
        let Some(ends) = self.ends.filter(|ends| *ends <= now) else {
            return false;
        };
        self.remaining = self.limit.filter(|_| self.length.is_some());
        self.ends = self.length.map(|length| {
            let whole = now
                .since(ends)
                .as_secs_f64()
                .div_euclid(length.as_secs_f64());
            ends.after(length.mul_f64(whole + 1.0))
        });
        true
    }

    /// What an answer says of it; nothing where nobody can know.
    fn told(&self, now: Timestamp) -> Option<signal::Quota> {
        let is_known = self.rolling || self.ends.is_some() || self.remaining.is_none();
        is_known.then(|| signal::Quota {
            name: self.name.clone(),
            unit: Unit::Requests,
            limit: self.limit,
            remaining: if self.rolling {
                self.limit
            } else {
                self.remaining
            },
            reset: self.ends.map(|ends| Reset {
                after: ends.since(now),
                whole_seconds: false,
                form: self.form,
                skew: Duration::ZERO,
            }),
            window: self.length,
        })
    }

    fn lasts(
        &self,
        policy: &Policy,
        is_steered: bool,
        interval: Duration,
        now: Timestamp,
    ) -> Option<u64> {
        let (remaining, ends, limit, length) =
            (self.remaining?, self.ends?, self.limit?, self.length?);
        let rate = interval.as_secs_f64().recip();
        let until_end = ends.since(now).as_secs_f64() * rate;
        let sustained = limit as f64 / length.as_secs_f64();
        let is_full = match is_steered {
            true => rate >= policy.clamp_rate(sustained) * NEAR,
            false => sustained >= rate * NEAR,
        };
        let goes_on = is_full && remaining as f64 >= until_end * NEAR;
        // A float that is no number is cast to none, an infinite one to the most.
        (!goes_on).then_some(remaining.min(until_end as u64))
    }
}

/// The middle of the time in which the server may mean it to end: what it printed.
fn end_of(quota: &Quota) -> Option<Timestamp> {
    let printed = quota.reset?;
    let earliest = printed.earliest();
    let middle = earliest.after(printed.latest().since(earliest) / 2);
    Some(quota.resets_by()?.min(middle))
}
