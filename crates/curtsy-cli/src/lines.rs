//! Lines of a file or of standard input, read as they come and never longer than a bound.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use crate::failure::Failure;

/// The lines of a text.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: R,
    /// How messages name the text.
    name: String,
    /// The longest line in bytes. Of a longer one nothing is told but its length.
    longest: usize,
    number: u64,
    line: Vec<u8>,
}

/// What stands behind a file name or `-`.
pub(crate) type Reader = Box<dyn BufRead + Send>;

impl Lines<Reader> {
    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// As [`open`].
    pub(crate) fn open(path: &Path, longest: usize) -> Result<Self, Failure> {
        Ok(Self::new(name(path), open(path)?, longest))
    }
}

/// Opens a file; `-` is standard input.
///
/// # Errors
/// The file cannot be opened: exit 2.
pub(crate) fn open(path: &Path) -> Result<Reader, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    let file = File::open(path).map_err(|error| Failure::usage(path.display(), error))?;
    Ok(Box::new(BufReader::with_capacity(64 * 1024, file)))
}

/// How messages name a file.
pub(crate) fn name(path: &Path) -> String {
    if path == Path::new("-") {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    }
}

impl<R: BufRead> Lines<R> {
    /// The lines of what `reader` gives.
    pub(crate) fn new(name: String, reader: R, longest: usize) -> Self {
        Self {
            reader,
            name,
            longest,
            number: 0,
            line: Vec::new(),
        }
    }

    /// The next line that is not blank, without white space around it; why it is none to work with, where it
    /// is too long or no UTF-8; `None` at the end.
    ///
    /// # Errors
    /// The text cannot be read: exit 2.
    pub(crate) fn next(&mut self) -> Result<Option<Result<&str, String>>, Failure> {
        let size = loop {
            let read = self
                .read()
                .map_err(|error| Failure::usage(&self.name, error))?;
            let Some(size) = read else {
                return Ok(None);
            };
            self.number += 1;
            if self.number == 1 && self.line.starts_with(b"\xef\xbb\xbf") {
                self.line.drain(..3);
            }
            if !self.line.trim_ascii().is_empty() {
                break size;
            }
        };
        if size > self.longest {
            let longest = self.longest;
            return Ok(Some(Err(format!(
                "is {size} bytes long; at most {longest} are read"
            ))));
        }
        let text = std::str::from_utf8(&self.line).map_err(|_| "is not UTF-8".to_owned());
        Ok(Some(text.map(str::trim)))
    }

    /// The number of the line that was last read, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// How messages name the text.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Reads a line without its end, of which no more than the bound is kept. Returns how long it is.
    fn read(&mut self) -> io::Result<Option<usize>> {
        self.line.clear();
        let mut size = 0;
        let mut any = false;
        loop {
            let available = match self.reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                available => available?,
            };
            if available.is_empty() {
                return Ok(any.then_some(size));
            }
            any = true;
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            let room = self.longest.saturating_sub(self.line.len());
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            size += part.len();
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                return Ok(Some(size));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn read(text: &[u8], longest: usize) -> Vec<(u64, Result<String, String>)> {
        let mut lines = Lines::new("text".to_owned(), Cursor::new(text), longest);
        let mut read = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            let line = line.map(str::to_owned);
            read.push((lines.number(), line));
        }
        read
    }

    #[test]
    fn blank_lines_are_skipped_and_line_ends_are_any() {
        let text = "\u{feff}a\r\n\n  \n\tb  \nc".as_bytes();
        let line = |text: &str| Ok(text.to_owned());
        assert_eq!(
            read(text, 10),
            [(1, line("a")), (4, line("b")), (5, line("c"))]
        );
        assert!(read(b"", 10).is_empty());
    }

    #[test]
    fn what_is_no_text_or_too_long_is_told_and_the_next_line_is_read() {
        let read = read(b"\xff\n12345\n123456\nx", 5);
        assert_eq!(
            read,
            [
                (1, Err("is not UTF-8".to_owned())),
                (2, Ok("12345".to_owned())),
                (3, Err("is 6 bytes long; at most 5 are read".to_owned())),
                (4, Ok("x".to_owned())),
            ]
        );
    }

    #[test]
    fn a_line_without_end_takes_no_memory() {
        struct Endless(u64);
        impl io::Read for Endless {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let size = buffer.len().min(usize::try_from(self.0).unwrap());
                self.0 -= size as u64;
                buffer[..size].fill(b'x');
                Ok(size)
            }
        }
        let size = 50 << 20;
        let mut lines = Lines::new("text".to_owned(), BufReader::new(Endless(size)), 1000);
        let told = lines.next().unwrap().unwrap().unwrap_err();
        assert_eq!(told, format!("is {size} bytes long; at most 1000 are read"));
        assert!(lines.line.capacity() < 10_000, "{}", lines.line.capacity());
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        struct Broken;
        impl io::Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the disk is gone"))
            }
        }
        let mut lines = Lines::new("text".to_owned(), BufReader::new(Broken), 1000);
        assert_eq!(lines.next().unwrap_err().text(), "text: the disk is gone");
    }

    #[test]
    fn a_file_that_is_missing_or_a_folder_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Lines::open(&dir.path().join("none"), 10).is_err());
        let opened = Lines::open(dir.path(), 10);
        assert!(opened.is_err() || opened.unwrap().next().is_err());
    }
}
