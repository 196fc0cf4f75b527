//! `curtsy paper`.

use clap::{Args, Subcommand};

use super::{ConnectionArgs, Options, PaceArgs, StoreArgs};

/// `curtsy paper`.
#[derive(Args, Debug)]
#[command(arg_required_else_help = true)]
pub(crate) struct PaperArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: PaperCommand,
}

/// What `curtsy paper` does.
#[derive(Debug, Subcommand)]
pub(crate) enum PaperCommand {
    /// List the interfaces that are asked: their rates, where those come from, and which keys are at hand
    Sources(Box<SourcesArgs>),
}

/// `curtsy paper sources`.
#[derive(Args, Debug)]
pub(crate) struct SourcesArgs {
    /// Print JSON Lines instead
    #[arg(long)]
    pub(crate) json: bool,
    /// How providers are asked.
    #[command(flatten)]
    pub(crate) options: PaperOptions,
}

/// What every command about papers takes.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct PaperOptions {
    /// Consult robots.txt for the documented interfaces too
    #[arg(long, help_heading = "Pace")]
    pub(crate) respect_robots_txt: bool,
    /// About pace.
    #[command(flatten)]
    pub(crate) pace: PaceArgs,
    /// About connections.
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
    /// About stored state.
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

impl PaperOptions {
    /// The same as options of `fetch`, which settings are merged from.
    pub(crate) fn options(&self) -> Options {
        Options {
            pace: self.pace.clone(),
            connection: self.connection.clone(),
            store: self.store.clone(),
            for_papers: true,
            ..Options::default()
        }
    }
}
