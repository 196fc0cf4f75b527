//! `esearch`: from a query to PMIDs.
//!
//! <https://www.ncbi.nlm.nih.gov/books/NBK25499/>. All numbers come as texts, and some errors with status 200.

use crate::field::{Field, as_text};
use crate::id::{Doi, Pmid};
use crate::query::Query;
use crate::source::{Unreadable, object};

/// The most DOIs of one search.
pub(crate) const MAX_DOIS: usize = 100;

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hits {
    /// How many there are; may be more than are shown.
    pub(crate) count: u64,
    /// Those that are shown.
    pub(crate) pmids: Vec<Pmid>,
    /// Where the server keeps them all, if it was asked to.
    pub(crate) history: Option<History>,
}

/// Hits that the server keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct History {
    pub(crate) environment: String,
    pub(crate) key: String,
}

/// A search of PubMed.
pub(crate) fn query(term: &str) -> Query {
    Query::at("esearch.fcgi")
        .pair("db", "pubmed")
        .pair("retmode", "json")
        .pair("term", term)
}

/// A search for works by their DOIs, at most [`MAX_DOIS`]. What it finds is to be confirmed: a DOI that PubMed does
/// not know is searched for as words.
pub(crate) fn query_dois(dois: &[Doi]) -> Query {
    // There is no way to write a quotation mark within quotation marks.
    let quoted = dois
        .iter()
        .map(|doi| format!("\"{}\"[doi]", doi.as_str().replace('"', " ")));
    let term = quoted.collect::<Vec<_>>().join(" OR ");
    query(&term).pair("retmax", (2 * MAX_DOIS).to_string())
}

/// What was found.
///
/// # Errors
/// It is no answer of this kind, or tells of an error.
pub(crate) fn read(body: &[u8]) -> Result<Hits, Unreadable> {
    let answer = object(body)?;
    let result = answer.part("esearchresult");
    let count = result.number("count").ok_or(Unreadable)?;
    if result.text("ERROR").is_some() {
        return Err(Unreadable);
    }
    let pmids = result.list("idlist").iter();
    let history = result.text("webenv").zip(result.text("querykey"));
    Ok(Hits {
        count,
        pmids: pmids
            .filter_map(as_text)
            .filter_map(|text| text.parse().ok())
            .collect(),
        history: history.map(|(environment, key)| History { environment, key }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_are_counted_shown_and_kept() {
        let hits = read(include_bytes!("../../testdata/eutils_esearch_history.json")).unwrap();
        assert_eq!((hits.count, hits.pmids.len()), (3, 2));
        let history = hits.history.unwrap();
        assert_eq!(
            (history.environment.as_str(), history.key.as_str()),
            ("MCID_0000aaaa1111bbbb2222cccc", "1")
        );
        let exact = read(include_bytes!(
            "../../testdata/eutils_esearch_doi_exact.json"
        ))
        .unwrap();
        assert_eq!(
            (exact.count, exact.pmids[0].to_string().as_str()),
            (1, "39900042")
        );
        let none = read(include_bytes!("../../testdata/eutils_esearch_none.json")).unwrap();
        assert_eq!(none, Hits::default());
    }

    #[test]
    fn an_error_that_comes_with_status_200_is_one() {
        for body in [
            &include_bytes!("../../testdata/eutils_esearch_over_limit.json")[..],
            include_bytes!("../../testdata/eutils_429.json"),
            b"<html>",
        ] {
            assert_eq!(read(body), Err(Unreadable));
        }
    }

    #[test]
    fn dois_are_quoted_and_joined() {
        let dois = ["10.5555/a\"b", "10.5555/c;d+e#f"].map(|text| text.parse().unwrap());
        let base = url::Url::parse("https://e.example/").unwrap();
        let url = url::Url::parse(&query_dois(&dois).url(&base)).unwrap();
        let term = url.query_pairs().find(|(name, _)| name == "term").unwrap();
        assert_eq!(term.1, "\"10.5555/a b\"[doi] OR \"10.5555/c;d+e#f\"[doi]");
    }
}
