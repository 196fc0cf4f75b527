//! Where a setting comes from.

use std::fmt;

use curtsy_core::Preset;
use serde_json::Value as Json;

use crate::value::Value as _;

/// Where a setting comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Nothing sets it.
    Default,
    /// The preset sets it.
    Preset(Preset),
    /// A section of the file.
    File {
        /// The section: `policy`, `fetch`, or a scope's name.
        section: String,
        /// The line, from 1.
        line: usize,
    },
    /// A variable of the environment.
    Environment(String),
    /// An option of the command line.
    Flag(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Preset(preset) => {
                write!(f, "preset {}", preset.show().as_str().unwrap_or_default())
            }
            Self::File { line, .. } => write!(f, "file, line {line}"),
            Self::Environment(variable) => write!(f, "environment, {variable}"),
            Self::Flag(flag) => write!(f, "flag {flag}"),
        }
    }
}

impl Source {
    /// The line of the file, where it is one.
    pub(crate) fn line(&self) -> Option<usize> {
        match self {
            Self::File { line, .. } => Some(*line),
            _ => None,
        }
    }
}

/// In place of what holds where a setting is not set: it is set, and a secret.
pub(crate) const NOT_SHOWN: &str = "is set, and not shown";

/// A setting for people.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Setting {
    /// Its key.
    pub(crate) key: &'static str,
    /// Its value, without secrets; null where it is not set.
    pub(crate) value: Json,
    /// What holds where it is not set.
    pub(crate) unset: &'static str,
    /// Where it comes from.
    pub(crate) source: Source,
}
