//! What a store could not do.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// A store could not do what it was asked to; nothing of that call was stored.
///
/// One exception, which no networked store can rule out: where the answer was lost on the way
/// ([`StoreErrorKind::Unavailable`]), the call may have been carried out.
#[derive(Clone, Debug)]
pub struct StoreError {
    kind: StoreErrorKind,
    message: String,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

/// What kind of failure it was, for a caller that has to act on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// The store cannot be reached or is held by another process for too long; it may come back.
    Unavailable,
    /// What is stored cannot be read: a broken file, or none of this kind at all.
    Damaged,
    /// A later version of curtsy wrote it.
    Newer,
    /// It is sound, and not what this driver works with: the file of another program, a server that is too
    /// old or of another kind.
    Foreign,
    /// What should hold it has not been made: there is no such table.
    Missing,
    /// What the call is about is no longer there: the job was cancelled.
    Gone,
    /// It does not let this user in, or not do what is needed.
    Denied,
    /// It can be read but not written.
    ReadOnly,
    /// There is no room left.
    Full,
    /// The call itself is wrong: a key or value out of bounds.
    Invalid,
}

impl StoreError {
    /// A failure in one line of lower case, without its cause.
    pub fn new(kind: StoreErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            source: None,
        }
    }

    /// The same failure with what caused it.
    #[must_use]
    pub fn caused_by(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// What kind of failure it was.
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn Error + 'static))
    }
}
