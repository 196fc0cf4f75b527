//! `curtsy paper`: papers by their identifiers.

mod sources;

use crate::args::{GlobalArgs, PaperArgs, PaperCommand, PaperOptions};
use crate::failure::{Exit, Failure};
use crate::settings::{Flags, Settings};

pub(crate) fn run(args: &PaperArgs, global: &GlobalArgs) -> Result<Exit, Failure> {
    match &args.command {
        PaperCommand::Sources(args) => sources::run(args, global),
    }
}

/// The settings that hold for papers.
///
/// # Errors
/// The configuration is wrong.
fn settings(options: &PaperOptions, global: &GlobalArgs) -> Result<Settings, Failure> {
    Settings::load(Flags {
        global,
        options: &options.options(),
        json: false,
    })
}
