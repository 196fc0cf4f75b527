//! The only clock: everything in this crate that asks the time asks a [`Clock`].
//!
//! Wall time is read once, when the clock is made, and advanced by the monotonic clock from there
//! (behaviour S3), so that a step of the system's clock neither ends a hold nor stretches one. While
//! a machine sleeps, the monotonic clock of most systems stands still: the clock is then behind wall
//! time, which makes departures late and never early.
//!
//! A fleet goes by the clock of the store that it shares instead.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use curtsy_core::Timestamp;
use curtsy_store::SharedClock;
use tokio::time::Instant;

/// The longest wait that is handed to a timer: 365 days. Tokio's timers reach 2.2 years and its
/// `DelayQueue` panics beyond; whoever waits asks again when the wait is over.
pub const LONGEST_WAIT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// A clock that never goes back. Cheap to clone; all clones show the same time.
#[derive(Clone, Debug)]
pub struct Clock {
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    /// Wall time as read at `started`.
    System { wall: Timestamp, started: Instant },
    /// That of a store.
    Shared(Arc<SharedClock>),
    /// Microseconds since the Unix epoch, moved by hand.
    Manual(Arc<AtomicU64>),
}

impl Clock {
    /// Wall time read now, once, and advanced by the monotonic clock.
    ///
    /// The monotonic clock is tokio's, so under tokio's paused time this clock is paused with it.
    #[must_use]
    pub fn system() -> Self {
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            source: Source::System {
                wall: Timestamp::from_micros(whole_micros(since_epoch)),
                started: Instant::now(),
            },
        }
    }

    /// The clock of a store, which all who share it go by.
    #[must_use]
    pub fn shared(clock: Arc<SharedClock>) -> Self {
        Self {
            source: Source::Shared(clock),
        }
    }

    /// A clock that stands at `start` until its [`ManualClock`] moves it.
    #[must_use]
    pub fn manual(start: Timestamp) -> (Self, ManualClock) {
        let micros = Arc::new(AtomicU64::new(start.as_micros()));
        let hand = ManualClock(Arc::clone(&micros));
        (
            Self {
                source: Source::Manual(micros),
            },
            hand,
        )
    }

    /// The time, rounded down to the microsecond: what a bound is compared with, so that a departure
    /// is never early by a fraction.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match &self.source {
            Source::System { wall, started } => Timestamp::from_micros(
                wall.as_micros()
                    .saturating_add(whole_micros(started.elapsed())),
            ),
            Source::Shared(clock) => clock.now(),
            Source::Manual(micros) => Timestamp::from_micros(micros.load(Ordering::Acquire)),
        }
    }

    /// The time, rounded up to the microsecond: when something that has just happened is recorded to
    /// have happened. What is measured from a stamp (P1) is then never short by a fraction.
    #[must_use]
    pub fn stamp(&self) -> Timestamp {
        match &self.source {
            Source::System { wall, started } => wall.after(started.elapsed()),
            Source::Shared(clock) => clock.stamp(),
            Source::Manual(_) => self.now(),
        }
    }

    /// The instant at which this clock shows `at`, for a timer: never an earlier one, except that what
    /// lies further away than [`LONGEST_WAIT`] is brought to it. What has passed is an instant that
    /// has passed. For a store's clock, and a manual one, which no timer follows, it is as far ahead as `at`
    /// is now.
    ///
    /// A timer that fires is a reason to ask again, not a permit.
    #[must_use]
    pub fn instant_of(&self, at: Timestamp) -> Instant {
        let ahead = at.since(self.now());
        if ahead >= LONGEST_WAIT {
            return Instant::now() + LONGEST_WAIT;
        }
        match &self.source {
            Source::System { wall, started } => *started + at.since(*wall),
            Source::Shared(_) | Source::Manual(_) => Instant::now() + ahead,
        }
    }
}

/// The hand of a manual clock: moves it forward.
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// Moves the clock forward by `duration`, rounded up to the microsecond.
    pub fn advance(&self, duration: Duration) {
        let _ = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |micros| {
                Some(Timestamp::from_micros(micros).after(duration).as_micros())
            });
    }

    /// Moves the clock forward to `at`; a time that has passed leaves it where it is.
    pub fn advance_to(&self, at: Timestamp) {
        self.0.fetch_max(at.as_micros(), Ordering::AcqRel);
    }
}

fn whole_micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_timer_set_to_the_instant_of_a_time_never_fires_before_it() {
        let clock = Clock::system();
        for wait in [0, 1, 999, 1_000, 1_001, 20_000, 1_000_001] {
            let at = clock.now().after(Duration::from_micros(wait));
            tokio::time::sleep_until(clock.instant_of(at)).await;
            assert!(
                clock.now() >= at,
                "{wait} us: {:?} before {at:?}",
                clock.now()
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_far_future_is_brought_to_a_year_and_does_not_panic() {
        let (manual, _) = Clock::manual(Timestamp::EPOCH);
        for clock in [Clock::system(), manual] {
            for at in [Timestamp::MAX, Timestamp::from_secs(99_999_999_999)] {
                let instant = clock.instant_of(at);
                assert_eq!(instant, Instant::now() + LONGEST_WAIT, "{at:?}");
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_has_passed_is_an_instant_that_has_passed() {
        let clock = Clock::system();
        tokio::time::advance(Duration::from_secs(5)).await;
        let past = clock.now().before(Duration::from_secs(3));
        assert_eq!(
            clock.instant_of(past),
            Instant::now() - Duration::from_secs(3)
        );
        assert!(clock.instant_of(Timestamp::EPOCH) <= Instant::now());
    }

    #[test]
    fn a_stamp_is_never_before_the_time_it_records() {
        let clock = Clock::system();
        for _ in 0..1_000 {
            let before = clock.now();
            let stamp = clock.stamp();
            assert!(stamp >= before);
            assert!(stamp <= clock.now().after(Duration::from_micros(1)));
        }
    }

    #[test]
    fn a_manual_clock_moves_only_by_hand_and_only_forward() {
        let (clock, hand) = Clock::manual(Timestamp::from_secs(10));
        assert_eq!(clock.now(), Timestamp::from_secs(10));
        hand.advance(Duration::from_secs(2));
        hand.advance_to(Timestamp::from_secs(11));
        assert_eq!(clock.clone().now(), Timestamp::from_secs(12));
        hand.advance_to(Timestamp::from_secs(20));
        assert_eq!(clock.stamp(), Timestamp::from_secs(20));
        hand.advance(Duration::MAX);
        assert_eq!(clock.now(), Timestamp::MAX);
    }
}
