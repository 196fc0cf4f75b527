//! A list that is read more than once.

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::{Input, LONGEST_LINE};
use crate::failure::{Exit, Failure};
use crate::lines::{self, Lines, Reader};

/// A list that can be read from its beginning again: what comes only once, as standard input does, is
/// kept in a temporary file.
#[derive(Debug)]
pub(crate) struct Reread {
    name: String,
    path: PathBuf,
    /// Removed in the end.
    _copy: Option<NamedTempFile>,
}

impl Reread {
    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// It cannot be read: exit 2; no temporary file can be written: exit 5.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let name = lines::name(path);
        let mut source = lines::open(path)?;
        if fs::metadata(path).is_ok_and(|found| found.is_file()) {
            return Ok(Self {
                name,
                path: path.to_owned(),
                _copy: None,
            });
        }
        let failed = |error| Failure::new(Exit::Output, "a temporary file", error);
        let mut copy = NamedTempFile::new().map_err(failed)?;
        io::copy(&mut source, &mut copy).map_err(|error| Failure::usage(&name, error))?;
        Ok(Self {
            name,
            path: copy.path().to_owned(),
            _copy: Some(copy),
        })
    }

    /// The list, from its beginning.
    ///
    /// # Errors
    /// It cannot be read any more: exit 2.
    pub(crate) fn input(&self) -> Result<Input<Reader>, Failure> {
        let file = File::open(&self.path).map_err(|error| Failure::usage(&self.name, error))?;
        let reader: Reader = Box::new(BufReader::with_capacity(64 * 1024, file));
        Ok(Input {
            lines: Lines::new(self.name.clone(), reader, LONGEST_LINE),
            ended: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_the_same_each_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("urls");
        fs::write(&path, "http://a.example/1\nnonsense\n").unwrap();
        let list = Reread::open(&path).unwrap();
        for _ in 0..2 {
            assert_eq!(list.input().unwrap().count(), 2);
        }
        assert!(Reread::open(&dir.path().join("none")).is_err());
    }
}
