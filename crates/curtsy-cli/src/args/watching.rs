//! Who watches a run, and how.

use clap::{Args, ValueHint};

use crate::value::{CommandLine, ListenAddr, WebhookUrl, read};

/// The options about being watched.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Watching")]
pub(crate) struct WatchingArgs {
    /// Serve metrics for Prometheus at http://ADDR/metrics; ADDR is a port of this machine alone, or HOST:PORT
    /// [default: off]
    #[arg(long, value_name = "ADDR", value_parser = read::<ListenAddr>)]
    pub(crate) metrics: Option<ListenAddr>,
    /// Serve a live page at http://ADDR/; beyond this machine it demands the token that is printed, or that
    /// dashboard_token in a file or CURTSY_DASHBOARD_TOKEN names [default: off]
    #[arg(long, value_name = "ADDR", value_parser = read::<ListenAddr>)]
    pub(crate) dashboard: Option<ListenAddr>,
    /// Send each alert as JSON to this URL, by POST [default: none]
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url, value_parser = read::<WebhookUrl>)]
    pub(crate) alert_webhook: Option<WebhookUrl>,
    /// Run this program for each alert, with the alert as JSON on its standard input; its arguments follow,
    /// separated by blanks, and no shell is between [default: none]
    #[arg(long, value_name = "CMD", value_hint = ValueHint::CommandString, value_parser = read::<CommandLine>)]
    pub(crate) alert_command: Option<CommandLine>,
}
