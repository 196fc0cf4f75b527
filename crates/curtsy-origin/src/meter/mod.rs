//! The meters: one for each kind of quota, pure, in virtual time.
//!
//! An instant is a [`Duration`] since the clock's base. A meter never asks what time it is; instants
//! may repeat, and a step back is taken as no time gone by.

mod concurrency;
mod fixed_window;
mod leaky_queue;
mod min_gap;
mod sliding_counter;
mod sliding_window;
mod token_bucket;

use std::fmt;
use std::time::Duration;

use crate::script::Rule;

/// The state of one quota.
pub struct Meter {
    limiter: Box<dyn Limiter + Send>,
}

/// What a meter says to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It may pass.
    Admitted {
        /// How long it waits in the meter's queue; zero for all but a leaky queue.
        turn: Duration,
    },
    /// It may not.
    Refused {
        /// The time after which one request will be admitted, if none comes in between; exact to the
        /// nanosecond, but nominal for a concurrency limit.
        wait: Duration,
    },
}

/// What a quota has left: the material of the rate-limit headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The quota: requests a window.
    pub limit: u64,
    /// How many requests would be admitted now, one after another.
    pub remaining: u64,
    /// The window. For a bucket or queue the time in which it fills or drains.
    pub window: Duration,
    /// Until a request is admitted; zero where something remains.
    pub next: Duration,
    /// Until the whole quota is there again: the end of a fixed window.
    pub full: Duration,
}

impl Meter {
    /// A meter that has seen nothing. `epoch` is the Unix time of the instant zero, for windows that
    /// are anchored at the clock.
    #[must_use]
    pub fn new(rule: &Rule, epoch: Duration) -> Self {
        let limiter: Box<dyn Limiter + Send> = match *rule {
            Rule::FixedWindow {
                limit,
                window,
                anchor,
            } => Box::new(fixed_window::FixedWindow::new(limit, window, anchor, epoch)),
            Rule::SlidingWindow {
                limit,
                window,
                count_refused,
            } => Box::new(sliding_window::SlidingWindow::new(
                limit,
                window,
                count_refused,
            )),
            Rule::SlidingCounter {
                limit,
                window,
                count_refused,
            } => Box::new(sliding_counter::SlidingCounter::new(
                limit,
                window,
                count_refused,
            )),
            Rule::TokenBucket { rate_per_s, burst } => {
                Box::new(token_bucket::TokenBucket::new(rate_per_s, burst))
            }
            Rule::LeakyQueue { rate_per_s, queue } => {
                Box::new(leaky_queue::LeakyQueue::new(rate_per_s, queue))
            }
            Rule::Concurrency { limit, retry } => {
                Box::new(concurrency::Concurrency::new(limit, retry))
            }
            Rule::MinGap { gap, slack } => Box::new(min_gap::MinGap::new(gap, slack)),
        };
        Self { limiter }
    }

    /// Asks for one request, and counts it.
    pub fn admit(&mut self, now: Duration) -> Admission {
        let admitted = self.wait(now).is_zero();
        let turn = self.settle(admitted, now);
        if admitted {
            Admission::Admitted { turn }
        } else {
            // Asked again, since the refusal itself may have counted.
            let wait = self.wait(now);
            Admission::Refused { wait }
        }
    }

    /// How long until a request would be admitted; zero for now. Nothing is counted.
    pub fn wait(&mut self, now: Duration) -> Duration {
        self.limiter.wait(now)
    }

    /// How long a request that is admitted at `now` would wait in the queue. Nothing is counted.
    pub(crate) fn turn(&self, now: Duration) -> Duration {
        self.limiter.turn(now)
    }

    /// Counts a request on which all its meters together have decided; gives its turn in the queue.
    pub fn settle(&mut self, admitted: bool, now: Duration) -> Duration {
        self.limiter.settle(admitted, now)
    }

    /// Counts the end of a request that was admitted.
    pub fn release(&mut self) {
        self.limiter.release();
    }

    /// What is left.
    pub fn read(&mut self, now: Duration) -> Reading {
        self.limiter.read(now)
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter").finish_non_exhaustive()
    }
}

/// One way of counting.
trait Limiter {
    fn wait(&mut self, now: Duration) -> Duration;
    fn settle(&mut self, admitted: bool, now: Duration) -> Duration;
    fn read(&mut self, now: Duration) -> Reading;
    fn release(&mut self) {}
    fn turn(&self, _now: Duration) -> Duration {
        Duration::ZERO
    }
}

/// `duration` × `n`, the longest there is where that does not fit.
fn times(duration: Duration, n: u64) -> Duration {
    from_nanos(duration.as_nanos().saturating_mul(u128::from(n)))
}

fn from_nanos(nanos: u128) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// How many whole `part`s fit into `whole`.
fn fits(whole: Duration, part: Duration) -> u64 {
    u64::try_from(whole.as_nanos() / part.as_nanos().max(1)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
