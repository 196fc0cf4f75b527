//! What a client tells of itself.

use curtsy::core::{Interval, Reason, Scope};
use curtsy::{ErrorKind, RobotsSay};

use crate::support::*;

const ROBOTS: &str = r#"{"robots": "User-agent: *\nCrawl-delay: 0.2\nDisallow: /no\n"}"#;

#[tokio::test]
async fn the_two_questions_of_the_seed_are_answered_by_the_file_and_fetch_nothing_else() {
    let origin = origin(ROBOTS).await;
    let client = client(|_| ());
    assert!(client.can_fetch(&origin.url("/yes")).await.unwrap());
    assert!(!client.can_fetch(&origin.url("/no/x")).await.unwrap());
    let delay = client.crawl_delay(&origin.url("/")).await.unwrap();
    assert_eq!(delay, Some(ms(200)));
    assert_eq!(paths(&origin), ["/robots.txt"]);
    let unreachable = client.can_fetch(&format!("http://{}/", nobody())).await;
    assert_eq!(unreachable.unwrap_err().kind().label(), "refused");
    for bad in ["", "/x", "ftp://example.org/", "http://"] {
        let error = client.can_fetch(bad).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidUrl, "{bad:?}");
    }
}

#[tokio::test]
async fn explain_names_the_bound_that_binds_and_the_rule_and_departs_not() {
    let origin = origin(ROBOTS).await;
    let client = client(|p| p.delay = Some(Interval::fixed(ms(5))));
    let explained = client.explain(&origin.url("/no")).await.unwrap();
    let rule = Some(("Disallow: /no".to_owned(), 3));
    assert_eq!(explained.robots, RobotsSay::Disallowed(rule));
    assert_eq!(explained.crawl_delay_line, Some(2));
    let bound = explained.bounds.latest();
    assert_eq!(bound.reason, Reason::CrawlDelay);
    let last = explained.state.last_departure().unwrap();
    assert_eq!(bound.not_before, last.after(ms(200)));
    assert_eq!(paths(&origin), ["/robots.txt"]);
}

#[tokio::test]
async fn delays_and_waits_show_while_they_last() {
    let origin =
        origin(r#"{"robots": 404, "pages": {"/x": [{"status": 503}, {"status": 200}]}}"#).await;
    let client = client(|p| (p.backoff_base, p.backoff_decay) = (ms(300), ms(300)));
    let scope = Scope::named(&origin.addr().to_string());
    let (other, url) = (client.clone(), origin.url("/x"));
    let getting = tokio::spawn(async move { status(&other, &url).await });
    let waits = loop {
        let view = client.scopes().into_iter().find(|view| view.scope == scope);
        let bound = view.and_then(|view| view.waits_for);
        match bound.filter(|bound| bound.reason == Reason::DynamicDelay) {
            Some(bound) => break bound,
            None => tokio::time::sleep(ms(5)).await,
        }
    };
    assert!(waits.not_before > client.now());
    assert_eq!(client.backoff_delays()[&scope], ms(300));
    assert_eq!(getting.await.unwrap(), 200);
    assert!(client.backoff_delays().is_empty());
    let view = client.scopes().into_iter().find(|view| view.scope == scope);
    assert_eq!(view.unwrap().waits_for, None);
    assert_eq!(
        client.stored_scopes().await.unwrap(),
        std::slice::from_ref(&scope)
    );
    assert!(client.forget(&scope).await.unwrap());
    assert!(!client.forget(&scope).await.unwrap());
    assert_eq!(client.state(&scope).await.unwrap().departures(), 0);
}

#[tokio::test]
async fn a_judgement_of_another_crawler_reads_the_same_file_and_leaves_the_pace_alone() {
    let origin = origin(
        r#"{"robots": "User-agent: *\nDisallow: /no\nUser-agent: MossBot\nCrawl-delay: 60\nDisallow: /moss\n"}"#,
    )
    .await;
    let client = client(|_| ());
    for (agent, path, expected) in [
        (
            None,
            "/no",
            RobotsSay::Disallowed(Some(("Disallow: /no".to_owned(), 2))),
        ),
        (Some("MossBot/2"), "/no", RobotsSay::Allowed(None)),
        (
            Some("MossBot/2"),
            "/moss",
            RobotsSay::Disallowed(Some(("Disallow: /moss".to_owned(), 5))),
        ),
    ] {
        let report = client.robots(&origin.url(path), agent).await.unwrap();
        assert_eq!(report.said, expected, "{agent:?} {path}");
        assert_eq!(report.asked, agent.is_none(), "{agent:?} {path}");
        assert_eq!(report.file.as_str(), origin.url("/robots.txt"));
        assert!(report.fetched.is_some() && report.access.is_some());
    }
    let scope = Scope::named(&origin.addr().to_string());
    let state = client.state(&scope).await.unwrap();
    assert_eq!((state.crawl_delay(), state.departures()), (None, 1));
}
