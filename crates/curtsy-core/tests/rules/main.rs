//! Every rule of pace by its tag, in virtual time.
//!
//! A test's name begins with the tag of its rule, so that `cargo test h10` runs what proves H10.
//!
//! | rules | file |
//! | --- | --- |
//! | P1–P10: pacing | `pacing.rs` |
//! | H1–H3, H9–H11: waits that a server asks for | `holds.rs` |
//! | H4–H8: quotas that it publishes | `quotas.rs` |
//! | D1–D7: the dynamic delay | `delay.rs` |
//! | L1–L5: the learned pace | `learned.rs` |
//! | R1–R6: retries, redirects, refusals | `retries.rs` |
//! | K1–K3: the circuit breaker | `breaker.rs` |
//!
//! Whole servers are in `tests/scenarios.rs`, what holds for any input in `tests/properties`; single
//! mechanisms are tested beside their code.

#![allow(clippy::unwrap_used)]

mod breaker;
mod delay;
mod holds;
mod learned;
mod pacing;
mod quotas;
mod retries;
mod scene;
