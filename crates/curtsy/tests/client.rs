//! The client against scripted origins on loopback.

use std::net::Ipv4Addr;
use std::time::Duration;

use curtsy::core::{Policy, PolicyValues};
use curtsy::{Client, Reply, Response};
use curtsy_origin::{Origin, Script};

async fn origin(script: &str) -> Origin {
    Origin::start(Script::from_json(script).unwrap(), (Ipv4Addr::LOCALHOST, 0))
        .await
        .unwrap()
}

fn fast() -> Policy {
    let mut values = PolicyValues::compliant();
    (values.rate, values.max_rate) = (Some(500.0), Some(500.0));
    values.backoff_base = Duration::from_millis(50);
    values.build().unwrap()
}

fn response(reply: Reply) -> Response {
    match reply {
        Reply::Response(response) => response,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_page_is_fetched_after_its_robots_txt() {
    let origin = origin(r#"{"robots": "User-agent: *\nDisallow: /private/\n"}"#).await;
    let client = Client::builder().policy(fast()).build().unwrap();
    let got = response(client.get(&origin.url("/a")).await.unwrap());
    assert_eq!((got.status.as_u16(), got.attempts), (200, 1));
    assert_eq!(&got.body.collect(100).await.unwrap()[..], b"ok\n");
    let Reply::Disallowed(no) = client.get(&origin.url("/private/x")).await.unwrap() else {
        panic!()
    };
    assert_eq!(
        (no.rule.as_deref(), no.line),
        (Some("Disallow: /private/"), Some(2))
    );
    let paths: Vec<String> = origin
        .arrivals()
        .into_iter()
        .map(|arrival| arrival.path)
        .collect();
    assert_eq!(paths, ["/robots.txt", "/a"]);
}

#[tokio::test]
async fn a_refusal_is_waited_for_and_tried_again() {
    let origin = origin(r#"{"robots": 404, "pages": {"/x": [{"status": 429, "headers": [["Retry-After", "1"]]}, {"status": 200}]}}"#).await;
    let client = Client::builder().policy(fast()).build().unwrap();
    let got = response(client.get(&origin.url("/x")).await.unwrap());
    assert_eq!((got.status.as_u16(), got.attempts), (200, 2));
    let arrivals = origin.arrivals();
    let gap = arrivals[2].at - arrivals[1].at;
    assert!(gap >= Duration::from_millis(1100), "{gap:?}");
}
