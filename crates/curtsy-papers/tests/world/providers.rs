//! What each host answers.

use serde_json::{Value, json};

use super::invented::Paper;
use super::{Answer, Arrival, World, pubmed};

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!("../../testdata/", $name)).as_slice()
    };
}
pub(super) use fixture;

/// The paper of the fixtures.
pub(super) const DOI: &str = "10.5555/curtsy.2024.0042";
const PDF: &[u8] = fixture!("paper.pdf");
const MD5: &str = "e310a58d5569ed85b114e3f0463b78ff";

pub(super) fn answer(world: &World, arrival: &Arrival) -> Answer {
    let papers = world.shared.papers;
    match arrival.host.as_str() {
        "api.unpaywall.org" => unpaywall(arrival, papers),
        "eutils.ncbi.nlm.nih.gov" => pubmed::answer(world, arrival),
        "pmc.ncbi.nlm.nih.gov" => id_converter(arrival, papers),
        "pmc-oa-opendata.s3.amazonaws.com" => pmc_cloud(arrival, papers),
        "www.ebi.ac.uk" => europe_pmc(arrival, papers),
        "api.crossref.org" => crossref(arrival, papers),
        "api.openalex.org" => openalex(arrival),
        "api.semanticscholar.org" => semantic_scholar(arrival),
        "export.arxiv.org" => arxiv(arrival),
        "doi.org" => doi(arrival, papers),
        "api.datacite.org" => datacite(arrival),
        "api.biorxiv.org" => biorxiv(arrival),
        _ => site(arrival),
    }
}

fn unpaywall(arrival: &Arrival, papers: u32) -> Answer {
    let contact = arrival.pair("email").unwrap_or_default();
    if !contact.contains('@') || contact.ends_with("@example.com") {
        return Answer::new(
            422,
            "application/json",
            fixture!("unpaywall_v2_422_placeholder_email.json"),
        );
    }
    let doi = arrival.after("/v2/").unwrap_or_default();
    match (doi.as_str(), Paper::of_doi(&doi, papers)) {
        (_, Some(paper)) => Answer::json(paper.unpaywall().to_string()),
        (DOI, _) => Answer::json(fixture!("unpaywall_v2_gold.json")),
        ("10.5555/closed.1" | "10.5555/curtsy.2019.0007", _) => {
            Answer::json(fixture!("unpaywall_v2_closed_old_authors.json"))
        }
        ("10.5555/bronze.1", _) => Answer::json(fixture!("unpaywall_v2_bronze_landing_only.json")),
        _ => Answer::new(404, "application/json", fixture!("unpaywall_v2_404.json")),
    }
}

fn id_converter(arrival: &Arrival, papers: u32) -> Answer {
    let ids = arrival.pair("ids").unwrap_or_default();
    let ids: Vec<&str> = ids.split(',').filter(|id| !id.is_empty()).collect();
    let kind = |id: &str| match id {
        id if id.starts_with("10/") => None,
        id if id.starts_with("10.") => Some("doi"),
        id if id.starts_with("PMC") => Some("pmcid"),
        _ => Some("pmid"),
    };
    let kinds: std::collections::BTreeSet<_> = ids.iter().map(|id| kind(id)).collect();
    if ids.len() > 200 || kinds.len() != 1 || kinds.contains(&None) {
        return Answer::new(400, "application/json", fixture!("idconv_bad_type.json"));
    }
    let record = |id: &&str| -> Value {
        let paper = Paper::of_doi(id, papers)
            .or_else(|| Paper::of_pmid(id, papers))
            .or_else(|| Paper::of_pmcid(id, papers));
        let known = paper.and_then(|paper| Some((paper, paper.pmcid()?)));
        if let Some((paper, pmcid)) = known {
            let pmid: u64 = paper.pmid().parse().unwrap();
            return json!({"doi": paper.doi(), "pmcid": pmcid, "pmid": pmid, "requested-id": id});
        }
        match id.to_ascii_lowercase().as_str() {
            DOI | "39900042" | "pmc9900042" => {
                json!({"doi": DOI, "pmcid": "PMC9900042", "pmid": 39_900_042, "requested-id": id})
            }
            _ => {
                json!({"requested-id": id, "status": "error", "errmsg": "invented wording: not in PMC"})
            }
        }
    };
    // Their order is not promised.
    let records: Vec<Value> = ids.iter().rev().map(record).collect();
    Answer::json(json!({"status": "ok", "records": records}).to_string())
}

fn pmc_cloud(arrival: &Arrival, papers: u32) -> Answer {
    let missing = || Answer::new(404, "application/xml", fixture!("pmc_cloud_nosuchkey.xml"));
    if arrival.pair("list-type") == Some("2") {
        let prefix = arrival.pair("prefix").unwrap_or_default();
        if prefix == "PMC9900042." {
            return Answer::xml(fixture!("pmc_cloud_list_versions.xml"));
        }
        return match Paper::of_pmcid(prefix, papers).filter(|_| prefix.ends_with('.')) {
            Some(_) => Answer::xml(format!(
                "<ListBucketResult><Name>pmc-oa-opendata</Name><Prefix>{prefix}</Prefix><KeyCount>1</KeyCount>\
                 <CommonPrefixes><Prefix>{prefix}1/</Prefix></CommonPrefixes></ListBucketResult>"
            )),
            None => Answer::xml(fixture!("pmc_cloud_list_empty.xml")),
        };
    }
    let file = arrival.path.rsplit('/').next().unwrap_or_default();
    let (article, kind) = file.rsplit_once('.').unwrap_or((file, ""));
    let paper = Paper::of_pmcid(article, papers);
    match (kind, article, paper) {
        ("json", "PMC9900042.2", _) => Answer::json(fixture!("pmc_cloud_metadata.json")),
        ("json", "PMC9900050.1", _) => Answer::json(fixture!("pmc_cloud_metadata_no_pdf.json")),
        ("pdf", "PMC9900042.2", _) | ("pdf", _, Some(_)) => Answer::pdf(PDF),
        ("json", _, Some(paper)) => {
            let url = format!("s3://pmc-oa-opendata/{article}/{article}.pdf?md5={MD5}");
            let pmid: u64 = paper.pmid().parse().unwrap();
            let metadata = json!({"pmcid": paper.pmcid(), "version": 1, "pmid": pmid, "doi": paper.doi(),
                "title": paper.title(), "is_pmc_openaccess": true, "is_retracted": false, "license_code": "CC BY",
                "pdf_url": url, "media_urls": []});
            Answer::json(metadata.to_string())
        }
        _ => missing(),
    }
}

fn europe_pmc(arrival: &Arrival, papers: u32) -> Answer {
    let path = arrival
        .after("/europepmc/webservices/rest/")
        .unwrap_or_default();
    let parts: Vec<&str> = path.split('/').collect();
    match parts[..] {
        ["search"] | ["searchPOST"] => {
            let query = arrival.pair("query").unwrap_or_default();
            if arrival.pair("cursorMark").is_some_and(|mark| mark != "*") {
                return Answer::json(fixture!("europepmc_search_none.json"));
            }
            let core: Value =
                serde_json::from_slice(fixture!("europepmc_search_core.json")).unwrap();
            let terms = query.split(" OR ");
            let mut hits: Vec<Value> = terms.filter_map(|term| hit(term, papers, &core)).collect();
            hits.dedup();
            let count = hits.len();
            let next = json!({"hitCount": count, "nextCursorMark": core["nextCursorMark"], "resultList": {"result": hits}});
            Answer::json(next.to_string())
        }
        ["MED", "39900042", "references"] => Answer::json(fixture!("europepmc_references.json")),
        ["MED", "39900042", "citations"] => citations(arrival),
        ["MED", _, list @ ("references" | "citations")] => {
            let (outer, inner) = match list {
                "references" => ("referenceList", "reference"),
                _ => ("citationList", "citation"),
            };
            Answer::json(json!({"hitCount": 0, outer: {inner: []}}).to_string())
        }
        _ => Answer::new(404, "application/json", r#"{"errCode": 404}"#),
    }
}

/// What one term of a search finds.
fn hit(term: &str, papers: u32, core: &Value) -> Option<Value> {
    let is_word = term.trim_matches(['(', ')']) == "herons";
    if term.contains(DOI) || term.contains("39900042") || is_word {
        return Some(core["resultList"]["result"][0].clone());
    }
    let quoted = term.split('"').nth(1).unwrap_or_default();
    let pmid = term.split("EXT_ID:").nth(1).unwrap_or_default();
    let digits = pmid.split(|c: char| !c.is_ascii_digit()).next()?;
    let paper = Paper::of_doi(quoted, papers).or_else(|| Paper::of_pmid(digits, papers))?;
    Some(
        json!({"id": paper.pmid(), "source": "MED", "pmid": paper.pmid(), "doi": paper.doi(),
        "title": paper.title()}),
    )
}

/// The fixture has 27 hits and shows one page; here are all of them.
fn citations(arrival: &Arrival) -> Answer {
    const ALL: u32 = 27;
    let number = |name, usual| {
        arrival
            .pair(name)
            .and_then(|text| text.parse().ok())
            .unwrap_or(usual)
    };
    let (page, size): (u32, u32) = (number("page", 1), number("pageSize", 25));
    let from = (page - 1) * size;
    let citation = |k: u32| {
        json!({"id": (39_900_101 + k).to_string(), "source": "MED", "title": format!("Herons revisited {k}."),
            "authorString": "Low L.", "journalAbbreviation": "J Inv Ornithol", "pubYear": 2025, "citedByCount": 0})
    };
    let shown: Vec<Value> = (from..ALL.min(from + size)).map(citation).collect();
    Answer::json(json!({"hitCount": ALL, "citationList": {"citation": shown}}).to_string())
}

fn crossref(arrival: &Arrival, papers: u32) -> Answer {
    let doi = arrival
        .after("/works/")
        .unwrap_or_default()
        .to_ascii_lowercase();
    let paced = |answer: Answer| {
        answer
            .header("x-api-pool", "polite")
            .header("x-rate-limit-limit", "10")
            .header("x-rate-limit-interval", "1s")
            .header("x-concurrency-limit", "3")
    };
    match (doi.as_str(), Paper::of_doi(&doi, papers)) {
        (_, Some(paper)) => paced(Answer::json(paper.crossref().to_string())),
        (DOI, _) => paced(Answer::json(fixture!("crossref_work.json"))),
        _ => Answer::new(404, "text/plain", "Resource not found."),
    }
}

fn openalex(arrival: &Arrival) -> Answer {
    if arrival.pair("api_key").is_none() {
        return Answer::new(
            429,
            "application/json",
            r#"{"error": "invented wording: no key"}"#,
        )
        .header("retry-after", "54000");
    }
    if arrival.path == "/works" {
        let work: Value = serde_json::from_slice(fixture!("openalex_work.json")).unwrap();
        let filter = arrival
            .pair("filter")
            .unwrap_or_default()
            .to_ascii_lowercase();
        let works = if filter.contains(DOI) {
            vec![work]
        } else {
            Vec::new()
        };
        return Answer::json(json!({"meta": {"count": works.len()}, "results": works}).to_string());
    }
    match arrival
        .after("/works/doi:")
        .unwrap_or_default()
        .to_ascii_lowercase()
        .as_str()
    {
        DOI => Answer::json(fixture!("openalex_work.json")),
        _ => Answer::new(404, "application/json", r#"{"error": "invented wording"}"#),
    }
}

fn semantic_scholar(arrival: &Arrival) -> Answer {
    let works = |id: &str| match id.to_ascii_lowercase().strip_prefix("doi:") {
        Some(DOI) => serde_json::from_slice(fixture!("semanticscholar_paper.json")).unwrap(),
        _ => Value::Null,
    };
    match arrival.path.as_str() {
        "/graph/v1/paper/batch" => {
            let asked: Value = serde_json::from_str(&arrival.body).unwrap_or_default();
            let ids = asked["ids"].as_array().cloned().unwrap_or_default();
            let found: Vec<Value> = ids
                .iter()
                .map(|id| works(id.as_str().unwrap_or_default()))
                .collect();
            Answer::json(Value::from(found).to_string())
        }
        _ => match works(&arrival.after("/graph/v1/paper/").unwrap_or_default()) {
            Value::Null => Answer::new(
                404,
                "application/json",
                fixture!("semanticscholar_404.json"),
            ),
            paper => Answer::json(paper.to_string()),
        },
    }
}

fn arxiv(arrival: &Arrival) -> Answer {
    let ids = arrival.pair("id_list").unwrap_or_default();
    let is_wrong = ids.is_empty() || ids.contains("xyz");
    Answer::new(
        200,
        "application/atom+xml",
        if is_wrong {
            fixture!("arxiv_query_error.xml")
        } else {
            fixture!("arxiv_query.xml")
        },
    )
}

fn doi(arrival: &Arrival, papers: u32) -> Answer {
    let path = arrival.after("/").unwrap_or_default();
    if let Some(doi) = path.strip_prefix("api/handles/") {
        let is_known = doi.eq_ignore_ascii_case(DOI) || Paper::of_doi(doi, papers).is_some();
        return if is_known {
            Answer::json(fixture!("doi_handle.json"))
        } else if doi == "10/abc12" {
            let alias = json!({"type": "HS_ALIAS", "data": {"format": "string", "value": DOI}});
            Answer::json(json!({"responseCode": 1, "handle": doi, "values": [alias]}).to_string())
        } else {
            let unknown = json!({"responseCode": 100, "handle": doi});
            Answer::new(404, "application/json", unknown.to_string())
        };
    }
    if path.starts_with("doiRA/") {
        return Answer::json(fixture!("doi_ra.json"));
    }
    if !path.eq_ignore_ascii_case(DOI) {
        return Answer::html("<title>invented wording: not found</title>").status_of(404);
    }
    match arrival.header("accept").unwrap_or_default() {
        "application/vnd.citationstyles.csl+json" => Answer::json(fixture!("doi_csl.json")),
        "application/x-bibtex" => {
            Answer::new(200, "application/x-bibtex", fixture!("doi_bibtex.bib"))
        }
        "application/x-research-info-systems" => Answer::new(
            200,
            "application/x-research-info-systems",
            fixture!("doi_ris.ris"),
        ),
        _ => Answer::redirect("https://journal.example.org/articles/0042"),
    }
}

fn datacite(arrival: &Arrival) -> Answer {
    match arrival
        .after("/dois/")
        .unwrap_or_default()
        .to_ascii_lowercase()
        .as_str()
    {
        "10.5555/data.77" => Answer::json(fixture!("datacite_doi.json")),
        _ => Answer::new(
            404,
            "application/json",
            r#"{"errors": [{"status": "404"}]}"#,
        ),
    }
}

fn biorxiv(arrival: &Arrival) -> Answer {
    match arrival.path.contains("2024.01.01.999999") {
        true => Answer::json(fixture!("biorxiv_details.json")),
        false => Answer::json(fixture!("biorxiv_not_found.json")),
    }
}

/// Publishers and repositories: PDFs where the name ends so, a landing page elsewhere.
fn site(arrival: &Arrival) -> Answer {
    let is_pdf = arrival.path.ends_with(".pdf")
        || arrival.pair("pdf") == Some("render")
        || (arrival.host == "arxiv.org" && arrival.path.starts_with("/pdf/"));
    match arrival.path.as_str() {
        "/robots.txt" if arrival.host == "arxiv.org" => Answer::new(
            200,
            "text/plain",
            "User-agent: *\nCrawl-delay: 15\nAllow: /pdf\nDisallow: /e-print\n",
        ),
        "/robots.txt" => Answer::status(404),
        _ if is_pdf => ranged(arrival, PDF),
        _ => Answer::html(fixture!("landing_page.html")),
    }
}

/// A file, or the part that a Range asks for.
fn ranged(arrival: &Arrival, file: &[u8]) -> Answer {
    const ETAG: &str = "\"paper-1\"";
    let range = arrival
        .header("range")
        .and_then(|range| range.strip_prefix("bytes="));
    let start = range
        .and_then(|range| range.strip_suffix('-'))
        .and_then(|start| start.parse::<usize>().ok());
    let is_same = arrival.header("if-range").is_none_or(|etag| etag == ETAG);
    match start.filter(|_| is_same) {
        Some(start) if start >= file.len() => {
            Answer::status(416).header("content-range", format!("bytes */{}", file.len()))
        }
        Some(start) => Answer::pdf(&file[start..])
            .status_of(206)
            .header(
                "content-range",
                format!("bytes {start}-{}/{}", file.len() - 1, file.len()),
            )
            .header("etag", ETAG),
        None => Answer::pdf(file)
            .header("etag", ETAG)
            .header("accept-ranges", "bytes"),
    }
}

impl Answer {
    fn status_of(mut self, status: u16) -> Self {
        self.status = status;
        self
    }
}
