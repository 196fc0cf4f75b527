//! `curtsy config show`: what is in effect, and where it comes from.

use std::fmt::Write as _;

use serde_json::{Map, Value as Json, json};

use crate::args::{ConfigShowArgs, GlobalArgs};
use crate::failure::{Exit, Failure};
use crate::output::{self, Results};
use crate::settings::{Flags, NOT_SHOWN, Setting, Settings, Shown, Source};

/// Prints the settings that `fetch` with these options would have.
///
/// # Errors
/// The configuration is wrong, or standard output cannot be written.
pub(crate) fn show(args: &ConfigShowArgs, global: &GlobalArgs) -> Result<Exit, Failure> {
    let settings = Settings::load(Flags {
        global,
        options: &args.options,
        json: false,
    })?;
    if settings.fetch.verbosity > 0 {
        for warning in &settings.warnings {
            output::say(warning);
        }
    }
    let text = if args.json {
        as_json(&settings.shown)
    } else {
        as_toml(&settings.shown)
    };
    let mut results = Results::start();
    results.bytes(text.as_bytes())?;
    results.finish()?;
    Ok(Exit::Done)
}

/// A file that could be read again, secrets and what is not set left out as comments.
fn as_toml(shown: &Shown) -> String {
    let mut text = match &shown.file {
        Some(path) => format!("# file: {}\n", path.display()),
        None => "# file: none\n".to_owned(),
    };
    let sections = [
        ("policy".to_owned(), &shown.policy),
        ("fetch".to_owned(), &shown.fetch),
        ("alerts".to_owned(), &shown.alerts),
        ("papers".to_owned(), &shown.papers),
        ("papers.base".to_owned(), &shown.bases),
    ];
    let scopes = shown.scopes.iter().map(|(scope, settings)| {
        (
            format!("scopes.{}", literal(&json!(scope.as_str()))),
            settings,
        )
    });
    for (section, settings) in sections.into_iter().chain(scopes) {
        let _ = writeln!(text, "\n[{section}]");
        for setting in settings {
            let _ = writeln!(text, "{}", line(setting));
        }
    }
    text
}

/// The column at which the sources stand, where the values leave room.
const SOURCE_COLUMN: usize = 40;

fn line(setting: &Setting) -> String {
    let assignment = if setting.unset == NOT_SHOWN {
        format!("# {} {NOT_SHOWN}", setting.key)
    } else if setting.value.is_null() {
        format!("# {} is not set: {}", setting.key, setting.unset)
    } else {
        format!("{} = {}", setting.key, literal(&setting.value))
    };
    if setting.value.is_null() && setting.source == Source::Default {
        return assignment;
    }
    format!("{assignment:SOURCE_COLUMN$}  # {}", setting.source)
}

/// The value as TOML writes it on one line.
fn literal(value: &Json) -> String {
    toml::Value::try_from(value).map_or_else(|_| value.to_string(), |value| value.to_string())
}

fn as_json(shown: &Shown) -> String {
    let section = |settings: &[Setting]| -> Json {
        let entries = settings.iter().map(|setting| {
            let entry = json!({"value": setting.value, "source": setting.source.to_string()});
            (setting.key.to_owned(), entry)
        });
        Json::Object(entries.collect::<Map<_, _>>())
    };
    let scopes = shown
        .scopes
        .iter()
        .map(|(scope, settings)| (scope.as_str().to_owned(), section(settings)))
        .collect::<Map<_, _>>();
    let mut papers = section(&shown.papers);
    papers["base"] = section(&shown.bases);
    let whole = json!({
        "file": shown.file,
        "policy": section(&shown.policy),
        "fetch": section(&shown.fetch),
        "alerts": section(&shown.alerts),
        "papers": papers,
        "scopes": scopes,
    });
    format!("{whole:#}\n")
}
