//! PubMed: the records of the fixtures, those of the invented papers, and a search of as many hits as a test wants.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::invented::Paper;
use super::providers::{DOI, fixture};
use super::{Answer, Arrival, World};

/// The first PMID of a hit.
const HITS: u32 = 20_000_000;
/// The last record that PubMed hands out of any one search.
const LAST: usize = 9_999;

/// An invented search: what every query but one for DOIs finds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Search {
    hits: u32,
    /// So many of them have no date at all.
    undated: u32,
}

impl Search {
    /// A search of so many hits, from 1990 on, denser as time goes by, the last 2,000 on one day.
    pub(crate) fn of(hits: u32) -> Self {
        Self { hits, undated: 0 }
    }

    /// Some of which lie outside of every range of dates.
    #[must_use]
    pub(crate) fn undated(mut self, undated: u32) -> Self {
        self.undated = undated;
        self
    }

    /// When a hit was published, in days since 1970; `None` where it has no date.
    fn day(&self, hit: u32) -> Option<i64> {
        const FIRST: i64 = 7_305;
        const SPAN: f64 = 12_000.0;
        if hit < self.undated {
            return None;
        }
        let spread = f64::from(self.hits.saturating_sub(2_000).max(1));
        let share = (f64::from(hit) / spread).min(1.0);
        Some(FIRST + (SPAN * share.sqrt()) as i64)
    }

    /// The hits within a range of days, newest first, as PMIDs.
    fn within(&self, range: Option<(i64, i64)>) -> Vec<u32> {
        let fits = |hit: &u32| {
            range.is_none_or(|(from, to)| {
                self.day(*hit).is_some_and(|day| (from..=to).contains(&day))
            })
        };
        (0..self.hits)
            .rev()
            .filter(fits)
            .map(|hit| HITS + hit)
            .collect()
    }
}

pub(super) fn answer(world: &World, arrival: &Arrival) -> Answer {
    if arrival.pair("tool").is_none() || arrival.pair("email").is_none() {
        return Answer::new(
            400,
            "application/json",
            r#"{"error": "invented wording: who asks?"}"#,
        );
    }
    match arrival.path.rsplit('/').next().unwrap_or_default() {
        "esearch.fcgi" => esearch(world, arrival),
        "efetch.fcgi" => efetch(world, arrival),
        "esummary.fcgi" => esummary(world, arrival),
        "elink.fcgi" => elink(arrival),
        _ => Answer::status(404),
    }
}

fn esearch(world: &World, arrival: &Arrival) -> Answer {
    let term = arrival.pair("term").unwrap_or_default();
    let lower = term.to_ascii_lowercase();
    let found: Vec<String> = if lower.contains("[doi]") || lower.contains("[aid]") {
        let quoted = lower.split('"').skip(1).step_by(2);
        quoted
            .filter_map(|doi| pmid_of(doi, world.shared.papers))
            .collect()
    } else if lower.contains("nothing") {
        Vec::new()
    } else {
        hits(world, arrival).iter().map(u32::to_string).collect()
    };
    let number = |name, usual| {
        arrival
            .pair(name)
            .and_then(|text| text.parse().ok())
            .unwrap_or(usual)
    };
    let (start, most): (usize, usize) = (number("retstart", 0), number("retmax", 20));
    if start >= LAST {
        return Answer::json(fixture!("eutils_esearch_over_limit.json"));
    }
    let shown: Vec<&String> = found
        .iter()
        .skip(start)
        .take(most)
        .take(LAST - start)
        .collect();
    let mut result = json!({"count": found.len().to_string(), "retmax": shown.len().to_string(),
        "retstart": start.to_string(), "idlist": shown, "translationset": [], "querytranslation": term});
    if arrival.pair("usehistory") == Some("y") {
        let range = |name| arrival.pair(name).unwrap_or_default();
        result["querykey"] = json!("1");
        result["webenv"] = json!(format!("MCID_{}_{}", range("mindate"), range("maxdate")));
    }
    Answer::json(json!({"header": {"type": "esearch"}, "esearchresult": result}).to_string())
}

fn pmid_of(doi: &str, papers: u32) -> Option<String> {
    match doi {
        DOI => Some("39900042".to_owned()),
        // The search finds it, the record is of another work.
        "10.5555/wrong.hit" => Some("39900042".to_owned()),
        _ => Some(Paper::of_doi(doi, papers)?.pmid()),
    }
}

fn hits(world: &World, arrival: &Arrival) -> Vec<u32> {
    let range = arrival.pair("mindate").zip(arrival.pair("maxdate"));
    let range = range.and_then(|(from, to)| Some((day(from, false)?, day(to, true)?)));
    world.shared.search.lock().unwrap().within(range)
}

fn efetch(world: &World, arrival: &Arrival) -> Answer {
    let number = |name, usual| {
        arrival
            .pair(name)
            .and_then(|text| text.parse().ok())
            .unwrap_or(usual)
    };
    let (start, most): (usize, usize) = (number("retstart", 0), number("retmax", 10_000));
    let ids: Vec<String> = match (arrival.pair("id"), arrival.pair("WebEnv")) {
        (Some(ids), _) => ids.split(',').map(str::to_owned).collect(),
        (None, Some(history)) => {
            if start >= LAST {
                return Answer::new(
                    400,
                    "text/xml",
                    "<eFetchResult><ERROR>invented wording</ERROR></eFetchResult>",
                );
            }
            let mut range = history.trim_start_matches("MCID_").split('_');
            let mut next = |end| day(range.next()?, end);
            let range = next(false).zip(next(true));
            let all = world.shared.search.lock().unwrap().within(range);
            all.iter()
                .skip(start)
                .take(most)
                .take(LAST - start)
                .map(u32::to_string)
                .collect()
        }
        _ => {
            return Answer::new(
                400,
                "text/xml",
                "<eFetchResult><ERROR>invented wording</ERROR></eFetchResult>",
            );
        }
    };
    if ids
        .iter()
        .any(|id| matches!(id.as_str(), "39900042" | "9900043" | "39900044"))
    {
        return Answer::xml(fixture!("eutils_efetch_pubmed.xml"));
    }
    let mut xml = String::from("<?xml version=\"1.0\" ?>\n<PubmedArticleSet>\n");
    for id in ids {
        let doi = Paper::of_pmid(&id, world.shared.papers)
            .map_or(format!("10.5555/hit.{id}"), Paper::doi);
        xml.push_str(&format!(
            "<PubmedArticle><MedlineCitation><PMID Version=\"1\">{id}</PMID><Article><Journal><JournalIssue><PubDate>\
             <Year>2001</Year></PubDate></JournalIssue><Title>Hits</Title></Journal><ArticleTitle>Hit {id}.</ArticleTitle>\
             </Article></MedlineCitation><PubmedData><ArticleIdList><ArticleId IdType=\"pubmed\">{id}</ArticleId>\
             <ArticleId IdType=\"doi\">{doi}</ArticleId></ArticleIdList></PubmedData></PubmedArticle>\n"
        ));
    }
    xml.push_str("</PubmedArticleSet>\n");
    Answer::xml(xml)
}

fn esummary(world: &World, arrival: &Arrival) -> Answer {
    let ids: BTreeSet<&str> = arrival.pair("id").unwrap_or_default().split(',').collect();
    let mut result = Map::new();
    for id in &ids {
        let fixed: Value = serde_json::from_slice(fixture!("eutils_esummary.json")).unwrap();
        let summary = match Paper::of_pmid(id, world.shared.papers) {
            _ if *id == "39900042" => fixed["result"]["39900042"].clone(),
            Some(paper) => json!({"uid": id, "title": paper.title(), "articleids": [
                {"idtype": "pubmed", "value": id}, {"idtype": "doi", "value": paper.doi()}]}),
            None => json!({"uid": id, "error": "invented wording: cannot get document summary"}),
        };
        result.insert((*id).to_owned(), summary);
    }
    result.insert("uids".to_owned(), json!(ids));
    Answer::json(json!({"header": {"type": "esummary"}, "result": result}).to_string())
}

fn elink(arrival: &Arrival) -> Answer {
    match (arrival.pair("id"), arrival.pair("linkname")) {
        (Some("39900042"), Some("pubmed_pubmed_citedin")) => {
            Answer::json(fixture!("eutils_elink_citedin.json"))
        }
        _ => Answer::json(fixture!("eutils_elink_none.json")),
    }
}

/// `YYYY/MM/DD` or less of it, in days since 1970: its first day, or its last.
fn day(text: &str, last: bool) -> Option<i64> {
    let mut parts = text.split('/').map(|part| part.parse::<i64>().ok());
    let year = parts.next()??;
    let month = parts.next().flatten().unwrap_or(if last { 12 } else { 1 });
    let day = parts.next().flatten().unwrap_or(if last { 31 } else { 1 });
    // Howard Hinnant's days_from_civil.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}
