//! Which request is next: [`Plan`], from what is known of a paper and what has been answered.
//!
//! No clock, no network, no files: a plan is told what was answered, and says what to do. A copy that is known is
//! tried before another source is asked, so that the sources' order is that of the copies too:
//!
//! 1. arXiv, by the identifier alone.
//! 2. The ID converter, and with a PMCID the PMC Cloud Service.
//! 3. Unpaywall, 4. Europe PMC, 5. OpenAlex and Semantic Scholar with their keys, 6. the user's resolvers,
//! 7. Crossref, or DataCite for what that does not know, 8. the landing page, where a source called the work open.
//!
//! It ends at the first verified PDF. A source that could not be asked is no source that knows nothing: the paper is
//! then not called closed. A host that refuses one copy is asked for no other copy of the same paper.

mod copies;
mod doors;
mod questions;
mod verdict;

use std::collections::BTreeMap;
use std::sync::Arc;

use curtsy::core::Timestamp;
use jiff::civil::Date;
use url::Url;

use crate::answer::{Answer, Unavailable};
use crate::id::{Identifier, Pmcid};
use crate::reason::Reason;
use crate::source::{Finding, Ids, Location, LocationKind, SourceId};
use copies::{Copies, CopyState};

pub use doors::Doors;
pub use questions::Question;
pub use verdict::{Outcome, Retry, Verdict};

/// What is wanted of a paper, and who is asked for it.
#[derive(Clone, Debug)]
pub struct Wishes {
    /// Who may be asked. Default: everybody.
    pub sources: Vec<SourceId>,
    /// Which copy is tried first. Default: the one that is had soonest.
    pub prefer: Prefer,
    /// Licences that a copy must have one of, such as `cc-by`; whatever the case and the sign between words. Default:
    /// none is asked for.
    pub licenses: Vec<String>,
    /// Whether the landing page is asked for although no source calls the work open. Default: no.
    pub try_landing: bool,
    /// Whether a work that was retracted is left out. Default: no; it is told.
    pub skip_retracted: bool,
    /// How many resolvers the user has.
    pub resolvers: usize,
}

impl Default for Wishes {
    fn default() -> Self {
        Self {
            sources: SourceId::ALL.to_vec(),
            prefer: Prefer::default(),
            licenses: Vec::new(),
            try_landing: false,
            skip_retracted: false,
            resolvers: 0,
        }
    }
}

/// Which of several copies is tried first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prefer {
    /// One in a repository before one at a publisher, since walls stand there more rarely.
    #[default]
    Soonest,
    /// The published version before the accepted manuscript.
    Published,
    /// One whose licence is known before one whose licence is not.
    Licensed,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Ask a source.
    Ask(Question),
    /// Fetch a copy.
    Fetch(Location),
    /// There is no more to do.
    End(Verdict),
}

/// What is known of a work beside its names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// Its title.
    pub title: Option<String>,
    /// When it was published.
    pub year: Option<u16>,
    /// Whether it was retracted.
    pub retracted: Option<bool>,
    /// Unpaywall's word for how it is open.
    pub oa_status: Option<String>,
    /// Whether any source called it open.
    pub open: bool,
    /// From when on it is open.
    pub embargoed_until: Option<Date>,
}

/// Where a source stands.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Standing {
    /// It knows the work.
    Knows,
    /// It does not.
    KnowsNothing,
    /// It could not be asked, or said nothing that can be read.
    Failed(Option<Unavailable>),
}

/// A copy that was tried in vain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Miss {
    /// Why.
    pub reason: Reason,
    /// The host that is to blame.
    pub host: String,
    /// Its status, where there was an answer.
    pub status: Option<u16>,
    /// Not before then is it to be asked again.
    pub until: Option<Timestamp>,
}

impl From<Unavailable> for Miss {
    fn from(why: Unavailable) -> Self {
        Self {
            reason: why.reason,
            host: why.host,
            status: why.status,
            until: why.until,
        }
    }
}

/// The way to one paper.
#[derive(Clone, Debug)]
pub struct Plan {
    id: Identifier,
    wishes: Arc<Wishes>,
    doors: Arc<Doors>,
    ids: Ids,
    about: About,
    copies: Copies,
    standings: BTreeMap<SourceId, Standing>,
    /// Which version of the article in PubMed Central is the last one.
    version: Option<Pmcid>,
    metadata_asked: bool,
    resolvers_asked: usize,
    pages_asked: Vec<Url>,
    /// What the registry says of the DOI, once it was asked.
    registered: Option<bool>,
    got: Option<Location>,
}

impl Plan {
    /// A plan for a paper of which only the identifier is known.
    #[must_use]
    pub fn new(id: Identifier, wishes: Arc<Wishes>, doors: Arc<Doors>) -> Self {
        let ids = Ids::from(&id);
        let mut plan = Self {
            version: ids.pmcid.filter(|pmcid| pmcid.version().is_some()),
            id,
            ids: Ids::default(),
            about: About::default(),
            copies: Copies::default(),
            standings: BTreeMap::new(),
            metadata_asked: false,
            resolvers_asked: 0,
            pages_asked: Vec::new(),
            registered: None,
            got: None,
            wishes,
            doors,
        };
        plan.learn_ids(&ids);
        plan
    }

    /// The identifier that was given.
    #[must_use]
    pub fn id(&self) -> &Identifier {
        &self.id
    }

    /// The names that are known by now.
    #[must_use]
    pub fn ids(&self) -> &Ids {
        &self.ids
    }

    /// What is known of the work by now.
    #[must_use]
    pub fn about(&self) -> &About {
        &self.about
    }

    /// All copies that are known by now, in the order in which they would be tried.
    #[must_use]
    pub fn locations(&self) -> Vec<&Location> {
        self.copies.sorted(&self.wishes)
    }

    /// The copy that was had.
    #[must_use]
    pub fn got(&self) -> Option<&Location> {
        self.got.as_ref()
    }

    /// The sources that are not asked, since their key is missing.
    #[must_use]
    pub fn not_asked(&self) -> Vec<SourceId> {
        let lacks_key = |standing: &Standing| matches!(standing, Standing::Failed(Some(why)) if why.reason == Reason::NeedsKey);
        let standings = self.standings.iter();
        let lacking = standings.filter(|(_, standing)| lacks_key(standing));
        lacking.map(|(source, _)| *source).collect()
    }

    /// What to do next.
    #[must_use]
    pub fn next(&self) -> Step {
        self.step(true)
    }

    /// What to do next where copies are only to be found: no copy is fetched, and no page of a publisher.
    #[must_use]
    pub fn next_to_find(&self) -> Step {
        self.step(false)
    }

    fn step(&self, fetches: bool) -> Step {
        if self.got.is_some() {
            return Step::End(self.verdict());
        }
        if self.wishes.skip_retracted && self.about.retracted == Some(true) {
            return Step::End(self.verdict());
        }
        if fetches && let Some(location) = self.copies.next(&self.wishes) {
            return Step::Fetch(location.clone());
        }
        match self.question(fetches) {
            Some(question) => Step::Ask(question),
            None => Step::End(self.verdict()),
        }
    }

    /// Takes what a question was answered with.
    pub fn answered(&mut self, question: &Question, answer: Answer<Finding>) {
        match question {
            Question::PmcMetadata(_) => self.metadata_asked = true,
            Question::Resolver(..) => self.resolvers_asked += 1,
            Question::Page(url) => {
                self.pages_asked.push(url.clone());
                if let Answer::Unavailable(why) = &answer {
                    let page = Location::landing(url.clone(), SourceId::LandingPage);
                    self.copies.add(page.clone());
                    self.copies.missed(&page, why.clone().into());
                }
            }
            Question::Handle(_) => {
                self.registered = match &answer {
                    Answer::Found(_) => Some(true),
                    Answer::NotFound => Some(false),
                    _ => None,
                };
            }
            _ => {}
        }
        let source = question.source();
        let standing = match answer {
            Answer::Found(finding) => self.learn(question, finding),
            Answer::NotFound => Standing::KnowsNothing,
            Answer::Unavailable(why) => Standing::Failed(Some(why)),
            Answer::Rejected(_) | Answer::Malformed(_) => Standing::Failed(None),
        };
        // One page or resolver that failed is not outdone by another.
        let kept = self
            .standings
            .entry(source)
            .or_insert_with(|| standing.clone());
        if !matches!(kept, Standing::Failed(_)) {
            *kept = standing;
        }
    }

    /// Takes names of the work that are known from elsewhere: an answer about many papers at once.
    pub fn converted(&mut self, answer: Answer<Ids>) {
        let question = Question::Convert(self.id.clone());
        let answer = answer.map(|ids| Finding {
            ids,
            ..Finding::default()
        });
        self.answered(&question, answer);
    }

    /// Takes that a copy was had.
    pub fn fetched(&mut self, location: &Location) {
        self.got = Some(location.clone());
    }

    /// Takes that a copy was tried in vain.
    pub fn missed(&mut self, location: &Location, miss: Miss) {
        self.copies.missed(location, miss);
    }

    fn learn(&mut self, question: &Question, finding: Finding) -> Standing {
        // An answer about another work says nothing about this one.
        if self.ids.contradict(&finding.ids) {
            return Standing::KnowsNothing;
        }
        if let Question::PmcVersions(_) = question {
            self.version = finding.ids.pmcid;
            let has_versions = self.version.is_some();
            return if has_versions {
                Standing::Knows
            } else {
                Standing::KnowsNothing
            };
        }
        self.learn_ids(&finding.ids);
        let about = &mut self.about;
        about.title = about.title.take().or(finding.title);
        about.year = about.year.or(finding.year);
        about.oa_status = about.oa_status.take().or(finding.oa_status);
        about.open |= finding.open == Some(true);
        about.embargoed_until = about.embargoed_until.or(finding.embargoed_until);
        about.retracted = match (about.retracted, finding.retracted) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (known, said) => known.or(said),
        };
        for location in finding.locations {
            match self.doors.of(&location) {
                doors::Door::Open(location) => self.copies.add(location),
                doors::Door::Library(pmcid, location) => {
                    self.learn_ids(&Ids {
                        pmcid: Some(pmcid),
                        ..Ids::default()
                    });
                    if let Some(location) = location {
                        self.copies.add(location);
                    }
                }
            }
        }
        Standing::Knows
    }

    fn learn_ids(&mut self, ids: &Ids) {
        self.ids.learn(ids);
        let may = self.wishes.sources.contains(&SourceId::Arxiv);
        if let Some(arxiv) = self.ids.arxiv.as_ref().filter(|_| may)
            && let Some(copy) = self.doors.arxiv(arxiv)
        {
            self.copies.add(copy);
        }
    }

    /// The pages of the work that are known.
    fn pages(&self) -> impl Iterator<Item = &Location> {
        let sorted = self.copies.sorted(&self.wishes).into_iter();
        sorted.filter(|location| location.kind == LocationKind::Landing)
    }

    fn is_waiting(&self, page: &Location) -> bool {
        let is_waiting = self.copies.state(page) == Some(&CopyState::Waiting);
        is_waiting && !self.pages_asked.contains(&page.url)
    }
}

#[cfg(test)]
mod tests;
