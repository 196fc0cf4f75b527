//! Europe PMC's search: a paper by one of its names, with the addresses of its full text.
//!
//! <https://europepmc.org/RestfulWebService>. What counts is an entry of `fullTextUrlList` that is a PDF and
//! open (`OA`) or free (`F`). `isOpenAccess` is about bulk licences, and `inEPMC` and `hasPDF` are at times wrong.

use serde_json::Value;

use super::{Finding, HostType, Ids, Location, SourceId, Unreadable, object, title, year};
use crate::field::{Field, as_text};
use crate::id::Pmcid;
use crate::query::Query;

/// The most papers of one search. With all that is known of them each hit is some 10 kB.
pub const MAX_PAPERS: usize = 50;
/// Hits that are asked for of each paper: its preprints have its DOI at times.
const HITS: usize = 5;

/// Searches for papers by the best name that is known of each; `None` where none is of any.
#[must_use]
pub fn query(papers: &[Ids]) -> Option<Query> {
    let terms: Vec<String> = papers.iter().filter_map(term).take(MAX_PAPERS).collect();
    let term = match &terms[..] {
        [] => return None,
        [one] => one.clone(),
        several => format!("({})", several.join(") OR (")),
    };
    let search = Query::at("search").pair("query", term);
    let search = search.pair("resultType", "core").pair("format", "json");
    Some(search.pair("pageSize", (HITS * terms.len()).to_string()))
}

fn term(ids: &Ids) -> Option<String> {
    match ids {
        Ids { doi: Some(doi), .. } => {
            let quoted = doi.as_str().replace('\\', "\\\\").replace('"', "\\\"");
            Some(format!("DOI:\"{quoted}\""))
        }
        Ids {
            pmid: Some(pmid), ..
        } => Some(format!("EXT_ID:{pmid} AND SRC:MED")),
        Ids {
            pmcid: Some(pmcid), ..
        } => Some(format!("PMCID:{}", Pmcid::article(*pmcid))),
        _ => None,
    }
}

/// What the search says of each paper with these names; `None` where no hit has one of them, since a search is
/// not a look-up and its first hit may be anybody.
///
/// # Errors
/// It is no answer of a search.
pub fn read(body: &[u8], asked: &[Ids]) -> Result<Vec<Option<Finding>>, Unreadable> {
    let value = object(body)?;
    let results = value.get("resultList").ok_or(Unreadable)?;
    let hits = results.list("result");
    let hits: Vec<(&Value, Ids)> = hits
        .iter()
        .map(|hit| {
            let ids = Ids {
                doi: hit.parse("doi"),
                pmid: hit.parse("pmid"),
                pmcid: hit.parse("pmcid"),
                arxiv: None,
            };
            (hit, ids)
        })
        .collect();
    let of_paper = |asked: &Ids| {
        let (hit, ids) = hits.iter().find(|(_, ids)| is_same(asked, ids))?;
        Some(finding(hit, ids.clone()))
    };
    Ok(asked.iter().map(of_paper).collect())
}

fn is_same(asked: &Ids, found: &Ids) -> bool {
    match asked {
        Ids { doi: Some(doi), .. } => found.doi.as_ref() == Some(doi),
        Ids {
            pmid: Some(pmid), ..
        } => found.pmid == Some(*pmid),
        Ids {
            pmcid: Some(pmcid), ..
        } => found.pmcid.map(Pmcid::article) == Some(pmcid.article()),
        _ => false,
    }
}

fn finding(hit: &Value, ids: Ids) -> Finding {
    let types = hit.part("pubTypeList").list("pubType").iter();
    let retracted = types
        .filter_map(as_text)
        .any(|t| t.eq_ignore_ascii_case("retracted publication"));
    let license = hit.text("license");
    let mut finding = Finding {
        ids,
        title: title(hit.text("title")),
        year: year(hit.number("pubYear")),
        retracted: retracted.then_some(true),
        ..Finding::default()
    };
    for text in hit.part("fullTextUrlList").list("fullTextUrl").iter() {
        let says = |key: &str, words: &[&str]| {
            text.text(key).is_some_and(|value| words.contains(&&*value))
        };
        let Some(url) = text.url("url") else { continue };
        if !says("availabilityCode", &["OA", "F"]) {
            continue;
        }
        finding.open = Some(true);
        let is_own = says("site", &["Europe_PMC", "PubMedCentral"]);
        let location = if says("documentStyle", &["pdf"]) {
            Location::pdf(url, SourceId::EuropePmc)
        } else if is_own {
            // The page of a copy whose PDF stands in the list as well, or is not there.
            continue;
        } else {
            Location::landing(url, SourceId::EuropePmc)
        };
        finding.add(Location {
            host_type: is_own.then_some(HostType::Repository),
            license: license.clone(),
            ..location
        });
    }
    finding
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(id: &str) -> Ids {
        Ids::from(&id.parse().unwrap())
    }

    fn read_one(body: &[u8], asked: Ids) -> Result<Option<Finding>, Unreadable> {
        read(body, &[asked]).map(|mut all| all.remove(0))
    }

    const CORE: &[u8] = include_bytes!("../../testdata/europepmc_search_core.json");

    #[test]
    fn an_open_pdf_is_taken_and_nothing_behind_a_subscription() {
        let finding = read_one(CORE, asked("10.5555/Curtsy.2024.0042"))
            .unwrap()
            .unwrap();
        let urls: Vec<_> = finding.locations.iter().map(|l| l.url.as_str()).collect();
        assert_eq!(
            urls,
            ["https://europepmc.org/articles/PMC9900042?pdf=render"]
        );
        assert_eq!(finding.ids.pmcid.unwrap().to_string(), "PMC9900042");
        assert_eq!(finding.open, Some(true));
    }

    #[test]
    fn a_hit_with_another_name_is_not_the_paper() {
        assert_eq!(read_one(CORE, asked("10.5555/other")), Ok(None));
        assert_eq!(read_one(CORE, asked("39900043")), Ok(None));
        assert!(read_one(CORE, asked("PMC9900042.1")).unwrap().is_some());
        let none = include_bytes!("../../testdata/europepmc_search_none.json");
        assert_eq!(read_one(none, asked("10.5555/other")), Ok(None));
        assert_eq!(
            read_one(b"{\"errCode\":404}", asked("39900043")),
            Err(Unreadable)
        );
    }

    #[test]
    fn several_papers_are_asked_for_at_once_and_told_apart() {
        let all = ["10.5555/other", "39900042", "PMC7", "2401.99999"].map(asked);
        let base = url::Url::parse("https://e.example/rest").unwrap();
        let url = url::Url::parse(&query(&all).unwrap().url(&base)).unwrap();
        let pairs: Vec<_> = url.query_pairs().collect();
        assert_eq!(
            pairs[0].1,
            "(DOI:\"10.5555/other\") OR (EXT_ID:39900042 AND SRC:MED) OR (PMCID:PMC7) OR \
             (DOI:\"10.48550/arxiv.2401.99999\")"
        );
        assert_eq!(pairs[3].1, "20");
        let found = read(CORE, &all).unwrap();
        let is_found: Vec<_> = found.iter().map(Option::is_some).collect();
        assert_eq!(is_found, [false, true, false, false]);
        assert_eq!(query(&[]), None);
    }

    #[test]
    fn a_name_cannot_leave_its_quotes() {
        let base = url::Url::parse("https://e.example/rest").unwrap();
        let url = query(&[asked("10.5555/a\"b")]).unwrap().url(&base);
        let url = url::Url::parse(&url).unwrap();
        let (_, term) = url.query_pairs().next().unwrap();
        assert_eq!(term, "DOI:\"10.5555/a\\\"b\"");
    }
}
