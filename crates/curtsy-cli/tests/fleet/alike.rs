//! Eight workers and one process, on servers of the same kinds at the same time: the servers cannot tell
//! which is which.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use curtsy_origin::{Judgement, Verdict, judge};

use crate::fleet::Fleet;
use crate::pace::STALL;
use crate::server::Server;
use crate::support::{self, serve};

const WORKERS: usize = 8;
/// Pages of a window, where a server counts in windows.
const WINDOW: usize = 40;
/// The one with a Crawl-delay, and that.
const DELAYED: usize = 2;
const DELAY: Duration = Duration::from_millis(100);

/// What each server does, how many pages of it are fetched, 3,000 in all, and how many a second are permitted.
const SERVERS: [(&str, usize, f64); 5] = [
    (
        r#"{"robots": 404, "dialect": "draft8",
            "policies": [{"kind": "fixed_window", "limit": 40, "window_s": 2}]}"#,
        700,
        20.0,
    ),
    // A limit that it does not tell of.
    (
        r#"{"robots": 404, "refuse": {"retry_after": "none"},
            "policies": [{"kind": "fixed_window", "limit": 40, "window_s": 2}]}"#,
        700,
        20.0,
    ),
    (
        r#"{"robots": "User-agent: *\nCrawl-delay: 0.1\n"}"#,
        300,
        10.0,
    ),
    (
        r#"{"robots": 404, "outages": [
            {"at_s": 3, "for_s": 2, "status": 429, "retry_after": "seconds"},
            {"at_s": 12, "for_s": 3, "status": 503, "retry_after": "date"},
            {"at_s": 21, "for_s": 1, "status": 429, "retry_after": "seconds"}]}"#,
        600,
        25.0,
    ),
    (
        r#"{"robots": 404, "outages": [{"at_s": 10, "for_s": 3, "status": 503}]}"#,
        700,
        25.0,
    ),
];

const PACE: [&str; 8] = [
    "--rate",
    "25",
    "--burst",
    "1",
    "--max-rate",
    "50",
    "--contact",
    "a@b.org",
];

#[test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
fn eight_workers_are_to_servers_as_one_process_is() {
    let redis = Server::start(&[]);
    let (of_one, of_fleet) = (servers(), servers());
    let dir = tempfile::tempdir().unwrap();
    let mut one = fetch(dir.path(), &urls(&of_one));
    let mut fleet = Fleet::start(&redis.url(), WORKERS - 1, &PACE);
    let urls = urls(&of_fleet);
    fleet.begin(&urls);
    fleet.end();
    fleet.assert_each_is_recorded_once(&urls);
    assert!(one.wait().unwrap().success());
    let (mut paces, mut ends) = ([0.0; 2], [0.0_f64; 2]);
    for (n, (script, pages, permitted)) in SERVERS.into_iter().enumerate() {
        let servers = [&of_one[n], &of_fleet[n]];
        let judged = servers.map(|server| judged(server, pages));
        let [one, many] = &judged;
        assert_eq!(many.lost, [""; 0], "{script}: {many:?}");
        let broken = [many.duplicates, many.in_hold, many.in_own_hold];
        assert_eq!(broken, [0; 3], "{script}: {many:?}");
        let refused = [one, many].map(|judged| judged.refused + judged.outage_hits);
        assert!(refused[1] <= refused[0] + 2, "{script}: {refused:?}");
        let pace_of = servers.map(pace);
        assert!(pace_of[1] < permitted * 1.01, "{script}: {pace_of:?}/s");
        for which in [0, 1] {
            paces[which] += pace_of[which];
            ends[which] = ends[which].max(judged[which].took_s);
        }
    }
    // By the workers' own records, to the microsecond.
    for pair in fleet.departures(&of_fleet[DELAYED].url).windows(2) {
        let gap = pair[1] - pair[0];
        assert!(gap + STALL >= DELAY, "{gap:?}");
    }
    // On a quiet machine these are alike to half a percent; on a busy one the one process suffers most.
    let [one, many] = paces;
    assert!(many > one * 0.97, "{many}/s in the place of {one}/s");
    let [one, many] = ends;
    assert!(many < one * 1.05, "{many} s in the place of {one} s");
}

/// Pages a second that a server served, in the middle of how long a window's worth took: holds do not count.
fn pace(server: &support::Server) -> f64 {
    let arrivals = server.origin.arrivals().into_iter();
    let served = arrivals.filter(|arrival| arrival.verdict == Verdict::Ok);
    let mut instants: Vec<Duration> = served.map(|arrival| arrival.at).collect();
    instants.sort_unstable();
    let spans = instants.windows(WINDOW + 1);
    let mut spans: Vec<Duration> = spans.map(|of| of[WINDOW] - of[0]).collect();
    spans.sort_unstable();
    WINDOW as f64 / spans[spans.len() / 2].as_secs_f64()
}

fn servers() -> Vec<support::Server> {
    SERVERS.iter().map(|(script, ..)| serve(script)).collect()
}

/// In turns, as the pages of one list.
fn urls(servers: &[support::Server]) -> Vec<String> {
    let most = SERVERS.iter().map(|(_, pages, _)| *pages).max().unwrap();
    let mut urls = Vec::new();
    for n in 0..most {
        let having = servers
            .iter()
            .zip(SERVERS)
            .filter(|(_, (_, pages, _))| n < *pages);
        urls.extend(having.map(|(server, _)| format!("{}/{n}", server.url)));
    }
    urls
}

fn judged(server: &support::Server, pages: usize) -> Judgement {
    let paths: Vec<String> = (0..pages).map(|n| format!("/{n}")).collect();
    judge(server.origin.script(), &server.origin.arrivals(), &paths)
}

fn fetch(dir: &Path, urls: &[String]) -> Child {
    std::fs::write(dir.join("list"), urls.join("\n")).unwrap();
    Command::new(env!("CARGO_BIN_EXE_curtsy"))
        .args(["fetch", "-q", "-i", "list", "-o", "out"])
        .args(PACE)
        .current_dir(dir)
        .env("HOME", dir)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}
