//! From an identifier to a file: [`PaperRetriever`].
//!
//! Asks and fetches what a [plan](crate::plan) says, through one [`Access`]; streams a copy beside its place, looks
//! whether it is a PDF and a whole one, and only then puts it there; writes beside it what is known of the paper. A
//! file that another program made is never touched.

mod ask;
mod builder;
mod fetch;
mod folder;
mod gather;
mod paper;
mod part;
mod sidecar;

use std::path::PathBuf;
use std::sync::Arc;

pub use builder::PaperRetrieverBuilder;
pub use folder::Layout;
use paper::Way;
pub use paper::{Attempt, Paper, Stored};
pub use sidecar::Sidecar;

use crate::access::Access;
use crate::answer::Answer;
use crate::error::Error;
use crate::id::Identifier;
use crate::plan::{Doors, Plan, Step, Wishes};
use crate::source::Ids;
use crate::source::resolver::Resolver;
use folder::{Folder, Had, Shelf};
use gather::{Gather, ToEuropePmc, ToOpenAlex, ToSemanticScholar};

/// The largest PDF that is taken, in bytes. Default 200 MB.
pub const DEFAULT_MAX_SIZE: u64 = 200_000_000;

/// Gets papers: of each the best open copy, verified, with its record beside it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PaperRetriever {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    access: Access,
    /// The paper of this retriever, where it is for one.
    id: Option<Identifier>,
    wishes: Arc<Wishes>,
    doors: Arc<Doors>,
    resolvers: Vec<Resolver>,
    gather: Gathers,
    folder: Folder,
    again: bool,
    max_size: u64,
    check_identity: bool,
}

/// The providers that are asked about many papers at once.
#[derive(Debug, Default)]
struct Gathers {
    europe_pmc: Gather<ToEuropePmc>,
    open_alex: Gather<ToOpenAlex>,
    semantic_scholar: Gather<ToSemanticScholar>,
}

/// What is known of a paper before anybody is asked for it.
#[derive(Clone, Debug)]
pub struct Order {
    /// Its identifier.
    pub id: Identifier,
    /// As the user gave it.
    pub given: String,
    /// What the ID converter said of it, where that was asked about many at once.
    pub converted: Option<Answer<Ids>>,
}

impl From<Identifier> for Order {
    fn from(id: Identifier) -> Self {
        Self {
            given: id.to_string(),
            id,
            converted: None,
        }
    }
}

impl PaperRetriever {
    /// Gets the paper that this retriever was built for.
    ///
    /// # Errors
    /// `Configuration`: it was built for none. As [`retrieve`](Self::retrieve).
    pub async fn download(&self) -> Result<Paper, Error> {
        let id = self.shared.id.clone();
        let id =
            id.ok_or_else(|| Error::configuration("no paper was asked for: give a DOI or a PMID"))?;
        self.retrieve(id.into()).await
    }

    /// Gets a paper. That there is no PDF of it is a value: see [`Paper::verdict`].
    ///
    /// # Errors
    /// The engine or the disk failed; or a provider does not take the contact (`Configuration`), which concerns every
    /// paper.
    pub async fn retrieve(&self, order: Order) -> Result<Paper, Error> {
        let folder = &self.shared.folder;
        let shelf = folder.shelf(&order.id);
        let again = self.shared.again;
        let shelf = blocking(move || shelf.look(again)).await?;
        if let Some(had) = shelf.had() {
            return Ok(Paper::had(order, had));
        }
        let mut way = self.start(&order);
        let mut names = Vec::new();
        loop {
            match way.plan.next() {
                Step::Ask(question) => {
                    let started = self.shared.access.client().now();
                    let (answer, requests) = self.ask(&question).await?;
                    way.note(&question, &answer, requests, self.elapsed(started));
                    way.plan.answered(&question, answer);
                }
                Step::Fetch(location) => {
                    // What was asked for by another name before is there.
                    let known = way.plan.ids().names();
                    if !again && known != names {
                        names = known;
                        if let Some(had) = self.by_another_name(&order.id, &names).await? {
                            return Ok(Paper::had(order, &had));
                        }
                    }
                    let started = self.shared.access.client().now();
                    let fetched = self.fetch(&location, way.plan.ids(), &shelf).await?;
                    way.note_fetch(&location, &fetched, self.elapsed(started));
                    match fetched.end {
                        Ok(pdf) => {
                            way.plan.fetched(&location);
                            return self.store(way, order, shelf, Some(pdf)).await;
                        }
                        Err(miss) => way.plan.missed(&location, miss),
                    }
                }
                Step::End(_) => return self.store(way, order, shelf, None).await,
            }
        }
    }

    /// Finds where the copies of a paper are, and downloads none.
    ///
    /// # Errors
    /// As [`retrieve`](Self::retrieve).
    pub async fn find(&self, order: Order) -> Result<Paper, Error> {
        let mut way = self.start(&order);
        loop {
            match way.plan.next_to_find() {
                Step::Ask(question) => {
                    let started = self.shared.access.client().now();
                    let (answer, requests) = self.ask(&question).await?;
                    way.note(&question, &answer, requests, self.elapsed(started));
                    way.plan.answered(&question, answer);
                }
                Step::Fetch(_) | Step::End(_) => return Ok(way.end(&order)),
            }
        }
    }

    /// The folder that papers go to.
    #[must_use]
    pub fn download_directory(&self) -> &PathBuf {
        self.shared.folder.root()
    }

    /// The way to the providers.
    #[must_use]
    pub fn access(&self) -> &Access {
        &self.shared.access
    }

    async fn by_another_name(
        &self,
        id: &Identifier,
        names: &[Identifier],
    ) -> Result<Option<Had>, Error> {
        let folder = &self.shared.folder;
        let others = names.iter().filter(|name| *name != id);
        let shelves: Vec<Shelf> = others.filter_map(|name| folder.own_shelf(name)).collect();
        blocking(move || {
            for shelf in shelves {
                if let Some(had) = shelf.look(false)?.had() {
                    return Ok(Some(had.clone()));
                }
            }
            Ok(None)
        })
        .await
    }

    fn start(&self, order: &Order) -> Way {
        let Shared { wishes, doors, .. } = &*self.shared;
        let mut plan = Plan::new(order.id.clone(), Arc::clone(wishes), Arc::clone(doors));
        if let Some(converted) = &order.converted {
            plan.converted(converted.clone());
        }
        Way::new(plan)
    }

    /// Puts what was fetched in its place, and the record beside it.
    async fn store(
        &self,
        way: Way,
        order: Order,
        shelf: Shelf,
        pdf: Option<fetch::Pdf>,
    ) -> Result<Paper, Error> {
        let now = self.shared.access.client().now();
        blocking(move || {
            let mut paper = way.end(&order);
            shelf.keep(pdf, |place, pdf| {
                paper.stored = pdf.map(|pdf| Stored::new(place, pdf));
                Sidecar::of(&paper, now)
            })?;
            Ok(paper)
        })
        .await
    }

    fn elapsed(&self, since: curtsy::core::Timestamp) -> std::time::Duration {
        self.shared.access.client().now().since(since)
    }
}

/// Does what waits for the disk where nobody else has to wait for it.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T, Error> {
    let ended = tokio::task::spawn_blocking(work).await;
    let ended = ended.unwrap_or_else(|error| Err(std::io::Error::other(error)));
    ended.map_err(|error| Error::disk("a paper's folder", error))
}
