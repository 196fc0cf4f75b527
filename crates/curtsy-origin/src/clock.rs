//! The one clock of an origin.

use std::time::{Duration, Instant, SystemTime};

/// A monotonic clock that also knows the wall time, read once.
///
/// Instants are durations since its base. Give a client's test and its origins the same clock, and
/// their stamps compare; between processes the microseconds since the Unix epoch do.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    base: Instant,
    epoch: Duration,
}

impl Clock {
    /// A clock whose base is now.
    #[must_use]
    pub fn start() -> Self {
        Self {
            base: Instant::now(),
            epoch: SystemTime::now()
                .duration_since(SystemTime::UNIX_EPOCH)
                .unwrap_or_default(),
        }
    }

    /// How long after the base it is now.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.base.elapsed()
    }

    /// The Unix time of the instant `at` after the base.
    #[must_use]
    pub fn epoch_at(&self, at: Duration) -> Duration {
        self.epoch.saturating_add(at)
    }

    /// The base.
    #[must_use]
    pub fn base(&self) -> Instant {
        self.base
    }
}
