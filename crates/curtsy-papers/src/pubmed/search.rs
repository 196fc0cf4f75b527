//! [`PubMedSearcher`].

use super::dates::{DateRange, DateType};
use super::hits::Hits;
use crate::access::Access;
use crate::answer::Answer;
use crate::contact::Contact;
use crate::error::Error;

/// The longest query that is sent, in bytes.
const LONGEST: usize = 32 * 1024;

/// Searches PubMed, or Europe PMC, for one query. What is searched for never changes: the same search may be made any
/// number of times, in other orders and with other limits.
///
/// ```no_run
/// # async fn search() -> Result<(), Box<dyn std::error::Error>> {
/// use curtsy_papers::pubmed::{PubMedSearcher, SearchOptions};
/// use curtsy_papers::{Answer};
///
/// let searcher = PubMedSearcher::builder("rae@university.edu".parse()?).search_string("herons[ti]").build()?;
/// let Answer::Found(mut hits) = searcher.search(&SearchOptions::default()).await? else {
///     return Ok(());
/// };
/// while let Answer::Found(articles) = hits.next_articles().await? {
///     if articles.is_empty() {
///         break;
///     }
///     for article in articles {
///         println!("{:?} {}", article.pmid, article.title);
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct PubMedSearcher {
    pub(super) access: Access,
    search_string: String,
}

/// Collects the parts of a [`PubMedSearcher`].
#[derive(Debug)]
#[must_use]
pub struct PubMedSearcherBuilder {
    contact: Contact,
    access: Option<Access>,
    search_string: String,
    respect_robots: bool,
}

/// How a search is made.
#[derive(Clone, Debug)]
pub struct SearchOptions {
    /// So many hits at most; `None`: all. Default 20.
    pub count: Option<u64>,
    /// Only with a date in this range. Default: any.
    pub dates: Option<DateRange>,
    /// Which date. Default: of publication.
    pub date_type: DateType,
    /// Default: newest first.
    pub order: Order,
    /// Only what can be read freely. Default: no.
    pub only_open_access: bool,
    /// Only case reports. Default: no.
    pub only_case_reports: bool,
    /// Who is asked. Default: PubMed.
    pub engine: Engine,
}

/// Which hits come first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The newest.
    #[default]
    Chronological,
    /// Those that fit best, as the engine sees it.
    Relevance,
}

/// Who searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// PubMed, in its own syntax.
    #[default]
    PubMed,
    /// Europe PMC, in its own; it has preprints too.
    EuropePmc,
}

impl PubMedSearcher {
    /// Starts a searcher for whoever reads mail at `contact`.
    pub fn builder(contact: Contact) -> PubMedSearcherBuilder {
        PubMedSearcherBuilder {
            contact,
            access: None,
            search_string: String::new(),
            respect_robots: false,
        }
    }

    /// Begins a search: the hits are counted, and come as they are asked for.
    ///
    /// # Errors
    /// The engine itself failed.
    pub async fn search(&self, options: &SearchOptions) -> Result<Answer<Hits>, Error> {
        Hits::begin(self.access.clone(), &self.search_string, options).await
    }
}

impl PubMedSearcherBuilder {
    /// What is searched for, in the syntax of the engine.
    pub fn search_string(mut self, query: impl Into<String>) -> Self {
        self.search_string = query.into();
        self
    }

    /// Whether robots.txt is consulted for interfaces too, where no client is shared. Default: no.
    pub fn respect_robots_txt(mut self, respect: bool) -> Self {
        self.respect_robots = respect;
        self
    }

    /// The client that is shared with others. Default: one of its own.
    pub fn http_client(mut self, access: Access) -> Self {
        self.access = Some(access);
        self
    }

    /// Makes the searcher.
    ///
    /// # Errors
    /// `Configuration`: there is nothing to search for, or 32 KiB and more of it; no client can be built.
    pub fn build(self) -> Result<PubMedSearcher, Error> {
        let search_string = self.search_string.trim();
        if search_string.is_empty() || search_string.len() > LONGEST {
            return Err(Error::configuration(
                "a search needs words, and less than 32 KiB of them",
            ));
        }
        let access = match self.access {
            Some(access) => access,
            None => Access::builder(self.contact)
                .respect_robots_txt(self.respect_robots)
                .build()?,
        };
        Ok(PubMedSearcher {
            access,
            search_string: search_string.to_owned(),
        })
    }
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self {
            count: Some(20),
            dates: None,
            date_type: DateType::default(),
            order: Order::default(),
            only_open_access: false,
            only_case_reports: false,
            engine: Engine::default(),
        }
    }
}
