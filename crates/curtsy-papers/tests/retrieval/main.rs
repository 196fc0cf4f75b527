//! Papers, from the identifier to the file, in a world on loopback.

#![allow(clippy::unwrap_used)]

mod bodies;
mod folder;
mod hosts;
mod peer;
mod sources;
mod support;
#[path = "../world/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "each test binary uses its part of the world"
)]
mod world;
