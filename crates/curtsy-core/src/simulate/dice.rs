//! Reproducible randomness.

use std::time::Duration;

use crate::Draw;

/// A linear congruential generator after Knuth (MMIX).
#[derive(Clone, Debug)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(2).wrapping_add(1))
    }

    pub(super) fn draw(&mut self) -> Draw {
        Draw::new(self.roll())
    }

    /// Uniform in zero to `most`, in whole microseconds.
    pub(super) fn up_to(&mut self, most: Duration) -> Duration {
        let micros = self.roll() * (most.as_micros() as f64 + 1.0);
        Duration::from_micros(micros as u64)
    }

    fn roll(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}
