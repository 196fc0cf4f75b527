//! The curtsy command line.

mod args;
mod columns;
mod command;
mod config;
mod dashboard;
mod dirs;
mod dynamodb;
mod evidence;
mod failure;
mod files;
mod input;
mod lines;
mod nearest;
mod notices;
mod output;
mod progress;
mod record;
mod serve;
mod session;
mod settings;
mod standing;
mod table;
mod value;

use std::process::ExitCode;

use args::{Cli, Command, ConfigCommand};
use failure::{Exit, Failure};

/// Bodies and lines are made in one thread and let go of in another, which costs the system's allocator a lock.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let exit = args::parse().and_then(run).unwrap_or_else(|failure| {
        output::complain(&failure);
        failure.exit()
    });
    exit.into()
}

fn run(cli: Cli) -> Result<Exit, Failure> {
    match cli.command {
        Command::Config {
            command: ConfigCommand::Show(args),
        } => command::config::show(&args, &cli.global),
        Command::Robots(args) => command::robots::run(&args, &cli.global),
        Command::Headers(args) => command::headers::run(&args),
        Command::Origin(args) => command::origin::run(&args),
        Command::Simulate(args) => command::simulate::run(&args, &cli.global),
        Command::Completions { shell } => command::completions::print(shell),
        Command::Man { command } => command::man::print(&command),
        Command::Fetch(args) => command::fetch::run(&args, &cli.global),
        Command::Work(args) => command::fetch::work(&args, &cli.global),
        Command::Job { command, queue } => command::job::run(&command, queue.as_ref(), &cli.global),
        Command::Get(args) => command::get::run(&args, &cli.global),
        Command::Plan(args) => command::plan::run(&args, &cli.global),
        Command::Explain(args) => command::explain::run(&args, &cli.global),
        Command::State { command, store } => command::state::run(&command, &store, &cli.global),
        Command::Audit { command } => command::audit::run(&command),
        Command::Paper(args) => command::paper::run(&args, &cli.global),
        Command::Demo => command::demo::run(&cli.global),
    }
}
