//! The audit log: one JSON line an event, chained by hash, written before the departure that it permits.
//!
//! Each line goes to the file at once, together with those of the same turn of the runtime, so that it
//! survives the end of the process at any moment. A line that a crash tore is closed when the file is next
//! opened, and the chain goes on from the last whole one.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use curtsy_core::audit::{Entry, Event, Record};
use sha2::{Digest, Sha256};

use crate::clock::Clock;
use crate::error::Error;

/// The longest line that is read back when a log is opened.
const MAX_LINE: u64 = 1 << 20;

/// Where the events of a run are put on record. Cheap to clone; the clones share one file.
#[derive(Clone, Debug, Default)]
pub struct Audit(Option<Arc<Log>>);

#[derive(Debug)]
struct Log {
    path: PathBuf,
    pipeline_id: String,
    clock: Clock,
    tail: Mutex<Tail>,
}

#[derive(Debug)]
struct Tail {
    file: File,
    seq: u64,
    /// SHA-256 of the last line.
    hash: String,
    /// Whether a part of a line may stand at the end, since a write failed.
    torn: bool,
    /// What nobody has begun to write.
    open: Vec<Entry>,
    batch: Batch,
    /// The lines of the last write, kept for their room.
    lines: Vec<u8>,
}

/// Events that are written together: what came of it, once that is known.
type Batch = Arc<OnceLock<Result<(), Error>>>;

impl Audit {
    /// Nothing is recorded.
    #[must_use]
    pub fn off() -> Self {
        Self(None)
    }

    /// Appends to the log at `path`. The pipeline's chain is taken up where it ended.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn append(path: &Path, pipeline_id: &str, clock: Clock) -> Result<Self, Error> {
        let failed = |error| {
            Error::output(
                format!("the audit log {} cannot be written", path.display()),
                error,
            )
        };
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(failed)?;
        }
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .map_err(failed)?;
        let found = read_tail(&mut file, pipeline_id).map_err(failed)?;
        if found.torn > 0 {
            file.write_all(b"\n").map_err(failed)?;
        }
        let log = Log {
            path: path.to_owned(),
            pipeline_id: pipeline_id.to_owned(),
            clock,
            tail: Mutex::new(Tail {
                file,
                seq: found.seq,
                hash: found.hash,
                torn: false,
                open: Vec::new(),
                batch: Batch::default(),
                lines: Vec::new(),
            }),
        };
        if found.torn > 0 {
            let recovered = Event::LogRecovered {
                torn_bytes: found.torn,
            };
            log.write(&log.add([Entry::of_run(recovered)]))?;
        }
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

    /// The number and the hash of the last line, for the job's database: so that a cut tail shows.
    #[must_use]
    pub fn tail(&self) -> Option<(u64, String)> {
        let log = self.0.as_ref()?;
        let tail = log.tail();
        Some((tail.seq, tail.hash.clone()))
    }

    /// Whether anything is recorded: what nobody reads need not be built.
    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }
}

impl Log {
    fn add(&self, entries: impl IntoIterator<Item = Entry>) -> Batch {
        let mut tail = self.tail();
        tail.open.extend(entries);
        Arc::clone(&tail.batch)
    }

    /// Writes a batch, unless another of its callers has done so.
    fn write(&self, batch: &Batch) -> Result<(), Error> {
        let mut tail = self.tail();
        let written = batch.get_or_init(|| {
            tail.batch = Batch::default();
            self.append(&mut tail)
        });
        written.clone()
    }

    fn append(&self, tail: &mut Tail) -> Result<(), Error> {
        let at = self.clock.now();
        let (mut seq, mut hash) = (tail.seq, tail.hash.clone());
        let lines = &mut tail.lines;
        lines.clear();
        if tail.torn {
            lines.push(b'\n');
        }
        for entry in tail.open.drain(..) {
            seq += 1;
            let begin = lines.len();
            let record = entry.placed(at, &self.pipeline_id, seq, &hash);
            serde_json::to_writer(&mut *lines, &record)
                .map_err(|error| self.failed(error.into()))?;
            hash = hash_of(&lines[begin..]);
            lines.push(b'\n');
        }
        let written = tail.file.write_all(lines);
        tail.torn = written.is_err();
        written.map_err(|error| self.failed(error))?;
        (tail.seq, tail.hash) = (seq, hash);
        Ok(())
    }

    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, error: io::Error) -> Error {
        Error::output(
            format!("the audit log {} cannot be written", self.path.display()),
            error,
        )
    }
}

impl Drop for Log {
    /// What callers added that went away before it was written.
    fn drop(&mut self) {
        let batch = Arc::clone(&self.tail().batch);
        let _ = self.write(&batch);
    }
}

/// What an existing log ends with.
struct Found {
    seq: u64,
    hash: String,
    /// Bytes after the last newline.
    torn: u64,
}

fn read_tail(file: &mut File, pipeline_id: &str) -> io::Result<Found> {
    file.seek(SeekFrom::Start(0))?;
    let mut found = Found {
        seq: 0,
        hash: hash_of(b""),
        torn: 0,
    };
    let mut reader = BufReader::new(&*file);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = io::Read::take(&mut reader, MAX_LINE).read_until(b'\n', &mut line)?;
        if read == 0 {
            break;
        }
        if line.last() != Some(&b'\n') {
            found.torn = read as u64;
            continue;
        }
        found.torn = 0;
        line.pop();
        match serde_json::from_slice::<Record>(&line) {
            Ok(record) if record.pipeline_id == pipeline_id => {
                (found.seq, found.hash) = (record.seq, hash_of(&line));
            }
            _ => {}
        }
    }
    Ok(found)
}

fn hash_of(line: &[u8]) -> String {
    format!("{:x}", Sha256::digest(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        Entry::of_run(Event::BreakerClosed {})
    }

    fn records(path: &Path) -> Vec<(String, Option<Record>)> {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines()
            .map(|line| (line.to_owned(), serde_json::from_str(line).ok()))
            .collect()
    }

    #[tokio::test]
    async fn t1_lines_are_numbered_and_chained_over_restarts() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/audit.jsonl");
        for _ in 0..2 {
            let audit = Audit::append(&path, "p", Clock::system()).unwrap();
            let both = [entry(), entry()];
            let (first, second) = tokio::join!(audit.record(both), audit.record([entry()]));
            first.and(second).unwrap();
        }
        let mut prev = hash_of(b"");
        for (at, (line, record)) in records(&path).into_iter().enumerate() {
            let record = record.unwrap();
            assert_eq!((record.seq, &record.prev), (at as u64 + 1, &prev));
            prev = hash_of(line.as_bytes());
        }
    }

    #[tokio::test]
    async fn a_torn_line_is_closed_and_told_and_the_chain_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.jsonl");
        let audit = Audit::append(&path, "p", Clock::system()).unwrap();
        audit.record([entry()]).await.unwrap();
        let (_, hash) = audit.tail().unwrap();
        OpenOptions::new()
            .append(true)
            .open(&path)
            .unwrap()
            .write_all(b"{\"torn")
            .unwrap();
        Audit::append(&path, "p", Clock::system()).unwrap();
        let records = records(&path);
        assert_eq!(records.len(), 3);
        assert!(records[1].1.is_none());
        let recovered = records[2].1.clone().unwrap();
        assert_eq!(recovered.event, Event::LogRecovered { torn_bytes: 6 });
        assert_eq!((recovered.seq, recovered.prev), (2, hash));
    }
}
