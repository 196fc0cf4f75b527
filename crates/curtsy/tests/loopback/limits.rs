//! How many requests are in flight, and that a request that is dropped leaves no trace.

use curtsy::core::Scope;
use curtsy_origin::{Clock, Options, Origin, Script};
use url::Url;

use crate::support::*;

fn scope(origin: &Origin) -> Scope {
    Scope::of(&Url::parse(&origin.url("/")).unwrap()).unwrap()
}

#[tokio::test]
async fn p8_no_more_are_in_flight_to_a_scope_than_per_host() {
    let origin = origin(r#"{"robots": 404, "service": {"latency_ms": 60}}"#).await;
    let client = client(|p| p.per_host = 3);
    let urls = (0..10).map(|n| origin.url(&format!("/{n}")));
    assert_eq!(statuses(&client, urls).await, [200; 10]);
    let most = pages(&origin).iter().map(|arrival| arrival.in_flight).max();
    assert_eq!(most, Some(3));
}

#[tokio::test]
async fn p8_no_more_are_in_flight_in_all_than_the_concurrency() {
    let clock = Clock::start();
    let mut origins = Vec::new();
    for _ in 0..6 {
        let script = Script::from_json(r#"{"service": {"latency_ms": 100}}"#).unwrap();
        let options = Options {
            clock: Some(clock),
            ..Options::default()
        };
        origins.push(Origin::start_with(script, options).await.unwrap());
    }
    let policy = fast(|p| p.respect_robots = false);
    let client = builder(policy).concurrency(2).build().unwrap();
    let urls: Vec<String> = origins.iter().map(|origin| origin.url("/")).collect();
    assert_eq!(statuses(&client, urls).await, [200; 6]);
    let flights: Vec<_> = origins.iter().flat_map(Origin::arrivals).collect();
    let most = flights.iter().map(|flight| {
        let under_way = |other: &&curtsy_origin::Arrival| {
            other.at <= flight.at && other.done.unwrap() > flight.at
        };
        flights.iter().filter(under_way).count()
    });
    assert_eq!(most.max(), Some(2));
}

#[tokio::test]
async fn a_body_keeps_its_place_until_it_is_read_or_dropped() {
    let origin = origin(r#"{"robots": 404}"#).await;
    let client = client(|p| p.per_host = 1);
    for dropped in [false, true] {
        let first = response(client.get(&origin.url("/1")).await);
        let url = origin.url("/2");
        let mut second = std::pin::pin!(client.get(&url));
        let early = tokio::time::timeout(ms(100), second.as_mut()).await;
        assert!(early.is_err(), "there was a second place");
        if dropped {
            drop(first);
        } else {
            first.body.collect(100).await.unwrap();
        }
        let second = tokio::time::timeout(ms(5000), second).await.unwrap();
        assert_eq!(response(second).status, 200);
    }
}

#[tokio::test]
async fn a_request_that_is_dropped_in_flight_leaves_neither_place_nor_flight() {
    let origin = origin(r#"{"robots": 404, "pages": {"/silent": {"fault": "no_head"}}}"#).await;
    let client = client(|p| p.per_host = 1);
    for _ in 0..3 {
        let url = origin.url("/silent");
        assert!(
            tokio::time::timeout(ms(80), client.get(&url))
                .await
                .is_err()
        );
    }
    // Nothing has been answered yet, so that a lost flight would be waited for until its timeout.
    let got = tokio::time::timeout(ms(5000), status(&client, &origin.url("/x"))).await;
    assert_eq!(got, Ok(200));
    let state = client.state(&scope(&origin)).await.unwrap();
    assert_eq!(state.in_flight(), 0);
}

#[tokio::test]
async fn requests_that_are_dropped_at_any_moment_leave_nothing_behind() {
    let origin = origin(r#"{"service": {"latency_ms": 3}}"#).await;
    let dir = tempfile::tempdir().unwrap();
    let store = curtsy::store::SqliteStore::open(&dir.path().join("state"))
        .await
        .unwrap();
    let client = builder(fast(|p| p.per_host = 2))
        .store(std::sync::Arc::new(store))
        .build()
        .unwrap();
    for micros in (0..8000).step_by(100) {
        let url = origin.url(&format!("/{micros}"));
        let short = std::time::Duration::from_micros(micros);
        let _ = tokio::time::timeout(short, client.get(&url)).await;
    }
    let got = tokio::time::timeout(ms(5000), status(&client, &origin.url("/x"))).await;
    assert_eq!(got, Ok(200));
    tokio::time::sleep(ms(50)).await;
    let state = client.state(&scope(&origin)).await.unwrap();
    assert_eq!(state.in_flight(), 0);
}
