//! What is particular to state in Redis.

use std::sync::Arc;
use std::time::Duration;

use curtsy_store::{HostStore, RedisStore, Swap, Version};
use tokio::time::{Instant, timeout};

use crate::server::Server;

#[tokio::test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
async fn a_value_ends_when_it_has_aged_out_and_is_kept_longer_than_any_hold() {
    let server = Server::start(&[]);
    let store = open(&server).await;
    swap(&store, "scope:a.org", Version::ABSENT, b"held").await;
    let left: u64 = server
        .ask(&["PTTL", "curtsy:{scope:a.org}"])
        .trim()
        .parse()
        .unwrap();
    let days = left / 1000 / 3600 / 24;
    assert!((399..400).contains(&days), "{days} days");
}

#[tokio::test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
async fn databases_users_and_passwords_are_those_of_the_url() {
    let user = [
        "--user",
        "ann",
        "on",
        ">secret",
        "~curtsy:*",
        "&curtsy:*",
        "+@all",
        "-@dangerous",
    ];
    let server = Server::start(&user);
    let url = server.url_of("redis://ann:secret@127.0.0.1", "/3");
    let store = RedisStore::open(&url.parse().unwrap()).await.unwrap();
    swap(&store, "scope:a.org", Version::ABSENT, b"x").await;
    assert_eq!(store.keys("").await.unwrap(), ["scope:a.org"]);
    assert_eq!(server.ask(&["-n", "3", "DBSIZE"]).trim(), "1");
    assert_eq!(
        open(&server).await.keys("").await.unwrap(),
        Vec::<String>::new()
    );
}

#[tokio::test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
async fn a_change_by_another_is_told_at_once_and_the_watch_outlives_the_server() {
    let mut server = Server::start(&[]);
    let (one, other) = (open(&server).await, open(&server).await);
    let mut watch = one.watch("scope:a.org").unwrap();
    let changed = timeout(Duration::from_secs(1), watch.changed());
    assert_eq!(
        changed.await.unwrap(),
        Version::ABSENT,
        "it begins to listen"
    );
    let mut version = Version::ABSENT;
    for _ in 0..5 {
        let changing = Instant::now();
        version = swap(&other, "scope:a.org", version, b"x").await;
        assert_eq!(watch.changed().await, version);
        let took = changing.elapsed();
        assert!(took < Duration::from_millis(50), "{took:?}");
    }
    server.kill();
    server.start_again();
    let changed = timeout(Duration::from_secs(5), watch.changed());
    assert_eq!(
        changed.await.unwrap(),
        Version::ABSENT,
        "it may have missed something"
    );
    version = swap(&other, "scope:a.org", version, b"y").await;
    // On a busy machine it may be told to look again once more.
    let is_told = async { while watch.changed().await != version {} };
    timeout(Duration::from_secs(5), is_told).await.unwrap();
    drop(watch);
    for _ in 0..100 {
        if server.ask(&["PUBSUB", "CHANNELS"]).trim().is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("nobody listens, and the server still sends");
}

#[tokio::test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
async fn s3_the_clock_is_the_servers() {
    let server = Server::start(&[]);
    let store = open(&server).await;
    let clock = store.clock().unwrap();
    for _ in 0..20 {
        store.load("scope:a.org").await.unwrap();
        let (least, most) = (clock.now(), clock.stamp());
        let told = server.ask(&["TIME"]);
        let told: Vec<u64> = told.lines().map(|n| n.parse().unwrap()).collect();
        let told = told[0] * 1_000_000 + told[1];
        assert!(least.as_micros() <= told, "{least:?} is ahead of {told}");
        let width = most.since(least);
        assert!(width < Duration::from_millis(100), "{width:?}");
    }
}

#[tokio::test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
async fn many_swaps_at_once_go_out_together() {
    const TASKS: u64 = 64;
    const EACH: u64 = 50;
    let server = Server::start(&[]);
    let store = Arc::new(open(&server).await);
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let mut version = Version::ABSENT;
                for _ in 0..EACH {
                    version = swap(&store, &format!("scope:{task}"), version, b"state").await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let stats = server.ask(&["INFO", "stats"]);
    let reads = stats
        .lines()
        .find_map(|line| line.strip_prefix("total_reads_processed:"));
    let reads: u64 = reads.unwrap().trim().parse().unwrap();
    assert!(
        reads <= TASKS * EACH / 4,
        "{reads} reads for {} swaps",
        TASKS * EACH
    );
}

pub(crate) async fn open(server: &Server) -> RedisStore {
    RedisStore::open(&server.url().parse().unwrap())
        .await
        .unwrap()
}

pub(crate) async fn swap(
    store: &RedisStore,
    key: &str,
    expected: Version,
    value: &[u8],
) -> Version {
    match store.compare_and_swap(key, expected, value.to_vec()).await {
        Ok(Swap::Stored(version)) => version,
        other => panic!("{other:?}"),
    }
}
