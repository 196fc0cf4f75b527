//! A Redis Cluster of three shards, which is to its callers as one Redis.

use std::sync::Arc;
use std::time::Duration;

use curtsy_store::{HostStore, Queue, RedisQueue, RedisStore, Version};
use tokio::time::timeout;

use crate::server::{Server, cluster};
use crate::state::{open, swap};

const NEW: [Vec<(&str, std::ffi::OsString)>; 3] = [const { Vec::new() }; 3];

mod store {
    use super::*;

    async fn open_new() -> (Arc<dyn HostStore>, [Server; 3]) {
        let servers = cluster(NEW);
        (Arc::new(open(&servers[1]).await), servers)
    }

    curtsy_store::host_store_conformance!(
        #[ignore = "needs redis-server: ./test installs it and runs this"]
        open_new
    );
}

mod queue {
    use super::*;

    async fn open_new() -> (Arc<dyn Queue>, [Server; 3]) {
        let servers = cluster(NEW);
        let queue = RedisQueue::open(&servers[1].url().parse().unwrap(), "default", "w").await;
        (Arc::new(queue.unwrap()), servers)
    }

    curtsy_store::queue_conformance!(
        #[ignore = "needs redis-server: ./test installs it and runs this"]
        open_new
    );
}

#[tokio::test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
async fn keys_lie_on_all_nodes_and_are_told_together() {
    let servers = cluster(NEW);
    let store = open(&servers[0]).await;
    for n in 0..30 {
        swap(&store, &key(n), Version::ABSENT, b"x").await;
    }
    assert_eq!(store.keys("scope:").await.unwrap().len(), 30);
    for server in &servers {
        let keys: usize = server.ask(&["DBSIZE"]).trim().parse().unwrap();
        assert!((1..30).contains(&keys), "{keys} on one of three");
    }
}

#[tokio::test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
async fn a_change_is_told_whatever_node_it_lies_on() {
    let servers = cluster(NEW);
    let (here, there) = (open(&servers[0]).await, open(&servers[2]).await);
    for n in 0..10 {
        let mut watch = here.watch(&key(n)).unwrap();
        assert_eq!(
            watch.changed().await,
            Version::ABSENT,
            "it begins to listen"
        );
        let version = swap(&there, &key(n), Version::ABSENT, b"x").await;
        let is_told = async { while watch.changed().await != version {} };
        timeout(Duration::from_secs(5), is_told).await.unwrap();
    }
}

/// Rule S3: all go by the clock of one node.
#[cfg(target_os = "linux")]
#[tokio::test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
async fn s3_of_nodes_whose_clocks_differ_the_clock_is_that_of_one_whatever_is_asked() {
    /// How far each is ahead. `curtsy:clock` is in slot 6,534, and so the second one's.
    const AHEAD: [i64; 3] = [-60, 30, 0];
    let clocks = crate::wrong_clocks::WrongClocks::build();
    let servers = cluster(AHEAD.map(|ahead| clocks.ahead(ahead).to_vec()));
    let stores: [RedisStore; 2] = [open(&servers[0]).await, open(&servers[2]).await];
    for n in 0..20 {
        for store in &stores {
            store.load(&key(n)).await.unwrap();
        }
        let shown = stores.each_ref().map(|store| store.clock().unwrap().now());
        let told = servers[1].ask(&["TIME"]);
        let told: Vec<u64> = told.lines().map(|n| n.parse().unwrap()).collect();
        let told = told[0] * 1_000_000 + told[1];
        for shown in shown {
            let behind = told.checked_sub(shown.as_micros());
            assert!(
                behind.is_some_and(|behind| behind < 10_000_000),
                "{behind:?}"
            );
        }
        // Longer than a reading is used.
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
}

#[tokio::test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
async fn slots_that_move_are_followed() {
    let servers = cluster(NEW);
    let store = open(&servers[0]).await;
    let moving: Vec<String> = (0..2000)
        .map(key)
        .filter(|key| slot(&servers[0], &format!("curtsy:{{{key}}}")) < 100)
        .collect();
    assert!(!moving.is_empty());
    let mut versions = Vec::new();
    for key in &moving {
        versions.push(swap(&store, key, Version::ABSENT, b"x").await);
    }
    let [from, to] = [0, 2].map(|n: usize| servers[n].ask(&["CLUSTER", "MYID"]));
    servers[0].ask(&[
        "--cluster",
        "reshard",
        &format!("127.0.0.1:{}", servers[0].port),
        "--cluster-from",
        from.trim(),
        "--cluster-to",
        to.trim(),
        "--cluster-slots",
        "100",
        "--cluster-yes",
    ]);
    for (key, version) in moving.iter().zip(versions) {
        let there = store.load(key).await.unwrap();
        assert_eq!(there.map(|there| there.version), Some(version));
        swap(&store, key, version, b"y").await;
    }
    let keys: usize = servers[2].ask(&["DBSIZE"]).trim().parse().unwrap();
    assert_eq!(keys, moving.len());
}

#[tokio::test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
async fn a_node_that_was_killed_and_started_again_has_all_that_it_acknowledged() {
    let mut servers = cluster(NEW);
    servers[2].write_at_once();
    let store = open(&servers[0]).await;
    let mut watches = Vec::new();
    let mut versions = Vec::new();
    for n in 0..30 {
        watches.push(store.watch(&key(n)).unwrap());
        versions.push(swap(&store, &key(n), Version::ABSENT, b"x").await);
    }
    servers[2].kill();
    servers[2].start_again();
    servers.iter().for_each(Server::wait_for_cluster);
    for (n, version) in versions.iter_mut().enumerate() {
        let there = store.load(&key(n)).await.unwrap();
        assert_eq!(there.map(|there| there.version), Some(*version));
        *version = swap(&store, &key(n), *version, b"y").await;
        let is_told = async { while watches[n].changed().await != *version {} };
        timeout(Duration::from_secs(5), is_told).await.unwrap();
    }
}

fn key(n: usize) -> String {
    format!("scope:{n}.org")
}

fn slot(server: &Server, key: &str) -> u16 {
    let slot = server.ask(&["CLUSTER", "KEYSLOT", key]);
    slot.trim().parse().unwrap()
}
