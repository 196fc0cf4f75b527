//! Every departure passes the one gate: order, gaps, holds.

use std::time::Duration;

use curtsy::core::audit::Event;
use curtsy::core::{Interval, Reason, Scope};
use curtsy::{ErrorKind, Policies};
use curtsy_origin::judge;
use url::Url;

use crate::support::*;

#[tokio::test]
async fn p1_robots_redirects_and_retries_depart_through_the_gate_like_any_page() {
    let origin = origin(
        r#"{"robots": 404, "pages": {
            "/a": {"location": "/b"}, "/b": [{"status": 503}, {"status": 200}]}}"#,
    )
    .await;
    let (_dir, log, audit) = log();
    let policy = fast(|p| p.delay = Some(Interval::fixed(ms(100))));
    let client = builder(policy).audit(audit).build().unwrap();
    let got = response(client.get(&origin.url("/a")).await);
    assert_eq!((got.status.as_u16(), got.attempts), (200, 3));
    assert_eq!(paths(&origin), ["/robots.txt", "/a", "/b", "/b"]);
    for gap in gaps(&origin.arrivals()) {
        assert!(gap + SLACK >= ms(100), "{gap:?}");
    }
    let kinds: Vec<_> = records(&log)
        .into_iter()
        .filter(|record| matches!(record.event, Event::Departure(_)))
        .map(|record| record.kind.unwrap().label())
        .collect();
    assert_eq!(kinds, ["robots", "page", "redirect", "retry"]);
    for pair in departed(&records(&log)).windows(2) {
        // The log counts whole milliseconds.
        assert!(pair[1] - pair[0] >= 99_000, "{pair:?}");
    }
}

#[tokio::test]
async fn p5_no_gap_is_shorter_than_the_crawl_delay_from_the_robots_txt_on() {
    let origin = origin(r#"{"robots": "User-agent: *\nCrawl-delay: 0.15\n"}"#).await;
    let (_dir, log, audit) = log();
    let client = builder(fast(|p| (p.rate, p.per_host) = (None, 4)))
        .audit(audit)
        .build()
        .unwrap();
    let urls: Vec<String> = (0..5).map(|n| format!("/{n}")).collect();
    statuses(&client, urls.iter().map(|path| origin.url(path))).await;
    let verdict = judge(origin.script(), &origin.arrivals(), &urls);
    assert!(verdict.is_flawless(), "{verdict:?}");
    let departed = departed(&records(&log));
    assert_eq!(departed.len(), 6);
    for pair in departed.windows(2) {
        assert!(pair[1] - pair[0] >= 149_000, "{pair:?}");
    }
}

#[tokio::test]
async fn h1_nothing_arrives_in_a_hold_however_many_wait() {
    for told in [r#"["Retry-After", "1"]"#, r#"["RateLimit-Reset", "1"]"#] {
        for status in [429, 503] {
            let origin = origin(&format!(
                r#"{{"robots": 404, "pages": {{
                    "/0": [{{"status": {status}, "headers": [{told}]}}, {{"status": 200}}]}}}}"#
            ))
            .await;
            let client = client(|p| p.per_host = 8);
            let urls = (0..5).map(|n| origin.url(&format!("/{n}")));
            assert_eq!(statuses(&client, urls).await, [200; 5]);
            let arrivals = pages(&origin);
            let answered = arrivals[0].answered.unwrap();
            for arrival in &arrivals[1..] {
                let since = arrival.at - answered;
                assert!(since >= ms(1095), "{status} {told}: {since:?}");
            }
        }
    }
}

#[tokio::test]
async fn p9_a_hold_that_arrives_while_a_request_waits_applies_to_it() {
    let origin = origin(
        r#"{"robots": 404, "pages": {"/refused": [
            {"status": 429, "latency_ms": 250, "headers": [["Retry-After", "1"]]},
            {"status": 200}]}}"#,
    )
    .await;
    let client = client(|p| (p.rate, p.burst, p.per_host) = (Some(6.0), 1, 4));
    assert_eq!(status(&client, &origin.url("/first")).await, 200);
    let urls = ["/refused", "/1", "/2", "/3"].map(|path| origin.url(path));
    assert_eq!(statuses(&client, urls).await, [200; 4]);
    let arrivals = pages(&origin);
    let refused = arrivals.iter().find(|a| a.path == "/refused").unwrap();
    let answered = refused.answered.unwrap();
    let in_hold = |at: Duration| at > answered + ms(20) && at < answered + ms(1095);
    let late = arrivals.iter().filter(|a| a.at > answered).count();
    assert!(late >= 3, "{arrivals:?}");
    assert!(arrivals.iter().all(|a| !in_hold(a.at)), "{arrivals:?}");
}

#[tokio::test]
async fn p9_a_slow_scope_never_delays_another_not_even_at_the_only_place() {
    let (slow, quick) = (origin(r#"{"robots": 404}"#).await, origin("{}").await);
    let scope = Scope::of(&Url::parse(&slow.url("/")).unwrap()).unwrap();
    let policies = Policies::new(fast(|_| ()))
        .with_scope(scope, fast(|p| p.delay = Some(Interval::fixed(ms(900)))));
    let client = curtsy::Client::builder()
        .policies(policies)
        .concurrency(1)
        .build()
        .unwrap();
    let (other, url) = (client.clone(), slow.url("/x"));
    let waiting = tokio::spawn(async move { status(&other, &url).await });
    while slow.arrived() < 1 {
        tokio::time::sleep(ms(5)).await;
    }
    let urls = (0..20).map(|n| quick.url(&format!("/{n}")));
    assert_eq!(statuses(&client, urls).await, [200; 20]);
    assert_eq!(paths(&slow), ["/robots.txt"], "the quick one waited");
    assert_eq!(waiting.await.unwrap(), 200);
}

#[tokio::test]
async fn p8_a_new_scope_gets_one_request_until_its_first_answer() {
    let origin = origin(r#"{"robots": 404, "service": {"latency_ms": 150}}"#).await;
    let client = client(|p| p.per_host = 4);
    let urls = (0..4).map(|n| origin.url(&format!("/{n}")));
    assert_eq!(statuses(&client, urls).await, [200; 4]);
    let arrivals = pages(&origin);
    let first = arrivals[0].answered.unwrap();
    assert!(arrivals[1..].iter().all(|arrival| arrival.at >= first));
    assert_eq!(arrivals[3].in_flight, 3, "then they go side by side");
}

#[tokio::test]
async fn h10_a_wait_beyond_patience_is_deferred_and_the_hold_stands() {
    let origin = origin(
        r#"{"robots": 404, "pages": {"/x": {"status": 429, "headers": [["Retry-After", "600"]]}}}"#,
    )
    .await;
    let client = client(|_| ());
    let put_off = deferred(client.get(&origin.url("/x")).await);
    assert_eq!(
        (put_off.bound.reason, put_off.attempts),
        (Reason::ServerHold, 1)
    );
    assert!(put_off.bound.not_before > client.now().after(ms(600_000)));
    let other = deferred(client.get(&origin.url("/y")).await);
    assert_eq!((other.bound, other.attempts), (put_off.bound, 0));
    assert_eq!(paths(&origin), ["/robots.txt", "/x"]);
}

#[tokio::test]
async fn d1_a_url_that_climbs_its_own_ladder_is_in_nobodys_way() {
    let origin =
        origin(r#"{"robots": 404, "pages": {"/flaky": [{"status": 500}, {"status": 200}]}}"#).await;
    let client = client(|p| (p.backoff_base, p.per_host) = (ms(600), 1));
    let (other, url) = (client.clone(), origin.url("/flaky"));
    let climbing = tokio::spawn(async move { status(&other, &url).await });
    while count(&origin, "/flaky") < 1 {
        tokio::time::sleep(ms(5)).await;
    }
    for n in 0..5 {
        assert_eq!(status(&client, &origin.url(&format!("/{n}"))).await, 200);
    }
    assert_eq!(count(&origin, "/flaky"), 1, "the others waited for it");
    assert_eq!(climbing.await.unwrap(), 200);
    let flaky: Vec<_> = pages(&origin)
        .into_iter()
        .filter(|arrival| arrival.path == "/flaky")
        .collect();
    assert!(gaps(&flaky)[0] + SLACK >= ms(600));
}

#[tokio::test]
async fn a_closed_client_sends_the_waiting_away_and_lets_the_departed_land() {
    let origin = origin(r#"{"robots": 404, "service": {"latency_ms": 200}}"#).await;
    let client = client(|p| p.delay = Some(Interval::fixed(ms(300))));
    let get = |path: &str| {
        let (client, url) = (client.clone(), origin.url(path));
        tokio::spawn(async move { client.get(&url).await })
    };
    let departed = get("/departed");
    while count(&origin, "/departed") < 1 {
        tokio::time::sleep(ms(5)).await;
    }
    let waiting = get("/waiting");
    tokio::time::sleep(ms(20)).await;
    client.close();
    let closed = waiting.await.unwrap().unwrap_err();
    assert_eq!(closed.kind(), ErrorKind::Closed);
    assert_eq!(response(departed.await.unwrap()).status, 200);
    let late = client.get(&origin.url("/late")).await.unwrap_err();
    assert_eq!(late.kind(), ErrorKind::Closed);
    assert_eq!(paths(&origin), ["/robots.txt", "/departed"]);
}
