//! What is served to those who watch a run: the live page, the metrics, and who is kept from them.

#![allow(clippy::unwrap_used)]

mod browser;
mod doors;
mod run;
#[path = "../support/mod.rs"]
mod support;
mod told;
