//! Semantic Scholar's graph: papers by any of their names, up to 500 a request.
//!
//! <https://api.semanticscholar.org/api-docs/graph>. Asked with a key only, which the caller adds: without one
//! everybody shares one rate.

use serde_json::Value;

use super::{Finding, Ids, Location, SourceId, Unreadable, object, title, year};
use crate::field::Field;
use crate::id::{Identifier, Pmcid};
use crate::query::Query;

/// The most papers of one request.
pub const MAX_IDS: usize = 500;

/// What is asked of each paper.
const FIELDS: &str = "externalIds,title,year,isOpenAccess,openAccessPdf";

/// Asks for one paper; `None` for a kind of identifier that the service does not know.
#[must_use]
pub fn query(id: &Identifier) -> Option<Query> {
    let name = match id {
        Identifier::Doi(doi) => format!("DOI:{}", doi.in_path()),
        id => named(id)?,
    };
    Some(Query::at("paper").then(&name).pair("fields", FIELDS))
}

/// Asks for a list of papers, [`MAX_IDS`] at most. One of a kind that the service does not know is asked for as an
/// empty name, which keeps the places.
#[must_use]
pub fn batch_query(ids: &[Identifier]) -> Query {
    let ids = ids.iter().take(MAX_IDS);
    let names: Vec<String> = ids.map(|id| named(id).unwrap_or_default()).collect();
    let list = Query::at("paper/batch").pair("fields", FIELDS);
    list.with_json(serde_json::json!({ "ids": names }).to_string())
}

fn named(id: &Identifier) -> Option<String> {
    Some(match id {
        Identifier::Doi(doi) => format!("DOI:{doi}"),
        Identifier::Pmid(pmid) => format!("PMID:{pmid}"),
        Identifier::Pmcid(pmcid) => format!("PMCID:{}", pmcid.article()),
        Identifier::Arxiv(arxiv) => format!("ARXIV:{}", arxiv.paper()),
        Identifier::ShortDoi(_) => return None,
    })
}

/// What it says of one paper.
///
/// # Errors
/// It is none.
pub fn read(body: &[u8]) -> Result<Finding, Unreadable> {
    paper(&object(body)?).ok_or(Unreadable)
}

/// What it says of the papers of a list, in the order in which they were asked for; `None` for those it does not
/// know.
///
/// # Errors
/// It is no list, or not as long as the one that was posted.
pub fn read_batch(body: &[u8], asked: usize) -> Result<Vec<Option<Finding>>, Unreadable> {
    match serde_json::from_slice(body) {
        Ok(Value::Array(papers)) if papers.len() == asked => Ok(papers.iter().map(paper).collect()),
        _ => Err(Unreadable),
    }
}

fn paper(paper: &Value) -> Option<Finding> {
    paper.text("paperId")?;
    let named = paper.part("externalIds");
    let pdf = paper.part("openAccessPdf");
    let mut finding = Finding {
        ids: Ids {
            doi: named.parse("DOI"),
            pmid: named.parse("PubMed"),
            pmcid: named.text("PubMedCentral").and_then(|n| pmcid(&n)),
            arxiv: named.parse("ArXiv"),
        },
        title: title(paper.text("title")),
        year: year(paper.number("year")),
        open: paper.flag("isOpenAccess"),
        oa_status: pdf.text("status").map(|text| text.to_lowercase()),
        ..Finding::default()
    };
    if let Some(url) = pdf.url("url") {
        finding.add(Location {
            license: pdf.text("license"),
            ..Location::pdf(url, SourceId::SemanticScholar)
        });
    }
    Some(finding)
}

fn pmcid(number: &str) -> Option<Pmcid> {
    let number = number.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    format!("PMC{number}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paper_and_a_list_say_the_same_and_null_keeps_its_place() {
        let one = read(include_bytes!("../../testdata/semanticscholar_paper.json")).unwrap();
        let list = include_bytes!("../../testdata/semanticscholar_batch.json");
        assert_eq!(read_batch(list, 2).unwrap(), [Some(one.clone()), None]);
        assert_eq!(read_batch(list, 3), Err(Unreadable));
        assert_eq!(one.locations[0].license.as_deref(), Some("CCBY"));
        assert_eq!(one.ids.pmcid.unwrap().to_string(), "PMC9900042");
    }

    #[test]
    fn an_empty_address_is_none_and_an_error_is_no_paper() {
        let closed = br#"{"paperId":"x","openAccessPdf":{"url":"","status":"CLOSED"}}"#;
        assert_eq!(read(closed).unwrap().locations, []);
        for body in [
            &include_bytes!("../../testdata/semanticscholar_404.json")[..],
            include_bytes!("../../testdata/semanticscholar_429.json"),
        ] {
            assert_eq!(read(body), Err(Unreadable));
        }
    }

    #[test]
    fn identifiers_are_posted_in_their_order() {
        let ids: Vec<Identifier> = ["10.5555/A", "PMC7.2", "arXiv:2401.99999v2", "10/abc", "12"]
            .map(|id| id.parse().unwrap())
            .into();
        let query = batch_query(&ids);
        let (_, body) = query.body().unwrap();
        assert_eq!(
            body,
            r#"{"ids":["DOI:10.5555/a","PMCID:PMC7","ARXIV:2401.99999","","PMID:12"]}"#
        );
    }
}
