//! Answers, connections and servers that are lost.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use curtsy_store::conformance::host_store::count;
use curtsy_store::{HostStore, RedisStore, StoreErrorKind, Swap, Version};
use tokio::time::Instant;

use crate::proxy::Proxy;
use crate::server::Server;
use crate::state::{open, swap};

#[tokio::test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
async fn a_swap_whose_answer_was_lost_is_made_once_and_told_as_made() {
    const SWAPS: u64 = 60;
    let server = Server::start(&[]);
    let proxy = Proxy::before(server.port, 7).await;
    let url = format!("redis://127.0.0.1:{}", proxy.port).parse().unwrap();
    let store = RedisStore::open(&url).await.unwrap();
    let mut version = Version::ABSENT;
    for n in 0..SWAPS {
        // Without a conflict: nobody else writes.
        version = swap(&store, "scope:a.org", version, &n.to_be_bytes()).await;
    }
    let lost = proxy.lost.load(Ordering::Relaxed);
    assert!(lost >= 5, "{lost} answers were lost");
    let there = open(&server)
        .await
        .load("scope:a.org")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(there.value, (SWAPS - 1).to_be_bytes());
}

#[tokio::test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
async fn what_is_told_of_swaps_is_true_where_every_seventh_answer_is_lost() {
    const WRITERS: u64 = 4;
    const EACH: u64 = 25;
    let server = Server::start(&[]);
    let proxy = Proxy::before(server.port, 7).await;
    let url = format!("redis://127.0.0.1:{}", proxy.port).parse().unwrap();
    let mut writers = Vec::new();
    for _ in 0..WRITERS {
        let store = loop {
            // This may lose an answer too, and is not repeated by itself.
            if let Ok(store) = RedisStore::open(&url).await {
                break store;
            }
        };
        writers.push(tokio::spawn(count_some(store, EACH)));
    }
    let (mut made, mut unknown) = (0, 0);
    for writer in writers {
        let told = writer.await.unwrap();
        (made, unknown) = (made + told.0, unknown + told.1);
    }
    let counted = count(&open(&server).await, "scope:a.org").await;
    assert!(
        (made..=made + unknown).contains(&counted),
        "{counted} swaps were made, {made} told, {unknown} unknown"
    );
    assert!(unknown < made / 4, "{unknown} of {made} are unknown");
}

/// Counts up so many times: how often it was told to have been, and how often that is not known.
async fn count_some(store: RedisStore, times: u64) -> (u64, u64) {
    const KEY: &str = "scope:a.org";
    let (mut made, mut unknown) = (0, 0);
    while made < times {
        let Ok(there) = store.load(KEY).await else {
            continue;
        };
        let (version, number) = match &there {
            Some(there) => (
                there.version,
                u64::from_be_bytes(there.value[..].try_into().unwrap()),
            ),
            None => (Version::ABSENT, 0),
        };
        let next = (number + 1).to_be_bytes().to_vec();
        match store.compare_and_swap(KEY, version, next).await {
            Ok(Swap::Stored(_)) => made += 1,
            Ok(Swap::Conflict(_)) => {}
            Err(error) => {
                assert_eq!(error.kind(), StoreErrorKind::Unavailable, "{error:?}");
                unknown += 1;
            }
        }
    }
    (made, unknown)
}

#[tokio::test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
async fn a_call_outlasts_a_server_that_stands_still_for_three_seconds() {
    let server = Server::start(&[]);
    let store = Arc::new(open(&server).await);
    let version = swap(&store, "scope:a.org", Version::ABSENT, b"one").await;
    server.signal("STOP");
    let waiting = Arc::clone(&store);
    let call = tokio::spawn(async move { swap(&waiting, "scope:a.org", version, b"two").await });
    tokio::time::sleep(Duration::from_secs(3)).await;
    server.signal("CONT");
    let version = call.await.unwrap();
    let there = store.load("scope:a.org").await.unwrap().unwrap();
    assert_eq!((there.version, there.value), (version, b"two".to_vec()));
}

#[tokio::test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
async fn a_server_that_was_killed_and_started_again_has_all_that_it_acknowledged() {
    let mut server = Server::start(&[]);
    server.write_at_once();
    let store = open(&server).await;
    let version = swap(&store, "scope:a.org", Version::ABSENT, b"held").await;
    for round in 0..3 {
        server.kill();
        let lost = Instant::now();
        let error = loop {
            match store.load("scope:a.org").await {
                Err(error) => break error,
                // The end of the process has not been noticed.
                Ok(_) => assert!(lost.elapsed() < Duration::from_secs(1)),
            }
        };
        assert_eq!(
            error.kind(),
            StoreErrorKind::Unavailable,
            "{round}: {error:?}"
        );
        server.start_again();
        let there = loop {
            match store.load("scope:a.org").await {
                Ok(there) => break there.unwrap(),
                Err(error) => assert!(lost.elapsed() < Duration::from_secs(10), "{error:?}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        assert_eq!((there.version, &*there.value), (version, &b"held"[..]));
    }
    let stale = store
        .compare_and_swap("scope:a.org", Version::ABSENT, b"new".to_vec())
        .await;
    assert!(matches!(stale, Ok(Swap::Conflict(Some(_)))), "{stale:?}");
}
