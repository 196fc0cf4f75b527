//! What an existing log ends with.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use super::line::{MAX_LINE, hash_of, parse};
use super::segments;

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
        if contains(&line, names.as_bytes()) && is_of(&line, pipeline_id) {
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

fn contains(line: &[u8], text: &[u8]) -> bool {
    line.windows(text.len()).any(|part| part == text)
}

fn is_of(line: &[u8], pipeline_id: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Named {
        pipeline_id: String,
    }

    serde_json::from_slice::<Named>(line).is_ok_and(|named| named.pipeline_id == pipeline_id)
}
