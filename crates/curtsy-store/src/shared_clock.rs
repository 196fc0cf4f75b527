//! The clock of a store that workers on many machines share.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use curtsy_core::Timestamp;
use tokio::time::Instant;

/// A reading is replaced by a less exact one only when it is older than this: so long the monotonic clocks
/// of two machines stay together within a tenth of a millisecond.
const FRESH: Duration = Duration::from_secs(1);

/// A store's clock as one worker knows it (rule S3): what the store said last, and what has elapsed here
/// since. The worker's own wall clock is never asked.
///
/// The store read its clock at some moment between the sending of the question and the arrival of the
/// answer. So [`now`](Self::now) counts from the arrival and is never ahead of the store, and
/// [`stamp`](Self::stamp) counts from the sending and is never behind it: what one worker stamps and another
/// measures from is never too early, however different their ways to the store are.
#[derive(Debug)]
pub struct SharedClock(Mutex<State>);

#[derive(Debug)]
struct State {
    reading: Reading,
    /// The latest time shown, behind which it never goes back.
    shown: Timestamp,
}

/// What the store said.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// The store's time.
    pub time: Timestamp,
    /// When it was asked.
    pub asked: Instant,
    /// When it had answered.
    pub answered: Instant,
}

impl SharedClock {
    /// A clock that goes from this reading on.
    #[must_use]
    pub fn new(reading: Reading) -> Self {
        Self(Mutex::new(State {
            reading,
            shown: Timestamp::EPOCH,
        }))
    }

    /// Takes another reading, unless the last one is fresh and more exact.
    pub fn read(&self, reading: Reading) {
        let mut state = self.lock();
        let last = state.reading;
        let is_fresh = reading.answered.saturating_duration_since(last.answered) < FRESH;
        if !is_fresh || reading.width() <= last.width() {
            state.reading = reading;
        }
    }

    /// The store's time at the least. It never goes back: where a reading says that it was ahead, it stands
    /// still until that time has come.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        let mut state = self.lock();
        let Reading { time, answered, .. } = state.reading;
        let micros = u64::try_from(answered.elapsed().as_micros()).unwrap_or(u64::MAX);
        let now = Timestamp::from_micros(time.as_micros().saturating_add(micros));
        state.shown = state.shown.max(now);
        state.shown
    }

    /// The store's time at the most, for what has just happened.
    #[must_use]
    pub fn stamp(&self) -> Timestamp {
        let now = self.now();
        let Reading { time, asked, .. } = self.lock().reading;
        now.max(time.after(asked.elapsed()))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reading {
    /// How much later than it says it may have been.
    fn width(&self) -> Duration {
        self.answered.saturating_duration_since(self.asked)
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
            asked: Instant::now() - width,
            answered: Instant::now(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_stores_time_lies_between_the_two_that_are_told() {
        tokio::time::advance(Duration::from_secs(100)).await;
        let clock = SharedClock::new(said(50, SECOND));
        tokio::time::advance(2 * SECOND).await;
        assert_eq!(clock.now(), Timestamp::from_secs(52));
        assert_eq!(clock.stamp(), Timestamp::from_secs(53));
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_answer_does_not_blur_a_fresh_reading() {
        tokio::time::advance(Duration::from_secs(100)).await;
        let clock = SharedClock::new(said(50, Duration::ZERO));
        tokio::time::advance(SECOND / 2).await;
        clock.read(said(50, SECOND / 2));
        assert_eq!(clock.now(), clock.stamp());
        tokio::time::advance(SECOND).await;
        clock.read(said(51, SECOND));
        assert_eq!(clock.stamp(), Timestamp::from_secs(52));
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_whose_clock_is_set_back_makes_it_stand_still() {
        tokio::time::advance(Duration::from_secs(100)).await;
        let clock = SharedClock::new(said(50, Duration::ZERO));
        assert_eq!(clock.now(), Timestamp::from_secs(50));
        clock.read(said(47, Duration::ZERO));
        for (elapsed, shown) in [(1, 50), (1, 50), (2, 51)] {
            tokio::time::advance(elapsed * SECOND).await;
            assert_eq!(clock.now(), Timestamp::from_secs(shown));
        }
    }
}
