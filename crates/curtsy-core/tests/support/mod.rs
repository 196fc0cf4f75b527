//! A small discrete-event world for the core: a client that drives [`curtsy_core::decide`] and
//! [`curtsy_core::observe`] as a real one does, against servers whose limits are known exactly. Nothing
//! sleeps: a minute of traffic takes milliseconds.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

pub mod meter;
pub mod run;
pub mod server;
pub mod wording;

pub use meter::Meter;
pub use run::{Client, Run, START};
pub use server::{Outage, Server};
pub use wording::{Fields, ResetAs, RetryAfter, Rounding, Wording};

/// Microseconds of a virtual clock.
pub type Micros = u64;

pub const MS: Micros = 1_000;
pub const SECOND: Micros = 1_000_000;

/// Reproducible randomness: a linear congruential generator after Knuth.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(2).wrapping_add(1))
    }

    /// Uniform in `0.0..1.0`.
    pub fn roll(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform in `0..=most`.
    pub fn up_to(&mut self, most: Micros) -> Micros {
        (self.roll() * (most + 1) as f64) as Micros
    }
}
