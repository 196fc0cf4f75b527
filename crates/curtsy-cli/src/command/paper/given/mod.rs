//! Identifiers as they are given: on the command line, or in files of them.
//!
//! A file has one a line, unless its name says that it is a table or what reference managers export.

mod library;
mod table;

use std::collections::VecDeque;
use std::path::Path;

use curtsy_papers::{Identifier, NotAnId};

use crate::failure::{Failure, one_line};
use crate::lines::{Lines, Reader};
use table::Table;

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
    file: Option<Source>,
}

/// A file of identifiers while it is read.
enum Source {
    /// One a line.
    Lines(Lines<Reader>),
    /// A table with a head.
    Table(Table),
    /// Entries of a library.
    Entries(VecDeque<Given>),
}

impl<'a> AllGiven<'a> {
    /// What these words name: an identifier each, or a file of them.
    pub(super) fn of(words: &'a [String]) -> Self {
        Self {
            words: words.iter(),
            place: 0,
            file: None,
        }
    }

    /// Refuses a word that is neither an identifier nor a file: a name that was misspelt, where files are expected.
    ///
    /// # Errors
    /// There is one: exit 2.
    pub(super) fn refuse_strangers(words: &[String]) -> Result<(), Failure> {
        let is_stranger = |word: &&String| word.parse::<Identifier>().is_err() && !is_file(word);
        match words.iter().find(is_stranger) {
            None => Ok(()),
            Some(word) => Err(Failure::usage(
                one_line(word),
                "there is no such file, and it is no identifier",
            )),
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
            if let Some(file) = &mut self.file {
                if let Some(given) = file.next()? {
                    return Ok(Some(given));
                }
                self.file = None;
            }
            let Some(word) = self.words.next() else {
                return Ok(None);
            };
            self.place += 1;
            if is_file(word) {
                self.file = Some(Source::open(Path::new(word))?);
            } else {
                return Ok(Some(read(Ok(word.clone()), self.place)));
            }
        }
    }
}

impl Source {
    fn open(path: &Path) -> Result<Self, Failure> {
        let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
        Ok(match ending.to_string_lossy().as_ref() {
            "csv" => Self::Table(Table::open(path, b',')?),
            "tsv" => Self::Table(Table::open(path, b'\t')?),
            "bib" => Self::Entries(library::bibtex(path)?),
            "ris" => Self::Entries(library::ris(path)?),
            "json" => Self::Entries(library::csl_json(path)?),
            _ => Self::Lines(Lines::open(path, LONGEST_LINE)?),
        })
    }

    fn next(&mut self) -> Result<Option<Given>, Failure> {
        match self {
            Self::Lines(lines) => {
                while let Some(line) = lines.next()? {
                    let line = line.map(str::to_owned);
                    if line.as_ref().is_ok_and(|line| line.starts_with('#')) {
                        continue;
                    }
                    return Ok(Some(read(line, lines.number())));
                }
                Ok(None)
            }
            Self::Table(table) => table.next(),
            Self::Entries(entries) => Ok(entries.pop_front()),
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

    fn given(name: &str, text: &str) -> Vec<(u64, String, String)> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(name);
        std::fs::write(&file, text).unwrap();
        let words = [file.display().to_string()];
        let all = AllGiven::of(&words).next(99).unwrap().into_iter();
        let id = |id: Result<Identifier, String>| id.map_or("-".to_owned(), |id| id.value());
        all.map(|given| (given.line, given.text, id(given.id)))
            .collect()
    }

    fn expect(found: &[(u64, String, String)], expected: &[(u64, &str, &str)]) {
        let found: Vec<_> = found
            .iter()
            .map(|(line, text, id)| (*line, text.as_str(), id.as_str()))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_table_gives_the_best_identifier_of_each_row() {
        let csv = "title,PMID,DOI,pmcid\n\"One, two\nthree\",1,10.5555/A,\nFour,2,,\nFive,,,7\nSix,,x,\nSeven\n";
        expect(
            &given("list.CSV", csv),
            &[
                (2, "10.5555/A", "10.5555/a"),
                (4, "2", "2"),
                (5, "PMC7", "PMC7"),
                (6, "x", "-"),
                (7, "Seven", "-"),
            ],
        );
        expect(
            &given("l.tsv", "id\tyear\narXiv:2401.99999\t2024\n"),
            &[(2, "arXiv:2401.99999", "2401.99999")],
        );
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("x.csv");
        std::fs::write(&file, "a,b\n1,2\n").unwrap();
        let words = [file.display().to_string()];
        let failure = AllGiven::of(&words).next(1).unwrap_err();
        assert!(
            failure
                .text()
                .contains("no column of it is called any of doi"),
            "{}",
            failure.text()
        );
    }

    #[test]
    fn what_reference_managers_export_gives_an_identifier_an_entry() {
        let bib = "@comment{doi = {10.5555/no}}\n@article{a, title = {On {DOI}s}, doi = {10.5555/A}, year = 2024}\n\
             @misc{b,\n  eprint = \"2401.99999\",\n  mydoi = {x}\n}\n@book{c,\n title={Herons}}\n@article{d, pmid = 39900042}";
        expect(
            &given("l.bib", bib),
            &[
                (2, "10.5555/A", "10.5555/a"),
                (3, "2401.99999", "2401.99999"),
                (7, "c", "-"),
                (9, "39900042", "39900042"),
            ],
        );
        let ris = "TY  - JOUR\r\nTI  - One\r\nDO  - 10.5555/A\r\nER  - \r\nTY  - BOOK\nTI  - Herons\nER  - \n\
             TY  - JOUR\nUR  - https://doi.org/10.5555/b";
        expect(
            &given("l.ris", ris),
            &[
                (1, "10.5555/A", "10.5555/a"),
                (5, "Herons", "-"),
                (8, "https://doi.org/10.5555/b", "10.5555/b"),
            ],
        );
        let json = r#"[{"DOI": "10.5555/A"}, {"title": "Herons"}, {"PMID": 39900042}]"#;
        expect(
            &given("l.json", json),
            &[
                (1, "10.5555/A", "10.5555/a"),
                (2, "Herons", "-"),
                (3, "39900042", "39900042"),
            ],
        );
    }
}
