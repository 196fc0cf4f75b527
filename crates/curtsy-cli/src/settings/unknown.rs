//! Keys and variables that mean nothing.

use super::Environment;
use super::layers::Record;
use crate::config::{Config, Table};
use crate::failure::Failure;
use crate::nearest::{did_you_mean, nearest};

/// Refuses a key of the file that nothing asked for.
///
/// # Errors
/// There is one; the first is named.
pub(super) fn refuse_keys(config: &Config, policy: &Record, fetch: &Record) -> Result<(), Failure> {
    for (table, names, others, other) in [
        (&config.policy, &policy.names, &fetch.names, "fetch"),
        (&config.fetch, &fetch.names, &policy.names, "policy"),
    ] {
        refuse_misplaced(config, table, others, other)?;
        refuse_in(config, table, names)?;
    }
    refuse_misplaced(config, &config.stray, &policy.names, "policy")?;
    refuse_misplaced(config, &config.stray, &fetch.names, "fetch")?;
    let names: Vec<_> = policy.names.iter().chain(&fetch.names).copied().collect();
    refuse_in(config, &config.stray, &names)
}

/// Refuses a key of one section that nothing asked for.
///
/// # Errors
/// There is one; the first is named.
pub(super) fn refuse_in(config: &Config, table: &Table, names: &[&str]) -> Result<(), Failure> {
    let Some(entry) = table.entries.iter().find(|entry| !entry.known.get()) else {
        return Ok(());
    };
    let hint = did_you_mean(&entry.key, names.iter().copied())
        .unwrap_or_else(|| "`curtsy config show` lists all keys".to_owned());
    Err(config.complaint(entry.line, &format!("unknown key {}; {hint}", entry.key)))
}

fn refuse_misplaced(
    config: &Config,
    table: &Table,
    others: &[&str],
    section: &str,
) -> Result<(), Failure> {
    let misplaced = table
        .entries
        .iter()
        .find(|entry| !entry.known.get() && others.contains(&entry.key.as_str()));
    misplaced.map_or(Ok(()), |entry| {
        Err(config.complaint(entry.line, &format!("{} belongs in [{section}]", entry.key)))
    })
}

/// Warns of variables that look like a misspelt setting. Others may be somebody else's, whose names begin
/// alike.
pub(super) fn suspect_variables(
    environment: &Environment,
    policy: &Record,
    fetch: &Record,
) -> Vec<String> {
    let names = policy.names.iter().chain(&fetch.names);
    environment
        .unknown()
        .into_iter()
        .filter_map(|variable| {
            let key = Environment::key(variable);
            let meant = Environment::variable(nearest(&key, names.clone().copied())?);
            Some(format!("{variable}: unknown; did you mean {meant}?"))
        })
        .collect()
}
