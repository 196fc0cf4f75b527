//! httpbin, which answers in every way that HTTP has.

use std::sync::OnceLock;
use std::time::Duration;

use curtsy::core::PolicyValues;
use curtsy::transport::Limits;
use curtsy::{Outcome, Reply};

use crate::scene::{Done, Scene, eager};
use crate::server::Server;
use crate::tap::Exchange;

/// One for all tests, since it keeps nothing; it ends with this process.
pub(crate) fn scene() -> Scene {
    static HTTPBIN: OnceLock<Server> = OnceLock::new();
    Scene::before(HTTPBIN.get_or_init(|| Server::start("httpbin", &[]).answering()))
}

async fn fetch(policy: PolicyValues, paths: &[&str]) -> Done {
    let paths: Vec<String> = paths.iter().map(|&path| path.to_owned()).collect();
    scene().fetch(policy, &paths).await
}

#[tokio::test]
#[ignore = "needs httpbin: ./test installs it and runs this"]
async fn r1_a_429_that_stands_comes_back_as_it_is_after_all_tries() {
    let scene = scene();
    let policy = PolicyValues {
        max_retries: 2,
        ..eager()
    };
    let base = policy.backoff_base;
    let client = scene.client(policy);
    let reply = client.get(&scene.tap.url("/status/429")).await.unwrap();
    let Reply::Response(response) = reply else {
        panic!("{reply:?}")
    };
    assert_eq!((response.status.as_u16(), response.attempts), (429, 3));
    let exchanges = scene.tap.exchanges();
    let asked: Vec<&Exchange> = exchanges
        .iter()
        .filter(|exchange| exchange.path == "/status/429")
        .collect();
    assert_eq!(asked.len(), 3);
    for (tries, pair) in asked.windows(2).enumerate() {
        let gap = pair[1].arrived - pair[0].answer.as_ref().unwrap().at;
        assert!(
            gap >= base * 2_u32.pow(tries as u32),
            "try {tries}: {gap:?}"
        );
    }
}

#[tokio::test]
#[ignore = "needs httpbin: ./test installs it and runs this"]
async fn r3_each_hop_of_a_redirect_keeps_the_interval() {
    const INTERVAL: Duration = Duration::from_millis(100);

    let policy = PolicyValues {
        rate: Some(1.0 / INTERVAL.as_secs_f64()),
        burst: 1,
        ..eager()
    };
    let done = fetch(policy, &["/redirect/3", "/absolute-redirect/2"]).await;
    let hops: Vec<(u32, bool)> = done
        .lines
        .iter()
        .map(|line| {
            let landed = line
                .final_url
                .as_ref()
                .is_some_and(|url| url.ends_with("/get"));
            (line.attempts, landed)
        })
        .collect();
    assert_eq!(hops, [(4, true), (3, true)]);
    // robots.txt and seven hops.
    assert_eq!(done.exchanges.len(), 8);
    for pair in done.exchanges.windows(2) {
        let gap = pair[1].arrived - pair[0].arrived;
        // Arrivals are stamped by another thread than the departures whose distance is kept, and on a busy
        // machine late.
        assert!(
            gap + INTERVAL / 2 >= INTERVAL,
            "{gap:?} before {}",
            pair[1].path
        );
    }
}

#[tokio::test]
#[ignore = "needs httpbin: ./test installs it and runs this"]
async fn h2_retry_after_on_a_200_without_counters_is_obeyed() {
    let policy = PolicyValues {
        per_host: 1,
        ..eager()
    };
    let done = fetch(policy, &["/response-headers?Retry-After=2", "/get"]).await;
    assert_eq!(done.summary.count(Outcome::Fetched), 2);
    let [_robots, first, second] = &done.exchanges[..] else {
        panic!("{:?}", done.exchanges)
    };
    let wait = second.arrived - first.answer.as_ref().unwrap().at;
    assert!(wait >= Duration::from_secs(2), "{wait:?}");
}

#[tokio::test]
#[ignore = "needs httpbin: ./test installs it and runs this"]
async fn bodies_are_stored_decoded() {
    let codings = [
        ("/gzip", "gzipped"),
        ("/deflate", "deflated"),
        ("/brotli", "brotli"),
    ];
    let done = fetch(eager(), &codings.map(|(path, _)| path)).await;
    for (path, key) in codings {
        let body: serde_json::Value = serde_json::from_slice(&done.body_of(path)).unwrap();
        assert_eq!(body[key], true, "{path}: {body}");
    }
}

#[tokio::test]
#[ignore = "needs httpbin: ./test installs it and runs this"]
async fn bodies_of_every_framing_arrive_whole() {
    let paths = [
        "/bytes/5000?seed=1",
        "/stream-bytes/5000?seed=1&chunk_size=700",
        "/stream/7",
        "/drip?duration=1&numbytes=4&delay=0",
        "/delay/1",
    ];
    let done = fetch(eager(), &paths).await;
    assert_eq!(
        done.summary.count(Outcome::Fetched),
        paths.len() as u64,
        "{:?}",
        done.lines
    );
    assert_eq!(done.body_of(paths[0]).len(), 5000);
    assert_eq!(done.body_of(paths[1]).len(), 5000);
    let lines = String::from_utf8(done.body_of(paths[2])).unwrap();
    assert_eq!(lines.lines().count(), 7);
    assert_eq!(done.body_of(paths[3]), b"****");
    let mut exchanges = done.exchanges.iter();
    let delayed = exchanges.find(|seen| seen.path == "/delay/1").unwrap();
    let latency = delayed.answer.as_ref().unwrap().at - delayed.arrived;
    assert!(latency >= Duration::from_secs(1), "{latency:?}");
}

#[tokio::test]
#[ignore = "needs httpbin: ./test installs it and runs this"]
async fn a_head_and_a_body_that_are_silent_for_too_long_fail_their_urls_alone() {
    let limits = Limits {
        silence: Duration::from_millis(500),
        ..Limits::default()
    };
    let policy = PolicyValues {
        max_retries: 0,
        ..eager()
    };
    let paths = ["/delay/2", "/drip?duration=4&numbytes=2&delay=0", "/get"];
    let paths = paths.map(str::to_owned);
    let done = scene().limits(limits).fetch(policy, &paths).await;
    let outcomes: Vec<(Outcome, bool)> = done
        .lines
        .iter()
        .map(|line| (line.outcome, line.file.is_some()))
        .collect();
    assert_eq!(
        outcomes,
        [
            (Outcome::Failed, false),
            (Outcome::Failed, false),
            (Outcome::Fetched, true)
        ],
        "{:?}",
        done.lines
    );
}

#[tokio::test]
#[ignore = "needs httpbin: ./test installs it and runs this"]
async fn o4_what_its_robots_txt_disallows_is_never_asked_for() {
    let done = fetch(eager(), &["/deny", "/get"]).await;
    assert_eq!(done.lines[0].outcome, Outcome::Disallowed);
    assert_eq!(done.lines[1].outcome, Outcome::Fetched);
    assert!(
        done.exchanges
            .iter()
            .all(|exchange| exchange.path != "/deny")
    );
}
