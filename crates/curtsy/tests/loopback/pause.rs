//! What is paused by hand departs nothing, and nothing is earlier for it.

use std::time::Instant;

use curtsy::core::audit::Event;
use curtsy::core::{Reason, Scope};

use crate::support::*;

#[tokio::test]
async fn a_paused_scope_departs_nothing_until_it_is_resumed_and_another_goes_on() {
    let (one, other) = (origin("{}").await, origin("{}").await);
    let (_dir, log, audit) = log();
    let client = builder(fast(|_| ())).audit(audit).build().unwrap();
    assert_eq!(status(&client, &one.url("/1")).await, 200);
    let scope = Scope::named(&one.addr().to_string());
    assert!(client.pause(Some(&scope)).await.unwrap());
    assert!(!client.pause(Some(&scope)).await.unwrap());
    let before = one.arrivals().len();
    let waiting = {
        let (client, url) = (client.clone(), one.url("/2"));
        tokio::spawn(async move { status(&client, &url).await })
    };
    assert_eq!(status(&client, &other.url("/1")).await, 200);
    tokio::time::sleep(ms(100)).await;
    assert_eq!(one.arrivals().len(), before);
    let view = client.scope(&scope).unwrap();
    assert_eq!(view.waits_for.unwrap().reason, Reason::Paused);
    assert!(view.is_paused);
    let explained = client.explain(&one.url("/")).await.unwrap();
    assert_eq!(explained.bounds.latest().reason, Reason::Paused);
    assert!(client.resume(Some(&scope)).await.unwrap());
    assert_eq!(waiting.await.unwrap(), 200);
    assert_eq!(one.arrivals().len(), before + 1);
    let is_told = |event: &Event| matches!(event, Event::Paused {} | Event::Resumed {});
    let told = records(&log)
        .into_iter()
        .filter(|record| is_told(&record.event));
    assert!(
        told.map(|record| record.head.scope)
            .eq([Some(scope.clone()), Some(scope)])
    );
}

#[tokio::test]
async fn a_pause_makes_nothing_earlier_and_ends_no_hold() {
    let origin = origin(
        r#"{"robots": 404, "pages": {"/busy": [
            {"status": 429, "headers": [["Retry-After", "1"]]}, {"status": 200}]}}"#,
    )
    .await;
    let client = client(|_| ());
    let asked = {
        let (client, url) = (client.clone(), origin.url("/busy"));
        tokio::spawn(async move { status(&client, &url).await })
    };
    while pages(&origin).is_empty() {
        tokio::time::sleep(ms(5)).await;
    }
    client.pause(None).await.unwrap();
    assert!(client.is_paused());
    tokio::time::sleep(ms(200)).await;
    client.resume(None).await.unwrap();
    assert_eq!(asked.await.unwrap(), 200);
    let gap = gaps(&pages(&origin))[0];
    assert!(gap >= ms(1000), "{gap:?}");
}

#[tokio::test]
async fn what_is_paused_is_neither_deferred_nor_kept_from_a_stop_and_raw_access_waits_too() {
    let origin = origin("{}").await;
    let raw = builder(curtsy::core::PolicyValues::raw().build().unwrap())
        .build()
        .unwrap();
    for client in [raw, client(|_| ())] {
        client.pause(None).await.unwrap();
        let asked = {
            let (client, url) = (client.clone(), origin.url("/"));
            tokio::spawn(async move { client.get(&url).await.map(|_| ()) })
        };
        tokio::time::sleep(ms(50)).await;
        assert!(!asked.is_finished());
        let begun = Instant::now();
        client.close();
        let closed = asked.await.unwrap().unwrap_err();
        assert_eq!(closed.kind(), curtsy::ErrorKind::Closed);
        assert!(begun.elapsed() < ms(1000));
    }
    assert!(origin.arrivals().is_empty());
}
