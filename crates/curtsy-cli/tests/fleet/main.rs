//! Workers that share a job over Redis, judged by what arrived at the servers.
//!
//! Each test starts a redis-server of its own on loopback. They are ignored unless asked for, because that
//! has to be installed: `./test` does both.

#![allow(clippy::unwrap_used)]
#![cfg(unix)]

mod alike;
#[cfg(target_os = "linux")]
mod clocks;
mod cost;
mod fleet;
mod kill;
mod outage;
mod pace;
#[path = "../../../curtsy-store/tests/redis/proxy.rs"]
mod proxy;
mod refused;
#[path = "../../../curtsy-store/tests/redis/server.rs"]
mod server;
#[path = "../support/mod.rs"]
mod support;
#[cfg(target_os = "linux")]
#[path = "../../../curtsy-store/tests/redis/wrong_clocks.rs"]
mod wrong_clocks;
