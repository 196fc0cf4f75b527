//! What a [`PaperRetriever`] is made of.

use std::path::PathBuf;
use std::sync::Arc;

use curtsy::Policies;

use super::folder::{Folder, Layout};
use super::{DEFAULT_MAX_SIZE, Gathers, PaperRetriever, Shared};
use crate::access::Access;
use crate::contact::Contact;
use crate::endpoint::site_policy;
use crate::error::Error;
use crate::id::{Doi, Identifier, Pmid};
use crate::plan::{Doors, Prefer, Wishes};
use crate::source::SourceId;
use crate::source::resolver::Resolver;

/// Collects the parts of a [`PaperRetriever`]; every part but the contact has a default.
#[derive(Debug)]
#[must_use]
pub struct PaperRetrieverBuilder {
    contact: Contact,
    id: Option<Identifier>,
    access: Option<Access>,
    respect_robots_txt: bool,
    suppress_on_403: bool,
    polite_mode: bool,
    wishes: Wishes,
    resolvers: Vec<Resolver>,
    download_directory: PathBuf,
    filename: Option<String>,
    layout: Layout,
    override_previous_attempt: bool,
    max_size: u64,
    check_identity: bool,
}

impl PaperRetriever {
    /// Starts a retriever for whoever reads mail at `contact`, which is sent to the providers that want to know.
    pub fn builder(contact: Contact) -> PaperRetrieverBuilder {
        PaperRetrieverBuilder {
            contact,
            id: None,
            access: None,
            respect_robots_txt: false,
            suppress_on_403: true,
            polite_mode: true,
            wishes: Wishes::default(),
            resolvers: Vec::new(),
            download_directory: PathBuf::from("PDFs"),
            filename: None,
            layout: Layout::default(),
            override_previous_attempt: false,
            max_size: DEFAULT_MAX_SIZE,
            check_identity: false,
        }
    }
}

impl PaperRetrieverBuilder {
    /// The paper of this DOI.
    pub fn doi(self, doi: Doi) -> Self {
        self.id(Identifier::Doi(doi))
    }

    /// The paper of this PMID.
    pub fn pmid(self, pmid: Pmid) -> Self {
        self.id(Identifier::Pmid(pmid))
    }

    /// The paper of this identifier.
    pub fn id(mut self, id: Identifier) -> Self {
        self.id = Some(id);
        self
    }

    /// The way to the providers, shared with others so that every host has one pace. Default: one of its own, with
    /// what the next three say.
    pub fn http_client(mut self, access: Access) -> Self {
        self.access = Some(access);
        self
    }

    /// Whether robots.txt is consulted for documented interfaces too; for all else it always is. Default: no.
    pub fn respect_robots_txt(mut self, respect: bool) -> Self {
        self.respect_robots_txt = respect;
        self
    }

    /// Whether a host is left alone after a 403. Default: yes.
    pub fn suppress_on_403(mut self, suppress: bool) -> Self {
        self.suppress_on_403 = suppress;
        self
    }

    /// Whether there is any pace at all. Default: yes. Without it, interfaces of providers keep their rates.
    pub fn polite_mode(mut self, polite: bool) -> Self {
        self.polite_mode = polite;
        self
    }

    /// Who may be asked. Default: everybody.
    pub fn sources(mut self, sources: Vec<SourceId>) -> Self {
        self.wishes.sources = sources;
        self
    }

    /// Which copy is tried first. Default: the one that is had soonest.
    pub fn prefer(mut self, prefer: Prefer) -> Self {
        self.wishes.prefer = prefer;
        self
    }

    /// Licences that a copy must have one of. Default: none is asked for.
    pub fn licenses(mut self, licenses: Vec<String>) -> Self {
        self.wishes.licenses = licenses;
        self
    }

    /// Whether the landing page is asked for although no source calls the work open. Default: no.
    pub fn try_landing(mut self, try_landing: bool) -> Self {
        self.wishes.try_landing = try_landing;
        self
    }

    /// Whether retracted works are left out. Default: no.
    pub fn skip_retracted(mut self, skip: bool) -> Self {
        self.wishes.skip_retracted = skip;
        self
    }

    /// Resolvers of the user's own. Default: none.
    pub fn resolvers(mut self, resolvers: Vec<Resolver>) -> Self {
        self.resolvers = resolvers;
        self
    }

    /// Where papers go. Default: `PDFs`.
    pub fn download_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.download_directory = directory.into();
        self
    }

    /// What the file of the one paper is called, in that folder. Default: by its identifier, in a folder of its own.
    pub fn filename(mut self, name: Option<String>) -> Self {
        self.filename = name;
        self
    }

    /// How files lie in the folder. Default: [`Layout::Seed`].
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// Whether a paper is fetched although it is there. Default: no.
    pub fn override_previous_attempt(mut self, again: bool) -> Self {
        self.override_previous_attempt = again;
        self
    }

    /// The largest PDF that is taken, in bytes. Default: [`DEFAULT_MAX_SIZE`].
    pub fn max_size(mut self, bytes: u64) -> Self {
        self.max_size = bytes;
        self
    }

    /// Whether a PDF whose metadata names another DOI is refused, and kept as `NAME.suspect.pdf`. Default: no, since
    /// manuscripts and preprints may rightly name another than the published work has.
    pub fn check_identity(mut self, check: bool) -> Self {
        self.check_identity = check;
        self
    }

    /// Makes the retriever.
    ///
    /// # Errors
    /// `Configuration`: the name of the file leads out of the folder.
    pub fn build(mut self) -> Result<PaperRetriever, Error> {
        let folder = Folder::new(
            self.download_directory,
            self.layout,
            self.filename.as_deref(),
        )?;
        self.wishes.resolvers = self.resolvers.len();
        let access = match self.access {
            Some(access) => access,
            None => {
                let mut site = site_policy();
                site.polite = self.polite_mode;
                if !self.suppress_on_403 {
                    site.suppress_after = None;
                }
                let wrong =
                    |error: curtsy::core::PolicyError| Error::configuration(error.to_string());
                Access::builder(self.contact)
                    .policies(Policies::new(site.build().map_err(wrong)?))
                    .respect_robots_txt(self.respect_robots_txt)
                    .build()?
            }
        };
        Ok(PaperRetriever {
            shared: Arc::new(Shared {
                doors: Arc::new(Doors::new(access.endpoints())),
                access,
                id: self.id,
                wishes: Arc::new(self.wishes),
                resolvers: self.resolvers,
                gather: Gathers::default(),
                folder,
                again: self.override_previous_attempt,
                max_size: self.max_size,
                check_identity: self.check_identity,
            }),
        })
    }
}
