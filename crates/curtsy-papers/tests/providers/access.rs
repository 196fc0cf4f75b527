//! What every provider is told, and what becomes of its answer.

use curtsy_papers::{Access, Answer, Key, Keys, Provider, Query, Reason};

use crate::world::{self, Answer as Said, Fault, World};

pub(crate) fn keys() -> Keys {
    let key = |text| Some(Key::new(text).unwrap());
    Keys {
        ncbi: key("ncbi-s3cret"),
        openalex: key("openalex-s3cret"),
        semantic_scholar: key("s2-s3cret"),
    }
}

pub(crate) fn with_keys(world: &World) -> Access {
    Access::builder(world::contact())
        .endpoints(world.endpoints())
        .keys(keys())
        .client(world.client())
        .build()
        .unwrap()
}

/// A question to each provider that it knows an answer to.
pub(crate) fn questions() -> Vec<(Provider, Query)> {
    let doi = "10.5555/curtsy.2024.0042";
    vec![
        (Provider::Unpaywall, Query::at(doi)),
        (
            Provider::Ncbi,
            Query::at("esearch.fcgi").pair("term", "\"10.5555/curtsy.2024.0042\"[doi]"),
        ),
        (Provider::IdConverter, Query::at("").pair("ids", doi)),
        (Provider::PmcCloud, Query::at("metadata/PMC9900042.2.json")),
        (
            Provider::EuropePmc,
            Query::at("search").pair("query", format!("DOI:\"{doi}\"")),
        ),
        (Provider::Crossref, Query::at("works").then(doi)),
        (
            Provider::OpenAlex,
            Query::at("works/doi:10.5555/curtsy.2024.0042"),
        ),
        (
            Provider::SemanticScholar,
            Query::at("paper/DOI:10.5555/curtsy.2024.0042").pair("fields", "title"),
        ),
        (
            Provider::ArxivApi,
            Query::at("query").pair("id_list", "2401.99999"),
        ),
        (Provider::Doi, Query::at("api/handles").then(doi)),
        (Provider::DataCite, Query::at("dois/10.5555/data.77")),
        (
            Provider::Biorxiv,
            Query::at("details/biorxiv/10.1101/2024.01.01.999999/na/json"),
        ),
    ]
}

pub(crate) fn hosts(world: &World) -> Vec<(Provider, String)> {
    let endpoints = world.endpoints();
    let host = |provider: Provider| endpoints.base(provider).host_str().unwrap().to_owned();
    Provider::ALL
        .map(|provider| (provider, host(provider)))
        .to_vec()
}

#[tokio::test]
async fn each_provider_is_told_who_asks_in_the_way_it_wants() {
    let world = World::start().await;
    let access = with_keys(&world);
    for (provider, query) in questions() {
        let answer = access.ask(provider, query).await.unwrap();
        assert!(matches!(answer, Answer::Found(_)), "{provider}: {answer:?}");
    }
    let contact = Some("rae@lab.example");
    for (provider, host) in hosts(&world) {
        for arrival in world.arrivals_at(&host) {
            let agent = arrival.header("user-agent").unwrap();
            assert!(
                agent.starts_with("curtsy/") && agent.contains("mailto:rae@lab.example"),
                "{agent}"
            );
            let pair = |name| arrival.pair(name);
            match provider {
                Provider::Unpaywall | Provider::EuropePmc => assert_eq!(pair("email"), contact),
                Provider::Ncbi => {
                    assert_eq!((pair("tool"), pair("email")), (Some("curtsy"), contact));
                    assert_eq!(pair("api_key"), Some("ncbi-s3cret"));
                }
                Provider::IdConverter => {
                    assert_eq!((pair("tool"), pair("email")), (Some("curtsy"), contact))
                }
                Provider::Crossref | Provider::DataCite => assert_eq!(pair("mailto"), contact),
                Provider::OpenAlex => assert_eq!(
                    (pair("api_key"), pair("mailto")),
                    (Some("openalex-s3cret"), None)
                ),
                Provider::SemanticScholar => {
                    assert_eq!(arrival.header("x-api-key"), Some("s2-s3cret"))
                }
                _ => assert!(
                    !arrival.path.contains('@')
                        && arrival.query.iter().all(|(_, v)| !v.contains('@'))
                ),
            }
            assert_ne!(arrival.path, "/robots.txt", "{host}");
        }
    }
}

#[tokio::test]
async fn robots_txt_is_consulted_for_interfaces_only_on_demand() {
    let world = World::start().await;
    let all = "User-agent: *\nDisallow: /\n";
    world.fault(Fault::new(
        "doi.org",
        "/robots.txt",
        Said::new(200, "text/plain", all),
    ));
    let query = || Query::at("api/handles/10.5555/curtsy.2024.0042");
    let answer = world.access().ask(Provider::Doi, query()).await.unwrap();
    assert!(matches!(answer, Answer::Found(_)));

    let strict = Access::builder(world::contact())
        .endpoints(world.endpoints())
        .respect_robots_txt(true)
        .client(world.client())
        .build()
        .unwrap();
    match strict.ask(Provider::Doi, query()).await.unwrap() {
        Answer::Unavailable(why) => {
            assert_eq!((why.reason, why.host.as_str()), (Reason::Robots, "doi.org"))
        }
        other => panic!("{other:?}"),
    }
    let paths: Vec<_> = world
        .arrivals()
        .into_iter()
        .map(|arrival| arrival.path)
        .collect();
    assert_eq!(
        paths,
        ["/api/handles/10.5555/curtsy.2024.0042", "/robots.txt"]
    );
}

#[tokio::test]
async fn a_provider_without_its_key_is_not_asked() {
    let world = World::start().await;
    let access = world.access();
    for provider in [Provider::OpenAlex, Provider::SemanticScholar] {
        assert!(!access.may_ask(provider));
        match access.ask(provider, Query::at("works")).await.unwrap() {
            Answer::Unavailable(why) => assert_eq!(why.reason, Reason::NeedsKey),
            other => panic!("{other:?}"),
        }
    }
    assert!(world.arrivals().is_empty());
}

#[tokio::test]
async fn not_knowing_not_answering_and_not_making_sense_are_three_things() {
    let world = World::start().await;
    let day = "54000";
    for (host, answer) in [
        ("api.unpaywall.org", Said::status(404)),
        ("doi.org", Said::status(422)),
        ("api.crossref.org", Said::json("<html>not json</html>")),
        ("www.ebi.ac.uk", Said::status(403)),
        (
            "eutils.ncbi.nlm.nih.gov",
            Said::status(429).header("retry-after", day),
        ),
        (
            "api.datacite.org",
            Said::status(503).header("retry-after", day),
        ),
    ] {
        world.fault(Fault::new(host, "/", answer));
    }
    let access = world.access();
    let ask = async |provider| access.ask_json(provider, Query::at("x")).await.unwrap();
    assert_eq!(ask(Provider::Unpaywall).await, Answer::NotFound);
    assert!(matches!(ask(Provider::Doi).await, Answer::Rejected(status) if status == 422));
    assert_eq!(ask(Provider::Crossref).await, Answer::Malformed("no JSON"));
    for (provider, reason, waits) in [
        (Provider::EuropePmc, Reason::Walled, false),
        (Provider::Ncbi, Reason::RateLimited, true),
        (Provider::DataCite, Reason::RateLimited, true),
    ] {
        let Answer::Unavailable(why) = ask(provider).await else {
            panic!("{provider}");
        };
        assert_eq!(
            (why.reason, why.until.is_some()),
            (reason, waits),
            "{provider}"
        );
        if let Some(until) = why.until {
            let wait = until.since(access.client().now()).as_secs();
            assert!((53_990..=54_061).contains(&wait), "{wait}");
        }
    }
    // Asked once, and left alone.
    assert_eq!(world.arrivals_at("eutils.ncbi.nlm.nih.gov").len(), 1);
}

#[tokio::test]
async fn a_body_that_breaks_off_or_never_ends_is_an_unavailable_provider() {
    let world = World::start().await;
    world.fault(Fault::new(
        "api.crossref.org",
        "/",
        Said::json("{\"message\": {}}").cut_at(5),
    ));
    world.fault(Fault::new("doi.org", "/", Said::redirect("https://doi.org/a")).times(1));
    world.fault(Fault::new(
        "doi.org",
        "/a",
        Said::redirect("https://doi.org/x"),
    ));
    let access = world.access();
    for (provider, reason) in [
        (Provider::Crossref, Reason::Network),
        (Provider::Doi, Reason::RedirectLoop),
    ] {
        let Answer::Unavailable(why) = access.ask_json(provider, Query::at("x")).await.unwrap()
        else {
            panic!("{provider}");
        };
        assert_eq!(why.reason, reason, "{provider}");
    }
}

#[tokio::test]
async fn it_is_the_same_over_real_tls() {
    let world = World::secure().await;
    let answer = world
        .access()
        .ask_json(
            Provider::Crossref,
            Query::at("works/10.5555/curtsy.2024.0042"),
        )
        .await
        .unwrap()
        .found()
        .unwrap();
    assert_eq!(answer["message"]["DOI"], "10.5555/curtsy.2024.0042");

    let distrustful = Access::builder(world::contact())
        .endpoints(world.endpoints())
        .client(
            curtsy::Client::builder().transport(
                curtsy::transport::Transport::builder(curtsy::clock::Clock::system())
                    .resolve(world.resolve().parse().unwrap())
                    .build()
                    .unwrap(),
            ),
        );
    let answer = distrustful
        .build()
        .unwrap()
        .ask(Provider::Crossref, Query::at("works/x"))
        .await;
    assert!(matches!(answer, Ok(Answer::Unavailable(why)) if why.reason == Reason::Tls));
}
