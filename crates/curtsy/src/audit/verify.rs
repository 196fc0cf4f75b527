//! Proving what logs show.

use curtsy_core::audit::Record;
use curtsy_core::audit::verify::{Proof, Verifier};

use super::logs::{LogLine, Logs};
use super::tail::KeptTail;
use crate::error::Error;

impl Logs {
    /// Proves from these logs together that every rule was kept; see [`Verifier`] for what that is. `kept` is
    /// what a job's database knows of the end of one of them.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn verify(&self, kept: Option<&KeptTail>) -> Result<Proof, Error> {
        self.verify_telling(kept, |_, _| {})
    }

    /// The same; tells each record before it is looked at, and what is known before it.
    ///
    /// # Errors
    /// As [`verify`](Self::verify).
    pub fn verify_telling(
        &self,
        kept: Option<&KeptTail>,
        mut tell: impl FnMut(&Record, &Verifier),
    ) -> Result<Proof, Error> {
        let mut verifier = Verifier::default();
        if let Some(kept) = kept {
            verifier.expect(&kept.pipeline_id, kept.seq, &kept.hash);
        }
        self.read(|line| match line {
            LogLine::Record { at, record, hash } => {
                tell(&record, &verifier);
                verifier.take(at, *record, hash);
            }
            LogLine::Unreadable {
                at,
                bytes,
                is_whole,
            } => verifier.take_unreadable(at, bytes, is_whole),
        })?;
        Ok(verifier.finish())
    }
}
