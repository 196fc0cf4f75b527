//! How fast, and what a refusal leads to: options that are values of a policy.

use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use curtsy_core::{Interval, Preset};

use crate::value::{Off, read};

/// The options about pace, retries and refusals.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct PaceArgs {
    /// The values to start from [default: compliant]
    #[arg(long, help_heading = "Pace", value_name = "NAME", value_parser = preset())]
    pub(crate) preset: Option<Preset>,
    /// Requests/s to a server that publishes no quota [default: 2, which a Crawl-delay or --delay replaces]
    #[arg(long, help_heading = "Pace", value_name = "R", value_parser = read::<f64>)]
    pub(crate) rate: Option<f64>,
    /// Requests that may leave at once after a quiet time [default: 5]
    #[arg(long, help_heading = "Pace", value_name = "N", value_parser = read::<u32>)]
    pub(crate) burst: Option<u32>,
    /// Requests/s that a published quota never raises the pace above [default: 10, or --rate if higher]
    #[arg(long, help_heading = "Pace", value_name = "R", value_parser = read::<f64>)]
    pub(crate) max_rate: Option<f64>,
    /// Requests/s that a published quota never lowers the pace below [default: 0.1]
    #[arg(long, help_heading = "Pace", value_name = "R", value_parser = read::<f64>)]
    pub(crate) min_rate: Option<f64>,
    /// Time between requests: D, or drawn from MIN..MAX, MIN.. (up to 3 MIN) or ..MAX; seconds, or with a unit
    /// as 500ms, 2m [default: off]
    #[arg(long, help_heading = "Pace", value_name = "D", value_parser = read::<Off<Interval>>)]
    pub(crate) delay: Option<Off<Interval>>,
    /// Requests in flight at once to one scope, at most 32 [default: 2]
    #[arg(long, help_heading = "Pace", value_name = "N", value_parser = read::<u32>)]
    pub(crate) per_host: Option<u32>,
    /// Neither read nor obey robots.txt
    #[arg(long, help_heading = "Pace")]
    pub(crate) no_robots: bool,
    /// Send plain requests: no robots.txt, delays, retries, backoff or suppression
    #[arg(long, help_heading = "Pace")]
    pub(crate) no_polite_mode: bool,
    /// Further tries of a request that was refused or failed [default: 3]
    #[arg(long, help_heading = "Refusals", value_name = "N", value_parser = read::<u32>)]
    pub(crate) max_retries: Option<u32>,
    /// Longest wait that a server may ask for before the URL is deferred [default: 300s]
    #[arg(long, help_heading = "Refusals", value_name = "DUR", value_parser = read::<Duration>)]
    pub(crate) max_retry_after: Option<Duration>,
    /// Wait after a 429 that names none [default: none, the backoff alone]
    #[arg(long, help_heading = "Refusals", value_name = "DUR", value_parser = read::<Off<Duration>>)]
    pub(crate) default_retry_after: Option<Off<Duration>>,
    /// Go on asking a scope that answers 403
    #[arg(long, help_heading = "Refusals")]
    pub(crate) no_suppress_403: bool,
}

/// Through clap's own list, so that `--help` and completions know the names.
fn preset() -> impl TypedValueParser<Value = Preset> {
    PossibleValuesParser::new(["compliant", "http_client", "raw"])
        .try_map(|name| read::<Preset>(&name))
}
