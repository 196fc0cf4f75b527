//! What a log ends with: as it is found, and as the job's database knows it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use curtsy_core::audit::{Entry, Event};
use curtsy_store::Queue;
use memchr::memmem;
use serde::{Deserialize, Serialize};

use super::line::{MAX_LINE, hash_of, parse};
use super::{Audit, segments};
use crate::error::{Error, ErrorKind};

/// Under this name the job's database keeps the end of its log.
const KEPT: &str = "audit_tail";

/// The end of a log as the job's database knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptTail {
    /// Of which run.
    pub pipeline_id: String,
    /// The number of a line that was written.
    pub seq: u64,
    /// Its hash.
    pub hash: String,
}

impl KeptTail {
    /// What the job's database knows.
    ///
    /// # Errors
    /// The queue failed.
    pub async fn of(queue: &dyn Queue) -> Result<Option<Self>, Error> {
        let kept = queue.meta(KEPT).await?;
        kept.map(|kept| serde_json::from_slice(&kept))
            .transpose()
            .map_err(|error| {
                let why = "what the job's database keeps of its audit log cannot be read";
                Error::new(ErrorKind::Store(curtsy_store::StoreErrorKind::Damaged), why)
                    .caused_by(error)
            })
    }
}

impl Audit {
    /// Keeps the end of the log in the job's database, so that a tail that is cut off shows. The file has that
    /// line by then.
    ///
    /// # Errors
    /// The queue failed.
    pub async fn keep_tail(&self, queue: &dyn Queue) -> Result<(), Error> {
        let Some(log) = &self.0 else { return Ok(()) };
        let value = serde_json::to_vec(&log.tail()).map_err(|error| {
            Error::new(ErrorKind::Configuration, "the end of the log has no words").caused_by(error)
        })?;
        Ok(queue.set_meta(vec![(KEPT.to_owned(), value)]).await?)
    }

    /// Puts on record where the log ends before what the job's database knows: from now on it would not show.
    ///
    /// # Errors
    /// The queue or the log failed.
    pub async fn check_tail(&self, queue: &dyn Queue) -> Result<(), Error> {
        let (Some(log), Some(kept)) = (&self.0, KeptTail::of(queue).await?) else {
            return Ok(());
        };
        let found = log.found();
        if kept.pipeline_id == log.pipeline_id() && kept.seq > found {
            let event = Event::TailMissing {
                found,
                known: kept.seq,
            };
            self.record([Entry::of_run(event)]).await?;
        }
        Ok(())
    }
}

/// What an existing log ends with.
#[derive(Debug)]
pub(super) struct Found {
    /// The last line of the pipeline.
    pub(super) seq: u64,
    pub(super) hash: String,
    /// Bytes of the file that is written.
    pub(super) length: u64,
    /// Bytes after its last line end.
    pub(super) torn: u64,
}

/// Reads the file that is written, and those that were filled before where that says nothing of this pipeline.
pub(super) fn find(path: &Path, file: &File, pipeline_id: &str) -> io::Result<Found> {
    let current = last_line(file, pipeline_id)?;
    let mut last = current.last;
    for filled in segments::segments(path)?.iter().rev() {
        if last.is_some() {
            break;
        }
        if filled != path {
            last = last_line(segments::open(filled)?, pipeline_id)?.last;
        }
    }
    let (seq, hash) = last.unwrap_or_else(|| (0, hash_of(b"")));
    Ok(Found {
        seq,
        hash,
        length: current.length,
        torn: current.torn,
    })
}

struct Last {
    last: Option<(u64, String)>,
    length: u64,
    torn: u64,
}

/// The last whole line of this pipeline, and what stands after the last whole line of all.
fn last_line(reader: impl Read, pipeline_id: &str) -> io::Result<Last> {
    let mut found = Last {
        last: None,
        length: 0,
        torn: 0,
    };
    let names = serde_json::to_string(pipeline_id)?;
    let mut reader = BufReader::with_capacity(1 << 18, reader);
    let (mut line, mut last) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        let read = reader
            .by_ref()
            .take(MAX_LINE as u64)
            .read_until(b'\n', &mut line)?;
        if read == 0 {
            break;
        }
        found.length += read as u64;
        if line.last() != Some(&b'\n') {
            found.torn = read as u64;
            continue;
        }
        found.torn = 0;
        // Reading them all would take long: only what may be the last one is looked at closely.
        if memmem::find(&line, names.as_bytes()).is_some() && is_of(&line, pipeline_id) {
            std::mem::swap(&mut line, &mut last);
        }
    }
    if last.pop().is_some()
        && let Ok(record) = parse(&last)
    {
        found.last = Some((record.seq, hash_of(&last)));
    }
    Ok(found)
}

fn is_of(line: &[u8], pipeline_id: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Named {
        pipeline_id: String,
    }

    serde_json::from_slice::<Named>(line).is_ok_and(|named| named.pipeline_id == pipeline_id)
}
