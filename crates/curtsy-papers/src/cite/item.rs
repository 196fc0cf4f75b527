//! [`Item`]: a work as CSL-JSON has it.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::id::{Doi, Pmcid, Pmid};
use crate::pubmed::{Article, Author, Kind};

/// A work, in the terms of CSL 1.0.2 (<https://docs.citationstyles.org/en/stable/specification.html>). Every text is
/// one line of plain text; what is not known is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// What it is.
    pub kind: ItemType,
    /// Its title.
    pub title: String,
    /// The journal or book that it is in.
    pub container_title: Option<String>,
    /// Who wrote it.
    pub authors: Vec<Name>,
    /// When it came out.
    pub issued: Option<Issued>,
    /// Of the journal.
    pub volume: Option<String>,
    /// Of the journal.
    pub issue: Option<String>,
    /// `101-110`, or an article's number.
    pub page: Option<String>,
    /// Who published it.
    pub publisher: Option<String>,
    /// Of the journal.
    pub issn: Vec<String>,
    /// Of the book.
    pub isbn: Vec<String>,
    /// In the DOI system.
    pub doi: Option<Doi>,
    /// In PubMed.
    pub pmid: Option<Pmid>,
    /// In PubMed Central.
    pub pmcid: Option<Pmcid>,
    /// Where it is, if it has no DOI.
    pub url: Option<String>,
}

/// What a work is, as far as it makes a difference to a citation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ItemType {
    /// A paper in a journal.
    #[default]
    ArticleJournal,
    /// A preprint, and any other article in no journal.
    Article,
    /// A book.
    Book,
    /// A chapter of one.
    Chapter,
    /// A paper of a conference.
    PaperConference,
    /// A thesis.
    Thesis,
    /// A report or a standard.
    Report,
    /// Data.
    Dataset,
    /// A program.
    Software,
    /// Anything else.
    Document,
}

/// Somebody's name, or a group's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    /// Somebody's.
    Person {
        /// The family's.
        family: String,
        /// One's own, or initials; may be empty.
        given: String,
    },
    /// A group's, or one of which no parts are known.
    Literal(String),
}

/// A date as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issued {
    /// Of the Gregorian calendar.
    pub year: u16,
    /// From 1.
    pub month: Option<u8>,
    /// From 1.
    pub day: Option<u8>,
}

impl ItemType {
    /// As CSL calls it.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::ArticleJournal => "article-journal",
            Self::Article => "article",
            Self::Book => "book",
            Self::Chapter => "chapter",
            Self::PaperConference => "paper-conference",
            Self::Thesis => "thesis",
            Self::Report => "report",
            Self::Dataset => "dataset",
            Self::Software => "software",
            Self::Document => "document",
        }
    }

    /// By the word of CSL, Crossref or DataCite.
    pub(super) fn of_label(label: &str) -> Self {
        match label.to_ascii_lowercase().as_str() {
            "article-journal" | "journal-article" | "journalarticle" => Self::ArticleJournal,
            "article" | "posted-content" | "preprint" => Self::Article,
            "book" | "monograph" | "edited-book" | "reference-book" => Self::Book,
            "chapter" | "book-chapter" | "book-section" | "book-part" | "bookchapter" => {
                Self::Chapter
            }
            "paper-conference" | "proceedings-article" | "conferencepaper" => Self::PaperConference,
            "thesis" | "dissertation" => Self::Thesis,
            "report" | "report-series" | "standard" => Self::Report,
            "dataset" | "collection" => Self::Dataset,
            "software" | "computationalnotebook" => Self::Software,
            _ => Self::Document,
        }
    }
}

impl Issued {
    /// A date of these parts; a part that cannot be is left out with all behind it.
    pub(super) fn new(year: u64, month: Option<u64>, day: Option<u64>) -> Option<Self> {
        let year = u16::try_from(year)
            .ok()
            .filter(|year| (1..=9_999).contains(year))?;
        let within = |part: Option<u64>, most| {
            let part = part.filter(|part| (1..=most).contains(part))?;
            u8::try_from(part).ok()
        };
        let month = within(month, 12);
        Some(Self {
            year,
            month,
            day: month.and_then(|_| within(day, 31)),
        })
    }
}

impl Item {
    /// Where it is to be found.
    #[must_use]
    pub fn link(&self) -> Option<String> {
        let of_doi = self
            .doi
            .as_ref()
            .map(|doi| format!("https://doi.org/{}", doi.in_path()));
        of_doi.or_else(|| self.url.clone())
    }

    /// As CSL-JSON, with this key.
    #[must_use]
    pub fn csl_json(&self, key: &str) -> Value {
        let mut item = Map::new();
        item.insert("id".to_owned(), json!(key));
        item.insert("type".to_owned(), json!(self.kind.label()));
        item.insert("title".to_owned(), json!(self.title));
        let authors: Vec<Value> = self.authors.iter().map(name).collect();
        let issued = self.issued.map(|date| {
            let parts = [
                Some(u64::from(date.year)),
                date.month.map(u64::from),
                date.day.map(u64::from),
            ];
            let parts: Vec<u64> = parts.into_iter().flatten().collect();
            json!({"date-parts": [parts]})
        });
        let texts = [
            ("container-title", self.container_title.clone()),
            ("volume", self.volume.clone()),
            ("issue", self.issue.clone()),
            ("page", self.page.clone()),
            ("publisher", self.publisher.clone()),
            ("ISSN", self.issn.first().cloned()),
            ("ISBN", self.isbn.first().cloned()),
            ("DOI", self.doi.as_ref().map(Doi::to_string)),
            ("PMID", self.pmid.map(|pmid| pmid.to_string())),
            ("PMCID", self.pmcid.map(|pmcid| pmcid.to_string())),
            ("URL", self.link()),
        ];
        let texts = texts
            .into_iter()
            .filter_map(|(name, text)| Some((name, json!(text?))));
        let lists = [
            ("author", (!authors.is_empty()).then(|| json!(authors))),
            ("issued", issued),
        ];
        let lists = lists
            .into_iter()
            .filter_map(|(name, list)| Some((name, list?)));
        item.extend(
            lists
                .chain(texts)
                .map(|(name, value)| (name.to_owned(), value)),
        );
        Value::Object(item)
    }
}

/// As CSL-JSON, under its DOI or whatever else it is called by.
impl Serialize for Item {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let key = self.link().unwrap_or_else(|| self.title.clone());
        self.csl_json(&key).serialize(serializer)
    }
}

fn name(name: &Name) -> Value {
    match name {
        Name::Person { family, given } if given.is_empty() => json!({"family": family}),
        Name::Person { family, given } => json!({"family": family, "given": given}),
        Name::Literal(literal) => json!({"literal": literal}),
    }
}

impl From<&Article> for Item {
    fn from(article: &Article) -> Self {
        let is_book = article.kind == Kind::Book;
        let mut parts = article.date.iter().flat_map(|date| date.split('-'));
        let mut part = || parts.next().and_then(|part| part.parse().ok());
        let _year: Option<u64> = part();
        let (month, day) = (part(), part());
        let year = article.year.map(u64::from);
        Self {
            kind: if is_book {
                ItemType::Book
            } else {
                ItemType::ArticleJournal
            },
            // PubMed ends every title with a full stop, and brackets translated ones.
            title: article
                .title
                .trim_end_matches('.')
                .trim_start_matches('[')
                .trim_end_matches(']')
                .to_owned(),
            container_title: article.journal.clone().filter(|_| !is_book),
            publisher: article.journal.clone().filter(|_| is_book),
            authors: article.authors.iter().map(Name::from).collect(),
            issued: year.and_then(|year| Issued::new(year, month, day)),
            volume: article.volume.clone(),
            issue: article.issue.clone(),
            page: article.pages.clone(),
            doi: article.doi.clone(),
            pmid: article.pmid,
            pmcid: article.pmcid,
            url: article
                .pmid
                .map(|pmid| format!("https://pubmed.ncbi.nlm.nih.gov/{pmid}/")),
            ..Self::default()
        }
    }
}

impl From<&Author> for Name {
    fn from(author: &Author) -> Self {
        match author {
            Author::Person { last, fore } => Self::Person {
                family: last.clone(),
                given: fore.clone(),
            },
            Author::Group { group } => Self::Literal(group.clone()),
        }
    }
}
