//! From a spelling to an [`Identifier`].

use std::borrow::Cow;
use std::fmt;

use percent_encoding::percent_decode_str;
use url::Url;

use super::doi::split;
use super::spelling::{after_word, end, unwrap};
use super::{ArxivId, Doi, Identifier, NotAnId, Pmcid, Pmid, ShortDoi};

/// What publishers put behind the DOI in the paths of an article's views.
const VIEWS: [&str; 11] = [
    "/full",
    "/fulltext",
    "/full.pdf",
    "/pdf",
    "/epdf",
    "/abstract",
    "/html",
    "/references",
    "/meta",
    ".full.pdf",
    ".pdf",
];

/// An identifier and what its spelling needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadId {
    /// The paper.
    pub id: Identifier,
    /// What was mended to read it.
    pub note: Option<Mended>,
}

/// What was mended in a spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mended {
    /// Punctuation or a bracket at the end was dropped.
    EndDropped,
    /// It was found inside the URL of a publisher, where a guess says how long it is.
    InsideUrl,
}

impl fmt::Display for Mended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EndDropped => "punctuation at its end was dropped",
            Self::InsideUrl => "found inside the URL of a publisher",
        })
    }
}

pub(super) fn read(text: &str) -> Result<ReadId, NotAnId> {
    let text = unwrap(text);
    if let Some(url) = url_of(text) {
        return in_url(&url);
    }
    let (only, bare) = prefixed(text);
    let whole = end(bare);
    let id = bare_id(whole, only)?;
    let note = (whole.len() < bare.trim_end().len()).then_some(Mended::EndDropped);
    Ok(ReadId { id, note })
}

/// `https://…`, and the resolver's address without its scheme.
fn url_of(text: &str) -> Option<Url> {
    let lower = text.get(..16).unwrap_or(text).to_ascii_lowercase();
    if lower.starts_with("http://") || lower.starts_with("https://") {
        return Url::parse(text).ok();
    }
    let hosts = ["doi.org/", "dx.doi.org/", "www.doi.org/", "arxiv.org/"];
    let named = hosts.iter().any(|host| lower.starts_with(host));
    named.then(|| Url::parse(&format!("https://{text}")).ok())?
}

/// Which kind a prefix says it is, and the rest.
fn prefixed(text: &str) -> (Option<&'static str>, &str) {
    for kind in ["doi", "shortdoi", "pmid", "pmcid", "arxiv"] {
        if let Some(rest) = after_word(text, kind) {
            return (Some(kind), rest);
        }
    }
    (None, text)
}

fn bare_id(text: &str, only: Option<&str>) -> Result<Identifier, NotAnId> {
    let pmid = || Pmid::bare(text).map(Identifier::from);
    let pmcid = || Pmcid::bare(text).map(Identifier::from);
    let arxiv = || ArxivId::bare(text).map(Identifier::from);
    match only {
        Some("pmid") => pmid().ok_or(NotAnId::Unknown),
        Some("pmcid") => pmcid()
            .or_else(|| Pmcid::bare(&format!("PMC{text}")).map(Identifier::from))
            .ok_or(NotAnId::Unknown),
        Some("arxiv") => arxiv().ok_or(NotAnId::Unknown),
        Some(_) => of_doi(text),
        None => match pmid().or_else(pmcid).or_else(arxiv) {
            Some(id) => Ok(id),
            None => of_doi(text),
        },
    }
}

/// A DOI, or what one stands for: an arXiv paper, or a DOI that is not known yet.
fn of_doi(text: &str) -> Result<Identifier, NotAnId> {
    if let Some(short) = ShortDoi::bare(text) {
        return Ok(short.into());
    }
    let doi = Doi::bare(text)?;
    Ok(match doi.arxiv() {
        Some(arxiv) => arxiv.into(),
        None => Identifier::Doi(doi),
    })
}

fn in_url(url: &Url) -> Result<ReadId, NotAnId> {
    let path = percent_decode_str(url.path()).decode_utf8();
    let path = path.map_err(|_| NotAnId::Malformed)?;
    let host = url.host_str().unwrap_or_default();
    let host = host.strip_prefix("www.").unwrap_or(host);
    let known = match host {
        "doi.org" | "dx.doi.org" => return resolver(path.trim_start_matches('/')),
        "arxiv.org" | "export.arxiv.org" => of_arxiv(&path),
        "pubmed.ncbi.nlm.nih.gov" => segments(&path).find_map(Pmid::bare).map(Identifier::from),
        "pmc.ncbi.nlm.nih.gov" | "ncbi.nlm.nih.gov" | "europepmc.org" => of_library(&path),
        _ => None,
    };
    match known {
        Some(id) => Ok(ReadId { id, note: None }),
        None => of_publisher(url, path),
    }
}

fn resolver(path: &str) -> Result<ReadId, NotAnId> {
    let whole = end(path);
    let note = (whole.len() < path.len()).then_some(Mended::EndDropped);
    Ok(ReadId {
        id: of_doi(whole)?,
        note,
    })
}

fn of_arxiv(path: &str) -> Option<Identifier> {
    let id = ["/abs/", "/pdf/", "/html/"];
    let id = id.iter().find_map(|view| path.strip_prefix(view))?;
    let id = id.trim_end_matches('/');
    ArxivId::bare(id.strip_suffix(".pdf").unwrap_or(id)).map(Identifier::from)
}

/// `/articles/PMC9900042/`, `/pubmed/39900042`, `/article/MED/39900042`.
fn of_library(path: &str) -> Option<Identifier> {
    if let Some(pmcid) = segments(path).find_map(Pmcid::bare) {
        return Some(pmcid.into());
    }
    let mut segments = segments(path).skip_while(|s| !matches!(*s, "pubmed" | "MED"));
    segments.nth(1).and_then(Pmid::bare).map(Identifier::from)
}

/// A DOI in the path, or else in a value of the query.
fn of_publisher(url: &Url, path: Cow<'_, str>) -> Result<ReadId, NotAnId> {
    let mut values: Vec<Cow<'_, str>> = vec![path];
    values.extend(url.query_pairs().map(|(_, value)| value));
    let doi = values.iter().find_map(|value| {
        let starts = value.match_indices("10.").map(|(at, _)| &value[at..]);
        starts
            .filter(|from| split(from).is_some())
            .find_map(|from| {
                let from = end(from.trim_end_matches('/'));
                let view = VIEWS.iter().find_map(|view| from.strip_suffix(view));
                of_doi(view.unwrap_or(from)).ok()
            })
    });
    match doi {
        Some(id) => Ok(ReadId {
            id,
            note: Some(Mended::InsideUrl),
        }),
        None => Err(NotAnId::Unknown),
    }
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('/')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_of_libraries_and_publishers_are_read() {
        for (text, id) in [
            (
                "https://www.ncbi.nlm.nih.gov/pubmed/39900042",
                "pmid:39900042",
            ),
            (
                "https://europepmc.org/article/MED/39900042",
                "pmid:39900042",
            ),
            (
                "https://europepmc.org/articles/PMC9900042?pdf=render",
                "pmcid:PMC9900042",
            ),
            ("doi.org/10.5555/ABC", "doi:10.5555/abc"),
            (
                "https://arxiv.org/abs/math/0101001v1",
                "arxiv:math/0101001v1",
            ),
            (
                "https://j.example/doi/10.5555/a.1/full?x=1",
                "doi:10.5555/a.1",
            ),
            (
                "https://j.example/content/10.5555/a.1.full.pdf",
                "doi:10.5555/a.1",
            ),
            (
                "https://j.example/article?id=10.5555/a.1",
                "doi:10.5555/a.1",
            ),
            ("pmcid: 9900042", "pmcid:PMC9900042"),
            ("\u{feff}\"10.5555/abc\",", "doi:10.5555/abc"),
        ] {
            let read = Identifier::read(text).map(|read| read.id.to_string());
            assert_eq!(read.as_deref(), Ok(id), "{text}");
        }
        for text in [
            "",
            "https://j.example/about",
            "https://doi.org/",
            "pmid: x",
            "doi:",
            "http://",
        ] {
            assert!(Identifier::read(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_read_reads_as_itself_again(text in "\\PC{0,40}|(doi:|https?://[a-z.]{1,8}/)?10\\.[0-9]{4}/\\PC{1,20}") {
            if let Ok(read) = Identifier::read(&text) {
                let again = Identifier::read(&read.id.to_string());
                prop_assert_eq!(again.map(|read| read.id), Ok(read.id.clone()));
                prop_assert!(read.id.folder().len() <= 200);
                prop_assert!(!read.id.folder().contains(['/', '\\']));
            }
        }
    }
}
