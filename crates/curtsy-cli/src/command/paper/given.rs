//! Identifiers as they are given: on the command line, or in files of them.

use std::path::Path;

use curtsy_papers::{Identifier, NotAnId};

use crate::failure::Failure;
use crate::lines::{Lines, Reader};

/// The longest line in bytes; identifiers are much shorter.
const LONGEST_LINE: usize = 64 * 1024;

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Given {
    /// As it was written.
    pub(super) text: String,
    /// Where: the number of its line, or of its place on the command line.
    pub(super) line: u64,
    /// What it is read as.
    pub(super) id: Result<Identifier, String>,
}

/// All of them, read as they are asked for.
pub(super) struct AllGiven<'a> {
    words: std::slice::Iter<'a, String>,
    place: u64,
    lines: Option<Lines<Reader>>,
}

impl<'a> AllGiven<'a> {
    /// What these words name: an identifier each, or a file of them.
    pub(super) fn of(words: &'a [String]) -> Self {
        Self {
            words: words.iter(),
            place: 0,
            lines: None,
        }
    }

    /// The next ones, at most `most`; none at the end.
    ///
    /// # Errors
    /// A file cannot be read: exit 2.
    pub(super) fn next(&mut self, most: usize) -> Result<Vec<Given>, Failure> {
        let mut some = Vec::new();
        while some.len() < most {
            match self.next_one()? {
                Some(given) => some.push(given),
                None => break,
            }
        }
        Ok(some)
    }

    fn next_one(&mut self) -> Result<Option<Given>, Failure> {
        loop {
            if let Some(lines) = &mut self.lines {
                while let Some(line) = lines.next()? {
                    let line = line.map(str::to_owned);
                    if line.as_ref().is_ok_and(|line| line.starts_with('#')) {
                        continue;
                    }
                    return Ok(Some(read(line, lines.number())));
                }
                self.lines = None;
            }
            let Some(word) = self.words.next() else {
                return Ok(None);
            };
            self.place += 1;
            if is_file(word) {
                self.lines = Some(Lines::open(Path::new(word), LONGEST_LINE)?);
            } else {
                return Ok(Some(read(Ok(word.clone()), self.place)));
            }
        }
    }
}

/// An identifier is never taken for a file.
fn is_file(word: &str) -> bool {
    word == "-" || (word.parse::<Identifier>().is_err() && Path::new(word).exists())
}

/// A line may have a comment behind the identifier, as `39900042 # herons`; in a DOI a `#` has no blank before it.
fn read(line: Result<String, String>, number: u64) -> Given {
    match line {
        Ok(text) => {
            let end = text.find(" #").or_else(|| text.find("\t#"));
            let id = text[..end.unwrap_or(text.len())].parse();
            Given {
                line: number,
                id: id.map_err(|why: NotAnId| why.to_string()),
                text,
            }
        }
        Err(why) => Given {
            text: String::new(),
            line: number,
            id: Err(why),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_files_are_read_in_their_order() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("ids.txt");
        std::fs::write(
            &file,
            "# herons\n\n39900042 # a comment\n10.5555/a#b\nhello\n",
        )
        .unwrap();
        let words = [
            "10.5555/first".to_owned(),
            file.display().to_string(),
            "nothing.txt".to_owned(),
        ];
        let mut all = AllGiven::of(&words);
        let read: Vec<_> = all
            .next(2)
            .unwrap()
            .into_iter()
            .chain(all.next(9).unwrap())
            .collect();
        let read: Vec<_> = read
            .iter()
            .map(|given| {
                (
                    given.line,
                    given
                        .id
                        .as_ref()
                        .map_or("none".to_owned(), Identifier::value),
                )
            })
            .collect();
        let expected = [
            (1, "10.5555/first"),
            (3, "39900042"),
            (4, "10.5555/a#b"),
            (5, "none"),
            (3, "none"),
        ];
        assert_eq!(read, expected.map(|(line, id)| (line, id.to_owned())));
        assert!(all.next(1).unwrap().is_empty());
    }
}
