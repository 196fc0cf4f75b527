//! The policies as the server stated them, for people.

use super::super::Policy;
use super::super::dialect;
use super::super::ledger::Entry;
use super::super::name::{QuotaKey, Unit};
use super::steering;

/// Every policy; a nameless trio is one only beside others that have counters.
pub(super) fn list(entries: &[Entry<'_>]) -> Vec<Policy> {
    let counted = entries.iter().filter(|entry| entry.is_counted()).count();
    entries
        .iter()
        .filter(|entry| !entry.is_nameless() || counted > 1)
        .map(|entry| {
            let mut figures = steering::figures(entry);
            if entry.is_reset_lent {
                figures.reset = None;
            }
            Policy {
                name: name(entry, entries),
                unit: entry.unit,
                figures,
            }
        })
        .collect()
}

fn name(entry: &Entry<'_>, entries: &[Entry<'_>]) -> Option<QuotaKey> {
    if let Some(name) = &entry.name {
        return Some(QuotaKey::new(name.clone().into_owned()));
    }
    entry.is_counted().then(|| name_nameless(entry, entries))
}

/// What a nameless trio is called beside others: by its family where others have no name either.
fn name_nameless(entry: &Entry<'_>, entries: &[Entry<'_>]) -> QuotaKey {
    if entries.iter().filter(|other| other.is_nameless()).count() > 1 {
        return QuotaKey::new(entry.family.to_owned());
    }
    let known = entries
        .iter()
        .find_map(|other| dialect::main_name(other.family));
    let is_sibling = |other: &Entry<'_>| {
        other.name.is_some() && other.family == entry.family && other.unit == Unit::Requests
    };
    QuotaKey::from(match known {
        Some(name) => name,
        None if entries.iter().any(is_sibling) => "default",
        None => "rate",
    })
}
