//! Finding the end of the last whole record after a crash.
//!
//! Beside the job's files lies a mark: how much of the archive was on the disk when the last group was
//! synced. From there on the members are read one by one; a member that is torn, and all after it, is of a
//! response that was never recorded as done.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use flate2::bufread::GzDecoder;
use serde::{Deserialize, Serialize};

/// How much of an archive is durable.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Mark {
    /// The archive's canonical path.
    pub(super) file: PathBuf,
    /// In bytes.
    pub(super) length: u64,
}

impl Mark {
    /// The mark that was left, if there is one that can be read.
    pub(super) fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    /// Leaves it. It need not be durable itself: an older one costs time when the archive is next opened.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let fresh = path.with_extension("new");
        fs::write(&fresh, serde_json::to_vec(self)?)?;
        fs::rename(fresh, path)
    }
}

/// Where the last whole gzip member ends, `from` being the end of one.
pub(super) fn end_of_whole(file: &File, from: u64) -> io::Result<u64> {
    let mut reader = BufReader::with_capacity(256 * 1024, file);
    let mut end = reader.seek(SeekFrom::Start(from))?;
    loop {
        let mut member = GzDecoder::new(reader);
        match io::copy(&mut member, &mut io::sink()) {
            Ok(0) => return Ok(end),
            Ok(_) => {}
            Err(error) if is_torn(&error) => return Ok(end),
            Err(error) => return Err(error),
        }
        reader = member.into_inner();
        end = reader.stream_position()?;
    }
}

/// The beginning of a file.
pub(super) enum First {
    /// What its first member holds, up to the limit that was given.
    Member(Vec<u8>),
    /// The file ends within its first member.
    Torn,
    /// It begins otherwise.
    Other,
}

/// Reads up to `limit` bytes of the first member.
pub(super) fn first(file: &File, limit: u64) -> io::Result<First> {
    let mut reader = BufReader::new(file);
    reader.rewind()?;
    let mut content = Vec::new();
    match GzDecoder::new(reader).take(limit).read_to_end(&mut content) {
        Ok(_) => Ok(First::Member(content)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(First::Torn),
        Err(error) if is_torn(&error) => Ok(First::Other),
        Err(error) => Err(error),
    }
}

/// Whether the data is to blame, and not the disk.
fn is_torn(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData
    )
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn member(text: &str) -> Vec<u8> {
        let mut member = GzEncoder::new(Vec::new(), Compression::default());
        member.write_all(text.as_bytes()).unwrap();
        member.finish().unwrap()
    }

    #[test]
    fn the_end_is_that_of_the_last_whole_member_wherever_the_file_is_torn() {
        let members = [member("one"), member("two and more"), member("three")];
        let whole = members.concat();
        let ends: Vec<u64> = (0..=3)
            .map(|count| members[..count].iter().map(|m| m.len() as u64).sum())
            .collect();
        for torn in 0..=whole.len() {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&whole[..torn]).unwrap();
            let expected = ends.iter().filter(|end| **end <= torn as u64).max();
            assert_eq!(Some(&end_of_whole(&file, 0).unwrap()), expected, "{torn}");
            if torn as u64 >= ends[1] {
                let from = end_of_whole(&file, ends[1]).unwrap();
                assert_eq!(Some(&from), expected, "{torn} from a mark");
            }
        }
    }

    #[test]
    fn zeros_and_bad_data_at_the_end_are_no_member() {
        let good = member("one");
        let mut bad = member("two and more");
        bad[15] ^= 0x55;
        for rest in [vec![0; 100], bad, b"text".to_vec()] {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&good).unwrap();
            file.write_all(&rest).unwrap();
            assert_eq!(end_of_whole(&file, 0).unwrap(), good.len() as u64);
        }
    }
}
