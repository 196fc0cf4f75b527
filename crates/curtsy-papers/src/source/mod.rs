//! Who knows where open copies are: one provider a file, each the URL that it is asked by and a pure reader
//! of its answer.
//!
//! Readers take what a server sent and never fail on a single field: every one may be missing, null, or of
//! another type. They say [`Unreadable`] where the whole answer is none.

pub mod arxiv;
pub mod crossref;
pub mod datacite;
pub mod doi;
pub mod europe_pmc;
pub mod idconv;
pub mod landing_page;
mod location;
mod markup;
pub mod open_alex;
pub mod pmc_cloud;
pub mod resolver;
pub mod semantic_scholar;
pub mod unpaywall;

use std::fmt;

use jiff::civil::Date;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::id::{ArxivId, Doi, Identifier, Pmcid, Pmid};

pub use location::{HostType, Location, LocationKind, Version};

/// The most copies that are taken from one answer.
const MAX_LOCATIONS: usize = 64;

/// A provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum SourceId {
    /// <https://arxiv.org>: every paper of it, with no look-up.
    Arxiv,
    /// NCBI's ID converter: whether a paper is in PubMed Central, and under which number.
    IdConverter,
    /// The PMC Cloud Service: articles of PubMed Central for programs.
    PmcCloud,
    /// Unpaywall.
    Unpaywall,
    /// Europe PMC.
    EuropePmc,
    /// OpenAlex, with a key.
    OpenAlex,
    /// Semantic Scholar, with a key.
    SemanticScholar,
    /// The resolvers of the configuration.
    Resolver,
    /// Crossref.
    Crossref,
    /// DataCite.
    DataCite,
    /// The page that the paper's DOI leads to.
    LandingPage,
    /// The registry of DOIs: whether one exists.
    DoiRegistry,
}

impl SourceId {
    /// All of them, in the order in which they are asked.
    pub const ALL: [Self; 12] = [
        Self::Arxiv,
        Self::IdConverter,
        Self::PmcCloud,
        Self::Unpaywall,
        Self::EuropePmc,
        Self::OpenAlex,
        Self::SemanticScholar,
        Self::Resolver,
        Self::Crossref,
        Self::DataCite,
        Self::LandingPage,
        Self::DoiRegistry,
    ];

    /// Its stable name, for options, reports and sidecars.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Arxiv => "arxiv",
            Self::IdConverter => "idconv",
            Self::PmcCloud => "pmc-cloud",
            Self::Unpaywall => "unpaywall",
            Self::EuropePmc => "europepmc",
            Self::OpenAlex => "openalex",
            Self::SemanticScholar => "semanticscholar",
            Self::Resolver => "resolver",
            Self::Crossref => "crossref",
            Self::DataCite => "datacite",
            Self::LandingPage => "landing-page",
            Self::DoiRegistry => "doi",
        }
    }

    /// The one of that name.
    #[must_use]
    pub fn named(label: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.label() == label)
    }
}

impl fmt::Display for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

impl Serialize for SourceId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.label())
    }
}

/// What one paper is called in each registry, as far as is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Ids {
    /// In the DOI system.
    pub doi: Option<Doi>,
    /// In PubMed.
    pub pmid: Option<Pmid>,
    /// In PubMed Central.
    pub pmcid: Option<Pmcid>,
    /// On arXiv.
    pub arxiv: Option<ArxivId>,
}

impl Ids {
    /// Takes what `other` knows beyond this.
    pub fn learn(&mut self, other: &Self) {
        self.doi = self.doi.take().or_else(|| other.doi.clone());
        self.pmid = self.pmid.or(other.pmid);
        self.pmcid = self.pmcid.or(other.pmcid);
        self.arxiv = self.arxiv.take().or_else(|| other.arxiv.clone());
    }

    /// All names, each as an identifier; an article of PubMed Central without its version.
    #[must_use]
    pub fn names(&self) -> Vec<Identifier> {
        let doi = self.doi.clone().map(Identifier::Doi);
        let pmcid = self.pmcid.map(|pmcid| Identifier::Pmcid(pmcid.article()));
        let others = [self.pmid.map(Identifier::Pmid), pmcid];
        let arxiv = self.arxiv.clone().map(Identifier::Arxiv);
        doi.into_iter()
            .chain(others.into_iter().flatten())
            .chain(arxiv)
            .collect()
    }

    /// Whether both know a name in the same registry, and not the same one.
    #[must_use]
    pub fn contradict(&self, other: &Self) -> bool {
        fn differ<T: PartialEq>(one: Option<T>, other: Option<T>) -> bool {
            one.zip(other).is_some_and(|(one, other)| one != other)
        }
        differ(self.doi.as_ref(), other.doi.as_ref())
            || differ(self.pmid, other.pmid)
            || differ(
                self.pmcid.map(Pmcid::article),
                other.pmcid.map(Pmcid::article),
            )
    }
}

impl From<&Identifier> for Ids {
    fn from(id: &Identifier) -> Self {
        let mut ids = Self::default();
        match id {
            Identifier::Doi(doi) => ids.doi = Some(doi.clone()),
            Identifier::ShortDoi(_) => {}
            Identifier::Pmid(pmid) => ids.pmid = Some(*pmid),
            Identifier::Pmcid(pmcid) => ids.pmcid = Some(*pmcid),
            Identifier::Arxiv(arxiv) => {
                ids.doi = Some(arxiv.doi());
                ids.arxiv = Some(arxiv.clone());
            }
        }
        ids
    }
}

/// What a source says of one paper.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finding {
    /// Its names.
    pub ids: Ids,
    /// Its title.
    pub title: Option<String>,
    /// When it was published.
    pub year: Option<u16>,
    /// Whether it was retracted, where the source says so.
    pub retracted: Option<bool>,
    /// Unpaywall's word for how it is open: gold, hybrid, bronze, green, closed.
    pub oa_status: Option<String>,
    /// Whether the source calls it open, where it says so.
    pub open: Option<bool>,
    /// From when on it is open.
    pub embargoed_until: Option<Date>,
    /// Its copies, in the order of the source.
    pub locations: Vec<Location>,
}

impl Finding {
    /// Adds a copy, unless there are more than anybody has or this one is there already.
    fn add(&mut self, location: Location) {
        let known = self.locations.iter().any(|other| other.url == location.url);
        if !known && self.locations.len() < MAX_LOCATIONS {
            self.locations.push(location);
        }
    }
}

/// An answer that is none: no JSON, no XML, or not of the kind that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the answer cannot be read")]
pub struct Unreadable;

/// An answer that must be a JSON object.
pub(crate) fn object(body: &[u8]) -> Result<Value, Unreadable> {
    match serde_json::from_slice(body) {
        Ok(value @ Value::Object(_)) => Ok(value),
        _ => Err(Unreadable),
    }
}

/// A title as one line, of a sound length.
fn title(text: Option<String>) -> Option<String> {
    let text = text?;
    let words: Vec<&str> = text.split_whitespace().collect();
    Some(words.join(" ").chars().take(1_000).collect())
}

fn year(number: Option<u64>) -> Option<u16> {
    number
        .and_then(|year| u16::try_from(year).ok())
        .filter(|year| (1..=9_999).contains(year))
}
