//! `curtsy paper`: papers by their identifiers.

mod batch;
mod cite;
mod citing;
mod copies;
mod find;
mod get;
mod given;
mod ids;
mod outlook;
mod report;
mod search;
mod sources;
mod unavailable;
mod verify;
mod works;

pub(crate) use batch::QUEUE;
use curtsy_papers::Access;

use crate::args::{GlobalArgs, Options, PaperArgs, PaperCommand, PaperOptions};
use crate::failure::{Exit, Failure};
use crate::notices::notices;
use crate::output::say;
use crate::session;
use crate::settings::{Flags, Settings};

pub(crate) fn run(args: &PaperArgs, global: &GlobalArgs) -> Result<Exit, Failure> {
    let Some(command) = &args.command else {
        return get::run(&args.get, global);
    };
    match command {
        PaperCommand::Get(args) => get::run(args, global),
        PaperCommand::Batch(args) => batch::run(args, global),
        PaperCommand::Find(args) => find::run(args, global),
        PaperCommand::Verify(args) => verify::run(args),
        PaperCommand::Report(args) => report::run(args, global),
        PaperCommand::Search(args) => search::run(args, global),
        PaperCommand::Refs(args) => works::run(args, works::List::References, global),
        PaperCommand::CitedBy(args) => works::run(args, works::List::Citing, global),
        PaperCommand::Ids(args) => ids::run(args, global),
        PaperCommand::Cite(args) => cite::run(args, global),
        PaperCommand::Sources(args) => sources::run(args, global),
    }
}

/// The settings that hold for papers.
///
/// # Errors
/// The configuration is wrong.
fn settings(options: &Options, global: &GlobalArgs) -> Result<Settings, Failure> {
    if !options.connection.header.is_empty() {
        return Err(Failure::usage(
            "--header",
            "is for URLs that you list yourself; what papers are fetched from is not for it to see",
        ));
    }
    let settings = Settings::load(Flags {
        global,
        options,
        json: false,
    })?;
    if settings.fetch.verbosity > 0 {
        settings.warnings.iter().for_each(|warning| say(warning));
    }
    Ok(settings)
}

/// The way to the providers, as options and configuration want it.
///
/// # Errors
/// The configuration is wrong, there is no contact, or the state store cannot be opened.
async fn access(options: &PaperOptions, global: &GlobalArgs) -> Result<Access, Failure> {
    let settings = settings(&options.options(), global)?;
    let notices = notices(settings.fetch.verbosity, say);
    session::access(&settings, options.asking(), notices).await
}

/// What has to wait weighs more than what failed.
fn worse(one: Exit, other: Exit) -> Exit {
    match (one, other) {
        (Exit::Deferred, _) | (_, Exit::Deferred) => Exit::Deferred,
        (Exit::Done, other) => other,
        (one, _) => one,
    }
}
