//! Who is asked next.

use url::Url;

use super::{Plan, Standing};
use crate::id::{Doi, Identifier, Pmcid};
use crate::source::{Ids, SourceId};

/// Pages of one work that are asked for.
const MAX_PAGES: usize = 2;

/// A question to a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// To the DOI system: what is this, and is it anything?
    Handle(Identifier),
    /// To the ID converter: is it in PubMed Central?
    Convert(Identifier),
    /// To the PMC Cloud Service: which versions are there?
    PmcVersions(Pmcid),
    /// To the PMC Cloud Service: where is the PDF of this version?
    PmcMetadata(Pmcid),
    /// To Unpaywall.
    Unpaywall(Doi),
    /// To Europe PMC, by the best name of these.
    EuropePmc(Ids),
    /// To OpenAlex, by the best name of these.
    OpenAlex(Ids),
    /// To Semantic Scholar.
    SemanticScholar(Identifier),
    /// To a resolver of the user's, by its number.
    Resolver(usize, Doi),
    /// To Crossref.
    Crossref(Doi),
    /// To DataCite.
    DataCite(Doi),
    /// To the page of the work.
    Page(Url),
}

impl Question {
    /// Whom it is to.
    #[must_use]
    pub const fn source(&self) -> SourceId {
        match self {
            Self::Handle(_) => SourceId::DoiRegistry,
            Self::Convert(_) => SourceId::IdConverter,
            Self::PmcVersions(_) | Self::PmcMetadata(_) => SourceId::PmcCloud,
            Self::Unpaywall(_) => SourceId::Unpaywall,
            Self::EuropePmc(_) => SourceId::EuropePmc,
            Self::OpenAlex(_) => SourceId::OpenAlex,
            Self::SemanticScholar(_) => SourceId::SemanticScholar,
            Self::Resolver(..) => SourceId::Resolver,
            Self::Crossref(_) => SourceId::Crossref,
            Self::DataCite(_) => SourceId::DataCite,
            Self::Page(_) => SourceId::LandingPage,
        }
    }
}

impl Plan {
    /// The next question; none where all have been asked that may know.
    pub(super) fn question(&self, fetches: bool) -> Option<Question> {
        if let Identifier::ShortDoi(_) = self.id
            && self.ids.doi.is_none()
        {
            return self
                .open(SourceId::DoiRegistry)
                .then(|| Question::Handle(self.id.clone()));
        }
        self.at_pmc()
            .or_else(|| self.by_doi())
            .or_else(|| self.at_page().filter(|_| fetches))
            .or_else(|| self.at_registry())
    }

    /// PubMed Central. What is on arXiv alone is not there.
    fn at_pmc(&self) -> Option<Question> {
        let is_preprint = self.is_preprint();
        if self.ids.pmcid.is_none() && self.open(SourceId::IdConverter) && !is_preprint {
            let pmid = self.ids.pmid.map(Identifier::from);
            let known = self.ids.doi.clone().map(Identifier::Doi).or(pmid);
            if let Some(id) = known {
                return Some(Question::Convert(id));
            }
        }
        let pmcid = self
            .ids
            .pmcid
            .filter(|_| self.wishes.sources.contains(&SourceId::PmcCloud))?;
        match (
            self.standings.get(&SourceId::PmcCloud),
            self.version,
            self.metadata_asked,
        ) {
            (None, None, _) => Some(Question::PmcVersions(pmcid)),
            (None | Some(Standing::Knows), Some(version), false) => {
                Some(Question::PmcMetadata(version))
            }
            _ => None,
        }
    }

    /// Those that know a work by its DOI, or by what leads to one.
    fn by_doi(&self) -> Option<Question> {
        let is_preprint = self.is_preprint();
        let doi = self.ids.doi.clone();
        let ask =
            |source: SourceId, question: Option<Question>| question.filter(|_| self.open(source));
        let europe_pmc = || {
            let known =
                self.ids.doi.is_some() || self.ids.pmid.is_some() || self.ids.pmcid.is_some();
            let question = (known && !is_preprint).then(|| Question::EuropePmc(self.ids.clone()));
            ask(SourceId::EuropePmc, question)
        };
        if doi.is_none()
            && let Some(question) = europe_pmc()
        {
            return Some(question);
        }
        let of_doi =
            |question: fn(Doi) -> Question| doi.clone().filter(|_| !is_preprint).map(question);
        let best = Some(Identifier::Doi)
            .zip(doi.clone())
            .map(|(of, doi)| of(doi));
        let best = self.ids.arxiv.clone().map(Identifier::from).or(best);
        let best = best.or(self.ids.pmid.map(Identifier::from));
        let may_know = self.ids.doi.is_some() || self.ids.pmid.is_some();
        ask(SourceId::Unpaywall, of_doi(Question::Unpaywall))
            .or_else(europe_pmc)
            .or_else(|| {
                ask(
                    SourceId::OpenAlex,
                    may_know.then(|| Question::OpenAlex(self.ids.clone())),
                )
            })
            .or_else(|| {
                ask(
                    SourceId::SemanticScholar,
                    best.map(Question::SemanticScholar),
                )
            })
            .or_else(|| self.at_resolver())
            .or_else(|| ask(SourceId::Crossref, of_doi(Question::Crossref)))
            .or_else(|| {
                let unknown = self.standings.get(&SourceId::Crossref) != Some(&Standing::Knows);
                ask(
                    SourceId::DataCite,
                    of_doi(Question::DataCite).filter(|_| unknown),
                )
            })
    }

    fn at_resolver(&self) -> Option<Question> {
        let is_left = self.resolvers_asked < self.wishes.resolvers;
        let may = is_left && self.wishes.sources.contains(&SourceId::Resolver);
        let doi = self.ids.doi.clone().filter(|_| may)?;
        Some(Question::Resolver(self.resolvers_asked, doi))
    }

    /// A page is asked for only where there is a copy to be expected, since that is a request to a publisher.
    fn at_page(&self) -> Option<Question> {
        let is_expected = self.about.open || self.wishes.try_landing;
        let may = self.wishes.sources.contains(&SourceId::LandingPage);
        if !is_expected || !may || self.pages_asked.len() >= MAX_PAGES {
            return None;
        }
        if let Some(page) = self.pages().find(|page| self.is_waiting(page)) {
            return Some(Question::Page(page.url.clone()));
        }
        let may_lead = self.pages_asked.is_empty() && !self.is_preprint();
        let doi = self.ids.doi.as_ref().filter(|_| may_lead)?;
        self.doors.doi(doi).map(Question::Page)
    }

    /// Whether the DOI exists, where nobody has heard of it.
    fn at_registry(&self) -> Option<Question> {
        let doi = self.ids.doi.clone().filter(|_| !self.is_preprint())?;
        let is_unknown = !self.is_known() && self.copies.misses().next().is_none();
        let may = is_unknown && self.open(SourceId::DoiRegistry);
        may.then_some(Question::Handle(Identifier::Doi(doi)))
    }

    /// Whether a source that catalogues works knows this one.
    pub(super) fn is_known(&self) -> bool {
        let knows = |(source, standing): (&SourceId, &Standing)| {
            *standing == Standing::Knows
                && !matches!(source, SourceId::LandingPage | SourceId::Resolver)
        };
        self.standings.iter().any(knows)
    }

    /// Whether it is on arXiv, and nothing is known of it elsewhere.
    pub(super) fn is_preprint(&self) -> bool {
        let own = self.ids.arxiv.as_ref().map(|arxiv| arxiv.doi());
        own.is_some() && self.ids.doi == own
    }

    fn open(&self, source: SourceId) -> bool {
        self.wishes.sources.contains(&source) && !self.standings.contains_key(&source)
    }
}
