//! From one name of a paper to its others.

use curtsy_papers::convert::{Lookup, convert_ids, doi_to_pmid, pmid_to_doi};
use curtsy_papers::{Doi, Identifier, Reason};

use crate::world::{Answer as Said, Fault, Paper, World};

const IDCONV: &str = "pmc.ncbi.nlm.nih.gov";
const EUTILS: &str = "eutils.ncbi.nlm.nih.gov";
const EUROPE_PMC: &str = "www.ebi.ac.uk";

fn doi(text: &str) -> Doi {
    text.parse().unwrap()
}

#[tokio::test]
async fn a_thousand_dois_cost_ten_calls_of_each_who_knows_them_in_bulk() {
    let world = World::with_papers(1_000).await;
    let given: Vec<Identifier> = (0..1_000)
        .map(|n| Paper(n).doi().parse().unwrap())
        .collect();
    let all = convert_ids(&world.access(), &given).await.unwrap();
    assert_eq!(all.len(), 1_000);
    for (n, conversion) in (0..).zip(&all) {
        let paper = Paper(n);
        assert_eq!(conversion.given.value(), paper.doi());
        assert_eq!(
            conversion.ids.pmid.map(|id| id.to_string()),
            Some(paper.pmid()),
            "{n}"
        );
        assert_eq!(
            conversion.ids.pmcid.map(|id| id.to_string()),
            paper.pmcid(),
            "{n}"
        );
    }
    // 400 are not in PMC: four searches of 100, each confirmed by one call.
    assert_eq!(world.arrivals_at(IDCONV).len(), 5);
    let of_pubmed = world.arrivals_at(EUTILS);
    let count = |name: &str| {
        of_pubmed
            .iter()
            .filter(|arrival| arrival.path.ends_with(name))
            .count()
    };
    assert_eq!((count("esearch.fcgi"), count("esummary.fcgi")), (4, 4));
    // What is too long for a URL is a form, and the rest is none.
    for arrival in &of_pubmed {
        let is_search = arrival.path.ends_with("esearch.fcgi");
        assert_eq!(arrival.method == "POST", is_search, "{}", arrival.path);
        assert_eq!(arrival.body.contains("&email="), is_search);
    }
    assert!(world.arrivals_at(EUROPE_PMC).is_empty());
}

#[tokio::test]
async fn every_kind_of_name_leads_to_the_others() {
    let world = World::with_papers(20).await;
    let given = [
        "39900042",
        "PMC9900042.2",
        "10.5555/CURTSY.2024.0042",
        "10/abc12",
        "arXiv:2401.99999v2",
        "50000007",
    ];
    let given = given.map(|text| text.parse::<Identifier>().unwrap());
    let all = convert_ids(&world.access(), &given).await.unwrap();
    let text = |name: Option<String>| name.unwrap_or_default();
    let names = |k: usize| {
        let ids = &all[k].ids;
        let doi = text(ids.doi.as_ref().map(ToString::to_string));
        let pmid = text(ids.pmid.map(|id| id.to_string()));
        let pmcid = text(ids.pmcid.map(|id| id.article().to_string()));
        [
            doi,
            pmid,
            pmcid,
            text(ids.arxiv.as_ref().map(ToString::to_string)),
        ]
    };
    let fixture = ["10.5555/curtsy.2024.0042", "39900042", "PMC9900042", ""];
    for (k, id) in given.iter().enumerate().take(4) {
        assert_eq!(names(k), fixture, "{id}");
    }
    assert_eq!(
        names(4),
        ["10.48550/arxiv.2401.99999", "", "", "2401.99999v2"]
    );
    assert_eq!(names(5), ["10.5555/world.7", "50000007", "", ""]);
    // A short DOI makes the converter refuse the whole call, so it never sees one.
    for arrival in world.arrivals_at(IDCONV) {
        assert!(!arrival.pair("ids").unwrap().contains("10/abc12"));
    }
}

#[tokio::test]
async fn a_pmid_is_never_the_first_hit_but_one_that_its_record_confirms() {
    let world = World::start().await;
    let access = world.access();
    // The search finds the record of another work.
    assert_eq!(
        doi_to_pmid(&access, &doi("10.5555/wrong.hit"))
            .await
            .unwrap(),
        Lookup::NotInPubMed
    );
    assert_eq!(
        doi_to_pmid(&access, &doi("10.5555/nobody")).await.unwrap(),
        Lookup::NotInPubMed
    );
    let found = doi_to_pmid(&access, &doi("10.5555/Curtsy.2024.0042"))
        .await
        .unwrap();
    assert_eq!(found, Lookup::Found("39900042".parse().unwrap()));
    let back = pmid_to_doi(&access, "39900042".parse().unwrap())
        .await
        .unwrap();
    assert_eq!(back, Lookup::Found(doi("10.5555/curtsy.2024.0042")));
}

#[tokio::test]
async fn what_could_not_be_asked_is_not_missing() {
    let world = World::start().await;
    let later = || Said::status(429).header("retry-after", "54000");
    world.fault(Fault::new(EUTILS, "/", later()));
    let access = world.access();
    let Lookup::Unavailable(why) = doi_to_pmid(&access, &doi("10.5555/nobody")).await.unwrap()
    else {
        panic!("nobody knows");
    };
    assert_eq!(
        (why.reason, why.host.as_str()),
        (Reason::RateLimited, EUTILS)
    );
    assert!(why.until.is_some());
    // What another one knows is known all the same.
    let found = doi_to_pmid(&access, &doi("10.5555/curtsy.2024.0042"))
        .await
        .unwrap();
    assert_eq!(found, Lookup::Found("39900042".parse().unwrap()));
    assert_eq!(
        world.arrivals_at(EUTILS).len(),
        1,
        "left alone after its word"
    );
}

#[tokio::test]
async fn europe_pmc_is_the_last_to_be_asked() {
    let world = World::with_papers(10).await;
    let none = include_bytes!("../../testdata/eutils_esearch_none.json").as_slice();
    world.fault(Fault::new(
        EUTILS,
        "/entrez/eutils/esearch.fcgi",
        Said::json(none),
    ));
    let paper = Paper(9);
    let found = doi_to_pmid(&world.access(), &doi(&paper.doi()))
        .await
        .unwrap();
    assert_eq!(found, Lookup::Found(paper.pmid().parse().unwrap()));
    let asked = world.arrivals_at(EUROPE_PMC);
    assert_eq!(
        asked[0].pair("query"),
        Some("(DOI:\"10.5555/world.9\") AND SRC:MED")
    );
}
