//! Every request is its own host's: robots.txt, pace, holds, refusals.

use std::time::Duration;

use curtsy::core::Scope;
use curtsy_papers::plan::{Outcome, Retry};
use curtsy_papers::retrieve::PaperRetriever;
use curtsy_papers::{Provider, Reason};

use crate::support::*;
use crate::world::{self, Answer, Fault, World};

fn paths(world: &World, host: &str) -> Vec<String> {
    world
        .arrivals_at(host)
        .into_iter()
        .map(|arrival| arrival.path)
        .collect()
}

/// The publisher leads to a content host, and that to a mirror.
fn chain(world: &World) {
    only_at_publisher(world);
    world.fault(Fault::new(
        JOURNAL,
        "/articles",
        Answer::redirect("https://content.example.net/c.pdf"),
    ));
    world.fault(Fault::new(
        "content.example.net",
        "/c.pdf",
        Answer::redirect("https://mirror.example.com/m.pdf"),
    ));
}

#[tokio::test]
async fn each_hop_of_a_redirect_asks_its_own_robots_txt() {
    let world = World::start().await;
    chain(&world);
    let (paper, _folder) = get(&world, DOI).await;
    assert_eq!(paper.verdict.outcome, Outcome::Pdf);
    for host in [JOURNAL, "content.example.net", "mirror.example.com"] {
        assert_eq!(paths(&world, host)[0], "/robots.txt", "{host}");
    }
    assert!(
        paper
            .stored
            .unwrap()
            .url
            .unwrap()
            .contains("mirror.example.com")
    );

    let world = World::start().await;
    chain(&world);
    let rules = Answer::new(200, "text/plain", "User-agent: *\nDisallow: /m.pdf\n");
    world.fault(Fault::new("mirror.example.com", "/robots.txt", rules));
    let (paper, _folder) = get(&world, DOI).await;
    assert_eq!(paper.verdict.reason, Some(Reason::Robots));
    assert_eq!(paper.verdict.host.as_deref(), Some("mirror.example.com"));
    assert_eq!(paths(&world, "mirror.example.com"), ["/robots.txt"]);
}

#[tokio::test]
async fn each_hop_is_paced_as_its_own_host() {
    let world = World::start().await;
    at_publisher(
        &world,
        &[
            "https://one.example.org/1.pdf",
            "https://two.example.org/2.pdf",
        ],
    );
    for (host, path) in [("one.example.org", "/1.pdf"), ("two.example.org", "/2.pdf")] {
        world.fault(Fault::new(
            host,
            path,
            Answer::redirect("https://shared.example.com/x.pdf"),
        ));
    }
    world.fault(Fault::new(
        "shared.example.com",
        "/x.pdf",
        Answer::html("<html>none"),
    ));
    let folder = tempfile::tempdir().unwrap();
    // The policy of the real world: one to three seconds from one request to the next.
    let retriever = PaperRetriever::builder(world::contact()).http_client(world.access());
    let retriever = retriever.download_directory(folder.path()).build().unwrap();
    retriever.retrieve(order(DOI)).await.unwrap();
    let shared = world.arrivals_at("shared.example.com");
    assert_eq!(
        shared.len(),
        3,
        "robots.txt, and a body from each publisher"
    );
    world::assert_paced(&shared, Duration::from_secs(1));
}

#[tokio::test]
async fn a_403_is_charged_to_the_host_that_gave_it() {
    let world = World::start().await;
    chain(&world);
    world.fault(Fault::new(
        "mirror.example.com",
        "/m.pdf",
        Answer::status(403),
    ));
    let folder = tempfile::tempdir().unwrap();
    let retriever = builder(&world, folder.path()).build().unwrap();
    let paper = retriever.retrieve(order(DOI)).await.unwrap();
    assert_eq!(paper.verdict.reason, Some(Reason::Walled));
    assert_eq!(paper.verdict.host.as_deref(), Some("mirror.example.com"));
    assert_eq!(paper.verdict.status, Some(403));
    // It is left alone from now on; those who led there are not.
    world.clear();
    let again = retriever.retrieve(order(DOI)).await.unwrap();
    assert_eq!(again.verdict.reason, Some(Reason::Walled));
    assert_eq!(paths(&world, "mirror.example.com"), [""; 0]);
    assert_eq!(paths(&world, JOURNAL), ["/articles/0042.pdf"]);
}

#[tokio::test]
async fn a_wait_of_fifteen_hours_parks_its_host_and_the_others_go_on() {
    let world = World::start().await;
    at_publisher(
        &world,
        &[
            "https://slow.example.org/a.pdf",
            "https://quick.example.org/b.pdf",
        ],
    );
    let later = Answer::status(429).header("retry-after", "54000");
    world.fault(Fault::new("slow.example.org", "/a.pdf", later));
    let folder = tempfile::tempdir().unwrap();
    let retriever = builder(&world, folder.path()).build().unwrap();
    let paper = retriever.retrieve(order(DOI)).await.unwrap();
    assert_eq!(paper.verdict.outcome, Outcome::Pdf);
    assert_eq!(paths(&world, "slow.example.org"), ["/robots.txt", "/a.pdf"]);
    let state = retriever
        .access()
        .client()
        .state(&Scope::named(&format!(
            "slow.example.org:{}",
            world.addr().port()
        )))
        .await
        .unwrap();
    let hold = state.hold(retriever.access().client().now()).unwrap();
    assert!(
        hold.until
            > retriever
                .access()
                .client()
                .now()
                .after(Duration::from_secs(53_000))
    );
}

#[tokio::test]
async fn a_paper_whose_only_copy_has_to_wait_is_deferred_until_then() {
    for status in [429, 503] {
        let world = World::start().await;
        only_at_publisher(&world);
        let later = Answer::status(status).header("retry-after", "54000");
        world.fault(Fault::new(JOURNAL, "/articles", later));
        let folder = tempfile::tempdir().unwrap();
        let retriever = builder(&world, folder.path()).build().unwrap();
        let started = retriever.access().client().now();
        let paper = retriever.retrieve(order(DOI)).await.unwrap();
        assert_eq!(paper.verdict.outcome, Outcome::Deferred, "{status}");
        let Some(Retry::At(until)) = paper.verdict.retry else {
            panic!("{:?}", paper.verdict)
        };
        let wait = until.since(started);
        assert!(
            wait >= Duration::from_secs(54_000) && wait < Duration::from_secs(55_000),
            "{wait:?}"
        );
        assert_eq!(paths(&world, JOURNAL).len(), 2, "it is not asked again");
    }
}

#[tokio::test]
async fn an_address_that_leads_to_this_machine_or_its_network_is_not_followed() {
    let world = World::start().await;
    for url in [
        "http://10.0.0.1/a.pdf",
        "http://169.254.169.254/a.pdf",
        "http://127.0.0.1:9/a.pdf",
        "http://0.0.0.0:9/a.pdf",
    ] {
        at_publisher(&world, &["https://journal.example.org/articles/x.pdf"]);
        world.fault(Fault::new(JOURNAL, "/articles", Answer::redirect(url)).times(1));
        let (paper, _folder) = get(&world, DOI).await;
        assert_eq!(paper.verdict.reason, Some(Reason::RefusedTarget), "{url}");
    }
}

#[tokio::test]
async fn redirects_without_an_end_are_left() {
    let world = World::start().await;
    only_at_publisher(&world);
    world.fault(Fault::new(
        JOURNAL,
        "/articles",
        Answer::redirect("https://journal.example.org/articles/0042.pdf"),
    ));
    let (paper, _folder) = get(&world, DOI).await;
    assert_eq!(paper.verdict.reason, Some(Reason::RedirectLoop));
}

#[tokio::test]
async fn it_says_who_it_is_and_wears_no_mask() {
    let world = World::start().await;
    only_at_publisher(&world);
    get(&world, DOI).await;
    for arrival in world.arrivals() {
        let agent = arrival.header("user-agent").unwrap();
        assert!(
            agent.starts_with("curtsy/") && agent.contains("mailto:rae@lab.example"),
            "{agent}"
        );
        assert!(arrival.header("referer").is_none());
        assert!(arrival.header("cookie").is_none());
    }
}

#[tokio::test]
async fn the_sites_of_arxiv_and_europe_pmc_keep_their_rates_whatever_their_robots_txt_says() {
    let world = World::start().await;
    // Less than arXiv wants of programs.
    let hurried = Answer::new(200, "text/plain", "User-agent: *\nCrawl-delay: 1\n");
    world.fault(Fault::new("arxiv.org", "/robots.txt", hurried));
    let dois: Vec<String> = (0..4).map(|n| format!("10.5555/europe.{n}")).collect();
    for (n, doi) in dois.iter().enumerate() {
        let url = format!("https://europepmc.org/articles/PMC77{n}?pdf=render");
        let place = serde_json::json!({"url_for_pdf": url, "host_type": "repository"});
        let record = serde_json::json!({"doi": doi, "is_oa": true, "oa_locations": [place]});
        let known = Answer::json(record.to_string());
        world.fault(Fault::new(
            "api.unpaywall.org",
            &format!("/v2/{doi}"),
            known,
        ));
    }
    let folder = tempfile::tempdir().unwrap();
    let retriever = builder(&world, folder.path()).build().unwrap();
    let arxiv = ["arXiv:2401.00001", "arXiv:2401.00002"].map(str::to_owned);
    let papers: Vec<_> = arxiv
        .into_iter()
        .chain(dois)
        .map(|id| {
            let (retriever, order) = (retriever.clone(), order(&id));
            tokio::spawn(async move { retriever.retrieve(order).await.unwrap() })
        })
        .collect();
    for paper in papers {
        let paper = paper.await.unwrap();
        assert_eq!(paper.verdict.outcome, Outcome::Pdf, "{}", paper.id);
    }
    for (provider, host, requests) in [
        (Provider::Arxiv, "arxiv.org", 3),
        (Provider::EuropePmcSite, "europepmc.org", 5),
    ] {
        let arrivals = world.arrivals_at(host);
        assert_eq!(arrivals.len(), requests, "robots.txt, and each paper once");
        world::assert_paced(&arrivals, provider.endpoint().pace.interval());
    }
}
