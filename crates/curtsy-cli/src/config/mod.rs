//! The configuration file: which one it is, and what stands on which line of it.
//!
//! `curtsy.toml` in the working directory, else in the user's configuration directory, else none; or the
//! file that `--config` or `CURTSY_CONFIG` names. What the keys mean is the business of
//! [`settings`](crate::settings); here nothing but their places is known.

mod table;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::dirs;
use crate::failure::Failure;

pub(crate) use table::{Given, Table};

/// The name of the file where none is given.
const NAME: &str = "curtsy.toml";

/// A configuration file taken apart.
#[derive(Debug)]
pub(crate) struct Config {
    /// Where it lies, as messages name it.
    pub(crate) path: PathBuf,
    /// `[policy]`.
    pub(crate) policy: Table,
    /// `[fetch]`.
    pub(crate) fetch: Table,
    /// `[alerts]`.
    pub(crate) alerts: Table,
    /// `[scopes."…"]`, in the order of the file.
    pub(crate) scopes: Vec<Table>,
    /// `[papers]`.
    pub(crate) papers: Table,
    /// `[papers.base]`.
    pub(crate) papers_base: Table,
    /// Keys that stand in no section.
    pub(crate) stray: Table,
}

impl Config {
    /// Reads the file that applies; `None` where there is none.
    ///
    /// # Errors
    /// A file that was named does not exist, or what there is cannot be read or is no configuration.
    pub(crate) fn find(named: Option<&Path>) -> Result<Option<Self>, Failure> {
        if let Some(path) = named {
            return Self::read(path)?
                .map(Some)
                .ok_or_else(|| Failure::usage(path.display(), "there is no such file"));
        }
        let users = dirs::config().map(|dir| dir.join("curtsy").join(NAME));
        for path in [Some(PathBuf::from(NAME)), users].into_iter().flatten() {
            if let Some(config) = Self::read(&path)? {
                return Ok(Some(config));
            }
        }
        Ok(None)
    }

    fn read(path: &Path) -> Result<Option<Self>, Failure> {
        match fs::read_to_string(path) {
            Ok(text) => Self::parse(path, &text).map(Some),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Failure::usage(path.display(), error)),
        }
    }

    /// The complaint about a line of this file.
    pub(crate) fn complaint(&self, line: usize, why: &str) -> Failure {
        complaint(&self.path, line, why)
    }
}

/// The complaint about a line of a file.
pub(crate) fn complaint(path: &Path, line: usize, why: &str) -> Failure {
    Failure::usage(format_args!("{}:{line}", path.display()), why)
}
