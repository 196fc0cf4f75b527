//! The curtsy command line.

mod args;
mod command;
mod config;
mod dirs;
mod failure;
mod input;
mod lines;
mod nearest;
mod output;
mod settings;
mod value;

use std::process::ExitCode;

use args::{Cli, Command, ConfigCommand};
use failure::{Exit, Failure};

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
        Command::Robots(args) => command::robots::run(&args),
        Command::Headers(args) => command::headers::run(&args),
        Command::Origin(args) => command::origin::run(&args),
        Command::Completions { shell } => command::completions::print(shell),
        Command::Man { command } => command::man::print(&command),
        Command::Fetch(_)
        | Command::Get(_)
        | Command::Explain(_)
        | Command::State { .. }
        | Command::Demo => Err(Failure::usage("command", "is not built yet")),
    }
}
