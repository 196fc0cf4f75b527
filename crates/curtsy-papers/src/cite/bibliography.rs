//! Many citations in one file.

use std::fmt;
use std::str::FromStr;

use super::item::Item;
use super::key::Keys;
use super::{bibtex, ris, text};

/// A form of citations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// BibTeX and biblatex.
    Bibtex,
    /// RIS.
    Ris,
    /// CSL-JSON: one array of items.
    CslJson,
    /// To read.
    Text,
}

/// Renders works one after the other, so that a file of any number of them needs no memory. No two have the same key.
#[derive(Clone, Debug)]
pub struct Bibliography {
    format: Format,
    keys: Keys,
    is_first: bool,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Bibtex, Self::Ris, Self::CslJson, Self::Text];

    /// Its name.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Bibtex => "bibtex",
            Self::Ris => "ris",
            Self::CslJson => "csl-json",
            Self::Text => "text",
        }
    }

    /// What files of it end in.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Bibtex => "bib",
            Self::Ris => "ris",
            Self::CslJson => "csl.json",
            Self::Text => "txt",
        }
    }
}

impl Bibliography {
    /// An empty one.
    #[must_use]
    pub fn new(format: Format) -> Self {
        Self {
            format,
            keys: Keys::default(),
            is_first: true,
        }
    }

    /// One work alone, as a whole file.
    #[must_use]
    pub fn of_one(format: Format, item: &Item) -> String {
        let mut one = Self::new(format);
        let entry = one.entry(item);
        entry + &one.end()
    }

    /// What is to be written of the next work.
    #[must_use]
    pub fn entry(&mut self, item: &Item) -> String {
        let is_first = std::mem::replace(&mut self.is_first, false);
        let between = if is_first { "" } else { "\n" };
        match self.format {
            Format::Bibtex => between.to_owned() + &bibtex::render(item, &self.keys.key(item)),
            Format::Ris => between.to_owned() + &ris::render(item),
            Format::Text => text::render(item),
            Format::CslJson => {
                let before = if is_first { "[\n" } else { ",\n" };
                format!("{before}{}", item.csl_json(&self.keys.key(item)))
            }
        }
    }

    /// What is to be written at the end.
    #[must_use]
    pub fn end(&self) -> String {
        match (self.format, self.is_first) {
            (Format::CslJson, true) => "[]\n".to_owned(),
            (Format::CslJson, false) => "\n]\n".to_owned(),
            _ => String::new(),
        }
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        let named = Self::ALL.into_iter().find(|format| format.label() == text);
        named.ok_or(UnknownFormat)
    }
}

/// No form of citations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is none of bibtex, ris, csl-json, text")]
pub struct UnknownFormat;

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::cite::read;

    #[test]
    fn csl_json_is_an_array_of_any_number_with_keys_of_their_own() {
        let item = read::csl_json(include_bytes!("../../testdata/doi_csl.json")).unwrap();
        for count in 0..3 {
            let mut all = Bibliography::new(Format::CslJson);
            let mut text: String = (0..count).map(|_| all.entry(&item)).collect();
            text.push_str(&all.end());
            let array: Vec<Value> = serde_json::from_str(&text).unwrap();
            assert_eq!(array.len(), count);
            if let [first, second] = &array[..] {
                assert_eq!(
                    (&first["id"], &second["id"]),
                    (&"roe2024waiting".into(), &"roe2024waitinga".into())
                );
                assert_eq!(first["author"][1]["literal"], "Marsh Heron Group");
            }
        }
    }

    #[test]
    fn what_was_rendered_reads_as_the_same_work() {
        let item = read::csl_json(include_bytes!("../../testdata/doi_csl.json")).unwrap();
        let text = Bibliography::of_one(Format::CslJson, &item);
        let array: Vec<Value> = serde_json::from_str(&text).unwrap();
        let again = read::csl_json(array[0].to_string().as_bytes()).unwrap();
        assert_eq!(
            (again.title, again.authors, again.issued),
            (item.title, item.authors, item.issued)
        );
    }
}
