//! The log as it is written.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use curtsy_core::Policy;
use curtsy_core::audit::{Entry, Event};

use super::line::{self, hash_of};
use super::tail::KeptTail;
use super::{segments, tail};
use crate::clock::Clock;
use crate::error::Error;

/// What several callers write to.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    pipeline_id: String,
    clock: Clock,
    /// How large the file becomes before another is begun.
    rotate_at: u64,
    /// The last line of the pipeline when it was opened.
    found: u64,
    tail: Mutex<Tail>,
}

#[derive(Debug)]
struct Tail {
    file: File,
    /// Bytes of whole lines in the file.
    length: u64,
    seq: u64,
    /// SHA-256 of the last line.
    hash: String,
    /// What nobody has begun to write.
    open: Vec<Entry>,
    batch: Batch,
    /// The policies that were told; the place of each is its number.
    policies: Vec<Arc<Policy>>,
    /// The lines of the last write, kept for their room.
    lines: Vec<u8>,
}

/// Events that are written together: what came of it, once that is known.
pub(super) type Batch = Arc<OnceLock<Result<(), Error>>>;

impl Log {
    pub(super) fn open(
        path: &Path,
        pipeline_id: &str,
        clock: Clock,
        rotate_at: u64,
    ) -> Result<Self, Error> {
        let failed = |error| failed(path, error);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(failed)?;
        }
        let mut file = open_file(path).map_err(failed)?;
        let found = tail::find(path, &file, pipeline_id).map_err(failed)?;
        if found.torn > 0 {
            file.write_all(b"\n").map_err(failed)?;
        }
        compress_beside(path);
        let log = Self {
            path: path.to_owned(),
            pipeline_id: pipeline_id.to_owned(),
            clock,
            rotate_at,
            found: found.seq,
            tail: Mutex::new(Tail {
                file,
                length: found.length + u64::from(found.torn > 0),
                seq: found.seq,
                hash: found.hash,
                open: Vec::new(),
                batch: Batch::default(),
                policies: Vec::new(),
                lines: Vec::new(),
            }),
        };
        let recovered = (found.torn > 0).then_some(Event::LogRecovered {
            torn_bytes: found.torn,
        });
        let opened = recovered.into_iter().chain([Event::LogOpened {}]);
        log.write(&log.add(opened.map(Entry::of_run)))?;
        Ok(log)
    }

    pub(super) fn add(&self, entries: impl IntoIterator<Item = Entry>) -> Batch {
        let mut tail = self.lock();
        for entry in entries {
            tail.add(entry);
        }
        Arc::clone(&tail.batch)
    }

    /// Writes a batch, unless another of its callers has done so.
    pub(super) fn write(&self, batch: &Batch) -> Result<(), Error> {
        let mut tail = self.lock();
        let written = batch.get_or_init(|| {
            tail.batch = Batch::default();
            self.append(&mut tail)
                .map_err(|error| failed(&self.path, error))
        });
        written.clone()
    }

    /// The last line.
    pub(super) fn tail(&self) -> KeptTail {
        let tail = self.lock();
        KeptTail {
            pipeline_id: self.pipeline_id.clone(),
            seq: tail.seq,
            hash: tail.hash.clone(),
        }
    }

    /// The number of the last line when it was opened.
    pub(super) fn found(&self) -> u64 {
        self.found
    }

    pub(super) fn pipeline_id(&self) -> &str {
        &self.pipeline_id
    }

    fn append(&self, tail: &mut Tail) -> io::Result<()> {
        if tail.length >= self.rotate_at {
            self.rotate(tail)?;
        }
        let at = self.clock.now().to_rfc3339();
        let (mut seq, mut hash) = (tail.seq, tail.hash.clone());
        let lines = &mut tail.lines;
        lines.clear();
        for entry in tail.open.drain(..) {
            seq += 1;
            let begin = lines.len();
            let record = entry.placed(&at, &self.pipeline_id, seq, hash);
            line::write(&record, lines)?;
            hash = hash_of(&lines[begin..]);
            lines.push(b'\n');
        }
        if let Err(error) = tail.file.write_all(lines) {
            // What came of it is not known: none of these lines is in the chain.
            tail.file.set_len(tail.length)?;
            return Err(error);
        }
        tail.length += lines.len() as u64;
        (tail.seq, tail.hash) = (seq, hash);
        Ok(())
    }

    /// Goes on in a new file.
    fn rotate(&self, tail: &mut Tail) -> io::Result<()> {
        segments::set_aside(&self.path)?;
        tail.file = open_file(&self.path)?;
        tail.length = 0;
        compress_beside(&self.path);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tail {
    /// Adds an entry; one that cites a policy after that policy, where it is new.
    fn add(&mut self, mut entry: Entry) {
        if let Some(policy) = entry.policy() {
            let is_same = |known: &Arc<Policy>| Arc::ptr_eq(known, policy) || known == policy;
            let place = self.policies.iter().position(is_same);
            let place = place.unwrap_or_else(|| {
                let number = self.policies.len() as u64 + 1;
                self.policies.push(Arc::clone(policy));
                self.open.push(Entry::of_run(Event::Policy {
                    policy: number,
                    values: Box::new(policy.values()),
                }));
                self.policies.len() - 1
            });
            entry = entry.citing(place as u64 + 1);
        }
        self.open.push(entry);
    }
}

impl Drop for Log {
    /// What callers added that went away before it was written.
    fn drop(&mut self) {
        let batch = Arc::clone(&self.lock().batch);
        let _ = self.write(&batch);
    }
}

fn open_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .open(path)
}

/// Compresses what is set aside in a thread of its own. What it does not come to is left for the next time.
fn compress_beside(path: &Path) {
    let path = path.to_owned();
    std::thread::spawn(move || {
        // The log is whole either way.
        let _ = segments::compress(&path);
    });
}

fn failed(path: &Path, error: io::Error) -> Error {
    Error::output(
        format!("the audit log {} cannot be written", path.display()),
        error,
    )
}

#[cfg(test)]
mod tests {
    use curtsy_core::audit::Record;

    use super::super::Audit;
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
        let hash = audit.tail().unwrap().hash;
        OpenOptions::new()
            .append(true)
            .open(&path)
            .unwrap()
            .write_all(b"{\"torn")
            .unwrap();
        Audit::append(&path, "p", Clock::system()).unwrap();
        let records = records(&path);
        assert!(records[2].1.is_none());
        let recovered = records[3].1.clone().unwrap();
        assert_eq!(recovered.event, Event::LogRecovered { torn_bytes: 6 });
        assert_eq!((recovered.seq, &recovered.prev), (3, &hash));
    }

    /// Every line of a log, over all its files.
    fn lines(path: &Path) -> Vec<String> {
        let mut text = String::new();
        for file in segments::segments(path).unwrap() {
            let mut file = segments::open(&file).unwrap();
            io::Read::read_to_string(&mut file, &mut text).unwrap();
        }
        text.lines().map(str::to_owned).collect()
    }

    /// Writes so many lines, and goes away.
    async fn run(path: &Path, number: usize) {
        let audit = Audit::append_rotating(path, "p", Clock::system(), 2_000).unwrap();
        for _ in 0..number {
            audit.record([entry()]).await.unwrap();
        }
    }

    /// That all lines are there, once and in order.
    fn assert_whole(path: &Path, what: &str) {
        let mut prev = hash_of(b"");
        for (at, line) in lines(path).iter().enumerate() {
            let record: Record = serde_json::from_str(line).unwrap();
            assert_eq!((record.seq, &record.prev), (at as u64 + 1, &prev), "{what}");
            prev = hash_of(line.as_bytes());
        }
    }

    #[tokio::test]
    async fn a_log_goes_on_in_another_file_and_no_crash_in_between_loses_a_line() {
        /// What a crash leaves behind, made of a log that is about to go on in another file.
        type Crash = (&'static str, fn(&Path));
        let crashes: [Crash; 5] = [
            ("nothing happened", |_| {}),
            ("renamed", |path| drop(segments::set_aside(path).unwrap())),
            ("a new file begun", |path| {
                segments::set_aside(path).unwrap();
                std::fs::write(path, "").unwrap();
            }),
            ("half compressed", |path| {
                let aside = segments::set_aside(path).unwrap();
                std::fs::write(format!("{}.gz.tmp", aside.display()), b"\x1f\x8b").unwrap();
            }),
            ("compressed, and the plain one not removed", |path| {
                let aside = segments::set_aside(path).unwrap();
                let text = std::fs::read(&aside).unwrap();
                segments::compress(path).unwrap();
                std::fs::write(aside, text).unwrap();
            }),
        ];
        for (what, crash) in crashes {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("audit.jsonl");
            run(&path, 20).await;
            segments::compress(&path).unwrap();
            let before = lines(&path);
            crash(&path);
            assert_eq!(lines(&path), before, "{what}");
            run(&path, 20).await;
            assert_eq!(lines(&path)[..before.len()], before, "{what}");
            assert_eq!(lines(&path).len(), before.len() + 21, "{what}");
            assert_whole(&path, what);
            // In the end there is nothing but what counts.
            segments::compress(&path).unwrap();
            let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().collect();
            assert_eq!(
                left.len(),
                segments::segments(&path).unwrap().len(),
                "{what}"
            );
            assert_whole(&path, what);
        }
    }

    #[tokio::test]
    async fn two_runs_in_one_file_have_a_chain_each() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.jsonl");
        for pipeline in ["p", "q", "p", "q"] {
            let audit = Audit::append_rotating(&path, pipeline, Clock::system(), 1_000).unwrap();
            for _ in 0..5 {
                audit.record([entry()]).await.unwrap();
            }
        }
        for pipeline in ["p", "q"] {
            let of = |line: &String| serde_json::from_str::<Record>(line).unwrap();
            let records = lines(&path).iter().map(of).collect::<Vec<_>>();
            let seqs: Vec<u64> = records
                .iter()
                .filter(|record| record.pipeline_id == pipeline)
                .map(|record| record.seq)
                .collect();
            assert_eq!(seqs, (1..=12).collect::<Vec<_>>(), "{pipeline}");
        }
    }
}
