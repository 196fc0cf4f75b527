//! Who is asked, in which order, and how little.

use curtsy_papers::plan::Outcome;
use curtsy_papers::retrieve::PaperRetriever;
use curtsy_papers::source::SourceId;
use curtsy_papers::source::resolver::{Place, Resolver};
use curtsy_papers::{Access, Key, Keys, Reason};

use crate::support::*;
use crate::world::{self, Answer, Copy, Fault, Paper, World};

fn hosts(world: &World) -> Vec<String> {
    let mut hosts: Vec<String> = world
        .arrivals()
        .into_iter()
        .map(|arrival| arrival.host)
        .collect();
    hosts.dedup();
    hosts
}

#[tokio::test]
async fn no_paper_that_is_found_takes_more_than_four_requests() {
    let world = World::with_papers(40).await;
    let folder = tempfile::tempdir().unwrap();
    let retriever = builder(&world, folder.path()).build().unwrap();
    let (mut found, mut requests) = (0, 0);
    for number in 0..10 {
        let paper = Paper(number);
        world.clear();
        let got = retriever.retrieve(order(&paper.doi())).await.unwrap();
        match paper.copy() {
            Copy::None => assert_eq!(got.verdict.reason, Some(Reason::Closed), "{number}"),
            _ => {
                assert_eq!(got.verdict.outcome, Outcome::Pdf, "{number}");
                let arrived = world.arrivals().len();
                assert!(arrived <= 4, "{number}: {:?}", hosts(&world));
                (found, requests) = (found + 1, requests + arrived);
            }
        }
    }
    assert!(found == 9 && requests <= 4 * found);
}

#[tokio::test]
async fn a_paper_on_arxiv_takes_its_robots_txt_and_itself() {
    let world = World::start().await;
    let (paper, _folder) = get(&world, "10.48550/arXiv.2401.99999").await;
    assert_eq!(
        (paper.verdict.outcome, paper.source()),
        (Outcome::Pdf, Some(SourceId::Arxiv))
    );
    let paths: Vec<_> = world
        .arrivals()
        .into_iter()
        .map(|arrival| arrival.path)
        .collect();
    assert_eq!(paths, ["/robots.txt", "/pdf/2401.99999"]);
}

#[tokio::test]
async fn every_kind_of_identifier_leads_to_the_paper() {
    let world = World::start().await;
    for id in [
        "39900042",
        "PMC9900042",
        "PMC9900042.2",
        "10/abc12",
        "https://journal.example.org/doi/full/10.5555/curtsy.2024.0042",
    ] {
        let (paper, _folder) = get(&world, id).await;
        assert_eq!(
            paper.verdict.outcome,
            Outcome::Pdf,
            "{id}: {:?}",
            paper.attempts
        );
        assert_eq!(paper.ids.doi.unwrap().as_str(), DOI, "{id}");
    }
}

#[tokio::test]
async fn a_doi_of_any_characters_reaches_every_interface_whole() {
    let world = World::start().await;
    let doi = "10.5555/(sici)1521-3951(199911)216:1<135::aid-x135>3.0.co;2-#?a+b";
    get(&world, doi).await;
    let contact = world::contact();
    for (host, prefix) in [
        ("api.unpaywall.org", "/v2/"),
        ("api.crossref.org", "/works/"),
        ("doi.org", "/api/handles/"),
    ] {
        let arrivals = world.arrivals_at(host);
        assert_eq!(arrivals[0].after(prefix).as_deref(), Some(doi), "{host}");
    }
    assert_eq!(
        world.arrivals_at("api.unpaywall.org")[0].pair("email"),
        Some(contact.as_str())
    );
    assert_eq!(
        world.arrivals_at("pmc.ncbi.nlm.nih.gov")[0].pair("ids"),
        Some(doi)
    );
    let europe_pmc = world.arrivals_at("www.ebi.ac.uk");
    assert_eq!(
        europe_pmc[0].pair("query"),
        Some(format!("DOI:\"{doi}\"").as_str())
    );
}

#[tokio::test]
async fn a_doi_that_nobody_has_heard_of_is_unknown_by_the_word_of_the_registry() {
    let world = World::start().await;
    let (paper, _folder) = get(&world, "10.5555/nobody").await;
    assert_eq!(
        (paper.verdict.outcome, paper.verdict.reason),
        (Outcome::Failed, Some(Reason::UnknownId))
    );
}

#[tokio::test]
async fn a_source_that_fails_is_no_source_that_knows_nothing() {
    for answer in [
        Answer::new(200, "application/json", "<html>down"),
        Answer::json(r#"{"doi": null}"#),
        Answer::status(400),
        Answer::status(403),
    ] {
        let world = World::start().await;
        world.fault(Fault::new("www.ebi.ac.uk", "/", answer));
        let (paper, _folder) = get(&world, "10.5555/closed.1").await;
        assert_eq!(
            paper.verdict.reason,
            Some(Reason::Unavailable),
            "{:?}",
            paper.attempts
        );
    }
}

#[tokio::test]
async fn a_contact_that_unpaywall_refuses_ends_the_run() {
    let world = World::start().await;
    world.fault(Fault::new(
        "api.unpaywall.org",
        "/",
        Answer::new(422, "application/json", "{}"),
    ));
    let folder = tempfile::tempdir().unwrap();
    let retriever = builder(&world, folder.path()).build().unwrap();
    let error = retriever
        .retrieve(order("10.5555/closed.1"))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), curtsy_papers::ErrorKind::Configuration);
}

#[tokio::test]
async fn sources_with_keys_are_asked_with_them_and_no_key_is_written_anywhere() {
    let world = World::start().await;
    world.fault(Fault::new("api.unpaywall.org", "/", Answer::status(404)));
    world.fault(Fault::new(
        "pmc.ncbi.nlm.nih.gov",
        "/",
        Answer::json(r#"{"status": "ok", "records": []}"#),
    ));
    world.fault(Fault::new(
        "www.ebi.ac.uk",
        "/",
        Answer::json(r#"{"resultList": {"result": []}}"#),
    ));
    let key = |text| Some(Key::new(text).unwrap());
    let access = Access::builder(world::contact())
        .endpoints(world.endpoints())
        .client(world.client())
        .keys(Keys {
            openalex: key("s3cret-a"),
            semantic_scholar: key("s3cret-b"),
            ..Keys::default()
        })
        .build()
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let retriever = PaperRetriever::builder(world::contact())
        .http_client(access)
        .download_directory(folder.path());
    let paper = retriever
        .build()
        .unwrap()
        .retrieve(order(DOI))
        .await
        .unwrap();
    assert_eq!(
        (paper.verdict.outcome, paper.source()),
        (Outcome::Pdf, Some(SourceId::OpenAlex))
    );
    assert_eq!(
        world.arrivals_at("api.openalex.org")[0].pair("api_key"),
        Some("s3cret-a")
    );
    for file in files(folder.path()) {
        let text = std::fs::read(folder.path().join(file)).unwrap();
        assert!(!String::from_utf8_lossy(&text).contains("s3cret"));
    }
}

#[tokio::test]
async fn what_many_papers_are_asked_about_at_once_takes_a_few_calls() {
    // Papers that only the last sources might know.
    let world = World::with_papers(2_000).await;
    let key = |text| Some(Key::new(text).unwrap());
    let access = Access::builder(world::contact())
        .endpoints(world.endpoints())
        .client(world.client())
        .keys(Keys {
            openalex: key("a"),
            semantic_scholar: key("b"),
            ..Keys::default()
        })
        .build()
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let retriever = PaperRetriever::builder(world::contact())
        .http_client(access)
        .download_directory(folder.path())
        .sources(vec![
            SourceId::EuropePmc,
            SourceId::OpenAlex,
            SourceId::SemanticScholar,
        ])
        .build()
        .unwrap();
    let closed = (0..150).map(|n| Paper(10 * n + 9).doi());
    let ids: Vec<String> = closed.chain([DOI.to_owned()]).collect();
    let found: Vec<_> = ids
        .iter()
        .map(|id| {
            let (retriever, order) = (retriever.clone(), order(id));
            tokio::spawn(async move { retriever.find(order).await.unwrap() })
        })
        .collect();
    for (paper, id) in found.into_iter().zip(&ids) {
        let paper = paper.await.unwrap();
        assert_eq!(&paper.ids.doi.unwrap().to_string(), id);
        assert_eq!(!paper.locations.is_empty(), id == DOI, "{id}");
        let is_unproven = paper.verdict.reason == Some(Reason::Unavailable);
        assert!(!is_unproven, "{id}: {:?}", paper.attempts);
    }
    for (host, most) in [
        ("www.ebi.ac.uk", 6),
        ("api.openalex.org", 6),
        ("api.semanticscholar.org", 4),
    ] {
        let calls = world.arrivals_at(host).len();
        assert!((1..=most).contains(&calls), "{host}: {calls}");
    }
}

#[tokio::test]
async fn the_landing_page_gives_its_pdf_and_not_its_supplement() {
    let world = World::start().await;
    let bronze = include_str!("../../testdata/unpaywall_v2_bronze_landing_only.json");
    world.fault(Fault::new("api.unpaywall.org", "/", Answer::json(bronze)));
    only_at_publisher(&world);
    let (paper, _folder) = get(&world, DOI).await;
    assert_eq!(
        (paper.verdict.outcome, paper.source()),
        (Outcome::Pdf, Some(SourceId::LandingPage))
    );
    let paths: Vec<_> = world
        .arrivals_at(JOURNAL)
        .into_iter()
        .map(|arrival| arrival.path)
        .collect();
    assert_eq!(
        paths,
        ["/robots.txt", "/articles/0042", "/articles/0042.pdf"]
    );
}

#[tokio::test]
async fn a_landing_page_about_another_work_gives_nothing() {
    let world = World::start().await;
    let bronze = include_str!("../../testdata/unpaywall_v2_bronze_landing_only.json");
    world.fault(Fault::new("api.unpaywall.org", "/", Answer::json(bronze)));
    only_at_publisher(&world);
    let wrong = include_str!("../../testdata/landing_page_wrong_doi.html");
    world.fault(Fault::new(JOURNAL, "/articles/0042", Answer::html(wrong)));
    let (paper, _folder) = get(&world, DOI).await;
    assert_eq!(paper.verdict.reason, Some(Reason::NoPdf));
}

#[tokio::test]
async fn a_resolver_of_the_users_own_is_asked_before_crossref() {
    let world = World::start().await;
    only_at_publisher(&world);
    world.fault(Fault::new(JOURNAL, "/articles", Answer::status(404)));
    let answer = serde_json::json!({"data": {"pdf": world.url("store.example.edu", "/own.pdf")}});
    world.fault(Fault::new(
        "library.example.edu",
        "/find",
        Answer::json(answer.to_string()),
    ));
    let resolver = Resolver::new(
        &world.url("library.example.edu", "/find?id={doi}"),
        Place::Pointer("/data/pdf".into()),
    );
    let folder = tempfile::tempdir().unwrap();
    let retriever = builder(&world, folder.path())
        .resolvers(vec![resolver.unwrap()])
        .build()
        .unwrap();
    let paper = retriever.retrieve(order(DOI)).await.unwrap();
    assert_eq!(
        (paper.verdict.outcome, paper.source()),
        (Outcome::Pdf, Some(SourceId::Resolver))
    );
    assert!(world.arrivals_at("api.crossref.org").is_empty());
}

#[tokio::test]
async fn find_tells_where_copies_are_and_fetches_none() {
    let world = World::start().await;
    let folder = tempfile::tempdir().unwrap();
    let retriever = builder(&world, folder.path()).build().unwrap();
    let paper = retriever.find(order(DOI)).await.unwrap();
    assert!(paper.locations.len() >= 4, "{:?}", paper.locations);
    assert!(files(folder.path()).is_empty());
    let fetched = world
        .arrivals()
        .into_iter()
        .any(|arrival| arrival.path.ends_with(".pdf"));
    assert!(!fetched && world.arrivals_at(JOURNAL).is_empty());
}

#[tokio::test]
async fn papers_come_over_tls_as_they_do_without() {
    let world = World::secure().await;
    let (paper, _folder) = get(&world, DOI).await;
    assert_eq!(paper.verdict.outcome, Outcome::Pdf);
}
