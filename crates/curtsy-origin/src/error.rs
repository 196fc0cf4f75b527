//! What can keep an origin from doing its work.

use std::error::Error as StdError;

/// An error of this crate; what to make of it is its [`kind`](Self::kind), why it is its source.
#[derive(Debug, thiserror::Error)]
#[error("{kind}")]
pub struct Error {
    kind: ErrorKind,
    source: Box<dyn StdError + Send + Sync>,
}

/// What failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The script is malformed, or a value is out of its bounds.
    #[error("the script cannot be used")]
    Script,
    /// The address cannot be listened on.
    #[error("cannot listen")]
    Listen,
    /// The certificate chain or the key cannot be used.
    #[error("the certificate or its key cannot be used")]
    Tls,
    /// The log of arrivals cannot be written or read.
    #[error("the log of arrivals failed")]
    Log,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self {
            kind,
            source: source.into(),
        }
    }

    /// What failed.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}
