//! Keys and variables that mean nothing.

use super::Environment;
use super::layers::Record;
use crate::config::{Config, Table};
use crate::failure::Failure;
use crate::nearest::{did_you_mean, nearest};

/// Refuses a key of the file that nothing asked for. The records are those of `[policy]`, `[fetch]` and
/// `[alerts]`.
///
/// # Errors
/// There is one; the first is named.
pub(super) fn refuse_keys(config: &Config, records: [&Record; 3]) -> Result<(), Failure> {
    let tables = [&config.policy, &config.fetch, &config.alerts];
    let names = ["policy", "fetch", "alerts"];
    for (at, table) in tables.into_iter().enumerate() {
        for (other, record) in records.iter().enumerate().filter(|(other, _)| *other != at) {
            refuse_misplaced(config, table, &record.names, names[other])?;
        }
        refuse_in(config, table, &records[at].names)?;
    }
    for (record, name) in records.iter().zip(names) {
        refuse_misplaced(config, &config.stray, &record.names, name)?;
    }
    let all: Vec<_> = records
        .iter()
        .flat_map(|record| &record.names)
        .copied()
        .collect();
    refuse_in(config, &config.stray, &all)
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

/// Warns of variables that look like a misspelt setting, or the base of a provider. Others may be somebody else's, whose
/// names begin alike.
pub(super) fn suspect_variables(
    environment: &Environment,
    records: [&Record; 3],
    papers: &[String],
) -> Vec<String> {
    let names = records.iter().flat_map(|record| &record.names).copied();
    let names: Vec<&str> = names.chain(papers.iter().map(String::as_str)).collect();
    environment
        .unknown()
        .into_iter()
        .filter_map(|variable| {
            let key = Environment::key(variable);
            let meant = Environment::variable(nearest(&key, names.iter().copied())?);
            Some(format!("{variable}: unknown; did you mean {meant}?"))
        })
        .collect()
}
