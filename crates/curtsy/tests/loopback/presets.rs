//! What the presets do on the wire.

use curtsy::core::{Interval, PolicyValues};
use curtsy::{Client, Request};
use http::header::{HeaderValue, USER_AGENT};

use crate::support::*;

#[tokio::test]
async fn r5_raw_is_one_plain_request_whatever_comes_back() {
    let origin = origin(
        r#"{"robots": "User-agent: *\nDisallow: /\nCrawl-delay: 60\n", "pages": {
            "/busy": {"status": 503, "headers": [["Retry-After", "60"]]},
            "/no": {"status": 403},
            "/moved": {"location": "/end"}}}"#,
    )
    .await;
    let client = Client::builder()
        .policy(PolicyValues::raw().build().unwrap())
        .build()
        .unwrap();
    for (path, status) in [
        ("/busy", 503),
        ("/no", 403),
        ("/no", 403),
        ("/no", 403),
        ("/no", 403),
    ] {
        let got = response(client.get(&origin.url(path)).await);
        assert_eq!(
            (got.status.as_u16(), got.attempts, got.synthetic),
            (status, 1, false)
        );
    }
    assert_eq!(
        response(client.get(&origin.url("/moved")).await).attempts,
        2
    );
    assert_eq!(
        paths(&origin),
        ["/busy", "/no", "/no", "/no", "/no", "/moved", "/end"]
    );
    assert!(client.suppressed_scopes().is_empty() && client.backoff_delays().is_empty());
    let agent = origin.arrivals()[0].user_agent.clone().unwrap();
    assert!(agent.starts_with("curtsy/"), "{agent}");
}

#[tokio::test]
async fn http_client_reads_no_robots_and_suppresses_at_the_first_403() {
    let origin = origin(
        r#"{"robots": "User-agent: *\nDisallow: /\n", "pages": {
            "/busy": [{"status": 503}, {"status": 200}], "/500": {"status": 500},
            "/no": {"status": 403}}}"#,
    )
    .await;
    let mut values = PolicyValues::http_client();
    values.backoff_base = ms(20);
    values.backoff_decay = ms(100);
    let client = builder(values.build().unwrap()).build().unwrap();
    let busy = response(client.get(&origin.url("/busy")).await);
    assert_eq!((busy.status.as_u16(), busy.attempts), (200, 2));
    // The seed tries three statuses again, and 500 is none of them.
    assert_eq!(response(client.get(&origin.url("/500")).await).attempts, 1);
    assert!(!response(client.get(&origin.url("/no")).await).synthetic);
    assert!(response(client.get(&origin.url("/busy")).await).synthetic);
    assert_eq!(paths(&origin), ["/busy", "/busy", "/500", "/no"]);
}

#[tokio::test]
async fn http_client_with_robots_takes_any_failure_for_a_yes_and_asks_once() {
    let origin = origin(r#"{"robots": 503}"#).await;
    let mut values = PolicyValues::http_client();
    values.respect_robots = true;
    values.rate_limit = Interval::fixed(ms(1));
    values.backoff_base = ms(20);
    let client = builder(values.build().unwrap()).build().unwrap();
    assert_eq!(status(&client, &origin.url("/a")).await, 200);
    assert_eq!(status(&client, &origin.url("/b")).await, 200);
    assert_eq!(paths(&origin), ["/robots.txt", "/a", "/b"]);
}

#[tokio::test]
async fn r6_the_requests_own_user_agent_wins_and_robots_is_judged_by_its_token() {
    let origin = origin(
        r#"{"robots": "User-agent: otherbot\nDisallow: /other\nUser-agent: mybot\nDisallow: /mine\n"}"#,
    )
    .await;
    let client = builder(fast(|_| ()))
        .user_agent("mybot/1.0")
        .contact("me@example.org")
        .build()
        .unwrap();
    let other = |path: &str| {
        Request::get(&origin.url(path))
            .unwrap()
            .header(USER_AGENT, HeaderValue::from_static("otherbot/2.0"))
    };
    disallowed(client.get(&origin.url("/mine")).await);
    disallowed(client.execute(other("/other")).await);
    response(client.get(&origin.url("/other")).await);
    response(client.execute(other("/mine")).await);
    let agents: Vec<_> = origin
        .arrivals()
        .into_iter()
        .map(|arrival| (arrival.path, arrival.user_agent.unwrap()))
        .collect();
    let mine = "mybot/1.0 (+mailto:me@example.org)".to_owned();
    assert_eq!(
        agents,
        [
            ("/robots.txt".to_owned(), mine.clone()),
            ("/other".to_owned(), mine),
            ("/mine".to_owned(), "otherbot/2.0".to_owned()),
        ]
    );
}
