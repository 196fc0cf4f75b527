//! OpenAlex: works by DOI or PMID, one or up to a hundred a request.
//!
//! <https://docs.openalex.org/>. Asked with a key only, which the caller adds. The copies of its content service
//! cost money and are not taken.

use std::collections::HashMap;

use serde_json::Value;

use super::{
    Finding, HostType, Ids, Location, LocationKind, SourceId, Unreadable, Version, object, title,
    year,
};
use crate::field::Field;
use crate::id::{Doi, Pmcid};
use crate::query::Query;

/// The most DOIs of one list.
pub const MAX_DOIS: usize = 100;

/// Asks for one work, by DOI or else by PMID; `None` where neither is known.
#[must_use]
pub fn query(ids: &Ids) -> Option<Query> {
    let name = match ids {
        Ids { doi: Some(doi), .. } => format!("doi:{}", doi.in_path()),
        Ids {
            pmid: Some(pmid), ..
        } => format!("pmid:{pmid}"),
        _ => return None,
    };
    Some(Query::at("works").then(&name))
}

/// Asks for a list of works by DOI, [`MAX_DOIS`] at most.
#[must_use]
pub fn list_query(dois: &[Doi]) -> Query {
    let dois: Vec<&str> = dois.iter().take(MAX_DOIS).map(Doi::as_str).collect();
    let list = Query::at("works").pair("filter", format!("doi:{}", dois.join("|")));
    list.pair("per_page", MAX_DOIS.to_string())
}

/// Whether a DOI can be asked for in a list: one with a bar or a comma would be taken for two.
#[must_use]
pub fn fits_list(doi: &Doi) -> bool {
    !doi.as_str().contains(['|', ',', '!'])
}

/// What it says of one work.
///
/// # Errors
/// It is no work.
pub fn read(body: &[u8]) -> Result<Finding, Unreadable> {
    work(&object(body)?).ok_or(Unreadable)
}

/// What it says of the works of a list, by DOI.
///
/// # Errors
/// It is no list.
pub fn read_list(body: &[u8]) -> Result<HashMap<Doi, Finding>, Unreadable> {
    let value = object(body)?;
    let results = value.get("results").and_then(Value::as_array);
    let works = results.ok_or(Unreadable)?.iter().filter_map(work);
    Ok(works
        .filter_map(|work| Some((work.ids.doi.clone()?, work)))
        .collect())
}

fn work(work: &Value) -> Option<Finding> {
    work.text("id")?;
    let named = work.part("ids");
    let access = work.part("open_access");
    let mut finding = Finding {
        ids: Ids {
            doi: work.parse("doi"),
            pmid: named.parse("pmid"),
            pmcid: named.text("pmcid").and_then(|text| pmcid(&text)),
            arxiv: None,
        },
        title: title(work.text("title")),
        year: year(work.number("publication_year")),
        retracted: work.flag("is_retracted"),
        oa_status: access.text("oa_status"),
        open: access.flag("is_oa"),
        ..Finding::default()
    };
    let best = work.list("best_oa_location").iter();
    for place in best.chain(work.list("locations").iter()) {
        if place.flag("is_oa") == Some(false) {
            continue;
        }
        let url = place.url("pdf_url");
        let Some(url) = url.or_else(|| place.url("landing_page_url")) else {
            continue;
        };
        let kind = if place.url("pdf_url").is_some() {
            LocationKind::Pdf
        } else {
            LocationKind::Landing
        };
        let is_repository = place.part("source").text("type");
        finding.add(Location {
            kind,
            host_type: is_repository.map(|kind| match &*kind {
                "repository" => HostType::Repository,
                _ => HostType::Publisher,
            }),
            version: Version::of(place),
            license: place.text("license"),
            ..Location::pdf(url, SourceId::OpenAlex)
        });
    }
    Some(finding)
}

/// Its PMCIDs are addresses that end in the number alone.
fn pmcid(text: &str) -> Option<Pmcid> {
    let number = text.trim_end_matches('/').rsplit('/').next()?;
    let number = number.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    format!("PMC{number}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORK: &[u8] = include_bytes!("../../testdata/openalex_work.json");

    #[test]
    fn every_open_copy_of_a_work_is_taken_once() {
        let finding = read(WORK).unwrap();
        let hosts: Vec<_> = finding
            .locations
            .iter()
            .filter_map(|l| l.url.host_str())
            .collect();
        assert_eq!(hosts, ["journal.example.org", "repo.example.edu"]);
        assert_eq!(
            finding.ids.doi.unwrap().as_str(),
            "10.5555/curtsy.2024.0042"
        );
        assert_eq!(finding.ids.pmid.unwrap().to_string(), "39900042");
        assert_eq!(finding.ids.pmcid.unwrap().to_string(), "PMC9900042");
    }

    #[test]
    fn a_list_is_joined_by_doi() {
        let list = [b"{\"results\":[null,{\"id\":7},", WORK, b"]}"].concat();
        let works = read_list(&list).unwrap();
        assert_eq!(works.len(), 1);
        assert!(works.contains_key(&"10.5555/curtsy.2024.0042".parse().unwrap()));
        assert_eq!(read_list(b"{\"error\":\"x\"}").err(), Some(Unreadable));
    }

    #[test]
    fn a_doi_that_would_be_taken_for_two_does_not_go_into_a_list() {
        assert!(!fits_list(&"10.5555/a|b".parse().unwrap()));
        assert!(fits_list(&"10.5555/a;b<c>".parse().unwrap()));
    }
}
