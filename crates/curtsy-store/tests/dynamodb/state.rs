//! What is particular to state in DynamoDB.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::types::AttributeValue;
use curtsy_store::host_store::MAX_VALUE_BYTES;
use curtsy_store::{DynamoDbStore, DynamoDbTable, HostStore, Swap, Version};

use crate::server::{DYNALITE, MOTO, Server};
use crate::table::config;

#[tokio::test]
#[ignore = "needs dynalite and moto: ./test installs them and runs this"]
async fn a_value_expires_when_it_has_aged_out_and_is_kept_longer_than_any_hold() {
    for server in [&*DYNALITE, &*MOTO] {
        let (store, table) = open_new(server).await;
        swap(&store, Version::ABSENT, b"held").await;
        let items = items(server, &table).await;
        let expires: u64 = items[0]["expires"].as_n().unwrap().parse().unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let days = (expires - now.as_secs()) / 3600 / 24;
        assert!((399..=400).contains(&days), "{days} days");
    }
}

#[tokio::test]
#[ignore = "needs dynalite and moto: ./test installs them and runs this"]
async fn a_value_too_large_for_an_item_stands_in_several_which_go_with_it() {
    for server in [&*DYNALITE, &*MOTO] {
        let (store, table) = open_new(server).await;
        let mut version = Version::ABSENT;
        for (bytes, items_of_it) in [
            (1, 1),
            (MAX_VALUE_BYTES, 4),
            (500 * 1024, 3),
            (350 * 1024, 1),
        ] {
            let value: Vec<u8> = (0..bytes).map(|n| (n % 251) as u8).collect();
            let stale = store.compare_and_swap(KEY, Version::from_number(7), value.clone());
            assert!(matches!(stale.await, Ok(Swap::Conflict(_))));
            version = swap(&store, version, &value).await;
            let there = store.load(KEY).await.unwrap().unwrap();
            assert!(there.value == value && there.version == version, "{bytes}");
            assert_eq!(items(server, &table).await.len(), items_of_it, "{bytes}");
            assert_eq!(store.keys("").await.unwrap(), [KEY]);
        }
        let large = vec![1; MAX_VALUE_BYTES];
        version = swap(&store, version, &large).await;
        let removed = store.remove(KEY, version).await.unwrap();
        assert_eq!(removed, Swap::Stored(Version::ABSENT));
        assert_eq!(items(server, &table).await.len(), 0);
    }
}

#[tokio::test]
#[ignore = "needs dynalite and moto: ./test installs them and runs this"]
async fn large_values_that_are_replaced_all_the_time_are_read_whole() {
    const ROUNDS: u8 = 12;
    for server in [&*DYNALITE, &*MOTO] {
        let (store, _) = open_new(server).await;
        let first = swap(&store, Version::ABSENT, &vec![0; 500 * 1024]).await;
        let store = Arc::new(store);
        let writing = Arc::clone(&store);
        let writer = tokio::spawn(async move {
            let mut version = first;
            for round in 1..=ROUNDS {
                version = swap(&writing, version, &vec![round; 500 * 1024]).await;
            }
        });
        while !writer.is_finished() {
            let there = store.load(KEY).await.unwrap().unwrap().value;
            assert_eq!(there.len(), 500 * 1024);
            assert!(there.iter().all(|byte| *byte == there[0]));
        }
        writer.await.unwrap();
    }
}

#[tokio::test]
#[ignore = "needs dynalite and moto: ./test installs them and runs this"]
async fn s3_the_clock_is_the_servers_date() {
    for server in [&*DYNALITE, &*MOTO] {
        let (store, _) = open_new(server).await;
        let clock = store.clock().unwrap();
        for _ in 0..100 {
            // It runs on this machine, so that its clock is known. A server on Node may be late with a new
            // date.
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            let (least, most) = (clock.now(), clock.stamp());
            let now = curtsy_core::Timestamp::from_micros(now.as_micros() as u64);
            assert!(least <= now, "{least:?} is ahead of {now:?}");
            let late = now.since(most);
            assert!(late < Duration::from_millis(50), "{late:?} late");
            store.load(KEY).await.unwrap();
            tokio::time::sleep(Duration::from_micros(19_137)).await;
        }
        let width = clock.stamp().since(clock.now());
        assert!(width < Duration::from_millis(100), "{width:?}");
    }
}

pub(crate) const KEY: &str = "scope:example.org";

pub(crate) async fn open_new(server: &Server) -> (DynamoDbStore, DynamoDbTable) {
    let table = server.create_new().await;
    let store = DynamoDbStore::open_with(&table, &config(&server.endpoint())).await;
    (store.unwrap(), table)
}

pub(crate) async fn swap(store: &DynamoDbStore, expected: Version, value: &[u8]) -> Version {
    match store.compare_and_swap(KEY, expected, value.to_vec()).await {
        Ok(Swap::Stored(version)) => version,
        other => panic!("{other:?}"),
    }
}

/// All that is in the table.
async fn items(
    server: &Server,
    table: &DynamoDbTable,
) -> Vec<std::collections::HashMap<String, AttributeValue>> {
    let (mut items, mut from) = (Vec::new(), None);
    loop {
        let scan = server.client().scan().table_name(table.name());
        let page = scan.consistent_read(true).set_exclusive_start_key(from);
        let page = page.send().await.unwrap();
        items.extend(page.items.unwrap_or_default());
        from = page.last_evaluated_key;
        if from.is_none() {
            return items;
        }
    }
}
