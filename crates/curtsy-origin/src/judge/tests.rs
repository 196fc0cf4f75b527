use std::time::Duration;

use super::*;
use crate::arrival::Protocol;
use crate::referee::Referee;
use crate::script::{Outage, Policy, RetryAfter, Robots, Service};

fn s(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

fn paths(n: usize) -> Vec<String> {
    (0..n).map(|n| format!("/{n}")).collect()
}

/// An arrival that was served within a millisecond.
pub(crate) fn hand_made(seq: u64, at_s: f64, path: &str) -> Arrival {
    let at = s(at_s);
    Arrival {
        seq,
        at,
        epoch_us: 1_500_000_000 + at.as_micros() as u64,
        answered: Some(at + s(0.001)),
        done: Some(at + s(0.001)),
        whole: true,
        connection: 1,
        protocol: Protocol::Http11,
        method: "GET".to_owned(),
        host: Some("example.org".to_owned()),
        path: path.to_owned(),
        user_agent: None,
        verdict: Verdict::Ok,
        status: Some(200),
        hold_until: None,
        in_flight: 1,
        headers: Vec::new(),
    }
}

fn refused(seq: u64, at_s: f64, path: &str, hold_until_s: f64) -> Arrival {
    Arrival {
        verdict: Verdict::Refused,
        status: Some(429),
        hold_until: Some(s(hold_until_s)),
        ..hand_made(seq, at_s, path)
    }
}

fn outage(at_s: f64, for_s: f64) -> Outage {
    Outage {
        at: s(at_s),
        lasts: s(for_s),
        status: 503,
        reset: false,
        retry_after: RetryAfter::None,
    }
}

#[test]
fn a_run_with_every_kind_of_fault_is_judged_as_it_was() {
    let run = [
        Arrival {
            verdict: Verdict::Exempt,
            ..hand_made(1, 9.0, "/robots.txt")
        },
        hand_made(2, 10.0, "/0"),
        refused(3, 10.1, "/1", 12.101),
        // On its way when the hold was announced.
        hand_made(4, 10.12, "/2"),
        refused(5, 11.0, "/1", 13.001),
        hand_made(6, 13.2, "/1"),
        hand_made(7, 13.25, "/1"),
        hand_made(8, 13.3, "/elsewhere"),
        Arrival {
            whole: false,
            ..hand_made(9, 14.0, "/3")
        },
        Arrival {
            status: Some(500),
            ..hand_made(10, 15.0, "/4")
        },
    ];
    let judged = judge(&Script::default(), &run, &paths(5));
    assert_eq!(judged.served, 3);
    assert_eq!(judged.lost, ["/3", "/4"]);
    assert_eq!((judged.arrivals, judged.exempt, judged.stray), (9, 1, 1));
    assert_eq!((judged.duplicates, judged.refused), (1, 2));
    assert_eq!((judged.in_hold, judged.in_own_hold), (1, 1));
    assert_eq!((judged.most_in_100ms, judged.most_in_1s), (2, 4));
    assert_eq!(judged.robots_first, Some(true));
    assert!((judged.took_s - 3.201).abs() < 1e-9, "{}", judged.took_s);
    assert!((judged.least_gap_s.unwrap() - 0.02).abs() < 1e-9);
    assert!(!judged.is_flawless());
}

#[test]
fn a_hold_is_over_a_little_before_its_end_and_not_earlier() {
    for (at_s, in_hold) in [(12.09, 1), (12.097, 0), (12.101, 0)] {
        let run = [refused(1, 10.1, "/1", 12.101), hand_made(2, at_s, "/1")];
        let judged = judge(&Script::default(), &run, &["/1"]);
        assert_eq!(
            (judged.in_hold, judged.in_own_hold),
            (in_hold, in_hold),
            "{at_s}"
        );
    }
}

#[test]
fn only_the_path_that_was_told_has_no_grace() {
    for (path, in_own_hold) in [("/1", 1), ("/2", 0)] {
        let run = [refused(1, 10.0, "/1", 12.0), hand_made(2, 10.04, path)];
        let judged = judge(&Script::default(), &run, &["/1", "/2"]);
        assert_eq!(
            (judged.in_hold, judged.in_own_hold),
            (0, in_own_hold),
            "{path}"
        );
    }
}

#[test]
fn robots_can_announce_a_hold_and_break_one() {
    let robots = |seq, at_s, hold_until: Option<f64>| Arrival {
        verdict: Verdict::Exempt,
        hold_until: hold_until.map(s),
        ..hand_made(seq, at_s, "/robots.txt")
    };
    let run = [
        robots(1, 1.0, Some(3.0)),
        hand_made(2, 2.0, "/a"),
        robots(3, 2.5, None),
    ];
    let judged = judge(&Script::default(), &run, &["/a"]);
    assert_eq!((judged.in_hold, judged.in_own_hold), (2, 1));
}

#[test]
fn gaps_under_a_crawl_delay_are_counted() {
    let script = Script {
        robots: Some(Robots::Text(
            "User-agent: *\nCrawl-delay: 0.5 # please\n".to_owned(),
        )),
        ..Script::default()
    };
    let run =
        [(1, 1.0), (2, 1.5), (3, 1.99), (4, 2.4)].map(|(n, at)| hand_made(n, at, &format!("/{n}")));
    let judged = judge(&script, &run, &["/1", "/2", "/3", "/4"]);
    assert_eq!(judged.short_gaps, 1);
    assert_eq!(judged.robots_first, None);
    assert_eq!(judged.optimum_s, 1.5);
}

#[test]
fn a_perfect_run_is_flawless_and_has_ratio_one() {
    let script = Script {
        policies: vec![Policy::fixed_window(50, s(5.0))],
        ..Script::default()
    };
    let paths = paths(300);
    let run: Vec<_> = optimum(&script, &paths)
        .departures
        .iter()
        .zip(&paths)
        .zip(1..)
        .map(|((at, path), seq)| Arrival {
            done: Some(*at),
            ..hand_made(seq, at.as_secs_f64(), path)
        })
        .collect();
    let judged = judge(&script, &run, &paths);
    assert!(judged.is_flawless(), "{judged:?}");
    assert_eq!((judged.ratio, judged.most_in_100ms), (1.0, 50));
}

#[test]
fn nothing_that_arrived_is_all_lost() {
    let judged = judge(&Script::default(), &[], &["/a", "/b", "/a"]);
    assert_eq!((judged.expected, judged.served), (2, 0));
    assert_eq!(judged.lost, ["/a", "/b"]);
}

#[test]
fn the_optimum_is_that_of_the_closed_form() {
    let fixed = || Policy::fixed_window(50, s(5.0));
    let robots = Some(Robots::Text("User-agent: *\nCrawl-delay: 0.2\n".to_owned()));
    let script = |policies: Vec<Policy>| Script {
        policies,
        ..Script::default()
    };
    let service = |latency_s: f64, workers: usize| Service {
        latency: s(latency_s),
        workers,
        ..Service::default()
    };
    let table = [
        ("nothing", 300, script(vec![]), 0.0),
        ("fixed", 300, script(vec![fixed()]), 25.0),
        (
            "sliding",
            300,
            script(vec![Policy::sliding_window(50, s(5.0))]),
            25.0,
        ),
        (
            "bucket",
            300,
            script(vec![Policy::token_bucket(10.0, 50)]),
            25.0,
        ),
        (
            "queue: the last is served in its turn",
            300,
            script(vec![Policy::leaky_queue(10.0, 4)]),
            29.9,
        ),
        ("gap", 10, script(vec![Policy::min_gap(s(0.2))]), 1.8),
        (
            "two quotas",
            101,
            script(vec![fixed(), Policy::fixed_window(100, s(60.0))]),
            60.0,
        ),
        (
            "another prefix",
            300,
            script(vec![fixed().under("/api")]),
            0.0,
        ),
        (
            "crawl delay",
            100,
            Script {
                robots,
                ..Script::default()
            },
            19.8,
        ),
        (
            "concurrency",
            12,
            Script {
                service: service(0.05, 0),
                ..script(vec![Policy::concurrency(4)])
            },
            0.15,
        ),
        (
            "workers",
            12,
            Script {
                service: service(0.05, 4),
                ..Script::default()
            },
            0.15,
        ),
        (
            "outage from the start",
            150,
            Script {
                outages: vec![outage(0.0, 6.0)],
                ..Script::default()
            },
            6.0,
        ),
        (
            "an outage, and what would be served in it",
            160,
            Script {
                service: service(0.05, 4),
                outages: vec![outage(1.01, 6.0)],
                ..Script::default()
            },
            // Twenty rounds before, twenty after.
            7.01 + 1.0,
        ),
        (
            "an outage, and a queue that reaches into it",
            20,
            Script {
                outages: vec![outage(0.95, 6.0)],
                ..script(vec![Policy::leaky_queue(10.0, 100)])
            },
            6.95 + 0.9,
        ),
        (
            "outage amid a bucket",
            100,
            Script {
                outages: vec![outage(1.0, 6.0)],
                ..script(vec![Policy::token_bucket(10.0, 1)])
            },
            // Ten before it; the bucket holds one token after it, as before.
            7.0 + 8.9,
        ),
    ];
    for (name, n, script, expected) in table {
        let end = optimum(&script, &paths(n)).end.as_secs_f64();
        assert!((end - expected).abs() < 1e-6, "{name}: {end}");
    }
}

#[test]
fn the_referee_admits_the_optimum_and_nothing_earlier() {
    let counter = |count_refused| {
        Policy::new(Rule::SlidingCounter {
            limit: 50,
            window: s(5.0),
            count_refused,
        })
    };
    for policy in [
        Policy::fixed_window(50, s(5.0)),
        Policy::sliding_window(50, s(5.0)),
        counter(false),
        counter(true),
        Policy::token_bucket(10.0, 50),
        Policy::min_gap(s(0.2)),
    ] {
        let script = Script {
            policies: vec![policy.clone()],
            ..Script::default()
        };
        let mut departures = optimum(&script, &paths(51)).departures;
        for (early, last) in [(Duration::ZERO, Verdict::Ok), (s(0.001), Verdict::Refused)] {
            departures[50] -= early;
            let mut referee = Referee::new(&script, Duration::ZERO);
            let verdicts: Vec<_> = departures
                .iter()
                .map(|at| referee.rule("/", *at).verdict)
                .collect();
            assert!(
                verdicts[..50].iter().all(|verdict| *verdict == Verdict::Ok),
                "{policy:?}"
            );
            assert_eq!(verdicts[50], last, "{policy:?}");
        }
    }
}

#[test]
fn a_lead_over_the_pace_is_measured_from_the_first() {
    let at = [1.0, 1.02, 1.035, 1.06].map(s);
    assert_eq!(lead_over_pace(&at, s(0.02)), s(0.005));
    assert_eq!(lead_over_pace(&at, s(0.01)), Duration::ZERO);
    assert_eq!(lead_over_pace(&[], s(0.01)), Duration::ZERO);
}
