//! The keys of `[papers]`: what only papers need.

use std::env;

use curtsy_papers::{Endpoints, Key, Keys, Provider};

use super::{Environment, unknown};
use crate::config::Config;
use crate::failure::Failure;

/// What is in effect for papers. Keys of providers are never shown.
#[derive(Debug, Default)]
pub(crate) struct PaperSettings {
    /// Where providers are asked.
    pub(crate) endpoints: Endpoints,
    /// The keys of those that give any.
    pub(crate) keys: Keys,
}

/// The keys in the file, and the variables that each may stand in instead, which are those of the providers' own
/// manuals.
const KEYS: [(&str, &str); 3] = [
    ("ncbi_api_key", "NCBI_API_KEY"),
    ("openalex_api_key", "OPENALEX_API_KEY"),
    ("s2_api_key", "S2_API_KEY"),
];

/// Reads `[papers]` and `[papers.base]`.
///
/// # Errors
/// A value cannot be, or a key is unknown.
pub(super) fn read(
    environment: &Environment,
    config: Option<&Config>,
) -> Result<PaperSettings, Failure> {
    let [ncbi, openalex, s2] = KEYS.map(|(name, variable)| read_key(config, name, variable));
    let keys = Keys {
        ncbi: ncbi?,
        openalex: openalex?,
        semantic_scholar: s2?,
    };
    let endpoints = read_bases(environment, config)?;
    if let Some(config) = config {
        unknown::refuse_in(config, &config.papers, &KEYS.map(|(name, _)| name))?;
        let names = Provider::ALL.map(Provider::name);
        unknown::refuse_in(config, &config.papers_base, &names)?;
    }
    Ok(PaperSettings { endpoints, keys })
}

fn read_key(config: Option<&Config>, name: &str, variable: &str) -> Result<Option<Key>, Failure> {
    let entry = config.and_then(|config| Some((config, config.papers.entry(name)?)));
    match env::var(variable) {
        Ok(text) if !text.trim().is_empty() => {
            let key = Key::new(&text).map_err(|why| Failure::usage(variable, why))?;
            return Ok(Some(key));
        }
        Err(env::VarError::NotUnicode(_)) => {
            return Err(Failure::usage(variable, "is not UTF-8"));
        }
        _ => {}
    }
    let Some((config, entry)) = entry else {
        return Ok(None);
    };
    let text: Result<String, String> = entry.given.read();
    let read = text.and_then(|text| Key::new(&text).map_err(|why| why.to_string()));
    let complain = |why: String| config.complaint(entry.line, &format!("{name}: {why}"));
    read.map(Some).map_err(complain)
}

fn read_bases(environment: &Environment, config: Option<&Config>) -> Result<Endpoints, Failure> {
    let mut endpoints = Endpoints::default();
    for provider in Provider::ALL {
        let variable = format!("base_{}", provider.name());
        let of_file =
            config.and_then(|config| Some((config, config.papers_base.entry(provider.name())?)));
        if let Some(text) = environment.text(&variable)? {
            endpoints = endpoints
                .with_base(provider, text)
                .map_err(|why| Failure::usage(Environment::variable(&variable), why))?;
        } else if let Some((config, entry)) = of_file {
            let text: Result<String, String> = entry.given.read();
            let read = text.and_then(|text| {
                endpoints
                    .with_base(provider, &text)
                    .map_err(|why| why.to_string())
            });
            endpoints = read.map_err(|why| {
                config.complaint(entry.line, &format!("{}: {why}", provider.name()))
            })?;
        }
    }
    Ok(endpoints)
}
