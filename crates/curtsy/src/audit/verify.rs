//! Proving what logs show.

use curtsy_core::audit::verify::{Proof, Verifier};

use super::logs::{LogLine, Logs};
use crate::error::Error;

impl Logs {
    /// Proves from these logs together that every rule was kept; see [`Verifier`] for what that is.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn verify(&self) -> Result<Proof, Error> {
        let mut verifier = Verifier::default();
        self.read(|line| match line {
            LogLine::Record { at, record, hash } => verifier.take(at, *record, hash),
            LogLine::Unreadable {
                at,
                bytes,
                is_whole,
            } => verifier.take_unreadable(at, bytes, is_whole),
        })?;
        Ok(verifier.finish())
    }
}
