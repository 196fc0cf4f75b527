//! `curtsy man [COMMAND]`.

use clap::Command;
use clap_mangen::Man;

use crate::args;
use crate::failure::{Exit, Failure};
use crate::nearest::did_you_mean;
use crate::output::Results;

/// Prints the manual page of curtsy, or of the command that `path` names.
///
/// # Errors
/// There is no such command, or standard output cannot be written.
pub(crate) fn print(path: &[String]) -> Result<Exit, Failure> {
    let mut root = args::command();
    root.build();
    let command = path.iter().try_fold(&root, |command, name| {
        command
            .find_subcommand(name)
            .ok_or_else(|| unknown(command, name))
    })?;
    // `curtsy-config-show`, as git and cargo name the pages of their commands.
    let name = std::iter::once("curtsy")
        .chain(path.iter().map(String::as_str))
        .collect::<Vec<_>>();
    let page = command.clone().display_name(name.join("-"));
    let mut text = Vec::new();
    let rendered = Man::new(page).render(&mut text);
    let mut results = Results::start();
    rendered.map_err(|error| Failure::new(Exit::Output, "man", error))?;
    results.bytes(&text)?;
    results.finish()?;
    Ok(Exit::Done)
}

fn unknown(command: &Command, name: &str) -> Failure {
    let names = command.get_subcommands().map(Command::get_name);
    let hint = did_you_mean(name, names).unwrap_or_else(|| "see curtsy --help".to_owned());
    Failure::usage(name, format_args!("there is no such command; {hint}"))
}
