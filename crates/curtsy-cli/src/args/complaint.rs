//! Wrong usage in one line, from clap's account of it.

use std::error::Error as _;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::{Exit, Failure, output};

/// What to end with: help and version are printed here and are no failure.
pub(super) fn explain(error: &clap::Error) -> Failure {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let mut results = output::Results::start();
            let printed = results
                .bytes(error.render().to_string().as_bytes())
                .and_then(|()| results.finish());
            printed.err().unwrap_or_else(|| Failure::silent(Exit::Done))
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            output::say_plainly(&error.render().to_string());
            Failure::silent(Exit::Usage)
        }
        _ => Failure::usage_text(&line(error)),
    }
}

fn line(error: &clap::Error) -> String {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => texts.first().cloned(),
        _ => None,
    };
    // "--timeout <DUR>" is named without its value.
    let option = text(ContextKind::InvalidArg)
        .map(|arg| arg.split(" <").next().unwrap_or_default().to_owned());
    let hint = [
        ContextKind::SuggestedArg,
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedValue,
    ]
    .into_iter()
    .find_map(text)
    .map_or_else(
        || "see --help".to_owned(),
        |word| format!("did you mean {word}?"),
    );

    match (error.kind(), option, error.source()) {
        (ErrorKind::ValueValidation, Some(option), Some(why)) => format!("{option}: {why}"),
        (ErrorKind::UnknownArgument, Some(option), _) => {
            format!("{option}: there is no such option; {hint}")
        }
        (ErrorKind::InvalidSubcommand, _, _) => {
            let name = text(ContextKind::InvalidSubcommand).unwrap_or_default();
            format!("{name}: there is no such command; {hint}")
        }
        (ErrorKind::InvalidValue, Some(option), _) => {
            let value = text(ContextKind::InvalidValue).unwrap_or_default();
            if value.is_empty() {
                return format!("{option}: needs a value; see --help");
            }
            let valid = match error.get(ContextKind::ValidValue) {
                Some(ContextValue::Strings(names)) => names.join(", "),
                _ => String::new(),
            };
            format!("{option}: {value:?} is none of {valid}")
        }
        _ => first_paragraph(&error.render().to_string()),
    }
}

/// clap's own words without the usage and tips that follow them.
fn first_paragraph(rendered: &str) -> String {
    let words: Vec<_> = rendered
        .trim_start_matches("error: ")
        .lines()
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    format!("usage: {}; see --help", words.join(" "))
}
