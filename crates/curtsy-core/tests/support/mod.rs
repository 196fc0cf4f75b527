//! Servers whose limits are known exactly, for [`curtsy_core::simulate`].

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
