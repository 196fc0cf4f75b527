//! What could not be done.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use curtsy_store::{StoreError, StoreErrorKind};

use crate::transport::{TransportError, TransportErrorKind};

/// A request, a job or the building of a client failed. Opaque: ask [`kind`](Self::kind), never the text.
///
/// What a server declines, defers or answers with is a value and no error. Messages hold no credentials
/// and no query strings; what lies beneath is in `source()`.
#[derive(Clone, Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// What kind of failure an [`Error`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No http(s) URL.
    InvalidUrl,
    /// An option that makes no sense.
    Configuration,
    /// The state store or the queue: unavailable, damaged, newer, read-only, full.
    Store(StoreErrorKind),
    /// A file of the job cannot be written: the disk is full, the directory is gone.
    Output,
    /// Another process works in the directory.
    Locked,
    /// No whole response came from the server, after all tries.
    Transport(TransportErrorKind),
    /// More than ten redirects, or redirects in a circle.
    Redirect,
    /// The client was closed: nothing departs any more.
    Closed,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            source: None,
        }
    }

    #[must_use]
    pub(crate) fn caused_by(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    pub(crate) fn output(what: impl Into<String>, source: std::io::Error) -> Self {
        Self::new(ErrorKind::Output, what).caused_by(source)
    }

    /// What kind of failure this is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl ErrorKind {
    /// The stable name in snake_case, for manifest, audit log and metrics.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::InvalidUrl => "invalid_url",
            Self::Configuration => "configuration",
            Self::Store(_) => "store",
            Self::Output => "output",
            Self::Locked => "locked",
            Self::Transport(kind) => kind.label(),
            Self::Redirect => "redirect",
            Self::Closed => "closed",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn StdError + 'static))
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let kind = ErrorKind::Store(error.kind());
        Self::new(kind, "the store failed").caused_by(error)
    }
}

impl From<TransportError> for Error {
    fn from(error: TransportError) -> Self {
        Self::new(ErrorKind::Transport(error.kind()), error.to_string()).caused_by(error)
    }
}
