//! What a paper is called: [`Identifier`], in every spelling that people paste.
//!
//! Read are the bare identifier, its prefixed form (`doi:`, `PMID:`, `arXiv:`), the URLs of the registries,
//! and a DOI inside the URL of a publisher. What a spelling needed beyond that is told as a [`Mended`].
//! Not read: titles, citations, ISBNs, and identifiers inside running text.

mod arxiv;
mod doi;
mod pubmed;
mod read;
mod spelling;

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

pub use arxiv::ArxivId;
pub(crate) use doi::fit;
pub use doi::{Doi, ShortDoi, decode_doi, encode_doi};
pub use pubmed::{Pmcid, Pmid};
pub use read::{Mended, ReadId};

/// What one paper is called in one registry.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Identifier {
    /// Of the DOI system.
    Doi(Doi),
    /// Short for a DOI, which only the registry knows.
    ShortDoi(ShortDoi),
    /// Of PubMed.
    Pmid(Pmid),
    /// Of PubMed Central.
    Pmcid(Pmcid),
    /// Of arXiv.
    Arxiv(ArxivId),
}

impl Identifier {
    /// Reads one spelling and says what had to be mended.
    ///
    /// # Errors
    /// There is no identifier in it, or an incomplete one.
    pub fn read(text: &str) -> Result<ReadId, NotAnId> {
        read::read(text)
    }

    /// Which registry it is of: `doi`, `shortdoi`, `pmid`, `pmcid`, `arxiv`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Doi(_) => "doi",
            Self::ShortDoi(_) => "shortdoi",
            Self::Pmid(_) => "pmid",
            Self::Pmcid(_) => "pmcid",
            Self::Arxiv(_) => "arxiv",
        }
    }

    /// The identifier without its kind, in its normal spelling.
    #[must_use]
    pub fn value(&self) -> String {
        match self {
            Self::Doi(doi) => doi.to_string(),
            Self::ShortDoi(doi) => doi.to_string(),
            Self::Pmid(pmid) => pmid.to_string(),
            Self::Pmcid(pmcid) => pmcid.to_string(),
            Self::Arxiv(arxiv) => arxiv.to_string(),
        }
    }

    /// The stem of its folder and files: `doi-10%2E5555%2Fabc`, `pmid-39900042`. At most 200 bytes.
    #[must_use]
    pub fn folder(&self) -> String {
        let (kind, encoded) = match self {
            Self::ShortDoi(doi) => ("doi", doi.to_string()),
            other => (other.kind(), other.value()),
        };
        let encoded = match self {
            Self::Doi(_) | Self::ShortDoi(_) | Self::Arxiv(_) => doi::encode(&encoded),
            Self::Pmid(_) | Self::Pmcid(_) => encoded,
        };
        doi::fit(&format!("{kind}-{encoded}"))
    }

    /// Where a person opens it.
    #[must_use]
    pub fn link(&self) -> String {
        match self {
            Self::Doi(doi) => format!("https://doi.org/{}", doi.in_path()),
            Self::ShortDoi(doi) => format!("https://doi.org/{doi}"),
            Self::Pmid(pmid) => format!("https://pubmed.ncbi.nlm.nih.gov/{pmid}/"),
            Self::Pmcid(pmcid) => {
                format!("https://pmc.ncbi.nlm.nih.gov/articles/{}/", pmcid.article())
            }
            Self::Arxiv(arxiv) => format!("https://arxiv.org/abs/{arxiv}"),
        }
    }
}

/// `doi:10.5555/abc`.
impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind(), self.value())
    }
}

impl FromStr for Identifier {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        Ok(Self::read(text)?.id)
    }
}

impl Serialize for Identifier {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A text that names no paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotAnId {
    /// Nothing in it looks like an identifier.
    #[error("no identifier in it, which is a DOI, PMID, PMCID or arXiv id")]
    Unknown,
    /// `10.5555` and nothing behind it.
    #[error("a DOI's prefix without a suffix")]
    NoSuffix,
    /// Longer than any identifier, or with characters that no identifier has.
    #[error("longer than any identifier, or with control characters")]
    Malformed,
    /// An identifier, but of another registry than was asked for.
    #[error("an identifier of another kind")]
    OtherKind,
}

/// The single kinds: read as [`Identifier`] is, shown and serialized in the normal spelling.
macro_rules! of_one_kind {
    ($type:ident, $variant:ident) => {
        impl std::str::FromStr for $type {
            type Err = NotAnId;

            fn from_str(text: &str) -> Result<Self, NotAnId> {
                match text.parse()? {
                    Identifier::$variant(id) => Ok(id),
                    _ => Err(NotAnId::OtherKind),
                }
            }
        }

        impl From<$type> for Identifier {
            fn from(id: $type) -> Self {
                Self::$variant(id)
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    };
}

impl Serialize for Doi {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

of_one_kind!(ShortDoi, ShortDoi);
of_one_kind!(Pmid, Pmid);
of_one_kind!(Pmcid, Pmcid);
of_one_kind!(ArxivId, Arxiv);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table_of_spellings_is_read_as_it_says() {
        let table = include_str!("../../testdata/identifiers.tsv");
        let rows = table.lines().skip(1);
        assert_eq!(rows.clone().count(), 25, "the whole table");
        for row in rows {
            let cells: Vec<&str> = row.split('\t').collect();
            let (input, kind, normal) = (cells[0], cells[1], cells[2]);
            match Identifier::read(input) {
                Ok(read) => {
                    assert_eq!(read.id.kind(), kind, "{input}");
                    assert_eq!(read.id.value(), normal, "{input}");
                    assert_eq!(
                        read.note.is_some(),
                        cells[3].contains("with a note") || input.starts_with('('),
                        "{input}: {:?}",
                        read.note
                    );
                }
                Err(error) => assert_eq!(kind, "error", "{input}: {error}"),
            }
        }
    }

    #[test]
    fn the_normal_spelling_is_read_as_itself() {
        for text in [
            "doi:10.5555/curtsy.2024.0042",
            "arxiv:math/0101001",
            "arxiv:2401.99999v2",
            "pmid:39900042",
            "pmcid:PMC9900042.2",
            "doi:10.5555/x?y=1#z<a>",
        ] {
            assert_eq!(text.parse::<Identifier>().unwrap().to_string(), text);
        }
        assert_eq!(
            "shortdoi:10/abc12".parse(),
            "10/abc12".parse::<Identifier>()
        );
    }

    #[test]
    fn a_kind_is_not_taken_for_another() {
        assert_eq!("PMC12".parse::<Pmid>(), Err(NotAnId::OtherKind));
        assert_eq!("12".parse::<Doi>(), Err(NotAnId::OtherKind));
        let doi: Doi = "10.48550/arXiv.2401.99999".parse().unwrap();
        assert_eq!(doi.to_string(), "10.48550/arxiv.2401.99999");
    }

    #[test]
    fn folders_are_those_of_other_tools_and_never_too_long() {
        for (id, folder) in [
            ("10.7759/cureus.76081", "doi-10%2E7759%2Fcureus%2E76081"),
            ("10.5555/LAB-1_~(2)", "doi-10%2E5555%2Flab%2D1_~%282%29"),
            ("PMID 7", "pmid-7"),
            ("pmc9900042.2", "pmcid-PMC9900042.2"),
            ("math.PR/0101001", "arxiv-math%2F0101001"),
        ] {
            assert_eq!(id.parse::<Identifier>().unwrap().folder(), folder, "{id}");
        }
        let long = |end: &str| format!("10.5555/{}{end}", "x".repeat(300));
        let folder = |id: &str| id.parse::<Identifier>().unwrap().folder();
        let (one, other) = (folder(&long("1")), folder(&long("2")));
        assert_eq!(one.len(), 200);
        assert_ne!(one, other);
    }
}
