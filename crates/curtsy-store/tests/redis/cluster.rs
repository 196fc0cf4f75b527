//! A Redis Cluster: one shard is a Redis as any other, several are not supported.

use std::time::Duration;

use curtsy_store::{HostStore, StoreErrorKind, Swap, Version};

use crate::server::Server;
use crate::state::{open, swap};

const OPTIONS: [&str; 2] = ["--cluster-enabled", "yes"];

#[tokio::test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
async fn a_cluster_of_one_shard_is_worked_with() {
    let server = Server::start(&OPTIONS);
    serve_slots(&server, "0", "16383").await;
    let store = open(&server).await;
    for n in 0..20 {
        let key = format!("scope:{n}.org");
        swap(&store, &key, Version::ABSENT, b"x").await;
        assert!(store.load(&key).await.unwrap().is_some());
    }
    assert_eq!(store.keys("scope:").await.unwrap().len(), 20);
}

#[tokio::test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
async fn a_cluster_of_two_shards_is_told_to_be_none_to_work_with() {
    let (one, other) = (Server::start(&OPTIONS), Server::start(&OPTIONS));
    let port = other.port.to_string();
    one.ask(&["CLUSTER", "MEET", "127.0.0.1", &port]);
    tokio::join!(
        serve_slots(&one, "0", "8191"),
        serve_slots(&other, "8192", "16383")
    );
    let store = open(&one).await;
    let mut refused = 0;
    for n in 0..20 {
        let key = format!("scope:{n}.org");
        let swapped = store.compare_and_swap(&key, Version::ABSENT, b"x".to_vec());
        match swapped.await {
            Ok(Swap::Stored(_)) => {}
            Ok(conflict) => panic!("{conflict:?}"),
            Err(error) => {
                assert_eq!(error.kind(), StoreErrorKind::Foreign, "{error:?}");
                assert!(error.to_string().contains("take a single Redis"), "{error}");
                refused += 1;
            }
        }
    }
    assert!((1..20).contains(&refused), "{refused} of 20");
}

/// Has a node serve these slots, and waits until all are served by some.
async fn serve_slots(server: &Server, first: &str, last: &str) {
    server.ask(&["CLUSTER", "ADDSLOTSRANGE", first, last]);
    for _ in 0..1000 {
        if server
            .ask(&["CLUSTER", "INFO"])
            .contains("cluster_state:ok")
        {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the cluster is not made");
}
