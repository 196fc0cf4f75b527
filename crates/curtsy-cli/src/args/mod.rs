//! The command line: commands, options and what `--help` says about them.
//!
//! An option that may also stand in the environment or in a file is `None` (a switch: `false`) where it was
//! not given; [`settings`](crate::settings) puts the sources together. Defaults stand in the help lines.

mod audit;
mod complaint;
mod connection;
mod job;
mod pace;
mod paper;
mod simulate;
mod watching;

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, CommandFactory, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use curtsy_core::signal::Profile;

use crate::failure::{Exit, Failure};
use crate::output;
use crate::value::{QueueUrl, read};

pub(crate) use audit::{AuditCommand, AuditReportArgs, AuditVerifyArgs, LogArgs};
pub(crate) use connection::{ConnectionArgs, StoreArgs};
pub(crate) use job::{
    AskingArgs, ExplainArgs, FetchArgs, GetArgs, JobArgs, JobCommand, Options, PlanArgs,
    RobotsArgs, StateCommand, WorkArgs,
};
pub(crate) use pace::PaceArgs;
pub(crate) use paper::{
    BatchArgs, CiteArgs, CiteFileArgs, CopyArgs, DateArg, EngineArg, FindArgs, IdsArgs, LayoutArg,
    OrderArg, PaperArgs, PaperCommand, PaperGetArgs, PaperOptions, PreferArg, ReportArgs,
    SearchArgs, SourcesArgs, VerifyArgs, WorksArgs,
};
pub(crate) use simulate::SimulateArgs;
pub(crate) use watching::WatchingArgs;

/// Fetch as fast as each server permits, and no faster
#[derive(Debug, Parser)]
#[command(
    name = "curtsy",
    version,
    propagate_version = true,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = "Options may also stand in curtsy.toml (in the working directory, else in the user's \
                  configuration directory) and in the environment as CURTSY_ and the key in capitals. A flag \
                  wins over the environment, the environment over the file. `curtsy config show` tells what \
                  is in effect and where it comes from.\n\n\
                  Exit status: 0 done, 1 some failed or the answer is no, 2 usage or configuration, 3 some are \
                  deferred, 4 the state store failed, 5 the output cannot be written, 130 interrupted."
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// What every command takes.
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

/// What every command takes.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct GlobalArgs {
    /// Configuration file [default: ./curtsy.toml, else curtsy/curtsy.toml in the user's configuration
    /// directory]
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
    /// Say nothing but errors (verbosity 0; default 1: warnings)
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Say more: -v what happens (verbosity 2), -vv why (verbosity 3)
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Fetch a list of URLs, each host as fast as it permits and no faster; resumable
    Fetch(Box<FetchArgs>),
    /// Work on a job that others have filled, until it is done: fetch without a list
    Work(Box<WorkArgs>),
    /// Look at the jobs that workers share, or cancel one
    Job {
        /// What to do with them.
        #[command(subcommand)]
        command: JobCommand,
        /// Where they are, as redis://HOST
        #[arg(long, global = true, value_name = "URL", value_parser = read::<QueueUrl>)]
        queue: Option<QueueUrl>,
    },
    /// Fetch one URL, its body to standard output
    Get(Box<GetArgs>),
    /// Tell what a list would come to: the pace of each host and why, and when the job would end. Reads
    /// robots.txt and stored state, and fetches nothing else
    Plan(Box<PlanArgs>),
    /// Tell which bound holds the next departure to a URL, and whether robots.txt allows it
    Explain(Box<ExplainArgs>),
    /// Tell what a site's robots.txt says about a URL: verdict, rule, Crawl-delay, sitemaps
    Robots(Box<RobotsArgs>),
    /// Tell how a response's headers are read: waits and quotas
    Headers(HeadersArgs),
    /// Inspect and edit the stored state of scopes
    State {
        /// What to do with it.
        #[command(subcommand)]
        command: StateCommand,
        /// Where it lies.
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Prove and show what was sent, from the audit logs of jobs
    Audit {
        /// What to do with them.
        #[command(subcommand)]
        command: AuditCommand,
    },
    /// Look at the configuration
    Config {
        /// What to do with it.
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Get papers by their identifiers: open copies only, every provider at the pace it publishes
    Paper(Box<PaperArgs>),
    /// Watch curtsy fetch from a rate-limiting server that it starts itself on loopback; under 30 s
    Demo,
    /// Run a scripted rate-limiting server, for testing any client
    Origin(OriginArgs),
    /// Tell what a policy would do against a modelled server: in virtual time, without any network
    Simulate(Box<SimulateArgs>),
    /// Print a shell's completions
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page, of curtsy or of one command
    Man {
        /// The command, as `fetch` or `config show`
        command: Vec<String>,
    },
}

/// What `curtsy config` does.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the settings in effect as TOML, and where each comes from
    Show(Box<ConfigShowArgs>),
}

/// `curtsy config show`: takes the options of `fetch`, to tell what they would do.
#[derive(Args, Debug)]
pub(crate) struct ConfigShowArgs {
    /// Print JSON instead
    #[arg(long)]
    pub(crate) json: bool,
    /// The options whose effect is shown.
    #[command(flatten)]
    pub(crate) options: Options,
}

/// `curtsy headers`.
#[derive(Args, Debug)]
pub(crate) struct HeadersArgs {
    /// A raw response head, or JSON Lines {"id","status","headers":[[name,value]…],"now","body"}; - is
    /// standard input
    #[arg(default_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// The host profile to read by: discord-v6, openalex or prisjakt [default: none]
    #[arg(long, value_name = "NAME", value_parser = read::<Profile>)]
    pub(crate) profile: Option<Profile>,
}

/// `curtsy origin`.
#[derive(Args, Debug)]
pub(crate) struct OriginArgs {
    /// Script in JSON: quotas, dialect, outages, robots.txt, pages; - is standard input [default: the one
    /// that --example prints]
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) script: Option<PathBuf>,
    /// Print a script with every key, and end
    #[arg(long)]
    pub(crate) example: bool,
    /// Address to listen on [default: 127.0.0.1, which no other machine reaches]
    #[arg(long, value_name = "ADDR")]
    pub(crate) bind: Option<IpAddr>,
    /// Port to listen on [default: 0, a free one]
    #[arg(short, long, value_name = "N")]
    pub(crate) port: Option<u16>,
    /// File to log every arrival to: CSV where its name ends in .csv, else JSON Lines [default: none]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) log: Option<PathBuf>,
    /// Certificate chain in PEM, to speak HTTPS [default: none, plain HTTP]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "key")]
    pub(crate) cert: Option<PathBuf>,
    /// Private key of the certificate in PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// Time after which it ends by itself [default: none, at Ctrl-C]
    #[arg(long = "for", value_name = "DUR", value_parser = read::<Duration>)]
    pub(crate) life: Option<Duration>,
    /// Print the closing judgement as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Reads the command line.
///
/// # Errors
/// How to end at once: `--help` and `--version` have been answered, or wrong usage is complained of.
pub(crate) fn parse() -> Result<Cli, Failure> {
    Cli::try_parse().map_err(|error| complaint::explain(&error))
}

/// The command line as clap knows it, for completions and manual pages.
pub(crate) fn command() -> clap::Command {
    Cli::command()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_hold_together() {
        command().debug_assert();
    }

    #[test]
    fn every_option_has_a_help_line() {
        fn check(command: &clap::Command) {
            for argument in command.get_arguments() {
                let name = format!("{} {}", command.get_name(), argument.get_id());
                assert!(argument.get_help().is_some(), "{name}");
            }
            command.get_subcommands().for_each(check);
        }
        check(&command());
    }
}
