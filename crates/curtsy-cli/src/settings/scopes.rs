//! The sections of scopes: `[scopes."example.org"]`.

use std::collections::BTreeMap;

use curtsy_core::signal::Profile;
use curtsy_core::{Policy, Scope};
use url::Url;

use super::layers::{Layers, key};
use super::source::{Setting, Source};
use super::{Environment, Flags, policy, unknown};
use crate::config::{Config, Table};
use crate::failure::Failure;

/// What the sections of scopes say.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    pub(super) policies: BTreeMap<Scope, Policy>,
    pub(super) groups: BTreeMap<Scope, Scope>,
    pub(super) profiles: BTreeMap<Scope, Profile>,
    pub(super) settings: Vec<(Scope, Vec<Setting>)>,
}

/// Reads every section of a scope.
///
/// # Errors
/// One has a name that is no scope, or a key or value that cannot be.
pub(super) fn read(
    environment: &Environment,
    config: Option<&Config>,
    flags: Flags<'_>,
) -> Result<Scopes, Failure> {
    let mut scopes = Scopes::default();
    let Some(config) = config else {
        return Ok(scopes);
    };
    let mut lines = BTreeMap::new();
    for table in &config.scopes {
        let scope = name(&table.name).map_err(|why| config.complaint(table.line, &why))?;
        if let Some(line) = lines.insert(scope.clone(), table.line) {
            let why = format!("{}: line {line} is about this scope already", table.name);
            return Err(config.complaint(table.line, &why));
        }
        read_one(
            &mut scopes,
            scope,
            Layers::of_scope(environment, config, table),
            table,
            config,
            flags,
        )?;
    }
    for (member, group) in &scopes.groups {
        if scopes.groups.contains_key(group) {
            let why = format!("{member}: its group {group} is itself in a group");
            return Err(config.complaint(lines[member], &why));
        }
    }
    Ok(scopes)
}

fn read_one(
    scopes: &mut Scopes,
    scope: Scope,
    mut layers: Layers<'_>,
    table: &Table,
    config: &Config,
    flags: Flags<'_>,
) -> Result<(), Failure> {
    let (mut group, mut profile) = (None::<String>, None::<Profile>);
    // These two are no policy: neither [policy] nor the environment has them.
    layers.set_in_section(key("group"), &mut group)?;
    layers.set_in_section(key("profile"), &mut profile)?;
    let policy = policy::read(&mut layers, flags)?;
    let record = layers.finish();
    unknown::refuse_in(config, table, &record.names)?;

    let own: Vec<Setting> = record
        .settings
        .into_iter()
        .filter(|setting| {
            matches!(&setting.source, Source::File { section, .. } if *section == table.name)
        })
        .collect();
    if let Some(profile) = profile {
        scopes.profiles.insert(scope.clone(), profile);
    }
    match group {
        Some(group) => {
            let line = table.entry("group").map_or(table.line, |entry| entry.line);
            let group = name(&group).map_err(|why| config.complaint(line, &why))?;
            if let Some(stray) = own
                .iter()
                .find(|own| !matches!(own.key, "group" | "profile"))
            {
                let why = format!(
                    "{}: a group is paced as one; write it in [scopes.\"{group}\"]",
                    stray.key
                );
                return Err(config.complaint(stray.source.line().unwrap_or(line), &why));
            }
            scopes.groups.insert(scope.clone(), group);
        }
        None => {
            scopes.policies.insert(scope.clone(), policy);
        }
    }
    scopes.settings.push((scope, own));
    Ok(())
}

/// A scope as a person writes it: `example.org`, `example.org:8080`, or the name of a group.
fn name(text: &str) -> Result<Scope, String> {
    let wrong = || format!("{text:?} is no scope; write example.org or example.org:8080");
    if text.contains(['/', '@', '?', '#', '\\']) {
        return Err(wrong());
    }
    Url::parse(&format!("http://{text}/"))
        .ok()
        .as_ref()
        .and_then(Scope::of)
        .ok_or_else(wrong)
}
