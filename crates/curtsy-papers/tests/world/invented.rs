//! Papers without number: what each provider knows of the n-th follows from n.

use serde_json::{Value, json};

/// The first PMID of an invented paper.
const PMIDS: u32 = 50_000_000;
/// The first number of an invented PMCID.
const PMCIDS: u32 = 7_000_000;

/// An invented paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Paper(pub(crate) u32);

/// Where its open copy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copy {
    /// In PMC's bucket.
    Pmc,
    /// In a repository, as Unpaywall knows.
    Repository,
    /// At its publisher, as Unpaywall knows.
    Publisher,
    /// Nowhere.
    None,
}

impl Paper {
    /// Six of ten lie in PMC, two in one of 50 repositories, one at one of 20 publishers, one is closed.
    pub(crate) fn copy(self) -> Copy {
        match self.0 % 10 {
            0..=5 => Copy::Pmc,
            6 | 7 => Copy::Repository,
            8 => Copy::Publisher,
            _ => Copy::None,
        }
    }

    pub(crate) fn doi(self) -> String {
        format!("10.5555/world.{}", self.0)
    }

    pub(crate) fn pmid(self) -> String {
        (PMIDS + self.0).to_string()
    }

    pub(crate) fn pmcid(self) -> Option<String> {
        (self.copy() == Copy::Pmc).then(|| format!("PMC{}", PMCIDS + self.0))
    }

    pub(crate) fn title(self) -> String {
        format!("Invented paper {}", self.0)
    }

    /// Where its PDF is, but for PMC.
    pub(crate) fn pdf(self) -> Option<String> {
        match self.copy() {
            Copy::Repository => Some(format!(
                "https://r{}.example.edu/{}.pdf",
                self.0 % 50,
                self.0
            )),
            Copy::Publisher => Some(format!(
                "https://p{}.example.org/{}.pdf",
                self.0 % 20,
                self.0
            )),
            _ => None,
        }
    }

    pub(super) fn of_doi(doi: &str, papers: u32) -> Option<Self> {
        let number = doi
            .to_ascii_lowercase()
            .strip_prefix("10.5555/world.")?
            .parse()
            .ok()?;
        (number < papers).then_some(Self(number))
    }

    pub(super) fn of_pmid(pmid: &str, papers: u32) -> Option<Self> {
        let number = pmid.parse::<u32>().ok()?.checked_sub(PMIDS)?;
        (number < papers).then_some(Self(number))
    }

    pub(super) fn of_pmcid(pmcid: &str, papers: u32) -> Option<Self> {
        let number = pmcid
            .split('.')
            .next()?
            .strip_prefix("PMC")?
            .parse::<u32>()
            .ok()?;
        let paper = Self(number.checked_sub(PMCIDS)?);
        (paper.0 < papers && paper.copy() == Copy::Pmc).then_some(paper)
    }

    pub(super) fn unpaywall(self) -> Value {
        let host_type = match self.copy() {
            Copy::Publisher => "publisher",
            _ => "repository",
        };
        let locations: Vec<Value> = self
            .pdf()
            .iter()
            .map(|url| {
                json!({"url": url, "url_for_pdf": url, "url_for_landing_page": null, "host_type": host_type,
                    "version": "publishedVersion", "license": "cc-by"})
            })
            .collect();
        json!({"doi": self.doi(), "title": self.title(), "is_oa": !locations.is_empty(),
            "oa_status": if locations.is_empty() { "closed" } else { "green" },
            "best_oa_location": locations.first(), "oa_locations": locations})
    }

    pub(super) fn crossref(self) -> Value {
        json!({"status": "ok", "message-type": "work", "message": {"DOI": self.doi(), "title": [self.title()],
            "type": "journal-article", "link": [], "license": []}})
    }
}
