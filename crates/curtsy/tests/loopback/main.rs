//! The client and the job against scripted origins on loopback.

#![allow(clippy::print_stderr, clippy::unwrap_used)]

mod alerts;
mod audit;
mod body_hints;
mod content;
mod crowd;
mod feed;
mod gate;
mod hostile;
mod https;
mod inspect;
mod job;
mod limits;
mod metrics;
mod outputs;
mod pause;
mod plan;
mod preferences;
mod presets;
mod proxy;
mod redirects;
mod refresh;
mod resume;
mod retries;
mod robots;
mod robots_bodies;
mod store;
mod support;
mod suppression;
mod tamper;
mod waits;
mod warc;
