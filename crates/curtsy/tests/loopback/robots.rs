//! O: every way in which a robots.txt can be answered.

use std::sync::Arc;
use std::time::Duration;

use curtsy::core::robots::Fetched;
use curtsy::core::{Reason, Scope};
use curtsy::store::{HostStore, MemoryStore, Swap};
use curtsy::transport::{Limits, TransportErrorKind};
use curtsy::{Client, ErrorKind, Reply};
use curtsy_origin::Origin;

use crate::support::*;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

async fn with_robots(page: &str) -> Origin {
    origin(&format!(r#"{{"pages": {{"/robots.txt": {page}}}}}"#)).await
}

/// What becomes of a URL: `got`, `disallowed`, or why it is not fetched.
async fn fate(client: &Client, url: &str) -> String {
    match client.get(url).await {
        Ok(Reply::Response(response)) => format!("got {}", response.status.as_u16()),
        Ok(Reply::Disallowed(no)) => format!("disallowed by line {:?}", no.line),
        Ok(Reply::Deferred(deferred)) => deferred.bound.reason.label().to_owned(),
        Err(error) => error.kind().label().to_owned(),
    }
}

#[tokio::test]
async fn o3_each_answer_to_the_fetch_means_what_rfc_9309_says() {
    let rules = "User-agent: *\\nDisallow: /x\\n";
    let long = "# comment\\n".repeat(40_000);
    for (page, expected) in [
        (
            format!(r#"{{"body": "{rules}"}}"#),
            "disallowed by line Some(2)",
        ),
        (r#"{"status": 404}"#.into(), "got 200"),
        (r#"{"status": 401}"#.into(), "got 200"),
        (r#"{"status": 403}"#.into(), "got 200"),
        (r#"{"status": 410}"#.into(), "got 200"),
        (r#"{"status": 429}"#.into(), "robots_unreachable"),
        (r#"{"status": 500}"#.into(), "robots_unreachable"),
        (r#"{"status": 503}"#.into(), "robots_unreachable"),
        (
            r#"{"body": "<html><body>Disallow: /x</body></html>"}"#.into(),
            "got 200",
        ),
        (r#"{"body": ""}"#.into(), "got 200"),
        (r#"{"status": 204}"#.into(), "got 200"),
        // Asked for were neither a part nor what is new.
        (
            format!(r#"{{"status": 206, "body": "{rules}"}}"#),
            "robots_unreachable",
        ),
        (r#"{"status": 304}"#.into(), "robots_unreachable"),
        (r#"{"status": 302}"#.into(), "robots_unreachable"),
        (
            format!(r#"{{"body": "{rules}", "headers": [["Content-Encoding", "gzip"]]}}"#),
            "robots_unreachable",
        ),
        (
            format!(
                r#"{{"body": "{rules}", "coding": "gzip", "fault": {{"cut_body": {{"after_bytes": 30}}}}}}"#
            ),
            "robots_unreachable",
        ),
        (
            r#"{"fault": {"cut_body": {"after_bytes": 1}}}"#.into(),
            "robots_unreachable",
        ),
        (r#"{"fault": {"endless_body": {}}}"#.into(), "got 200"),
        (r#"{"body_bytes": 50000000}"#.into(), "got 200"),
        (r#"{"fault": "reset_before_head"}"#.into(), "reset"),
        (
            r#"{"fault": "reset_after_head"}"#.into(),
            "robots_unreachable",
        ),
        (
            r#"{"fault": {"raw": "no http\r\n\r\n"}}"#.into(),
            "protocol",
        ),
        (
            r#"{"location": "ftp://example.org/"}"#.into(),
            "robots_unreachable",
        ),
        (r#"{"location": "/robots.txt"}"#.into(), "got 200"),
        // 400 KB, of which every octet counts.
        (
            format!(r#"{{"body": "{long}{rules}"}}"#),
            "disallowed by line Some(40002)",
        ),
        (
            format!(r#"{{"body": "{long}{rules}", "coding": "gzip"}}"#),
            "disallowed by line Some(40002)",
        ),
    ] {
        let origin = with_robots(&page).await;
        let client = client(|p| (p.backoff_base, p.max_retries) = (ms(1), 1));
        let fate = fate(&client, &origin.url("/x")).await;
        let page = &page[..page.len().min(80)];
        assert_eq!(fate, expected, "{page}");
        let asked = if expected == "got 200" { 1 } else { 0 };
        assert_eq!(count(&origin, "/x"), asked, "{page}");
    }
}

#[tokio::test]
async fn o1_five_redirects_are_followed_also_to_another_origin_and_a_sixth_is_not() {
    let other = with_robots(r#"{"body": "User-agent: *\nDisallow: /x\n"}"#).await;
    let chain = |hops: usize| {
        let hop = |n: usize| match n {
            1 => other.url("/robots.txt"),
            n => format!("/{}", n - 1),
        };
        let pages: Vec<String> = (1..hops)
            .map(|n| format!(r#""/{n}": {{"location": "{}"}}"#, hop(n)))
            .chain([format!(r#""/robots.txt": {{"location": "{}"}}"#, hop(hops))])
            .collect();
        format!(r#"{{"pages": {{{}}}}}"#, pages.join(","))
    };
    for (hops, expected) in [
        (1, "disallowed by line Some(2)"),
        (5, "disallowed by line Some(2)"),
        (6, "got 200"),
    ] {
        let origin = origin(&chain(hops)).await;
        let client = client(|_| ());
        assert_eq!(fate(&client, &origin.url("/x")).await, expected, "{hops}");
    }
    assert_eq!(paths(&other).len(), 2);
}

#[tokio::test]
async fn o2_concurrent_first_requests_ask_once_and_another_client_asks_the_store() {
    let origin =
        origin(r#"{"robots": "User-agent: *\nAllow: /\n", "service": {"latency_ms": 20}}"#).await;
    let store: Arc<dyn HostStore> = Arc::new(MemoryStore::new());
    let one = on_store(&store, |p| p.per_host = 8);
    let urls = || (0..8).map(|n| origin.url(&format!("/{n}")));
    assert_eq!(statuses(&one, urls()).await, [200; 8]);
    assert_eq!(count(&origin, "/robots.txt"), 1);
    let other = on_store(&store, |_| ());
    assert_eq!(statuses(&other, urls()).await, [200; 8]);
    assert_eq!(count(&origin, "/robots.txt"), 1);
}

#[tokio::test]
async fn o3_a_host_that_cannot_be_reached_fails_its_urls_after_the_tries() {
    let client = client(|p| (p.backoff_base, p.max_retries) = (ms(10), 2));
    let url = format!("http://{}/x", nobody());
    let error = client.get(&url).await.unwrap_err();
    let refused = ErrorKind::Transport(TransportErrorKind::Refused);
    assert_eq!(error.kind(), refused);
    let scope = Scope::named(url.trim_start_matches("http://").trim_end_matches("/x"));
    let state = client.state(&scope).await.unwrap();
    assert_eq!(state.departures(), 3, "tried as often as a page");
    // The next one is told at once, until it is time to ask again.
    let error = client.get(&url).await.unwrap_err();
    assert_eq!(error.kind(), refused);
    assert_eq!(client.state(&scope).await.unwrap().departures(), 3);
}

#[tokio::test]
async fn o3_the_verdict_on_such_a_host_stands_while_the_host_is_backed_off_from() {
    let client = client(|p| (p.backoff_base, p.max_retries) = (ms(1500), 0));
    let address = nobody();
    let url = format!("http://{address}/x");
    client.get(&url).await.unwrap_err();
    // Longer than the file's own wait, and within the hold.
    tokio::time::sleep(ms(1100)).await;
    let error = tokio::time::timeout(ms(200), client.get(&url)).await;
    let error = error
        .expect("it waits for a host that is down")
        .unwrap_err();
    assert_eq!(error.kind().label(), "refused");
    let state = client.state(&Scope::named(&address.to_string())).await;
    assert_eq!(state.unwrap().departures(), 1);
}

#[tokio::test]
async fn o3_an_unreachable_file_is_asked_for_again_with_backoff() {
    let origin = with_robots(r#"[{"status": 503}, {"body": "User-agent: *\nAllow: /\n"}]"#).await;
    let client = client(|p| p.backoff_base = ms(10));
    let put_off = deferred(client.get(&origin.url("/x")).await);
    assert_eq!(put_off.bound.reason, Reason::RobotsUnreachable);
    deferred(client.get(&origin.url("/x")).await);
    assert_eq!(paths(&origin), ["/robots.txt"], "not yet");
    let wait = put_off.bound.not_before.since(client.now());
    tokio::time::sleep(wait + ms(1)).await;
    assert_eq!(status(&client, &origin.url("/x")).await, 200);
}

#[tokio::test]
async fn o5_a_429_with_retry_after_for_robots_txt_is_obeyed_for_the_whole_host() {
    let origin = with_robots(
        r#"[{"status": 429, "headers": [["Retry-After", "3600"]]}, {"body": "User-agent: *\nAllow: /\n"}]"#,
    )
    .await;
    let client = client(|_| ());
    let put_off = deferred(client.get(&origin.url("/x")).await);
    assert_eq!(put_off.bound.reason, Reason::RobotsUnreachable);
    // The file's own wait has passed, and the server's has not.
    tokio::time::sleep(put_off.bound.not_before.since(client.now()) + ms(1)).await;
    let put_off = deferred(client.get(&origin.url("/x")).await);
    assert_eq!(put_off.bound.reason, Reason::ServerHold);
    let wait = put_off.bound.not_before.since(client.now());
    assert!(wait > ms(3_590_000), "{wait:?}");
    assert_eq!(paths(&origin), ["/robots.txt"]);
}

#[tokio::test]
async fn o2_after_a_day_the_copy_is_revalidated_and_a_304_keeps_it_for_another() {
    let origin = with_robots(
        r#"[{"headers": [["ETag", "\"v1\""]], "body": "User-agent: *\nDisallow: /x\n"}, {"status": 304}]"#,
    )
    .await;
    let store: Arc<dyn HostStore> = Arc::new(MemoryStore::new());
    disallowed(on_store(&store, |_| ()).get(&origin.url("/x")).await);
    age(&store, DAY).await;
    let later = on_store(&store, |_| ());
    for _ in 0..2 {
        let no = disallowed(later.get(&origin.url("/x")).await);
        assert_eq!(no.line, Some(2));
    }
    let arrivals = origin.arrivals();
    assert_eq!(paths(&origin), ["/robots.txt"; 2]);
    assert_eq!(arrivals[0].header("if-none-match"), None);
    assert_eq!(arrivals[1].header("if-none-match"), Some("\"v1\""));
    // The next client finds the copy as good as new.
    disallowed(on_store(&store, |_| ()).get(&origin.url("/x")).await);
    assert_eq!(paths(&origin).len(), 2);
}

#[tokio::test]
async fn o3_an_old_copy_is_obeyed_while_the_file_is_unreachable() {
    let origin =
        with_robots(r#"[{"body": "User-agent: *\nDisallow: /x\n"}, {"status": 503}]"#).await;
    let store: Arc<dyn HostStore> = Arc::new(MemoryStore::new());
    disallowed(on_store(&store, |_| ()).get(&origin.url("/x")).await);
    age(&store, DAY).await;
    let later = on_store(&store, |_| ());
    disallowed(later.get(&origin.url("/x")).await);
    assert_eq!(status(&later, &origin.url("/y")).await, 200);
    assert_eq!(paths(&origin), ["/robots.txt", "/robots.txt", "/y"]);
}

/// Makes the one robots.txt in the store this much older.
async fn age(store: &Arc<dyn HostStore>, by: Duration) {
    let keys = store.keys("robots:").await.unwrap();
    let stored = store.load(&keys[0]).await.unwrap().unwrap();
    let Fetched::Answered(mut copy) = serde_json::from_slice(&stored.value).unwrap() else {
        panic!("no answer is stored");
    };
    copy.fetched_at = copy.fetched_at.before(by);
    copy.validated_at = copy.validated_at.before(by);
    let value = serde_json::to_vec(&Fetched::Answered(copy)).unwrap();
    let swap = store.compare_and_swap(&keys[0], stored.version, value);
    assert!(matches!(swap.await.unwrap(), Swap::Stored(_)));
}

#[tokio::test]
async fn o5_a_hold_that_robots_txt_is_answered_with_holds_its_pages() {
    let origin = with_robots(
        r#"[{"status": 503, "headers": [["Retry-After", "1"]]}, {"body": "User-agent: *\nAllow: /\n"}]"#,
    )
    .await;
    let client = client(|_| ());
    let put_off = deferred(client.get(&origin.url("/x")).await);
    tokio::time::sleep(put_off.bound.not_before.since(client.now()) + ms(1)).await;
    assert_eq!(status(&client, &origin.url("/x")).await, 200);
    let arrivals = origin.arrivals();
    assert_eq!(paths(&origin), ["/robots.txt", "/robots.txt", "/x"]);
    assert!(arrivals[1].at - arrivals[0].answered.unwrap() >= ms(1095));
}

#[tokio::test]
async fn o5_the_crawl_delay_stands_after_the_scope_was_reset_and_in_the_next_client() {
    let origin = origin(r#"{"robots": "User-agent: *\nCrawl-delay: 0.3\n"}"#).await;
    let store: Arc<dyn HostStore> = Arc::new(MemoryStore::new());
    let scope = Scope::named(&origin.addr().to_string());
    let one = on_store(&store, |_| ());
    assert_eq!(status(&one, &origin.url("/0")).await, 200);
    for client in [one, on_store(&store, |_| ())] {
        assert!(client.forget(&scope).await.unwrap());
        for n in 0..2 {
            assert_eq!(status(&client, &origin.url(&format!("/{n}"))).await, 200);
        }
        let gaps = gaps(&origin.arrivals());
        let last = gaps.last().unwrap();
        assert!(*last + SLACK >= ms(300), "{last:?}");
    }
    assert_eq!(count(&origin, "/robots.txt"), 1);
}

#[tokio::test]
async fn a_file_that_no_store_can_keep_is_obeyed_all_the_same() {
    // A control character takes six in JSON.
    let body = "\\u0001".repeat(300_000);
    let origin = with_robots(&format!(
        r#"{{"body": "{body}\nUser-agent: *\nDisallow: /x\n"}}"#
    ))
    .await;
    let client = client(|_| ());
    disallowed(client.get(&origin.url("/x")).await);
    assert_eq!(status(&client, &origin.url("/y")).await, 200);
    assert_eq!(count(&origin, "/robots.txt"), 1);
}

#[tokio::test]
async fn the_limit_on_bodies_is_none_on_robots_txt() {
    let body = format!(
        "{}User-agent: *\\nDisallow: /x\\n",
        "# comment\\n".repeat(1000)
    );
    let origin = with_robots(&format!(r#"{{"body": "{body}"}}"#)).await;
    let limits = Limits {
        body: 100,
        ..Limits::default()
    };
    let client = builder(fast(|_| ()))
        .transport(impatient(limits))
        .build()
        .unwrap();
    disallowed(client.get(&origin.url("/x")).await);
}
