//! What the providers publish.

use std::time::Duration;

use super::Provider;

/// A documented interface, or a site that has a row for its pace.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Endpoint {
    /// Whose it is.
    pub provider: Provider,
    /// The short name, in lower case.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// Host and path prefix, as a URL.
    pub base: &'static str,
    /// Whether it is documented as offered to programs, so that robots.txt is not consulted.
    pub documented: bool,
    /// How often it may be asked.
    pub pace: Pace,
    /// How often with a key, where that differs.
    pub pace_with_key: Option<Pace>,
    /// Requests within any 24 hours, where that is limited too.
    pub day_cap: Option<u32>,
    /// Requests in flight at once.
    pub in_flight: u32,
    /// 403s in a row that end all asking (R4).
    pub suppress_after: u32,
    /// The variable that holds its key, where there are any.
    pub key: Option<&'static str>,
    /// Whether it is asked only with a key.
    pub needs_key: bool,
    /// Where the number comes from.
    pub source: &'static str,
    /// When that was looked at.
    pub checked: &'static str,
}

/// So many requests in so much time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Requests; at least 1.
    pub requests: u32,
    /// Seconds; at least 1.
    pub seconds: u32,
}

impl Pace {
    const fn new(requests: u32, seconds: u32) -> Self {
        Self { requests, seconds }
    }

    /// Requests per second.
    #[must_use]
    pub fn rate(self) -> f64 {
        f64::from(self.requests) / f64::from(self.seconds)
    }

    /// From one request to the next.
    #[must_use]
    pub fn interval(self) -> Duration {
        Duration::from_secs(u64::from(self.seconds)) / self.requests
    }
}

const CHECKED: &str = "2026-11-30";

/// What holds of most.
const USUAL: Endpoint = Endpoint {
    provider: Provider::Doi,
    name: "",
    title: "",
    base: "",
    documented: true,
    pace: Pace::new(1, 1),
    pace_with_key: None,
    day_cap: None,
    in_flight: 2,
    suppress_after: 3,
    key: None,
    needs_key: false,
    source: "",
    checked: CHECKED,
};

/// In the order of [`Provider`].
pub(super) const ENDPOINTS: [Endpoint; 14] = [
    Endpoint {
        provider: Provider::Unpaywall,
        name: "unpaywall",
        title: "Unpaywall",
        base: "https://api.unpaywall.org/v2",
        pace: Pace::new(10, 1),
        day_cap: Some(100_000),
        source: "unpaywall.org/products/api: 100,000 calls a day; no shorter limit is published, 10/s is curtsy's own",
        ..USUAL
    },
    Endpoint {
        provider: Provider::Ncbi,
        name: "ncbi",
        title: "NCBI E-utilities",
        base: "https://eutils.ncbi.nlm.nih.gov/entrez/eutils",
        pace: Pace::new(3, 1),
        pace_with_key: Some(Pace::new(10, 1)),
        key: Some("NCBI_API_KEY"),
        source: "ncbi.nlm.nih.gov/books/NBK25497: 3/s an address, 10/s with a key",
        ..USUAL
    },
    Endpoint {
        provider: Provider::IdConverter,
        name: "idconv",
        title: "PMC ID converter",
        base: "https://pmc.ncbi.nlm.nih.gov/tools/idconv/api/v1/articles",
        pace: Pace::new(3, 1),
        source: "ncbi.nlm.nih.gov/books/NBK25497: NCBI's 3/s an address; none of its own is published",
        ..USUAL
    },
    Endpoint {
        provider: Provider::PmcCloud,
        name: "pmc_cloud",
        title: "PMC Cloud Service",
        base: "https://pmc-oa-opendata.s3.amazonaws.com",
        pace: Pace::new(5, 1),
        source: "none is published; curtsy's own",
        ..USUAL
    },
    Endpoint {
        provider: Provider::EuropePmc,
        name: "europepmc",
        title: "Europe PMC REST",
        base: "https://www.ebi.ac.uk/europepmc/webservices/rest",
        pace: Pace::new(5, 1),
        source: "none is published; half of the 10/s that its users name",
        ..USUAL
    },
    Endpoint {
        provider: Provider::EuropePmcSite,
        name: "europepmc_www",
        title: "Europe PMC PDFs",
        base: "https://europepmc.org",
        documented: false,
        pace: Pace::new(2, 1),
        in_flight: 1,
        source: "none is published; curtsy's own, and robots.txt",
        ..USUAL
    },
    Endpoint {
        provider: Provider::Crossref,
        name: "crossref",
        title: "Crossref REST",
        base: "https://api.crossref.org",
        pace: Pace::new(10, 1),
        in_flight: 3,
        source: "Crossref's limits since 2025-12-01: single records 10/s for who gives a contact; and its x-rate-limit-*",
        ..USUAL
    },
    Endpoint {
        provider: Provider::OpenAlex,
        name: "openalex",
        title: "OpenAlex",
        base: "https://api.openalex.org",
        pace: Pace::new(10, 1),
        key: Some("OPENALEX_API_KEY"),
        needs_key: true,
        source: "docs.openalex.org, rate limits: a budget a day by key, 100/s at most; 10/s is curtsy's own",
        ..USUAL
    },
    Endpoint {
        provider: Provider::SemanticScholar,
        name: "s2",
        title: "Semantic Scholar",
        base: "https://api.semanticscholar.org/graph/v1",
        pace: Pace::new(1, 1),
        in_flight: 1,
        key: Some("S2_API_KEY"),
        needs_key: true,
        source: "semanticscholar.org/product/api: 1/s with a key, over all of it",
        ..USUAL
    },
    Endpoint {
        provider: Provider::Arxiv,
        name: "arxiv",
        title: "arXiv PDFs",
        base: "https://arxiv.org",
        documented: false,
        pace: Pace::new(1, 3),
        in_flight: 1,
        suppress_after: 1,
        source: "arxiv.org/robots.txt: its Crawl-delay (15 s in June 2026), and never under 3 s",
        ..USUAL
    },
    Endpoint {
        provider: Provider::ArxivApi,
        name: "arxiv_api",
        title: "arXiv query API",
        base: "https://export.arxiv.org/api",
        pace: Pace::new(1, 3),
        in_flight: 1,
        suppress_after: 1,
        source: "info.arxiv.org/help/api/tou: one request every 3 s, one connection",
        ..USUAL
    },
    Endpoint {
        provider: Provider::Doi,
        name: "doi",
        title: "DOI resolver",
        base: "https://doi.org",
        pace: Pace::new(5, 1),
        source: "none is published; curtsy's own",
        ..USUAL
    },
    Endpoint {
        provider: Provider::DataCite,
        name: "datacite",
        title: "DataCite REST",
        base: "https://api.datacite.org",
        pace: Pace::new(1000, 300),
        source: "support.datacite.org, rate limit: 1,000 in 5 min for who gives a contact",
        ..USUAL
    },
    Endpoint {
        provider: Provider::Biorxiv,
        name: "biorxiv",
        title: "bioRxiv and medRxiv",
        base: "https://api.biorxiv.org",
        pace: Pace::new(1, 1),
        in_flight: 1,
        source: "none is published; curtsy's own",
        ..USUAL
    },
];
