//! The documented interfaces that are asked, and how often: data, and how it becomes policy.
//!
//! A site's robots.txt speaks of its pages; what it offers to programs has terms and a rate of its own. arXiv's
//! robots.txt even disallows `/api`, which arXiv publishes for programs. So robots.txt is not consulted below an
//! interface's base, whose published rate is kept instead, and obeyed everywhere else.

mod policy;
mod table;

use std::fmt;

use curtsy::core::Scope;
use url::Url;

pub use policy::site_policy;
pub use table::{Endpoint, Pace};

use crate::error::Error;

/// Who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Provider {
    /// Unpaywall: where the open copies of a DOI are.
    Unpaywall,
    /// NCBI's E-utilities over PubMed.
    Ncbi,
    /// PMC's ID converter: DOI ↔ PMID ↔ PMCID of what lies in PMC.
    IdConverter,
    /// PMC's article sets in a public bucket.
    PmcCloud,
    /// Europe PMC's REST service.
    EuropePmc,
    /// Europe PMC's site, which renders PDFs.
    EuropePmcSite,
    /// Crossref's REST interface.
    Crossref,
    /// OpenAlex.
    OpenAlex,
    /// Semantic Scholar's graph.
    SemanticScholar,
    /// arXiv's site, for PDFs.
    Arxiv,
    /// arXiv's query interface.
    ArxivApi,
    /// The DOI resolver: handles, agencies, content negotiation.
    Doi,
    /// DataCite's REST interface.
    DataCite,
    /// The interface of bioRxiv and medRxiv.
    Biorxiv,
}

impl Provider {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 14] = [
        Self::Unpaywall,
        Self::Ncbi,
        Self::IdConverter,
        Self::PmcCloud,
        Self::EuropePmc,
        Self::EuropePmcSite,
        Self::Crossref,
        Self::OpenAlex,
        Self::SemanticScholar,
        Self::Arxiv,
        Self::ArxivApi,
        Self::Doi,
        Self::DataCite,
        Self::Biorxiv,
    ];

    /// What is known of its interface.
    #[must_use]
    pub fn endpoint(self) -> &'static Endpoint {
        &table::ENDPOINTS[self as usize]
    }

    /// The short name, as in `[papers.base]` and, in capitals behind `CURTSY_BASE_`, in the environment.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.endpoint().name
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The bases in effect. Every one can be replaced: by a mirror, or by a server that plays the provider in a test.
#[derive(Clone, Debug)]
pub struct Endpoints {
    bases: Vec<Url>,
}

impl Endpoints {
    /// Replaces the base of a provider. Its rate stays in force.
    ///
    /// # Errors
    /// `Configuration`: it is no http(s) URL, or has credentials, a query or a fragment.
    pub fn with_base(mut self, provider: Provider, base: &str) -> Result<Self, Error> {
        self.bases[provider as usize] = parse_base(base)
            .ok_or_else(|| Error::configuration("is no base: write https://host/path"))?;
        Ok(self)
    }

    /// The base of a provider: what its paths are appended to. It has no slash at its end but the root's.
    #[must_use]
    pub fn base(&self, provider: Provider) -> &Url {
        &self.bases[provider as usize]
    }

    /// What the requests to a provider are paced as: the host, and the path that its interface lies under.
    #[must_use]
    pub fn scope(&self, provider: Provider) -> Scope {
        let base = self.base(provider);
        let host = Scope::of(base).unwrap_or_else(|| Scope::named(base.as_str()));
        match base.path().trim_end_matches('/') {
            "" => host,
            path => Scope::named(&format!("{host}{path}")),
        }
    }

    /// The provider that a URL lies under; the one with the longest base where there are several.
    #[must_use]
    pub fn provider_of(&self, url: &Url) -> Option<Provider> {
        let under = |provider: &Provider| {
            let base = self.base(*provider);
            let path = base.path().trim_end_matches('/');
            let rest = url.path().strip_prefix(path);
            Scope::of(base) == Scope::of(url)
                && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let length = |provider: &Provider| self.base(*provider).path().len();
        Provider::ALL.into_iter().filter(under).max_by_key(length)
    }
}

impl Default for Endpoints {
    fn default() -> Self {
        let base = |provider: Provider| {
            let base = provider.endpoint().base;
            parse_base(base).unwrap_or_else(|| unreachable!("{base} is a base"))
        };
        Self {
            bases: Provider::ALL.into_iter().map(base).collect(),
        }
    }
}

fn parse_base(text: &str) -> Option<Url> {
    let mut url = Url::parse(text.trim()).ok()?;
    Scope::of(&url)?;
    let plain = url.username().is_empty() && url.password().is_none();
    if !plain || url.query().is_some() || url.fragment().is_some() {
        return None;
    }
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&path);
    Some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_provider_has_the_row_of_its_name() {
        for provider in Provider::ALL {
            assert_eq!(provider.endpoint().provider, provider);
        }
        let mut names = Provider::ALL.map(Provider::name);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }

    #[test]
    fn a_base_is_replaced_and_its_scope_with_it() {
        let endpoints = Endpoints::default()
            .with_base(Provider::Ncbi, "http://127.0.0.1:9/eutils/")
            .unwrap();
        assert_eq!(
            endpoints.base(Provider::Ncbi).as_str(),
            "http://127.0.0.1:9/eutils"
        );
        for (provider, scope) in [
            (Provider::Ncbi, "127.0.0.1:9/eutils"),
            (Provider::Unpaywall, "api.unpaywall.org/v2"),
            (Provider::Crossref, "api.crossref.org"),
        ] {
            assert_eq!(endpoints.scope(provider).as_str(), scope);
        }
        for (url, provider) in [
            (
                "http://127.0.0.1:9/eutils/esearch.fcgi?x",
                Some(Provider::Ncbi),
            ),
            ("http://127.0.0.1:9/other", None),
            ("https://doi.org/10.5555/x", Some(Provider::Doi)),
            ("https://www.ebi.ac.uk/europepmc/webservices/restless", None),
        ] {
            assert_eq!(
                endpoints.provider_of(&Url::parse(url).unwrap()),
                provider,
                "{url}"
            );
        }
    }

    #[test]
    fn what_is_no_base_is_refused() {
        for text in [
            "",
            "x",
            "ftp://a.example",
            "http://u:p@a.example/",
            "http://a.example/?x",
            "http://a.example/#x",
        ] {
            assert!(
                Endpoints::default().with_base(Provider::Doi, text).is_err(),
                "{text}"
            );
        }
    }
}
