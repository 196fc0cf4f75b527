//! `curtsy completions SHELL`.

use clap_complete::{Shell, generate};

use crate::args;
use crate::failure::{Exit, Failure};
use crate::output::Results;

/// Prints the completions of a shell.
///
/// # Errors
/// Standard output cannot be written.
pub(crate) fn print(shell: Shell) -> Result<Exit, Failure> {
    // Through a buffer, since clap_complete panics where it cannot write.
    let mut script = Vec::new();
    generate(shell, &mut args::command(), "curtsy", &mut script);
    let mut results = Results::start();
    results.bytes(&script)?;
    results.finish()?;
    Ok(Exit::Done)
}
