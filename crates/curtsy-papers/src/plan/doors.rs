//! [`Doors`]: addresses at which programs are let in, in the place of those at which they are not.

use url::Url;

use crate::endpoint::{Endpoints, Provider};
use crate::id::{ArxivId, Doi, Identifier, Pmcid};
use crate::query::Query;
use crate::source::{HostType, Location, LocationKind, SourceId, arxiv, doi};

/// Where copies are fetched that are known by other addresses: pages of PubMed Central and Europe PMC, and of arXiv.
#[derive(Clone, Debug)]
pub struct Doors {
    arxiv: Url,
    doi: Url,
    europe_pmc: Url,
}

/// Where a copy leads.
pub(super) enum Door {
    /// There.
    Open(Location),
    /// To an article of PubMed Central, which has doors of its own; and to one at Europe PMC, where the source says
    /// that there is one.
    Library(Pmcid, Option<Location>),
}

impl Doors {
    /// By the bases in effect.
    #[must_use]
    pub fn new(endpoints: &Endpoints) -> Self {
        Self {
            arxiv: endpoints.base(Provider::Arxiv).clone(),
            doi: endpoints.base(Provider::Doi).clone(),
            europe_pmc: endpoints.base(Provider::EuropePmcSite).clone(),
        }
    }

    /// The PDF of a paper on arXiv.
    pub(super) fn arxiv(&self, id: &ArxivId) -> Option<Location> {
        arxiv::pdf(&self.arxiv, id)
    }

    /// Where a DOI leads.
    pub(super) fn doi(&self, doi: &Doi) -> Option<Url> {
        Url::parse(&doi::query(doi).url(&self.doi)).ok()
    }

    pub(super) fn of(&self, location: &Location) -> Door {
        let open = || Door::Open(location.clone());
        let Some(id) = named(&location.url) else {
            return open();
        };
        match id {
            Identifier::Pmcid(pmcid) => {
                let is_pdf = location.kind == LocationKind::Pdf;
                let pdf = is_pdf.then(|| self.rendered(pmcid, location));
                Door::Library(pmcid.article(), pdf.flatten())
            }
            Identifier::Arxiv(arxiv) => match self.arxiv(&arxiv) {
                Some(pdf) => Door::Open(Location {
                    source: location.source,
                    version: location.version,
                    license: location.license.clone(),
                    ..pdf
                }),
                None => open(),
            },
            _ => open(),
        }
    }

    /// The PDF that Europe PMC makes of an article.
    fn rendered(&self, pmcid: Pmcid, of: &Location) -> Option<Location> {
        let path = Query::at("articles").then(&pmcid.article().to_string());
        let url = Url::parse(&path.pair("pdf", "render").url(&self.europe_pmc)).ok()?;
        Some(Location {
            kind: LocationKind::Pdf,
            source: SourceId::EuropePmc,
            host_type: Some(HostType::Repository),
            url,
            ..of.clone()
        })
    }
}

/// The article that an address of one of these libraries names.
fn named(url: &Url) -> Option<Identifier> {
    let host = url.host_str()?;
    let host = host.strip_prefix("www.").unwrap_or(host);
    let is_library = matches!(
        host,
        "pmc.ncbi.nlm.nih.gov"
            | "ncbi.nlm.nih.gov"
            | "europepmc.org"
            | "arxiv.org"
            | "export.arxiv.org"
    );
    let mut plain = url.clone();
    // The port of a server that plays them is none of the name.
    plain.set_port(None).ok()?;
    is_library.then(|| plain.as_str().parse().ok())?
}
