//! One pace and one hold, however many workers.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use curtsy_origin::{judge, lead_over_pace};
use tokio::sync::oneshot;

use crate::fleet::Fleet;
use crate::proxy::Proxy;
use crate::server::Server;
use crate::support::{self, serve, serve_at};

const WORKERS: usize = 4;
const PAGES: usize = 60;

/// Hosts of their own, so that each worker has one, whose pages lead to one host for all.
fn through_resolvers(port: u16) -> Vec<String> {
    let resolver = |n| format!("http://127.0.4.{}:{port}/to/{n}", 1 + n % WORKERS);
    (0..PAGES).map(resolver).collect()
}

fn paths() -> Vec<String> {
    (0..PAGES).map(|n| format!("/{n}")).collect()
}

/// A quota; and of two seconds, one is out of order.
pub(crate) const HELD: &str = r#"{"robots": 404, "dialect": "draft8",
    "policies": [{"kind": "fixed_window", "limit": 16, "window_s": 2}],
    "refuse": {"status": 429, "retry_after": "seconds"},
    "outages": [{"at_s": 3, "for_s": 1, "status": 503, "retry_after": "seconds"}]}"#;

pub(crate) const SLOW: &str = r#"{"robots": "User-agent: *\nCrawl-delay: 0.1\n"}"#;
const DELAY: Duration = Duration::from_millis(100);
/// A worker that leaves late, and that is then kept from saying so until the next may leave, has that one leave so
/// much too early: 3 ms were seen once, where builds took all of the machine.
pub(crate) const STALL: Duration = Duration::from_millis(10);

#[test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
fn a_host_that_all_workers_are_sent_to_sees_one_quota_and_one_hold() {
    let host = serve(HELD);
    fetch_through_resolvers(&host, &["--max-rate", "50"], |_| {});
    assert_quota_and_holds_are_kept(&host);
}

#[test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
fn p10_a_host_that_all_workers_are_sent_to_sees_no_early_gap() {
    let host = serve(SLOW);
    let fleet = fetch_through_resolvers(&host, &[], |_| {});
    assert_pace_is_kept(&fleet, &host);
}

pub(crate) fn assert_quota_and_holds_are_kept(host: &support::Server) {
    let judged = judge(host.origin.script(), &host.origin.arrivals(), &paths());
    assert_eq!(judged.lost, [""; 0], "{judged:?}");
    let broken = [
        judged.duplicates,
        judged.refused,
        judged.in_hold,
        judged.in_own_hold,
    ];
    assert_eq!(broken, [0; 4], "{judged:?}");
}

pub(crate) fn assert_pace_is_kept(fleet: &Fleet, host: &support::Server) {
    // By the workers' own records, to the microsecond.
    let departures = fleet.departures(&host.url);
    assert_eq!(departures.len(), PAGES);
    for pair in departures.windows(2) {
        let gap = pair[1] - pair[0];
        assert!(gap + STALL >= DELAY, "{gap:?}");
    }
    // And by what arrived, each as late as this machine made it.
    let arrivals = host.origin.arrivals();
    let pages = arrivals
        .iter()
        .filter(|arrival| arrival.path != "/robots.txt");
    let mut instants: Vec<Duration> = pages.map(|arrival| arrival.at).collect();
    instants.sort_unstable();
    let lead = lead_over_pace(&instants, DELAY);
    assert!(
        lead < Duration::from_millis(50),
        "{lead:?} ahead of the pace"
    );
    let took = instants[PAGES - 1] - instants[0];
    let best = DELAY * (PAGES as u32 - 1);
    // Within 2 % where the machine is free; 14 % over were seen where builds ran beside it.
    assert!(took < best + best / 2, "{took:?} in the place of {best:?}");
}

/// Fetches pages of this host by a fleet that is prepared before its workers join.
pub(crate) fn fetch_through_resolvers(
    host: &support::Server,
    options: &[&str],
    prepare: impl FnOnce(&mut Fleet),
) -> Fleet {
    let redis = Server::start(&[]);
    fetch_through_resolvers_over(&redis.url(), host, options, prepare)
}

/// The same over this Redis.
pub(crate) fn fetch_through_resolvers_over(
    redis: &str,
    host: &support::Server,
    options: &[&str],
    prepare: impl FnOnce(&mut Fleet),
) -> Fleet {
    let script = format!(
        r#"{{"robots": 404, "pages": {{"/to/*": {{"location": "{}/*"}}}}}}"#,
        host.url
    );
    let resolvers = serve_at(&script, Ipv4Addr::UNSPECIFIED);
    let urls = through_resolvers(resolvers.origin.addr().port());
    let pace = ["--rate", "20", "--burst", "1"];
    let mut fleet = Fleet::start(redis, 0, &[&pace[..], options].concat());
    prepare(&mut fleet);
    for _ in 1..WORKERS {
        fleet.join(&[]);
    }
    fleet.fetch(&urls);
    fleet.assert_each_is_recorded_once(&urls);
    fleet
}

#[test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
fn a_network_that_loses_every_fifth_answer_costs_time_and_nothing_else() {
    let redis = Server::start(&[]);
    let (port, lost, _stop) = lossy(redis.port, 5);
    let lossy = format!("redis://127.0.0.1:{port}");
    let server = serve_at(r#"{"robots": 404}"#, Ipv4Addr::UNSPECIFIED);
    let port = server.origin.addr().port();
    let urls: Vec<String> = (0..40)
        .map(|n| format!("http://127.0.4.{}:{port}/{n}", 1 + n % 8))
        .collect();
    let pace = ["--rate", "20", "--burst", "1"];
    let mut fleet = Fleet::start(&lossy, 2, &pace);
    fleet.fetch(&urls);
    fleet.assert_each_is_recorded_once(&urls);
    let served = server.origin.arrivals();
    let pages = served
        .iter()
        .filter(|arrival| arrival.path != "/robots.txt")
        .count();
    assert_eq!(pages, urls.len());
    for host in 1..=8 {
        let departures = fleet.departures(&format!("http://127.0.4.{host}:"));
        assert_eq!(departures.len(), urls.len() / 8);
        // A bucket counts from the permit, which the bytes follow.
        let lead = lead_over_pace(&departures, Duration::from_millis(50));
        assert!(lead < Duration::from_millis(20), "{lead:?} ahead");
    }
    let lost = lost.load(Ordering::Relaxed);
    assert!(lost > 20, "{lost} answers were lost");
}

/// A way to a Redis that loses answers, on a thread of its own: its port, how many it has lost, and what
/// ends it when it is dropped.
fn lossy(redis: u16, every: usize) -> (u16, Arc<AtomicUsize>, oneshot::Sender<()>) {
    let (tell, told) = mpsc::channel();
    let (stop, stopped) = oneshot::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(async {
            let proxy = Proxy::before(redis, every).await;
            tell.send((proxy.port, Arc::clone(&proxy.lost))).unwrap();
            let _ = stopped.await;
        });
    });
    let (port, lost) = told.recv().unwrap();
    (port, lost, stop)
}
