//! What a paper cites, and what cites it.

use curtsy_papers::references::{Reference, ReferenceRetriever, References};
use curtsy_papers::{Access, Key, Keys, Reason};

use crate::world::{self, Answer as Said, Fault, World};

const DOI: &str = "10.5555/curtsy.2024.0042";

fn retriever(access: Access) -> ReferenceRetriever {
    ReferenceRetriever::builder(world::contact())
        .doi(DOI.parse().unwrap())
        .http_client(access)
        .build()
        .unwrap()
}

fn names(found: &References) -> Vec<String> {
    let name = |work: &Reference| {
        let id = work.doi.as_ref().map(ToString::to_string);
        let id = id.or_else(|| work.pmid.map(|pmid| pmid.to_string()));
        id.or_else(|| work.title.clone())
            .or_else(|| work.text.clone())
            .unwrap()
    };
    found.works.iter().map(name).collect()
}

#[tokio::test]
async fn references_of_three_sources_are_each_work_once_with_its_whole_doi() {
    let world = World::start().await;
    let found = retriever(world.access()).fetch_references().await.unwrap();
    assert_eq!(found.entries, 3 + 3 + 2);
    let expected = [
        "10.5555/ref.one.1",
        "The heron book",
        "10.5555/ref.two.2",
        "10.5555/preprint.1",
    ];
    assert_eq!(names(&found), expected);
    assert_eq!(found.works[0].sources, ["ncbi", "europepmc", "crossref"]);
    assert_eq!(found.works[1].sources, ["ncbi", "europepmc", "crossref"]);
    // The preprint's number in Europe PMC is no PMID.
    assert_eq!(found.works[3].pmid, None);
    let first = &found.works[0];
    assert_eq!(first.authors, ["Doe J", "Poe P"]);
    assert_eq!(
        (first.journal.as_deref(), first.year),
        (Some("J Inv Ornithol"), Some(2011))
    );
    assert!(found.unavailable.is_empty());
}

#[tokio::test]
async fn without_standardizing_every_entry_stays() {
    let world = World::start().await;
    let retriever = ReferenceRetriever::builder(world::contact())
        .pmid("39900042".parse().unwrap())
        .standardize(false)
        .http_client(world.access());
    let found = retriever.build().unwrap().fetch_references().await.unwrap();
    assert_eq!(found.works.len(), 8);
}

#[tokio::test]
async fn citing_works_come_from_all_pages_and_with_a_key_from_one_source_more() {
    let world = World::start().await;
    let found = retriever(world.access()).fetch_cited_by().await.unwrap();
    // Two of PubMed's links are among Europe PMC's 27.
    assert_eq!((found.entries, found.works.len()), (29, 27));
    assert_eq!(found.works[0].sources, ["ncbi", "europepmc"]);
    assert!(world.arrivals_at("api.openalex.org").is_empty());

    let keys = Keys {
        openalex: Some(Key::new("k").unwrap()),
        ..Keys::default()
    };
    let access = Access::builder(world::contact())
        .endpoints(world.endpoints())
        .keys(keys)
        .client(world.client())
        .build()
        .unwrap();
    let page = br#"{"meta": {"next_cursor": null}, "results": [{"id": "https://openalex.org/W7",
        "doi": "https://doi.org/10.5555/citing.1", "title": "Herons again", "publication_year": 2026}]}"#;
    world.fault(Fault::new(
        "api.openalex.org",
        "/works/",
        Said::json(r#"{"id": "https://openalex.org/W7"}"#),
    ));
    world.fault(Fault::new(
        "api.openalex.org",
        "/works",
        Said::json(&page[..]),
    ));
    let more = retriever(access).fetch_cited_by().await.unwrap();
    assert_eq!(more.works.len(), 28);
    let filters: Vec<_> = world
        .arrivals_at("api.openalex.org")
        .iter()
        .filter_map(|a| a.pair("filter").map(str::to_owned))
        .collect();
    assert_eq!(filters, ["cites:W7"]);
}

#[tokio::test]
async fn a_source_that_cannot_be_asked_is_told_and_the_others_go_on() {
    let world = World::start().await;
    let day = Said::status(429).header("retry-after", "54000");
    world.fault(Fault::new("www.ebi.ac.uk", "/", day));
    let found = retriever(world.access()).fetch_references().await.unwrap();
    assert_eq!(names(&found).len(), 3);
    let reasons: Vec<_> = found
        .unavailable
        .iter()
        .map(|why| (why.reason, why.host.as_str()))
        .collect();
    assert_eq!(reasons, [(Reason::RateLimited, "www.ebi.ac.uk")]);
}

#[tokio::test]
async fn a_paper_that_nobody_knows_has_no_references_and_no_error() {
    let world = World::start().await;
    let retriever = ReferenceRetriever::builder(world::contact())
        .doi("10.5555/nobody".parse().unwrap())
        .http_client(world.access())
        .build()
        .unwrap();
    assert_eq!(
        retriever.fetch_references().await.unwrap(),
        References::default()
    );
    assert_eq!(
        retriever.fetch_cited_by().await.unwrap(),
        References::default()
    );
    assert!(
        ReferenceRetriever::builder(world::contact())
            .build()
            .is_err()
    );
}
