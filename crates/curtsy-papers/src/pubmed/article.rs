//! What a record says of a paper.

use serde::Serialize;

use crate::id::{Doi, Identifier, Pmcid, Pmid};
use crate::source::Ids;

/// A record of PubMed or Europe PMC. What it does not say is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Article {
    /// What it is a record of.
    pub kind: Kind,
    /// In PubMed.
    pub pmid: Option<Pmid>,
    /// In the DOI system.
    pub doi: Option<Doi>,
    /// In PubMed Central.
    pub pmcid: Option<Pmcid>,
    /// As plain text: markup is left out, what it marks is not.
    pub title: String,
    /// In their order.
    pub authors: Vec<Author>,
    /// In its parts, where it has several.
    #[serde(rename = "abstract")]
    pub sections: Vec<Section>,
    /// Of the journal, or the publisher of a book.
    pub journal: Option<String>,
    /// Its usual abbreviation.
    pub journal_abbreviation: Option<String>,
    /// Of the journal.
    pub volume: Option<String>,
    /// Of the journal.
    pub issue: Option<String>,
    /// As the record has them.
    pub pages: Option<String>,
    /// The electronic date where there is one, else that of print: `2024-01-12`, `2024-02`, `1998 Dec-1999 Jan`.
    pub date: Option<String>,
    /// Of that date.
    pub year: Option<u16>,
    /// As the authors or the indexers gave them.
    pub keywords: Vec<String>,
    /// `Journal Article`, `Case Reports`.
    pub types: Vec<String>,
    /// Three letters of ISO 639-2.
    pub languages: Vec<String>,
    /// Of the journal.
    pub country: Option<String>,
    /// The record says that the work was retracted.
    pub retracted: bool,
    /// What it cites, of all its lists.
    #[serde(skip)]
    pub references: Vec<Citation>,
}

impl Article {
    /// What to ask for it by: its DOI, or else its PMID.
    #[must_use]
    pub fn id(&self) -> Option<Identifier> {
        let doi = self.doi.clone().map(Identifier::Doi);
        doi.or(self.pmid.map(Identifier::Pmid))
    }

    /// The names that its record has for it.
    #[must_use]
    pub fn ids(&self) -> Ids {
        Ids {
            doi: self.doi.clone(),
            pmid: self.pmid,
            pmcid: self.pmcid,
            arxiv: None,
        }
    }
}

/// What a record is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A paper in a journal.
    #[default]
    Article,
    /// A book or a chapter of one.
    Book,
}

/// Who wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Author {
    /// Somebody.
    Person {
        /// Family name.
        last: String,
        /// Given names, or initials where no more is known.
        fore: String,
    },
    /// A collective.
    Group {
        /// Its name.
        group: String,
    },
}

/// A part of an abstract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Section {
    /// `RESULTS`; none in an abstract of one part.
    pub label: Option<String>,
    /// Plain text.
    pub text: String,
}

/// An entry of a reference list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Citation {
    /// As it stands in the list.
    pub text: Option<String>,
    /// In PubMed.
    pub pmid: Option<Pmid>,
    /// In the DOI system.
    pub doi: Option<Doi>,
    /// In PubMed Central.
    pub pmcid: Option<Pmcid>,
}

impl Article {
    /// The columns of a table of articles.
    pub const COLUMNS: [&str; 14] = [
        "pmid",
        "title",
        "authors",
        "first_author",
        "abstract",
        "publication_date",
        "publication_year",
        "journal_info",
        "doi",
        "pmcid",
        "keywords",
        "article_type",
        "country",
        "language",
    ];

    /// The cells of its row, as [`COLUMNS`](Self::COLUMNS) has them; lists are joined by `; `.
    #[must_use]
    pub fn row(&self) -> [String; 14] {
        fn text<T: ToString>(value: Option<&T>) -> String {
            value.map(T::to_string).unwrap_or_default()
        }
        let authors: Vec<String> = self.authors.iter().map(Author::to_string).collect();
        let sections: Vec<String> = self.sections.iter().map(Section::to_string).collect();
        [
            text(self.pmid.as_ref()),
            self.title.clone(),
            authors.join("; "),
            authors.into_iter().next().unwrap_or_default(),
            sections.join(" "),
            text(self.date.as_ref()),
            text(self.year.as_ref()),
            self.journal_info(),
            text(self.doi.as_ref()),
            text(self.pmcid.as_ref()),
            self.keywords.join("; "),
            self.types.join("; "),
            text(self.country.as_ref()),
            self.languages.join("; "),
        ]
    }

    /// `Journal of invented ornithology 12(2):101-110`.
    fn journal_info(&self) -> String {
        let mut info = self.journal.clone().unwrap_or_default();
        if let Some(volume) = &self.volume {
            info.push_str(&format!(" {volume}"));
        }
        if let Some(issue) = &self.issue {
            info.push_str(&format!("({issue})"));
        }
        if let Some(pages) = &self.pages {
            info.push_str(&format!(":{pages}"));
        }
        info.trim().to_owned()
    }
}

/// `Roe, Rae`.
impl std::fmt::Display for Author {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Person { last, fore } if fore.is_empty() => f.write_str(last),
            Self::Person { last, fore } => write!(f, "{last}, {fore}"),
            Self::Group { group } => f.write_str(group),
        }
    }
}

/// `RESULTS: They do.`
impl std::fmt::Display for Section {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.label {
            Some(label) => write!(f, "{label}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}
