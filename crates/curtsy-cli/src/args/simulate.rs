//! The command that fetches from a modelled server.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

use super::PaceArgs;
use super::job::Options;
use crate::value::read;

/// `curtsy simulate`.
#[derive(Args, Debug)]
pub(crate) struct SimulateArgs {
    /// Script of the server in JSON, as `origin` takes it, of which quotas, refusals, latency, outages and the
    /// Crawl-delay are modelled; - is standard input [default: the one that `origin --example` prints]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) script: Option<PathBuf>,
    /// Requests of the job
    #[arg(short = 'n', long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) requests: u64,
    /// Path that they ask for, where quotas differ by path
    #[arg(long, value_name = "PATH", default_value = "/", value_parser = path)]
    pub(crate) path: String,
    /// Virtual time after which the job is broken off
    #[arg(long = "for", value_name = "DUR", default_value = "1d", value_parser = read::<Duration>)]
    pub(crate) most: Duration,
    /// Runs, each with a seed of its own, to see the spread; the first is plotted
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=100))]
    pub(crate) runs: u64,
    /// Seed of the first run: the same seed, the same run
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Scope whose section of the configuration holds, as example.org [default: none, [policy] alone]
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
    /// Draw the plot in this file too, as SVG
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) plot: Option<PathBuf>,
    /// Print JSON instead, with the series that are plotted
    #[arg(long)]
    pub(crate) json: bool,
    /// The policy.
    #[command(flatten)]
    pub(crate) pace: PaceArgs,
}

impl SimulateArgs {
    /// The same as options of `fetch`, which settings are merged from.
    pub(crate) fn options(&self) -> Options {
        Options {
            pace: self.pace.clone(),
            ..Options::default()
        }
    }
}

fn path(text: &str) -> Result<String, String> {
    if text.starts_with('/') {
        Ok(text.to_owned())
    } else {
        Err(format!("{text:?} is no path; write /api/items"))
    }
}
