//! The transport against small servers on loopback, each scripted to do one thing.

#![allow(clippy::unwrap_used)]

mod bodies;
mod codings;
mod guard;
mod heads;
mod http2;
mod pooling;
mod proxies;
mod servers;
mod tls;
