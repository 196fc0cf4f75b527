//! Answers that are lost, and a server that asks for patience.

use std::sync::atomic::Ordering;

use curtsy_store::conformance::host_store::count;
use curtsy_store::{DynamoDbStore, HostStore, StoreErrorKind, Swap, Version};

use crate::proxy::Proxy;
use crate::server::{DYNALITE, MOTO};
use crate::state::{KEY, open_new, swap};
use crate::table::config;

#[tokio::test]
#[ignore = "needs dynalite and moto: ./test installs them and runs this"]
async fn a_swap_whose_answer_was_lost_is_made_once_and_told_as_made() {
    const SWAPS: u64 = 30;
    for server in [&*DYNALITE, &*MOTO] {
        let (direct, table) = open_new(server).await;
        let proxy = Proxy::before(server.port, 5).await;
        let endpoint = format!("http://127.0.0.1:{}", proxy.port);
        let store = DynamoDbStore::open_with(&table, &config(&endpoint)).await;
        let store = store.unwrap();
        let mut version = Version::ABSENT;
        for n in 0..SWAPS {
            // Without a conflict: nobody else writes.
            version = swap(&store, version, &n.to_be_bytes()).await;
        }
        let lost = proxy.lost.load(Ordering::Relaxed);
        assert!(lost >= 5, "{lost} answers were lost");
        assert_eq!(count(&direct, KEY).await, SWAPS - 1);
    }
}

#[tokio::test]
#[ignore = "needs dynalite: ./test installs it and runs this"]
async fn what_is_told_of_swaps_is_true_where_every_seventh_answer_is_lost() {
    const WRITERS: u64 = 4;
    const EACH: u64 = 15;
    let (direct, table) = open_new(&DYNALITE).await;
    let proxy = Proxy::before(DYNALITE.port, 7).await;
    let endpoint = format!("http://127.0.0.1:{}", proxy.port);
    let mut writers = Vec::new();
    for _ in 0..WRITERS {
        let store = DynamoDbStore::open_with(&table, &config(&endpoint)).await;
        writers.push(tokio::spawn(count_some(store.unwrap(), EACH)));
    }
    let (mut made, mut unknown) = (0, 0);
    for writer in writers {
        let told = writer.await.unwrap();
        (made, unknown) = (made + told.0, unknown + told.1);
    }
    let counted = count(&direct, KEY).await;
    assert!(
        (made..=made + unknown).contains(&counted),
        "{counted} swaps were made, {made} told, {unknown} unknown"
    );
}

/// Counts up so many times: how often it was told to have been, and how often that is not known.
async fn count_some(store: DynamoDbStore, times: u64) -> (u64, u64) {
    let (mut made, mut unknown) = (0, 0);
    while made < times {
        let there = store.load(KEY).await.unwrap();
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
