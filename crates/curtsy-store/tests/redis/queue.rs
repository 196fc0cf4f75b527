//! What is particular to a queue in Redis.

use std::sync::atomic::Ordering;
use std::time::Duration;

use curtsy_core::Timestamp;
use curtsy_store::{
    Horizon, NewUrl, Page, Queue, RedisQueue, RedisUrl, Rest, Settlement, StoreErrorKind, UrlId,
};
use tokio::time::{Instant, timeout};

use crate::proxy::Proxy;
use crate::server::Server;

const LEASE: Duration = Duration::from_secs(60);
const NOW: Timestamp = Timestamp::from_secs(1);

#[tokio::test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
async fn a_job_over_a_network_that_loses_every_seventh_answer_is_told_as_it_is() {
    const URLS: u64 = 200;
    let server = Server::start(&[]);
    let proxy = Proxy::before(server.port, 7).await;
    let lossy = format!("redis://127.0.0.1:{}", proxy.port).parse().unwrap();
    let queue = loop {
        // The answers to this may be lost too, and are not asked for again.
        if let Ok(queue) = RedisQueue::open(&lossy, "one", "one").await {
            break queue;
        }
    };
    for n in 0..URLS {
        let added = queue.enqueue(vec![url(n % 10, n)]).await.unwrap();
        assert_eq!((added.added, added.duplicates), (1, 0), "URL {n}");
    }
    let mut done = 0;
    for _ in 0..10 {
        let leased = queue.lease_due("one", 1, 4, LEASE, NOW).await.unwrap();
        assert_eq!(leased.len(), 1, "a scope was leased and not handed out");
        for mut of in leased {
            let mut page = of.urls;
            while !page.is_empty() {
                done += page.len() as u64;
                let ends = page.iter().map(|url| finished(url.id)).collect();
                assert_eq!(queue.settle(ends).await.unwrap().stale, []);
                page = match queue.more(&mut of.lease, 4, NOW).await.unwrap() {
                    Page::Urls(urls) => urls,
                    Page::Lost => panic!("{:?} was lost", of.lease),
                };
            }
            queue
                .release(vec![(of.lease, Rest::Due(NOW))])
                .await
                .unwrap();
        }
    }
    assert_eq!(done, URLS);
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.total(), counts.finished["fetched"]), (URLS, URLS));
    assert_eq!(counts.leased_scopes, 0);
    let lost = proxy.lost.load(Ordering::Relaxed);
    assert!(lost > 20, "{lost} answers were lost");
}

#[tokio::test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
async fn what_was_acknowledged_survives_the_kill_of_the_server() {
    let mut server = Server::start(&[]);
    server.write_at_once();
    let queue = open(&server, "one").await.unwrap();
    queue
        .enqueue((0..20).map(|n| url(n % 2, n)).collect())
        .await
        .unwrap();
    let leased = queue.lease_due("one", 1, 5, LEASE, NOW).await.unwrap();
    let ends = leased[0].urls.iter().map(|url| finished(url.id));
    queue.settle(ends.collect()).await.unwrap();
    let before = queue.records(None, 100).await.unwrap();
    server.kill();
    server.start_again();
    let lost = Instant::now();
    let after = loop {
        match queue.records(None, 100).await {
            Ok(records) => break records,
            Err(error) => assert!(lost.elapsed() < Duration::from_secs(10), "{error:?}"),
        }
    };
    assert_eq!(after, before);
    let others = queue.lease_due("two", 9, 5, LEASE, NOW).await.unwrap();
    assert_eq!(others.len(), 1);
    assert_ne!(others[0].lease.scope(), leased[0].lease.scope());
}

#[tokio::test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
async fn who_waits_is_told_of_new_urls_of_scopes_given_back_and_of_the_end() {
    let server = Server::start(&[]);
    let (one, two) = (
        open(&server, "j").await.unwrap(),
        open(&server, "j").await.unwrap(),
    );
    let mut watch = one.watch().unwrap();
    let soon = Duration::from_millis(50);
    timeout(Duration::from_secs(1), watch.changed())
        .await
        .expect("it begins to listen");
    two.enqueue(vec![url(0, 0)]).await.unwrap();
    timeout(soon, watch.changed())
        .await
        .expect("a URL was added");
    let leased = two.lease_due("two", 1, 1, LEASE, NOW).await.unwrap();
    let lease = leased[0].lease.clone();
    two.release(vec![(lease, Rest::Due(NOW))]).await.unwrap();
    timeout(soon, watch.changed())
        .await
        .expect("a scope was given back");
    two.settle(vec![finished(UrlId(1))]).await.unwrap();
    timeout(soon, watch.changed())
        .await
        .expect("the job is done");
}

#[tokio::test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
async fn a_job_is_not_done_while_somebody_alive_adds_urls_or_works() {
    let server = Server::start(&[]);
    let queue = open(&server, "job").await.unwrap();
    let now = || queue.clock().unwrap().now();
    let end = async || queue.horizon().await.unwrap().lease_end;
    assert_eq!(queue.horizon().await.unwrap(), Horizon::default());
    let (soon, later) = (now().after(Duration::from_millis(300)), now().after(LEASE));
    queue.feed("one", Some(later)).await.unwrap();
    queue.feed("dead", Some(soon)).await.unwrap();
    assert_eq!(end().await, Some(soon));
    tokio::time::sleep(Duration::from_millis(350)).await;
    assert_eq!(end().await, Some(later));
    queue.feed("one", None).await.unwrap();
    assert_eq!(end().await, None);
    queue.enqueue(vec![url(0, 0)]).await.unwrap();
    let leased = queue.lease_due("one", 1, 1, LEASE, now()).await.unwrap();
    assert_eq!(end().await, Some(leased[0].lease.until()));
}

#[tokio::test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
async fn a_cancelled_job_is_gone_for_its_workers_and_its_name_is_free() {
    let server = Server::start(&[]);
    let queue = open(&server, "job").await.unwrap();
    let other = open(&server, "other").await.unwrap();
    queue
        .enqueue((0..20).map(|n| url(n % 2, n)).collect())
        .await
        .unwrap();
    other.enqueue(vec![url(0, 0)]).await.unwrap();
    let leased = queue.lease_due("one", 9, 5, LEASE, NOW).await.unwrap();
    assert_eq!(
        RedisQueue::jobs(&url_of(&server)).await.unwrap(),
        ["job", "other"]
    );
    assert!(RedisQueue::cancel(&url_of(&server), "job").await.unwrap());
    assert!(!RedisQueue::cancel(&url_of(&server), "job").await.unwrap());
    let leases: Vec<_> = leased.iter().map(|of| of.lease.clone()).collect();
    let kinds = [
        queue.renew(&leases, LEASE, NOW).await.unwrap_err().kind(),
        queue
            .settle(vec![finished(UrlId(1))])
            .await
            .unwrap_err()
            .kind(),
        queue.enqueue(vec![url(5, 5)]).await.unwrap_err().kind(),
        queue
            .lease_due("one", 9, 5, LEASE, NOW)
            .await
            .unwrap_err()
            .kind(),
        queue.counts().await.unwrap_err().kind(),
    ];
    assert_eq!(kinds, [StoreErrorKind::Gone; 5]);
    let mut left: Vec<String> = server
        .ask(&["KEYS", "*{job:job}*"])
        .lines()
        .map(str::to_owned)
        .collect();
    // What calls answered ends by itself.
    left.retain(|key| !key.contains(":call:"));
    assert_eq!(left, [""; 0]);
    let again = open(&server, "job").await.unwrap();
    assert_eq!(again.counts().await.unwrap().total(), 0);
    assert_eq!(
        queue.counts().await.unwrap_err().kind(),
        StoreErrorKind::Gone
    );
    assert_eq!(other.counts().await.unwrap().total(), 1);
}

#[tokio::test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
async fn a_worker_that_waits_costs_redis_nothing() {
    let server = Server::start(&[]);
    let queue = open(&server, "job").await.unwrap();
    let mut watch = queue.watch().unwrap();
    timeout(Duration::from_secs(1), watch.changed())
        .await
        .expect("it begins to listen");
    let commands = || {
        let stats = server.ask(&["INFO", "stats"]);
        let commands = stats
            .lines()
            .find_map(|line| line.strip_prefix("total_commands_processed:"));
        commands.unwrap().trim().parse::<u64>().unwrap()
    };
    let before = commands();
    assert!(
        timeout(Duration::from_secs(1), watch.changed())
            .await
            .is_err()
    );
    assert_eq!(commands(), before + 1, "but for the question itself");
}

async fn open(server: &Server, job: &str) -> Result<RedisQueue, curtsy_store::StoreError> {
    RedisQueue::open(&url_of(server), job, "one").await
}

fn url_of(server: &Server) -> RedisUrl {
    server.url().parse().unwrap()
}

fn url(scope: u64, n: u64) -> NewUrl {
    NewUrl {
        scope: format!("{scope}.org"),
        url: format!("http://{scope}.org/{n}"),
        key: None,
        out: None,
        headers: None,
    }
}

fn finished(id: UrlId) -> Settlement {
    Settlement::Finished {
        id,
        outcome: "fetched".to_owned(),
        line: format!("line {}", id.0),
    }
}
