//! Providers of metadata, all played by one server on loopback.

#![allow(clippy::unwrap_used)]

mod access;
mod cite;
mod convert;
mod limits;
mod references;
mod search;
#[path = "../world/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "each test binary uses its part of the world"
)]
mod world;
