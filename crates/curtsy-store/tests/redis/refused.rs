//! Servers that are not to be worked with: what is said of each, and that it holds a way out.

use std::net::Ipv4Addr;

use curtsy_store::{RedisStore, StoreErrorKind};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::server::Server;

#[tokio::test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
async fn a_server_that_cannot_be_worked_with_is_told_in_a_line_with_a_way_out() {
    let guarded = Server::start(&["--requirepass", "right"]);
    let open = Server::start(&[]);
    let replica = Server::start(&["--replicaof", "127.0.0.1", "1"]);
    let node = Server::start(&["--cluster-enabled", "yes"]);
    let full = Server::start(&["--maxmemory", "1", "--maxmemory-policy", "noeviction"]);
    let old = answers(
        // To each of the commands that a connection begins with.
        "-ERR unknown command `HELLO`, with args beginning with: `3`, \r\n-ERR unknown subcommand\r\n-ERR unknown subcommand\r\n",
    )
    .await;
    let web = answers("HTTP/1.1 400 Bad Request\r\n\r\n").await;
    for (name, url, kind, way_out) in [
        (
            "no password",
            guarded.url(),
            StoreErrorKind::Denied,
            "redis://:password@",
        ),
        (
            "a wrong one",
            guarded.url_of("redis://:wrong@127.0.0.1", ""),
            StoreErrorKind::Denied,
            "redis://:password@",
        ),
        (
            "TLS where there is none",
            open.url_of("rediss://127.0.0.1", ""),
            StoreErrorKind::Unavailable,
            "is it redis://",
        ),
        (
            "a database of a cluster",
            node.url_of("redis://127.0.0.1", "/3"),
            StoreErrorKind::Invalid,
            "leave out the number",
        ),
        (
            "a cluster that nobody has made",
            node.url(),
            StoreErrorKind::Unavailable,
            "",
        ),
        (
            "a replica",
            replica.url(),
            StoreErrorKind::ReadOnly,
            "master",
        ),
        ("an old one", old, StoreErrorKind::Foreign, "Redis 6"),
        ("no Redis", web, StoreErrorKind::Foreign, "is that its port"),
        (
            "nobody",
            "redis://127.0.0.1:1".to_owned(),
            StoreErrorKind::Unavailable,
            "",
        ),
    ] {
        let error = RedisStore::open(&url.parse().unwrap()).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{name}: {error:?}");
        let said = error.to_string();
        assert!(said.contains(way_out), "{name}: {said}");
        assert!(said.starts_with("redis"), "{name}: {said}");
        assert!(!format!("{error:?}").contains("wrong"), "{name}: {error:?}");
    }
    let store = RedisStore::open(&full.url().parse().unwrap())
        .await
        .unwrap();
    let stored = curtsy_store::HostStore::compare_and_swap(
        &store,
        "scope:a.org",
        curtsy_store::Version::ABSENT,
        vec![0; 100],
    );
    assert_eq!(stored.await.unwrap_err().kind(), StoreErrorKind::Full);
}

/// What answers this to whatever it is asked.
async fn answers(answer: &'static str) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut asked = [0; 4096];
                while client.read(&mut asked).await.is_ok_and(|bytes| bytes > 0) {
                    if client.write_all(answer.as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    url
}
