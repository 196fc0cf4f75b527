//! Reading logs back: the files of each in their order, several logs together in the order of their times.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use curtsy_core::audit::Record;
use curtsy_core::audit::verify::Place;

use super::line::{MAX_LINE, hash_of, parse};
use super::segments;
use crate::error::{Error, ErrorKind};

/// Lines that are handed on at once: few enough that their memory is taken and given back without ado.
const CHUNK: usize = 64;
/// Room for so many bytes of a line is made beforehand.
const LINE: usize = 640;
/// Chunks that are ready before they are asked for.
const AHEAD: usize = 16;

/// Logs that are read together.
#[derive(Debug)]
pub struct Logs {
    files: Vec<PathBuf>,
    /// The files of each log, by their numbers.
    logs: Vec<Vec<u32>>,
}

/// A line of a log.
#[derive(Debug)]
pub enum LogLine {
    /// A record.
    Record {
        /// Where.
        at: Place,
        /// What.
        record: Box<Record>,
        /// SHA-256 of the line, in hex.
        hash: String,
    },
    /// No record.
    Unreadable {
        /// Where.
        at: Place,
        /// Its length without its end.
        bytes: u64,
        /// Whether its end is there.
        is_whole: bool,
    },
}

impl Logs {
    /// The logs at `paths`. Of a log that has filled files before, all of them are read.
    ///
    /// # Errors
    /// A file is not there. What it holds is found out when it is read.
    pub fn find(paths: &[PathBuf]) -> Result<Self, Error> {
        let mut found: BTreeMap<PathBuf, BTreeSet<(u32, PathBuf)>> = BTreeMap::new();
        for path in paths {
            let files = segments::of(path).map_err(|error| failed(path, error))?;
            if files.is_empty() {
                return Err(failed(path, io::ErrorKind::NotFound.into()));
            }
            for (log, number, file) in files {
                found.entry(log).or_default().insert((number, file));
            }
        }
        let mut logs = Self {
            files: Vec::new(),
            logs: Vec::new(),
        };
        for files in found.into_values() {
            let first = logs.files.len() as u32;
            logs.files.extend(files.into_iter().map(|(_, file)| file));
            logs.logs.push((first..logs.files.len() as u32).collect());
        }
        Ok(logs)
    }

    /// The file with this number.
    #[must_use]
    pub fn file(&self, number: u32) -> &Path {
        self.files
            .get(number as usize)
            .map_or(Path::new(""), PathBuf::as_path)
    }

    /// Every file.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Reads every line, those of several logs by the times at which they were written.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn read(&self, mut take: impl FnMut(LogLine)) -> Result<(), Error> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let parsers = (cores / self.logs.len().max(1)).clamp(1, 4);
        thread::scope(|scope| {
            let mut logs: Vec<Lines> = Vec::new();
            for log in &self.logs {
                let files = log.iter().map(|number| (*number, self.file(*number)));
                logs.push(Lines::start(scope, files.collect(), parsers));
            }
            if let [log] = logs.as_mut_slice() {
                while let Some(line) = log.next()? {
                    take(line);
                }
                return Ok(());
            }
            let mut heads = BinaryHeap::new();
            for (place, log) in logs.iter_mut().enumerate() {
                heads.extend(log.stamped()?.map(|line| Next::new(place, line)));
            }
            while let Some(Next { log, line, .. }) = heads.pop() {
                take(line.line);
                heads.extend(logs[log].stamped()?.map(|line| Next::new(log, line)));
            }
            Ok(())
        })
    }
}

/// The next line of a log; the greatest is the earliest.
struct Next {
    log: usize,
    line: Stamped,
}

struct Stamped {
    /// When it was written, and its number; of what is no record, those of the line before.
    written: (String, u64),
    line: LogLine,
}

impl Next {
    fn new(log: usize, line: Stamped) -> Self {
        Self { log, line }
    }

    fn key(&self) -> (&str, u64, usize) {
        let (timestamp, seq) = &self.line.written;
        (timestamp, *seq, self.log)
    }
}

impl Ord for Next {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.key().cmp(&self.key())
    }
}

impl PartialOrd for Next {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Next {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Next {}

/// The lines of one log: one thread reads, others parse in turn.
struct Lines {
    chunks: Vec<Receiver<Result<Vec<LogLine>, Error>>>,
    turn: usize,
    ready: std::vec::IntoIter<LogLine>,
    written: (String, u64),
}

/// Lines as they were read.
struct Raw {
    bytes: Vec<u8>,
    /// Where each is, where it ends in `bytes`, and whether its end was there.
    lines: Vec<(Place, usize, bool)>,
}

impl Lines {
    fn start<'scope, 'env: 'scope>(
        scope: &'scope thread::Scope<'scope, 'env>,
        files: Vec<(u32, &'env Path)>,
        parsers: usize,
    ) -> Self {
        let (mut to_parse, mut chunks) = (Vec::new(), Vec::new());
        for _ in 0..parsers {
            let (give, take) = sync_channel::<Result<Raw, Error>>(AHEAD);
            let (parsed, chunk) = sync_channel(AHEAD);
            to_parse.push(give);
            chunks.push(chunk);
            scope.spawn(move || {
                for raw in take {
                    if parsed.send(raw.map(Raw::parse)).is_err() {
                        return;
                    }
                }
            });
        }
        scope.spawn(move || {
            let mut turn = to_parse.iter().cycle();
            for (number, file) in files {
                let mut hand_on = |raw| hand_on(turn.next(), raw);
                match read_file(number, file, &mut hand_on) {
                    Ok(true) => {}
                    Ok(false) => return,
                    Err(error) => {
                        hand_on(Err(failed(file, error)));
                        return;
                    }
                }
            }
        });
        Self {
            chunks,
            turn: 0,
            ready: Vec::new().into_iter(),
            written: Default::default(),
        }
    }

    fn next(&mut self) -> Result<Option<LogLine>, Error> {
        loop {
            if let Some(line) = self.ready.next() {
                return Ok(Some(line));
            }
            let Ok(chunk) = self.chunks[self.turn].recv() else {
                return Ok(None);
            };
            self.turn = (self.turn + 1) % self.chunks.len();
            self.ready = chunk?.into_iter();
        }
    }

    fn stamped(&mut self) -> Result<Option<Stamped>, Error> {
        let Some(line) = self.next()? else {
            return Ok(None);
        };
        if let LogLine::Record { record, .. } = &line {
            self.written = (record.timestamp.clone(), record.seq);
        }
        let written = self.written.clone();
        Ok(Some(Stamped { written, line }))
    }
}

/// Whether anybody is there to take it.
fn hand_on(to: Option<&SyncSender<Result<Raw, Error>>>, raw: Result<Raw, Error>) -> bool {
    to.is_some_and(|to| to.send(raw).is_ok())
}

/// Reads a file to its end; whether anybody wanted all of it.
fn read_file(
    number: u32,
    file: &Path,
    hand_on: &mut dyn FnMut(Result<Raw, Error>) -> bool,
) -> io::Result<bool> {
    let mut reader = BufReader::with_capacity(1 << 18, segments::open(file)?);
    let mut raw = Raw::new();
    for line in 1.. {
        let read = reader
            .by_ref()
            .take(MAX_LINE as u64)
            .read_until(b'\n', &mut raw.bytes)?;
        if read == 0 {
            break;
        }
        let is_whole = raw.bytes.last() == Some(&b'\n');
        if is_whole {
            raw.bytes.pop();
        }
        let at = Place { file: number, line };
        raw.lines.push((at, raw.bytes.len(), is_whole));
        if raw.lines.len() == CHUNK && !hand_on(Ok(std::mem::replace(&mut raw, Raw::new()))) {
            return Ok(false);
        }
    }
    Ok(raw.lines.is_empty() || hand_on(Ok(raw)))
}

impl Raw {
    fn new() -> Self {
        Self {
            bytes: Vec::with_capacity(CHUNK * LINE),
            lines: Vec::with_capacity(CHUNK),
        }
    }

    fn parse(self) -> Vec<LogLine> {
        let mut begin = 0;
        let lines = self.lines.into_iter().map(|(at, end, is_whole)| {
            let line = &self.bytes[begin..end];
            begin = end;
            match parse(line) {
                Ok(record) if is_whole => LogLine::Record {
                    at,
                    record: Box::new(record),
                    hash: hash_of(line),
                },
                _ => LogLine::Unreadable {
                    at,
                    bytes: line.len() as u64,
                    is_whole,
                },
            }
        });
        lines.collect()
    }
}

fn failed(path: &Path, error: io::Error) -> Error {
    Error::new(
        ErrorKind::Configuration,
        format!("the audit log {} cannot be read", path.display()),
    )
    .caused_by(error)
}
