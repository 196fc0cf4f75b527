//! What could not be done.

use std::fmt;
use std::sync::Arc;

/// A look-up or a download could not be tried at all. Opaque: ask [`kind`](Self::kind), never the text.
///
/// What a provider answers, refuses or puts off is a value and no error. Messages hold no keys and no query
/// strings.
#[derive(Clone, Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// What kind of failure an [`Error`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An option that makes no sense.
    Configuration,
    /// The engine failed: its store, its log, its end.
    Engine(curtsy::ErrorKind),
    /// A file cannot be read or written.
    Disk,
}

impl Error {
    pub(crate) fn configuration(message: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Configuration,
            message: message.into(),
            source: None,
        }
    }

    pub(crate) fn disk(what: impl Into<String>, error: std::io::Error) -> Self {
        Self {
            kind: ErrorKind::Disk,
            message: what.into(),
            source: Some(Arc::new(error)),
        }
    }

    /// Whether it is only that nothing departs any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.kind == ErrorKind::Engine(curtsy::ErrorKind::Closed)
    }

    /// What kind of failure this is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl From<curtsy::Error> for Error {
    fn from(error: curtsy::Error) -> Self {
        Self {
            kind: ErrorKind::Engine(error.kind()),
            message: "the engine failed".to_owned(),
            source: Some(Arc::new(error)),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| &**source as _)
    }
}
