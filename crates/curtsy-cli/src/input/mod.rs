//! The list of URLs: a file or standard input, read as it comes and never held as a whole.
//!
//! One URL a line, or a JSON object `{"url": …, "out": …, "headers": {…}}`; blank lines and `#` comments are
//! skipped. A line that is no http(s) URL is reported with its number, and reading goes on. Duplicates are
//! the queue's business: [`Listed::url`] is equal for what is the same URL.

mod line;
mod out;
mod reread;

use std::io::BufRead;
use std::path::Path;

use crate::failure::Failure;
use crate::lines::{Lines, Reader};

pub(crate) use line::Listed;
pub(crate) use reread::Reread;

/// The longest line in bytes.
const LONGEST_LINE: usize = 64 * 1024;

/// A list of URLs, an iterator over its lines that say something.
#[derive(Debug)]
pub(crate) struct Input<R> {
    lines: Lines<R>,
    ended: bool,
}

/// One line of a list.
#[derive(Debug)]
pub(crate) enum Line {
    /// A URL to fetch.
    Url(Listed),
    /// A line that is none: it is told, and the job goes on without it.
    Bad(BadLine),
}

/// A line that is no URL to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadLine {
    /// The list, as messages name it.
    pub(crate) name: String,
    /// The line, from 1.
    pub(crate) number: u64,
    /// What is wrong with it.
    pub(crate) why: String,
}

impl Input<Reader> {
    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// The file cannot be opened: exit 2.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        Ok(Self {
            lines: Lines::open(path, LONGEST_LINE)?,
            ended: false,
        })
    }
}

impl<R: BufRead> Input<R> {
    fn read(&mut self) -> Result<Option<Line>, Failure> {
        while let Some(line) = self.lines.next()? {
            let read = match line {
                Ok(comment) if comment.starts_with('#') => continue,
                line => line.and_then(Listed::read),
            };
            return Ok(Some(
                read.map_or_else(|why| Line::Bad(self.bad(why)), Line::Url),
            ));
        }
        Ok(None)
    }

    fn bad(&self, why: String) -> BadLine {
        BadLine {
            name: self.lines.name().to_owned(),
            number: self.lines.number(),
            why,
        }
    }
}

impl<R: BufRead> Iterator for Input<R> {
    type Item = Result<Line, Failure>;

    /// An error is one of reading, exit 2, and the last item.
    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.read();
        self.ended = !matches!(next, Ok(Some(_)));
        next.transpose()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, BufReader, Cursor, Read};

    use super::*;

    fn input<R: Read>(text: R) -> Input<BufReader<R>> {
        let lines = Lines::new("list".to_owned(), BufReader::new(text), LONGEST_LINE);
        Input {
            lines,
            ended: false,
        }
    }

    #[test]
    fn a_bad_line_is_told_with_its_number_and_the_list_goes_on() {
        let mut text = b"http://a.example/1\n\n# a comment\nnonsense\n\xff\xfe\n".to_vec();
        text.extend(b" {\"url\": \"http://a.example/2\"}\n  # another\nhttp://a.example/1");
        let lines: Vec<_> = input(Cursor::new(text))
            .map(|line| match line.unwrap() {
                Line::Url(listed) => listed.url.to_string(),
                Line::Bad(bad) => format!("{}:{}: {}", bad.name, bad.number, bad.why),
            })
            .collect();
        assert_eq!(
            lines,
            [
                "http://a.example/1",
                "list:4: is no URL; write it with http:// or https://",
                "list:5: is not UTF-8",
                "http://a.example/2",
                "http://a.example/1",
            ]
        );
    }

    #[test]
    fn a_list_that_cannot_be_read_on_is_an_error_and_the_end() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the disk is gone"))
            }
        }
        let mut input = input(Cursor::new("http://a.example/1\n").chain(Broken));
        assert!(matches!(input.next(), Some(Ok(Line::Url(_)))));
        assert_eq!(
            input.next().unwrap().unwrap_err().text(),
            "list: the disk is gone"
        );
        assert!(input.next().is_none());
    }

    #[test]
    fn a_list_of_many_lines_is_read_as_it_comes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("urls");
        let text: String = (0..20_000)
            .map(|n| format!("http://a.example/{n}\n"))
            .collect();
        std::fs::write(&path, text).unwrap();
        let input = Input::open(&path).unwrap();
        assert_eq!(
            input
                .filter(|line| matches!(line, Ok(Line::Url(_))))
                .count(),
            20_000
        );
        assert!(Input::open(&dir.path().join("none")).is_err());
    }
}
