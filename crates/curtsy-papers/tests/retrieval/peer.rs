//! What a tool of this kind was seen to get wrong, and what is right. The other tests have the rest of it: bodies that
//! are no PDF, files of others, redirects, requests a paper.

use std::time::Duration;

use curtsy::clock::Clock;
use curtsy::core::Interval;
use curtsy::transport::{Limits, Transport};
use curtsy::{Client, ClientBuilder, Policies};
use curtsy_papers::plan::Outcome;
use curtsy_papers::retrieve::PaperRetriever;
use curtsy_papers::{Access, Provider, Query, Reason, site_policy};

use crate::support::*;
use crate::world::{self, Answer, Fault, World};

/// An access whose sites have this policy, but for their guessed pace.
fn access_with(world: &World, change: impl FnOnce(&mut curtsy::core::PolicyValues)) -> Access {
    access_of(world, world.client(), change)
}

fn access_of(
    world: &World,
    client: ClientBuilder,
    change: impl FnOnce(&mut curtsy::core::PolicyValues),
) -> Access {
    let mut site = site_policy();
    site.rate_limit = Interval::fixed(Duration::ZERO);
    change(&mut site);
    Access::builder(world::contact())
        .policies(Policies::new(site.build().unwrap()))
        .endpoints(world.endpoints())
        .client(client)
        .build()
        .unwrap()
}

async fn get_with(access: Access) -> curtsy_papers::retrieve::Paper {
    let folder = tempfile::tempdir().unwrap();
    let retriever = PaperRetriever::builder(world::contact())
        .http_client(access)
        .download_directory(folder.path())
        .build()
        .unwrap();
    retriever.retrieve(order(DOI)).await.unwrap()
}

#[tokio::test]
async fn robots_txt_is_matched_under_curtsys_own_name_by_the_longest_rule_whatever_the_bytes() {
    for (robots, may) in [
        ("User-agent: mozilla\nDisallow: /\n", true),
        (
            "User-agent: curtsy\nDisallow: /\n\nUser-agent: *\nAllow: /\n",
            false,
        ),
        ("User-agent: *\nDisallow: /\nAllow: /articles/\n", true),
        ("User-agent: *\nDisallow: /*.pdf$\n", false),
        ("\u{feff}User-agent: *\nDisallow: /articles\n", false),
        ("User-agent: *\nDisallow: /articles # s\u{ff}\n", false),
        ("User-agent: *\nCrawl-delay: nan\nAllow: /\n", true),
    ] {
        let world = World::start().await;
        only_at_publisher(&world);
        let robots_txt = Answer::new(200, "text/plain", robots);
        world.fault(Fault::new(JOURNAL, "/robots.txt", robots_txt));
        let (paper, _folder) = get(&world, DOI).await;
        let reason = (!may).then_some(Reason::Robots);
        assert_eq!(paper.verdict.reason, reason, "{robots}");
        let asked = world.arrivals_at(JOURNAL);
        assert_eq!(asked.len(), 1 + usize::from(may), "{robots}");
        let agent = asked[0].header("user-agent").unwrap();
        assert!(
            agent.starts_with("curtsy/"),
            "robots.txt is asked by the same name: {agent}"
        );
    }
}

#[tokio::test]
async fn a_robots_txt_that_is_refused_allows_all_and_one_that_fails_allows_nothing_for_now() {
    for (status, outcome) in [
        (401, Outcome::Pdf),
        (403, Outcome::Pdf),
        (404, Outcome::Pdf),
        (503, Outcome::Deferred),
    ] {
        let world = World::start().await;
        only_at_publisher(&world);
        let fault = Fault::new(JOURNAL, "/robots.txt", Answer::status(status));
        world.fault(fault);
        let access = access_with(&world, |site| site.max_retry_after = Duration::ZERO);
        let paper = get_with(access).await;
        assert_eq!(paper.verdict.outcome, outcome, "{status}");
    }
}

#[tokio::test]
async fn what_a_server_says_of_waiting_is_kept_on_503_too_and_nonsense_ends_nothing() {
    // Longer than anybody waits here, so that it is put off and not waited for.
    for (status, name, value, wait) in [
        (503, "retry-after", "40", Some(40)),
        (429, "retry-after", "99999", Some(99_999)),
        (429, "ratelimit-reset", "41.5", Some(41)),
        (429, "ratelimit", "\"x\";r=0;t=45", Some(45)),
        (503, "x-ratelimit-reset", "1e3", None),
        (429, "retry-after", "-5", None),
        (429, "retry-after", "nan", None),
        (429, "retry-after", "inf", None),
        (429, "ratelimit-reset", "-4", None),
    ] {
        let world = World::start().await;
        only_at_publisher(&world);
        let refusal = Answer::status(status).header(name, value);
        world.fault(Fault::new(JOURNAL, "/articles", refusal).times(1));
        let access = access_with(&world, |site| {
            (site.max_retry_after, site.default_retry_after) = (Duration::from_secs(5), None);
        });
        let started = access.client().now();
        let paper = get_with(access).await;
        let Some(wait) = wait else {
            assert_eq!(paper.verdict.outcome, Outcome::Pdf, "{name}: {value}");
            let tries = world.arrivals_at(JOURNAL);
            let pause = tries[2].at - tries[1].at;
            assert!(
                pause >= Duration::from_millis(950),
                "{name}: {value}: {pause:?}"
            );
            continue;
        };
        assert_eq!(paper.verdict.outcome, Outcome::Deferred, "{name}: {value}");
        let until = paper.verdict.until().unwrap().since(started);
        assert!(
            until >= Duration::from_secs(wait),
            "{name}: {value}: {until:?}"
        );
        assert_eq!(world.arrivals_at(JOURNAL).len(), 2, "{name}: {value}");
    }
}

#[tokio::test]
async fn what_fails_for_the_moment_is_tried_again_and_a_dead_link_slows_nobody() {
    for status in [408, 500, 502, 504] {
        let world = World::start().await;
        only_at_publisher(&world);
        world.fault(Fault::new(JOURNAL, "/articles", Answer::status(status)).times(1));
        let paper = get_with(access_with(&world, |_| {})).await;
        assert_eq!(paper.verdict.outcome, Outcome::Pdf, "{status}");
    }
    let world = World::start().await;
    at_publisher(
        &world,
        &[
            "https://journal.example.org/gone.pdf",
            "https://journal.example.org/b.pdf",
        ],
    );
    world.fault(Fault::new(JOURNAL, "/gone", Answer::status(404)));
    let paper = get_with(access_with(&world, |_| {})).await;
    assert_eq!(paper.verdict.outcome, Outcome::Pdf);
    let asked = world.arrivals_at(JOURNAL);
    assert_eq!(asked.len(), 3, "no dead link is asked for again");
}

#[tokio::test]
async fn ncbi_too_passes_the_gate_and_is_not_asked_while_it_wants_to_be_left_alone() {
    let world = World::start().await;
    let later = Answer::new(429, "application/json", "{}").header("retry-after", "2");
    world.fault(Fault::new("eutils.ncbi.nlm.nih.gov", "/", later).times(1));
    let access = world.access();
    let query = || Query::at("esearch.fcgi").pair("term", "herons");
    let (one, other) = tokio::join!(
        access.ask(Provider::Ncbi, query()),
        access.ask(Provider::Ncbi, query())
    );
    assert!(one.unwrap().found().is_some() && other.unwrap().found().is_some());
    let asked = world.arrivals_at("eutils.ncbi.nlm.nih.gov");
    let quiet = asked[1].at - asked[0].at;
    assert!(quiet >= Duration::from_millis(1_950), "{quiet:?}");
}

#[tokio::test]
async fn a_host_that_refused_is_asked_once_for_all_papers_however_it_is_spelt() {
    let world = World::start().await;
    let port = world.addr().port();
    let folder = tempfile::tempdir().unwrap();
    let retriever = builder(&world, folder.path()).build().unwrap();
    world.fault(Fault::new(JOURNAL, "/articles", Answer::status(403)));
    for (n, url) in [
        format!("http://journal.example.org:{port}/articles/1.pdf"),
        format!("http://Journal.Example.ORG:{port}/articles/2.pdf"),
        format!("http://JOURNAL.example.org:{port}/articles/3.pdf"),
    ]
    .iter()
    .enumerate()
    {
        at_publisher(&world, &[]);
        let doi = format!("10.5555/walled.{n}");
        let place = serde_json::json!({"url_for_pdf": url, "host_type": "publisher"});
        let record = serde_json::json!({"doi": doi, "is_oa": true, "oa_locations": [place]});
        let known = Answer::json(record.to_string());
        world.fault(Fault::new(
            "api.unpaywall.org",
            &format!("/v2/{doi}"),
            known,
        ));
        let paper = retriever.retrieve(order(&doi)).await.unwrap();
        assert_eq!(paper.verdict.reason, Some(Reason::Walled), "{url}");
        assert_eq!(paper.verdict.host.as_deref(), Some(JOURNAL));
    }
    let asked = world.arrivals_at(JOURNAL);
    let asked: Vec<_> = asked.iter().map(|arrival| arrival.path.as_str()).collect();
    assert_eq!(asked, ["/robots.txt", "/articles/1.pdf"]);
}

#[tokio::test]
async fn what_fails_behind_the_resolver_is_not_charged_to_it() {
    let world = World::start().await;
    let page = world.url("doi.org", "/10.5555/curtsy.2024.0042");
    let place = serde_json::json!({"url": page, "url_for_pdf": null});
    let record = serde_json::json!({"doi": DOI, "is_oa": true, "oa_locations": [place]});
    let known = Answer::json(record.to_string());
    world.fault(Fault::new("api.unpaywall.org", "/", known));
    let to_journal = Answer::redirect("https://journal.example.org/articles/0042");
    world.fault(Fault::new("doi.org", "/10.5555", to_journal));
    only_at_publisher(&world);
    world.fault(Fault::new(JOURNAL, "/articles", Answer::status(403)));
    let access = access_with(&world, |_| {});
    let paper = get_with(access.clone()).await;
    assert_eq!(paper.verdict.reason, Some(Reason::Walled));
    assert_eq!(paper.verdict.host.as_deref(), Some(JOURNAL));
    let handles = Query::at("api/handles/10.5555/curtsy.2024.0042");
    let asked = access.ask(Provider::Doi, handles).await.unwrap();
    assert!(asked.found().is_some(), "the resolver goes on to be asked");
}

#[tokio::test]
async fn a_transfer_that_stands_still_ends_and_no_redirect_leads_out_of_https() {
    let world = World::start().await;
    only_at_publisher(&world);
    let still = Answer::pdf(PAPER).after(Duration::from_secs(60));
    world.fault(Fault::new(JOURNAL, "/articles", still));
    let limits = Limits {
        silence: Duration::from_millis(300),
        ..Limits::default()
    };
    let transport = Transport::builder(Clock::system())
        .resolve(world.resolve().parse().unwrap())
        .limits(limits);
    let client = Client::builder().transport(transport.build().unwrap());
    let access = access_of(&world, client, |site| site.max_retries = 0);
    let paper = get_with(access).await;
    assert_eq!(paper.verdict.reason, Some(Reason::Timeout));

    let world = World::secure().await;
    only_at_publisher(&world);
    let plain = format!("http://content.example.net:{}/c.pdf", world.addr().port());
    world.fault(Fault::new(JOURNAL, "/articles", Answer::redirect(plain)));
    let paper = get_with(access_with(&world, |_| {})).await;
    assert_eq!(paper.verdict.reason, Some(Reason::RefusedTarget));
    assert!(world.arrivals_at("content.example.net").is_empty());
}

#[tokio::test]
async fn an_answer_of_unpaywall_with_nulls_in_it_is_one_and_all_its_copies_are_tried() {
    let world = World::start().await;
    let places: Vec<_> = (0..6)
        .map(|n| format!("https://r{n}.example.edu/{n}.pdf"))
        .collect();
    at_publisher(
        &world,
        &places.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    for n in 0..5 {
        let host = format!("r{n}.example.edu");
        world.fault(Fault::new(&host, "/", Answer::html("<html>no")));
    }
    let paper = get_with(access_with(&world, |_| {})).await;
    assert_eq!(paper.verdict.outcome, Outcome::Pdf, "the sixth");
    for record in [
        r#"{"doi": "10.5555/curtsy.2024.0042", "is_oa": false, "oa_locations": null, "best_oa_location": null}"#,
        r#"{"doi": "10.5555/curtsy.2024.0042", "oa_locations": [{"url": null, "url_for_pdf": null}, null, 7]}"#,
    ] {
        let world = World::start().await;
        world.fault(Fault::new("api.unpaywall.org", "/", Answer::json(record)));
        only_at_publisher(&world);
        let paper = get_with(access_with(&world, |_| {})).await;
        assert_eq!(paper.verdict.reason, Some(Reason::Closed), "{record}");
    }
}

#[tokio::test]
async fn a_paper_without_a_doi_is_an_answer_and_a_paper_that_nobody_has_costs_few_requests() {
    let world = World::start().await;
    let folder = tempfile::tempdir().unwrap();
    let retriever = builder(&world, folder.path()).build().unwrap();
    let no_doi = retriever.retrieve(order("39900099")).await.unwrap();
    assert_eq!(no_doi.verdict.reason, Some(Reason::Closed));
    world.clear();
    let nobody = retriever.retrieve(order("10.5555/nobody")).await.unwrap();
    assert_eq!(nobody.verdict.outcome, Outcome::Failed);
    let arrivals = world.arrivals();
    assert!(arrivals.len() <= 8, "{}", arrivals.len());
    let mut urls: Vec<_> = arrivals.iter().map(|a| (&a.host, &a.path)).collect();
    urls.sort();
    urls.dedup();
    assert_eq!(urls.len(), arrivals.len(), "nothing is asked for twice");
    // A name that no file system takes as it stands.
    let long = format!("10.5555/{}", "x".repeat(300));
    let paper = retriever.retrieve(order(&long)).await.unwrap();
    assert_eq!(paper.verdict.outcome, Outcome::Failed);
    assert!(
        files(folder.path())
            .iter()
            .all(|file| file.split('/').all(|name| name.len() <= 255))
    );
}
