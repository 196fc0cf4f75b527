//! The keys of `[papers]`: what only papers need.

use std::env;
use std::path::PathBuf;

use curtsy_papers::retrieve::DEFAULT_MAX_SIZE;
use curtsy_papers::source::SourceId;
use curtsy_papers::{Endpoints, Key, Keys, Provider};
use serde_json::{Value as Json, json};

use super::layers::{Layers, key};
use super::source::{NOT_SHOWN, Setting, Source};
use super::{Environment, Flags, unknown};
use crate::args::{LayoutArg, PreferArg};
use crate::config::Config;
use crate::failure::Failure;
use crate::value::{ResolverText, Size, usual_folder};

/// What is in effect for papers.
#[derive(Debug)]
pub(crate) struct PaperSettings {
    /// Where papers go. Default `PDFs`.
    pub(crate) out_dir: PathBuf,
    /// How files lie there. Default: each paper in a folder of its own.
    pub(crate) layout: LayoutArg,
    /// Who may be asked. Default everybody.
    pub(crate) source: Vec<SourceId>,
    /// Which of several copies is tried first. Default the one that is had soonest.
    pub(crate) prefer: PreferArg,
    /// Licences that a copy must have one of. Default none is asked for.
    pub(crate) license: Vec<String>,
    /// The largest PDF. Default 200 MB.
    pub(crate) max_size: Size,
    /// Whether the page of a paper is asked for although no source calls it open. Default false.
    pub(crate) try_landing: bool,
    /// Whether retracted works are left out. Default false.
    pub(crate) skip_retracted: bool,
    /// Whether a PDF whose metadata names another DOI is refused. Default false.
    pub(crate) check_identity: bool,
    /// The user's own resolvers, in the order in which they are asked. Default none.
    pub(crate) resolver: Vec<ResolverText>,
    /// Where providers are asked.
    pub(crate) endpoints: Endpoints,
    /// The keys of those that give any. They are never shown.
    pub(crate) keys: Keys,
}

/// What was read, and where it came from.
pub(super) struct Papers {
    pub(super) settings: PaperSettings,
    /// `[papers]`.
    pub(super) shown: Vec<Setting>,
    /// `[papers.base]`.
    pub(super) bases: Vec<Setting>,
    /// What a variable of the environment may be called.
    pub(super) names: Vec<String>,
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
    flags: Flags<'_>,
) -> Result<Papers, Failure> {
    let mut settings = PaperSettings {
        out_dir: usual_folder(),
        layout: LayoutArg::Seed,
        source: SourceId::ALL.to_vec(),
        prefer: PreferArg::Soonest,
        license: Vec::new(),
        max_size: Size(DEFAULT_MAX_SIZE),
        try_landing: false,
        skip_retracted: false,
        check_identity: false,
        resolver: Vec::new(),
        endpoints: Endpoints::default(),
        keys: Keys::default(),
    };
    let mut layers = Layers::of_papers(environment, config);
    read_copies(&mut layers, flags, &mut settings)?;
    let record = layers.finish();
    let bases = Provider::ALL.map(|provider| format!("base_{}", provider.name()));
    let names = record.names.iter().map(|name| (*name).to_owned());
    let names = names.chain(bases).collect();
    let mut shown = record.settings;
    let mut found = Vec::new();
    for (name, variable) in KEYS {
        let in_file = read_key(config, name)?;
        let key = match of_environment(variable) {
            Ok(Some(key)) => Some(key),
            // What others keep there is no concern of a command that has nothing to do with papers.
            Err(why) if flags.options.for_papers => return Err(why),
            Ok(None) | Err(_) => in_file,
        };
        shown.push(of_key(name, key.as_ref().map(|(_, source)| source)));
        found.push(key.map(|(key, _)| key));
    }
    let mut found = found.into_iter();
    let mut next = || found.next().flatten();
    settings.keys = Keys {
        ncbi: next(),
        openalex: next(),
        semantic_scholar: next(),
    };
    let bases;
    (settings.endpoints, bases) = read_bases(environment, config)?;
    if let Some(config) = config {
        let keys = KEYS.map(|(name, _)| name);
        let names: Vec<&str> = record.names.into_iter().chain(keys).collect();
        unknown::refuse_in(config, &config.papers, &names)?;
        let names = Provider::ALL.map(Provider::name);
        unknown::refuse_in(config, &config.papers_base, &names)?;
    }
    Ok(Papers {
        settings,
        shown,
        bases,
        names,
    })
}

/// Which copies are taken, and where they go.
fn read_copies(
    layers: &mut Layers<'_>,
    flags: Flags<'_>,
    s: &mut PaperSettings,
) -> Result<(), Failure> {
    let given = &flags.options.copies;
    let on = |flag: bool| flag.then_some(true);
    let list = |list: &Vec<_>| (!list.is_empty()).then(|| list.clone());
    layers.set(
        key("out_dir").flag("--out-dir"),
        given.out_dir.clone(),
        &mut s.out_dir,
    )?;
    layers.set(key("layout").flag("--layout"), given.layout, &mut s.layout)?;
    layers.set(
        key("source").flag("--source"),
        (!given.source.is_empty()).then(|| given.source.clone()),
        &mut s.source,
    )?;
    layers.set(key("prefer").flag("--prefer"), given.prefer, &mut s.prefer)?;
    layers.set(
        key("license").flag("--license"),
        list(&given.license),
        &mut s.license,
    )?;
    layers.set(
        key("max_size").flag("--max-size"),
        given.max_size,
        &mut s.max_size,
    )?;
    layers.set(
        key("try_landing").flag("--try-landing"),
        on(given.try_landing),
        &mut s.try_landing,
    )?;
    layers.set(
        key("skip_retracted").flag("--skip-retracted"),
        on(given.skip_retracted),
        &mut s.skip_retracted,
    )?;
    layers.set(
        key("check_identity").flag("--check-identity"),
        on(given.check_identity),
        &mut s.check_identity,
    )?;
    layers.set(
        key("resolver").flag("--resolver"),
        (!given.resolver.is_empty()).then(|| given.resolver.clone()),
        &mut s.resolver,
    )
}

fn of_environment(variable: &str) -> Result<Option<(Key, Source)>, Failure> {
    match env::var(variable) {
        Ok(text) if !text.trim().is_empty() => {
            let key = Key::new(&text).map_err(|why| Failure::usage(variable, why))?;
            Ok(Some((key, Source::Environment(variable.to_owned()))))
        }
        Err(env::VarError::NotUnicode(_)) => Err(Failure::usage(variable, "is not UTF-8")),
        _ => Ok(None),
    }
}

fn read_key(config: Option<&Config>, name: &str) -> Result<Option<(Key, Source)>, Failure> {
    let entry = config.and_then(|config| Some((config, config.papers.entry(name)?)));
    let Some((config, entry)) = entry else {
        return Ok(None);
    };
    let text: Result<String, String> = entry.given.read();
    let read = text.and_then(|text| Key::new(&text).map_err(|why| why.to_string()));
    let complain = |why: String| config.complaint(entry.line, &format!("{name}: {why}"));
    let key = read.map_err(complain)?;
    Ok(Some((key, line_of("papers", entry.line))))
}

fn of_key(name: &'static str, source: Option<&Source>) -> Setting {
    Setting {
        key: name,
        value: Json::Null,
        unset: if source.is_some() { NOT_SHOWN } else { "none" },
        source: source.cloned().unwrap_or(Source::Default),
    }
}

fn read_bases(
    environment: &Environment,
    config: Option<&Config>,
) -> Result<(Endpoints, Vec<Setting>), Failure> {
    let mut endpoints = Endpoints::default();
    let mut shown = Vec::new();
    for provider in Provider::ALL {
        let name = provider.name();
        let variable = format!("base_{name}");
        let of_file = config.and_then(|config| Some((config, config.papers_base.entry(name)?)));
        let mut source = Source::Default;
        if let Some(text) = environment.text(&variable)? {
            endpoints = endpoints
                .with_base(provider, text)
                .map_err(|why| Failure::usage(Environment::variable(&variable), why))?;
            source = Source::Environment(Environment::variable(&variable));
        } else if let Some((config, entry)) = of_file {
            let text: Result<String, String> = entry.given.read();
            let read = text.and_then(|text| {
                endpoints
                    .with_base(provider, &text)
                    .map_err(|why| why.to_string())
            });
            endpoints =
                read.map_err(|why| config.complaint(entry.line, &format!("{name}: {why}")))?;
            source = line_of("papers.base", entry.line);
        }
        shown.push(Setting {
            key: name,
            value: json!(endpoints.base(provider).as_str()),
            unset: "",
            source,
        });
    }
    Ok((endpoints, shown))
}

fn line_of(section: &str, line: usize) -> Source {
    Source::File {
        section: section.to_owned(),
        line,
    }
}
