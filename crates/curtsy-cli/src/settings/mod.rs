//! Flags, environment, file and defaults, merged once into typed values that remember their source.
//!
//! A flag wins over the environment, the environment over the file, the file over the preset's default; in the
//! file a scope's own section wins over `[policy]`. So a flag holds for every scope of that run; what must
//! bind whatever is typed is a scope's `tos_cap`, for which there is no flag.

mod alerts;
mod environment;
mod fetch;
mod layers;
mod papers;
mod policy;
mod scopes;
mod source;
mod unknown;

use std::collections::BTreeMap;
use std::path::PathBuf;

use curtsy_core::signal::Profile;
use curtsy_core::{Policy, Scope};

use crate::args::{GlobalArgs, Options};
use crate::config::Config;
use crate::failure::Failure;
use layers::Layers;

pub(crate) use alerts::AlertSettings;
pub(crate) use environment::Environment;
pub(crate) use fetch::FetchSettings;
pub(crate) use papers::PaperSettings;
pub(crate) use source::{NOT_SHOWN, Setting, Source};

/// Everything that is in effect.
#[derive(Debug)]
pub(crate) struct Settings {
    /// How a scope is treated that has no section of its own.
    pub(crate) policy: Policy,
    /// How the scopes and groups are treated that have one.
    pub(crate) scopes: BTreeMap<Scope, Policy>,
    /// Hosts that share the pace of a named group.
    pub(crate) groups: BTreeMap<Scope, Scope>,
    /// Hosts whose dialect only their name can tell.
    pub(crate) profiles: BTreeMap<Scope, Profile>,
    /// All that is no policy.
    pub(crate) fetch: FetchSettings,
    /// When a person is told of a scope, and through what.
    pub(crate) alerts: AlertSettings,
    /// What only papers need.
    pub(crate) papers: PaperSettings,
    /// Every setting for people, in the order of its section.
    pub(crate) shown: Shown,
    /// What looks like a mistake and is none for certain.
    pub(crate) warnings: Vec<String>,
}

/// The settings with their sources, for `config show`.
#[derive(Debug)]
pub(crate) struct Shown {
    /// The file that was read.
    pub(crate) file: Option<PathBuf>,
    /// `[policy]`.
    pub(crate) policy: Vec<Setting>,
    /// `[fetch]`.
    pub(crate) fetch: Vec<Setting>,
    /// `[alerts]`.
    pub(crate) alerts: Vec<Setting>,
    /// `[papers]`.
    pub(crate) papers: Vec<Setting>,
    /// `[papers.base]`.
    pub(crate) bases: Vec<Setting>,
    /// What each section of a scope sets.
    pub(crate) scopes: Vec<(Scope, Vec<Setting>)>,
}

/// What the command line gave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flags<'a> {
    /// What every command takes.
    pub(crate) global: &'a GlobalArgs,
    /// What `fetch` takes.
    pub(crate) options: &'a Options,
    /// The summary is JSON.
    pub(crate) json: bool,
}

impl Settings {
    /// Finds the configuration file and merges all sources.
    ///
    /// # Errors
    /// One of them holds an unknown key or a value that cannot be.
    pub(crate) fn load(flags: Flags<'_>) -> Result<Self, Failure> {
        let environment = Environment::of_process();
        let named = flags.global.config.clone().map_or_else(
            || {
                environment
                    .text("config")
                    .map(|path| path.map(PathBuf::from))
            },
            |path| Ok(Some(path)),
        )?;
        let config = Config::find(named.as_deref())?;
        Self::merge(flags, &environment, config.as_ref())
    }

    /// Merges all sources.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub(crate) fn merge(
        flags: Flags<'_>,
        environment: &Environment,
        config: Option<&Config>,
    ) -> Result<Self, Failure> {
        let mut layers = Layers::of_policy(environment, config);
        let policy = policy::read(&mut layers, flags)?;
        let of_policy = layers.finish();

        let papers = papers::read(environment, config, flags)?;
        let mut layers = Layers::of_fetch(environment, config);
        let fetch = fetch::read(&mut layers, flags, &policy, &papers.settings)?;
        let of_fetch = layers.finish();

        let mut layers = Layers::of_alerts(environment, config);
        let alerts = alerts::read(&mut layers, flags)?;
        let of_alerts = layers.finish();

        let scopes = scopes::read(environment, config, flags)?;
        if let Some(config) = config {
            unknown::refuse_keys(config, [&of_policy, &of_fetch, &of_alerts])?;
        }
        Ok(Self {
            policy,
            warnings: unknown::suspect_variables(
                environment,
                [&of_policy, &of_fetch, &of_alerts],
                &papers.names,
            ),
            scopes: scopes.policies,
            groups: scopes.groups,
            profiles: scopes.profiles,
            fetch,
            alerts,
            papers: papers.settings,
            shown: Shown {
                file: config.map(|config| config.path.clone()),
                policy: of_policy.settings,
                fetch: of_fetch.settings,
                alerts: of_alerts.settings,
                papers: papers.shown,
                bases: papers.bases,
                scopes: scopes.settings,
            },
        })
    }
}

#[cfg(test)]
mod tests;
