//! `CURTSY_…` in the environment.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::env;

use crate::failure::Failure;

const PREFIX: &str = "CURTSY_";

/// The variables that begin with `CURTSY_`. An empty one counts as not set.
#[derive(Debug, Default)]
pub(crate) struct Environment {
    /// `None` for a value that is no UTF-8.
    variables: BTreeMap<String, Option<String>>,
    /// The variables that mean something, set or not.
    known: RefCell<BTreeSet<String>>,
}

impl Environment {
    /// What this process was started with.
    pub(crate) fn of_process() -> Self {
        Self::of(
            env::vars_os().filter_map(|(name, value)| {
                Some((name.into_string().ok()?, value.into_string().ok()))
            }),
        )
    }

    pub(super) fn of(variables: impl IntoIterator<Item = (String, Option<String>)>) -> Self {
        Self {
            variables: variables
                .into_iter()
                .filter(|(name, value)| name.starts_with(PREFIX) && value.as_deref() != Some(""))
                .collect(),
            known: RefCell::default(),
        }
    }

    /// The name of the variable for a key.
    pub(super) fn variable(key: &str) -> String {
        format!("{PREFIX}{}", key.to_ascii_uppercase())
    }

    /// The key that a variable would be for.
    pub(super) fn key(variable: &str) -> String {
        variable.trim_start_matches(PREFIX).to_ascii_lowercase()
    }

    /// The value for a key, which is thereby known.
    ///
    /// # Errors
    /// It is no UTF-8.
    pub(super) fn text(&self, key: &str) -> Result<Option<&str>, Failure> {
        let variable = Self::variable(key);
        let value = match self.variables.get(&variable) {
            None => None,
            Some(Some(value)) => Some(value.trim()),
            Some(None) => return Err(Failure::usage(variable, "is not UTF-8")),
        };
        self.known.borrow_mut().insert(variable);
        Ok(value)
    }

    /// The variables that nothing asked for.
    pub(super) fn unknown(&self) -> Vec<&str> {
        let known = self.known.borrow();
        self.variables
            .keys()
            .filter(|name| !known.contains(*name))
            .map(String::as_str)
            .collect()
    }
}
