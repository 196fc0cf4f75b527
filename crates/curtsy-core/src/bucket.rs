//! The token bucket (rule P3): `rate` tokens per second up to `capacity`, one token a departure.
//!
//! One thing is unlike the textbook's: while a request waits for its token, tokens go on accruing past
//! the capacity for as long as timers are commonly late ([`LATENESS`]). So a departure that left a
//! millisecond late does not push all later ones back by that millisecond, and the k-th departure is
//! still never before the first plus k intervals.

use std::time::Duration;

use crate::Timestamp;
use crate::time::duration_from_secs;

/// How late a departure may be and still be charged to the instant at which its token was ready.
const LATENESS: Duration = Duration::from_millis(5);

/// Float noise: so much short of enough is enough.
const NOISE: f64 = 2e-9;

/// Tokens at an instant. The rate and the capacity are the policy's and the server's, and are handed in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bucket {
    /// In whole billionths, so that they are short when stored.
    pub(crate) tokens: f64,
    pub(crate) at: Timestamp,
}

impl Bucket {
    pub(crate) const fn full(capacity: f64, now: Timestamp) -> Self {
        Self {
            tokens: capacity,
            at: now,
        }
    }

    /// The tokens there are at `now`, for a request that has been waiting since `since`.
    pub(crate) fn tokens(&self, rate: f64, capacity: f64, since: Timestamp, now: Timestamp) -> f64 {
        let since = since.clamp(self.at, now.max(self.at));
        let idle = self.tokens + rate * since.since(self.at).as_secs_f64();
        let waited = rate * now.since(since).as_secs_f64();
        (idle.min(capacity) + waited).min(capacity + rate * LATENESS.as_secs_f64())
    }

    /// When there will be `price` tokens.
    pub(crate) fn ready_at(&self, rate: f64, price: f64) -> Timestamp {
        if self.tokens >= price - NOISE {
            self.at
        } else {
            self.at
                .after(duration_from_secs((price - self.tokens) / rate))
        }
    }

    /// Takes `price` tokens; where there are fewer, all.
    pub(crate) fn take(
        &mut self,
        price: f64,
        rate: f64,
        capacity: f64,
        since: Timestamp,
        now: Timestamp,
    ) {
        let tokens = self.tokens(rate, capacity, since, now);
        // Noise must not accumulate into a departure that is early.
        *self = Self {
            tokens: billionths(tokens - price).max(0.0),
            at: now.max(self.at),
        };
    }

    /// The token taken last was used only at `at`: what accrued before, beyond the common lateness, is lost.
    pub(crate) fn postpone(&mut self, at: Timestamp) {
        self.at = self.at.max(at.before(LATENESS));
    }

    /// Empties the bucket; no token accrues before `until`.
    pub(crate) fn drain(&mut self, until: Timestamp) {
        *self = Self {
            tokens: 0.0,
            at: self.at.max(until),
        };
    }

    /// Leaves of what it held and accrued before `then` no more than one departure takes.
    pub(crate) fn restart(&mut self, rate: f64, then: Timestamp) {
        if self.at < then {
            *self = Self {
                tokens: self.tokens(rate, 1.0, then, then),
                at: then,
            };
        }
    }

    /// Accounts for the time until `now` at `rate`, before the rate changes, and leaves at most `most` tokens.
    pub(crate) fn settle(&mut self, rate: f64, capacity: f64, most: f64, now: Timestamp) {
        if now > self.at {
            *self = Self {
                tokens: billionths(self.tokens(rate, capacity, now, now)),
                at: now,
            };
        }
        self.tokens = self.tokens.min(most);
    }

    /// D6: bounds what a stored bucket can hold, and how long it can stay empty.
    pub(crate) fn clamp(&mut self, capacity: f64, latest: Timestamp) {
        self.at = self.at.min(latest);
        self.tokens = if self.tokens.is_finite() {
            self.tokens.clamp(0.0, capacity)
        } else {
            0.0
        };
    }
}

fn billionths(tokens: f64) -> f64 {
    (tokens * 1e9).floor() / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_secs(1_000);

    fn ms(ms: u64) -> Timestamp {
        START.after(Duration::from_millis(ms))
    }

    #[test]
    fn p3_a_burst_then_the_rate() {
        let mut bucket = Bucket::full(5.0, START);
        for _ in 0..5 {
            assert_eq!(bucket.ready_at(2.0, 1.0), START);
            bucket.take(1.0, 2.0, 5.0, START, START);
        }
        assert_eq!(bucket.ready_at(2.0, 1.0), ms(500));
    }

    #[test]
    fn p3_idle_time_fills_it_no_further_than_its_capacity() {
        let mut bucket = Bucket::full(5.0, START);
        bucket.take(1.0, 2.0, 5.0, START, START);
        let later = START.after(Duration::from_secs(3600));
        assert_eq!(bucket.tokens(2.0, 5.0, later, later), 5.0);
    }

    #[test]
    fn late_timers_do_not_slow_the_pace_and_never_make_it_early() {
        let mut bucket = Bucket::full(1.0, START);
        bucket.take(1.0, 50.0, 1.0, START, START);
        for k in 1..=500_u64 {
            let ready = bucket.ready_at(50.0, 1.0);
            let due = START.after(Duration::from_millis(20 * k));
            assert!(
                ready >= due && ready.since(due) < Duration::from_millis(1),
                "{k}: {ready} is not {due}"
            );
            let late = ready.after(Duration::from_micros(k * 7919 % 4_000));
            bucket.take(1.0, 50.0, 1.0, START, late);
        }
    }

    #[test]
    fn a_long_stall_is_forgiven_only_a_little() {
        let mut bucket = Bucket::full(1.0, START);
        bucket.take(1.0, 50.0, 1.0, START, START);
        let stalled = ms(10_000);
        bucket.take(1.0, 50.0, 1.0, START, stalled);
        let lead = stalled
            .after(Duration::from_millis(20))
            .since(bucket.ready_at(50.0, 1.0));
        assert!(lead <= LATENESS, "{lead:?}");
    }

    #[test]
    fn p10_a_departure_that_left_very_late_does_not_make_the_next_one_early() {
        let mut bucket = Bucket::full(1.0, START);
        bucket.take(1.0, 50.0, 1.0, START, START);
        bucket.postpone(ms(300));
        let gap = bucket.ready_at(50.0, 1.0).since(ms(300));
        assert_eq!(gap, Duration::from_millis(20) - LATENESS);
    }

    #[test]
    fn p3_no_token_accrues_during_a_hold() {
        let mut bucket = Bucket::full(5.0, START);
        bucket.drain(ms(60_000));
        assert_eq!(bucket.ready_at(2.0, 1.0), ms(60_500));
        assert_eq!(bucket.tokens(2.0, 5.0, START, ms(60_000)), 0.0);
    }
}
