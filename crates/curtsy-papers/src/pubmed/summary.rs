//! `esummary`: what a record is called, for up to [`MAX_IDS`] records a call.
//!
//! <https://www.ncbi.nlm.nih.gov/books/NBK25499/>. The best way from PMIDs to DOIs and PMCIDs in bulk, and the proof
//! that a search found the work that was looked for.

use serde_json::Value;

use crate::field::Field;
use crate::id::{Identifier, Pmid};
use crate::query::Query;
use crate::source::{Ids, Unreadable, object};

/// The most records of one call.
pub(crate) const MAX_IDS: usize = 200;

/// Asks about records.
pub(crate) fn query(pmids: &[Pmid]) -> Query {
    let ids: Vec<String> = pmids.iter().map(Pmid::to_string).collect();
    let query = Query::at("esummary.fcgi")
        .pair("db", "pubmed")
        .pair("retmode", "json");
    query.pair("id", ids.join(","))
}

/// What a record says in short.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(crate) ids: Ids,
    pub(crate) title: Option<String>,
    pub(crate) authors: Vec<String>,
    pub(crate) journal: Option<String>,
    pub(crate) year: Option<u16>,
}

/// The records; those that PubMed does not have are left out.
///
/// # Errors
/// It is no answer of this kind.
pub(crate) fn read(body: &[u8]) -> Result<Vec<Summary>, Unreadable> {
    let answer = object(body)?;
    let result = answer.part("result").as_object().ok_or(Unreadable)?;
    let records = result.iter().filter(|(name, record)| {
        *name != "uids" && record.is_object() && record.text("error").is_none()
    });
    Ok(records
        .filter_map(|(name, record)| summary(name, record))
        .collect())
}

fn summary(name: &str, record: &Value) -> Option<Summary> {
    let mut ids = Ids {
        pmid: Some(record.parse("uid").or_else(|| name.parse().ok())?),
        ..Ids::default()
    };
    for id in record.list("articleids") {
        match (id.text("idtype").as_deref(), id.parse("value")) {
            (Some("doi"), Some(Identifier::Doi(doi))) => ids.doi = Some(doi),
            (Some("doi"), Some(Identifier::Arxiv(arxiv))) => ids.doi = Some(arxiv.doi()),
            (Some("pmc"), Some(Identifier::Pmcid(pmcid))) => ids.pmcid = Some(pmcid),
            _ => {}
        }
    }
    let date = record.text("pubdate").or_else(|| record.text("epubdate"));
    let authors = record.list("authors").iter();
    Some(Summary {
        ids,
        title: record.text("title"),
        authors: authors.filter_map(|author| author.text("name")).collect(),
        journal: record
            .text("fulljournalname")
            .or_else(|| record.text("source")),
        year: date.and_then(|date| date.get(..4)?.parse().ok()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_called_by_its_article_ids() {
        let [summary] = &read(include_bytes!("../../testdata/eutils_esummary.json")).unwrap()[..]
        else {
            panic!("one record")
        };
        let ids = &summary.ids;
        assert_eq!(ids.pmid.unwrap().to_string(), "39900042");
        assert_eq!(ids.pmcid.unwrap().to_string(), "PMC9900042");
        assert_eq!(
            ids.doi.as_ref().unwrap().as_str(),
            "10.5555/curtsy.2024.0042"
        );
        assert_eq!(
            (summary.authors.join("; ").as_str(), summary.year),
            ("Roe R; Marsh Heron Group", Some(2024))
        );
        let gone = br#"{"result": {"uids": ["1"], "1": {"uid": "1", "error": "cannot get document summary"}}}"#;
        assert_eq!(read(gone), Ok(Vec::new()));
        assert_eq!(
            read(br#"{"error": "API rate limit exceeded"}"#),
            Err(Unreadable)
        );
    }
}
