//! The audit log: one JSON line an event, chained by hash, written before the departure that it permits.
//!
//! Each line goes to the file at once, together with those of the same turn of the runtime, so that it
//! survives the end of the process at any moment. A line that a crash tore is closed when the file is next
//! opened, and the chain goes on from the last whole one; so it does over the files of a log that has
//! grown large.

mod line;
mod log;
mod logs;
mod segments;
mod tail;
mod verify;

use std::path::Path;
use std::sync::Arc;

use curtsy_core::audit::Entry;

use crate::clock::Clock;
use crate::error::Error;
use log::Log;
pub use logs::{LogLine, Logs};
pub use tail::KeptTail;

/// How large a file of the log becomes before another is begun, in bytes: 256 MiB.
pub const DEFAULT_ROTATE_AT: u64 = 256 << 20;

/// Where the events of a run are put on record. Cheap to clone; the clones share one file.
#[derive(Clone, Debug, Default)]
pub struct Audit(Option<Arc<Log>>);

impl Audit {
    /// Nothing is recorded.
    #[must_use]
    pub fn off() -> Self {
        Self(None)
    }

    /// Appends to the log at `path`. The pipeline's chain is taken up where it ended. From
    /// [`DEFAULT_ROTATE_AT`] bytes on another file is begun.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn append(path: &Path, pipeline_id: &str, clock: Clock) -> Result<Self, Error> {
        Self::append_rotating(path, pipeline_id, clock, DEFAULT_ROTATE_AT)
    }

    /// The same. When the file has `rotate_at` bytes, it is named `audit-0001.jsonl` after its own name and
    /// compressed beside the run to `audit-0001.jsonl.gz`, and the log goes on in a new file at `path`.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn append_rotating(
        path: &Path,
        pipeline_id: &str,
        clock: Clock,
        rotate_at: u64,
    ) -> Result<Self, Error> {
        let log = Log::open(path, pipeline_id, clock, rotate_at)?;
        Ok(Self(Some(Arc::new(log))))
    }

    /// Writes these events. Those of the callers that are ready at the same time go with them, in one write.
    ///
    /// # Errors
    /// They are not on record: what they permit must not happen.
    pub async fn record(&self, entries: impl IntoIterator<Item = Entry>) -> Result<(), Error> {
        let Some(log) = &self.0 else { return Ok(()) };
        let batch = log.add(entries);
        tokio::task::yield_now().await;
        log.write(&batch)
    }

    /// The last line.
    #[must_use]
    pub fn tail(&self) -> Option<KeptTail> {
        self.0.as_ref().map(|log| log.tail())
    }

    /// Whether anything is recorded: what nobody reads need not be built.
    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }
}
