//! The clock of a store that workers on many machines share.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use curtsy_core::Timestamp;
use tokio::time::Instant;

/// The monotonic clock of a machine and that of a store run apart by less than a second in so many.
const DRIFT: u32 = 10_000;
/// A reading may contradict what is known by this part of its resolution: several servers that tell whole
/// seconds in turn may disagree about when a second begins.
const TOLERATED: u32 = 50;

/// A store's clock as one worker knows it (rule S3): what the store said, and what has elapsed here since.
/// The worker's own wall clock is never asked.
///
/// The store read its clock at some moment between the sending of a question and the arrival of the answer,
/// and cut what it read down to its resolution. So each reading is a bound from below, counted from the
/// arrival, and one from above, counted from the sending. The closest of each are kept, and moved apart as
/// clocks drift: [`now`](Self::now) is never ahead of the store, and [`stamp`](Self::stamp) is never behind
/// it. What one worker stamps and another measures from is never too early, however different their ways to
/// the store are.
///
/// Of a clock that tells whole seconds, readings at many moments tell when a second begins: the bounds are a
/// second apart at first, and some milliseconds after some hundred readings.
#[derive(Debug)]
pub struct SharedClock(Mutex<State>);

#[derive(Debug)]
struct State {
    least: Bound,
    most: Bound,
    /// The latest time shown, behind which it never goes back.
    shown: Timestamp,
}

/// What the store said.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// The store's time, cut down to the resolution.
    pub time: Timestamp,
    /// How finely the store tells its time.
    pub resolution: Duration,
    /// When it was asked.
    pub asked: Instant,
    /// When it had answered.
    pub answered: Instant,
}

/// What the store's clock showed at an instant here, at the least or at the most.
#[derive(Clone, Copy, Debug)]
struct Bound {
    time: Timestamp,
    at: Instant,
}

impl SharedClock {
    /// A clock that goes from this reading on.
    #[must_use]
    pub fn new(reading: Reading) -> Self {
        Self(Mutex::new(State {
            least: reading.least(),
            most: reading.most(),
            shown: Timestamp::EPOCH,
        }))
    }

    /// Takes another reading. One that contradicts what is known begins anew: the store's clock was set.
    pub fn read(&self, reading: Reading) {
        let mut state = self.lock();
        let at = reading.answered;
        let (least, most) = (reading.least(), reading.most());
        let ahead = least.least_at(at).since(state.most.most_at(at));
        let behind = state.least.least_at(at).since(most.most_at(at));
        let contradiction = ahead.max(behind);
        if contradiction > reading.resolution / TOLERATED {
            (state.least, state.most) = (least, most);
        } else if contradiction.is_zero() {
            if least.least_at(at) >= state.least.least_at(at) {
                state.least = least;
            }
            if most.most_at(at) <= state.most.most_at(at) {
                state.most = most;
            }
        }
    }

    /// The store's time at the least. It never goes back: where a reading says that it was ahead, it stands
    /// still until that time has come.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.lock().show(Instant::now())
    }

    /// The store's time at the most, for what has just happened.
    #[must_use]
    pub fn stamp(&self) -> Timestamp {
        let mut state = self.lock();
        let here = Instant::now();
        state.show(here).max(state.most.most_at(here))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn show(&mut self, here: Instant) -> Timestamp {
        self.shown = self.shown.max(self.least.least_at(here));
        self.shown
    }
}

impl Reading {
    fn least(&self) -> Bound {
        Bound {
            time: self.time,
            at: self.answered,
        }
    }

    fn most(&self) -> Bound {
        Bound {
            time: self.time.after(self.resolution),
            at: self.asked,
        }
    }
}

impl Bound {
    /// What follows of a bound from below, rounded down.
    fn least_at(&self, here: Instant) -> Timestamp {
        let elapsed = here.saturating_duration_since(self.at);
        let micros = u64::try_from((elapsed - elapsed / DRIFT).as_micros()).unwrap_or(u64::MAX);
        Timestamp::from_micros(self.time.as_micros().saturating_add(micros))
    }

    /// What follows of a bound from above, rounded up.
    fn most_at(&self, here: Instant) -> Timestamp {
        let elapsed = here.saturating_duration_since(self.at);
        self.time.after(elapsed + elapsed / DRIFT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// The store said `secs`, after it was asked so long ago and answered just now.
    fn said(secs: u64, width: Duration) -> Reading {
        Reading {
            time: Timestamp::from_secs(secs),
            resolution: Duration::ZERO,
            asked: Instant::now() - width,
            answered: Instant::now(),
        }
    }

    /// What a store that tells whole seconds says, when its time is so long ahead of this clock's.
    fn said_in_whole_seconds(ahead: Duration, begun: Instant) -> Reading {
        let time = Timestamp::EPOCH.after(ahead + begun.elapsed());
        Reading {
            time: Timestamp::from_secs(time.as_secs()),
            resolution: SECOND,
            ..said(0, Duration::ZERO)
        }
    }

    /// About, for so long as clocks have drifted.
    fn assert_about(shown: Timestamp, secs: u64) {
        let expected = Timestamp::from_secs(secs);
        let apart = shown.since(expected).max(expected.since(shown));
        assert!(apart <= SECOND / 1000, "{shown:?}, not {secs} s");
    }

    #[tokio::test(start_paused = true)]
    async fn the_stores_time_lies_between_the_two_that_are_told() {
        tokio::time::advance(Duration::from_secs(100)).await;
        let clock = SharedClock::new(said(50, SECOND));
        tokio::time::advance(2 * SECOND).await;
        assert!(clock.now() < Timestamp::from_secs(52));
        assert!(clock.stamp() > Timestamp::from_secs(53));
        assert_about(clock.now(), 52);
        assert_about(clock.stamp(), 53);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_answer_does_not_blur_a_fresh_reading() {
        tokio::time::advance(Duration::from_secs(100)).await;
        let clock = SharedClock::new(said(50, Duration::ZERO));
        tokio::time::advance(SECOND).await;
        clock.read(said(51, SECOND));
        assert_about(clock.now(), 51);
        assert_about(clock.stamp(), 51);
    }

    #[tokio::test(start_paused = true)]
    async fn bounds_move_apart_as_clocks_drift_until_they_are_read_again() {
        tokio::time::advance(Duration::from_secs(100)).await;
        let clock = SharedClock::new(said(50, Duration::ZERO));
        tokio::time::advance(100 * SECOND).await;
        let width = clock.stamp().since(clock.now());
        assert!(width > SECOND / 60 && width < SECOND / 40, "{width:?}");
        clock.read(said(150, SECOND / 2000));
        assert_about(clock.now(), 150);
        assert_about(clock.stamp(), 150);
    }

    #[tokio::test(start_paused = true)]
    async fn whole_seconds_tell_when_a_second_begins() {
        let begun = Instant::now();
        // 30 s and a third ahead of this machine.
        let ahead = Duration::from_micros(30_333_333);
        let clock = SharedClock::new(said_in_whole_seconds(ahead, begun));
        for _ in 0..300 {
            tokio::time::advance(Duration::from_micros(61_803)).await;
            clock.read(said_in_whole_seconds(ahead, begun));
            let time = Timestamp::EPOCH.after(ahead + begun.elapsed());
            let (least, most) = (clock.now(), clock.stamp());
            assert!(least <= time && time <= most, "{least:?} {time:?} {most:?}");
        }
        let width = clock.stamp().since(clock.now());
        assert!(width < SECOND / 50, "{width:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn servers_that_disagree_a_little_about_the_second_do_not_begin_it_anew() {
        let begun = Instant::now();
        let clock = SharedClock::new(said_in_whole_seconds(SECOND, begun));
        for round in 0..300 {
            tokio::time::advance(Duration::from_micros(61_803)).await;
            let ahead = SECOND + Duration::from_millis(10) * (round % 2);
            clock.read(said_in_whole_seconds(ahead, begun));
        }
        let width = clock.stamp().since(clock.now());
        assert!(width < SECOND / 50, "{width:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_whose_clock_is_set_back_makes_it_stand_still() {
        tokio::time::advance(Duration::from_secs(100)).await;
        let clock = SharedClock::new(said(50, Duration::ZERO));
        assert_eq!(clock.now(), Timestamp::from_secs(50));
        clock.read(said(47, Duration::ZERO));
        for (elapsed, shown) in [(1, 50), (1, 50), (2, 51)] {
            tokio::time::advance(elapsed * SECOND).await;
            assert_about(clock.now(), shown);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_whose_clock_is_set_forward_is_followed_at_once() {
        tokio::time::advance(Duration::from_secs(100)).await;
        let clock = SharedClock::new(said(50, Duration::ZERO));
        clock.read(said(90, Duration::ZERO));
        assert_about(clock.now(), 90);
        assert_about(clock.stamp(), 90);
    }
}
