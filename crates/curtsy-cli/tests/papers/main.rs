//! The commands about papers, against a server on loopback that plays all providers.

#![allow(clippy::unwrap_used)]

mod batch;
mod copies;
mod kill;
mod lookups;
mod support;
#[path = "../../../curtsy-papers/tests/world/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "each test binary uses its part of the world"
)]
mod world;
