//! Whole jobs in virtual time against servers whose limits are known exactly: that a published quota is
//! used up and never overrun, and that nothing arrives in a hold.

#![allow(clippy::unwrap_used)]

mod support;

use std::time::Duration;

use support::{
    Client, Fields, MS, Meter, Micros, Outage, ResetAs, RetryAfter, Rounding, Run, SECOND, START,
    Server, Wording,
};

const RESETS: [ResetAs; 7] = [
    ResetAs::Seconds(Rounding::Up),
    ResetAs::Seconds(Rounding::Down),
    ResetAs::Seconds(Rounding::Nearest),
    ResetAs::Epoch(Rounding::Up),
    ResetAs::Epoch(Rounding::Down),
    ResetAs::Epoch(Rounding::Nearest),
    ResetAs::Fraction,
];

const ROUNDINGS: [ResetAs; 3] = [
    ResetAs::Seconds(Rounding::Up),
    ResetAs::Seconds(Rounding::Down),
    ResetAs::Seconds(Rounding::Nearest),
];

type Windows = fn(u64, Micros) -> Meter;

/// Windows that open at the first request, and windows on the clock.
const ANCHORS: [(&str, Windows); 2] = [
    ("from the first request", Meter::fixed),
    ("on the clock", Meter::fixed_on_the_clock),
];

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// A server with one quota, all of which is published.
fn server(meter: Meter, fields: Fields, reset: ResetAs) -> Server {
    Server::new(vec![meter], Wording::new(fields, reset))
}

/// As many requests as fit into `windows` of the first meter, and more: how that goes.
fn saturate(client: &Client, server: Server, windows: u64) -> Run {
    let window = Duration::from_micros(server.meters[0].window());
    client.run(server, 1_000_000, window * windows as u32)
}

/// What share of the first limit was used from the third of its windows on, by time.
fn use_since_third(run: &Run) -> f64 {
    let meter = &run.server.meters[0];
    let from = START + 2 * meter.window();
    let until = START + run.took.as_micros() as Micros;
    let admitted = run
        .server
        .arrivals
        .iter()
        .filter(|arrival| arrival.status == 200 && arrival.at >= from);
    let windows = (until - from) as f64 / meter.window() as f64;
    admitted.count() as f64 / (windows * meter.limit() as f64)
}

#[test]
fn fifty_in_five_seconds_are_glided_through_at_a_fifth_above_the_optimum() {
    // Who knows all sends 300 in 25 s after the first; to glide costs the last window's five.
    for (anchor, windows) in ANCHORS {
        for reset in RESETS {
            let run = Client::fast().run(
                server(windows(50, 5 * SECOND), Fields::Draft6, reset),
                300,
                secs(120),
            );
            let ratio = run.took.as_secs_f64() / 25.0;
            let what = format!("{reset:?}, {anchor}: {ratio:.3}");
            assert_eq!((run.server.refused(), run.lost), (0, 0), "{what}");
            assert!(ratio <= 1.205, "{what}");
        }
        // Where the length of the window is not told, its first reset may be a second later than it is.
        for reset in ROUNDINGS.into_iter().chain([ResetAs::Fraction]) {
            let run = Client::fast().run(
                server(windows(50, 5 * SECOND), Fields::Trio, reset),
                300,
                secs(120),
            );
            let ratio = run.took.as_secs_f64() / 25.0;
            let what = format!("{reset:?}, {anchor}, no window told: {ratio:.3}");
            assert_eq!((run.server.refused(), run.lost), (0, 0), "{what}");
            assert!(ratio <= 1.23, "{what}");
        }
    }
}

#[test]
fn from_the_third_window_on_nearly_all_of_a_quota_is_used_in_every_rounding() {
    for (anchor, windows) in ANCHORS {
        for fields in [Fields::Draft6, Fields::Trio] {
            for reset in RESETS {
                let meter = windows(50, 5 * SECOND);
                let run = saturate(&Client::fast(), server(meter, fields, reset), 20);
                let used = run.server.use_of_windows();
                let mean = used[2..].iter().sum::<f64>() / (used.len() - 2) as f64;
                let what = format!("{fields:?} {reset:?}, {anchor}: {used:?}");
                assert_eq!(run.server.refused(), 0, "{what}");
                assert!(mean >= 0.97, "{mean:.3} by window, {what}");
                let by_time = use_since_third(&run);
                assert!(by_time >= 0.97, "{by_time:.3} by time, {what}");
            }
        }
    }
}

#[test]
fn no_published_quota_is_overrun_whatever_its_size_its_wording_and_the_way_to_the_server() {
    let quotas = [
        (3, 1),
        (3, 5),
        (3, 60),
        (10, 1),
        (7, 2),
        (20, 5),
        (60, 60),
        (100, 1),
        (500, 5),
        (500, 60),
    ];
    // The way there, and by how much it varies.
    let ways = [(2_500, 500), (20 * MS, 30 * MS), (150 * MS, 50 * MS)];
    for (limit, window) in quotas {
        for (way, way_jitter) in ways {
            for (nth, reset) in RESETS.into_iter().enumerate() {
                let (anchor, windows) = ANCHORS[nth % 2];
                let fields = [Fields::Draft6, Fields::Trio][nth / 2 % 2];
                let mut client = Client::fast().but(|p| p.max_rate = Some(1_000.0));
                (client.way, client.way_jitter) = (way, way_jitter);
                let mut server = server(windows(limit, window * SECOND), fields, reset);
                server.ahead = nth as Micros * 1_700 * MS;
                let run = saturate(&client, server, 8);
                assert_eq!(
                    run.server.refused(),
                    0,
                    "{limit} in {window} s {anchor}, {fields:?} {reset:?}, {way} us away"
                );
            }
        }
    }
}

#[test]
fn a_window_that_lasts_no_whole_seconds_is_hardly_overrun_before_that_is_learned() {
    for window in [5_040 * MS, 2_500 * MS, 700 * MS] {
        for reset in RESETS {
            let server = server(Meter::fixed(50, window), Fields::Trio, reset);
            let run = saturate(&Client::fast(), server, 20);
            let refused = run.server.refused();
            assert!(refused <= 2, "{refused}: {window} us, {reset:?}");
        }
    }
}

#[test]
fn small_quotas_are_used_to_the_last_request() {
    for (limit, window) in [(3, 5), (3, 60), (10, 10), (20, 5)] {
        for reset in RESETS {
            let meter = Meter::fixed(limit, window * SECOND);
            let run = saturate(&Client::fast(), server(meter, Fields::Draft6, reset), 12);
            let used = run.server.use_of_windows();
            assert!(
                used[2..].iter().all(|used| *used == 1.0),
                "{limit} in {window} s, {reset:?}: {used:?}"
            );
        }
    }
}

#[test]
fn a_published_rolling_window_is_used_nearly_whole_and_never_overrun() {
    let meters: [(&str, Windows, f64); 3] = [
        ("sliding log", Meter::sliding, 0.9),
        (
            "sliding log that tells the next",
            Meter::sliding_that_tells_the_next,
            0.9,
        ),
        ("token bucket", Meter::token, 0.95),
    ];
    for (kind, meter, least) in meters {
        for (limit, window) in [(50, 5), (60, 60), (500, 5)] {
            for reset in [
                ResetAs::Seconds(Rounding::Up),
                ResetAs::Seconds(Rounding::Down),
                ResetAs::Fraction,
            ] {
                let server = server(meter(limit, window * SECOND), Fields::Draft6, reset);
                let run = saturate(&Client::fast(), server, 20);
                let (used, what) = (use_since_third(&run), format!("{limit} in {window} s"));
                assert_eq!(run.server.refused(), 0, "{kind}, {what}, {reset:?}");
                assert!(used >= least, "{used:.3} of a {kind}, {what}, {reset:?}");
            }
        }
    }
}

#[test]
fn a_published_sliding_counter_is_not_overrun() {
    for (limit, window) in [(10, 1), (100, 1), (50, 5)] {
        for reset in ROUNDINGS.into_iter().chain([ResetAs::Fraction]) {
            let server = server(
                Meter::counter(limit, window * SECOND),
                Fields::Draft6,
                reset,
            );
            let run = saturate(&Client::fast(), server, 20);
            let what = format!("{limit} in {window} s, {reset:?}");
            assert_eq!(run.server.refused(), 0, "{what}");
            assert!(use_since_third(&run) >= 0.5, "{what}");
        }
    }
}

#[test]
fn a_rolling_window_whose_length_is_not_told_is_not_overrun_either() {
    for meter in [Meter::sliding, Meter::counter, Meter::token] {
        for reset in [ResetAs::Seconds(Rounding::Up), ResetAs::Fraction] {
            let server = server(meter(50, 5 * SECOND), Fields::Trio, reset);
            let run = saturate(&Client::fast(), server, 20);
            let used = use_since_third(&run);
            assert_eq!(run.server.refused(), 0, "{:?}", run.server.meters);
            assert!(used >= 0.5, "{used:.3}: {:?} {reset:?}", run.server.meters);
        }
    }
}

#[test]
fn a_moving_window_that_tells_when_its_oldest_request_lapses_is_found_out() {
    for (limit, window) in [(50, 5), (12, 2), (100, 10)] {
        for reset in [
            ResetAs::Epoch(Rounding::Up),
            ResetAs::Epoch(Rounding::Down),
            ResetAs::Seconds(Rounding::Up),
            ResetAs::Fraction,
        ] {
            let meter = Meter::sliding_that_tells_the_next(limit, window * SECOND);
            let run = saturate(&Client::fast(), server(meter, Fields::Trio, reset), 20);
            let used = use_since_third(&run);
            let what = format!("{limit} in {window} s, {reset:?}");
            assert_eq!(run.server.refused(), 0, "{what}");
            assert!(used >= 0.75, "{used:.3}: {what}");
        }
    }
}

#[test]
fn of_two_quotas_at_once_neither_is_overrun_and_the_tighter_is_used() {
    for (one, other) in [
        ((10, 1), (100, 60)),
        ((50, 5), (60, 10)),
        ((3, 1), (30, 20)),
        ((20, 5), (500, 60)),
    ] {
        for (anchor, windows) in ANCHORS {
            for reset in ROUNDINGS {
                let meters = [other, one].map(|(limit, secs)| windows(limit, secs * SECOND));
                let rate = [one, other]
                    .map(|(limit, secs): (u64, u64)| limit as f64 / secs as f64)
                    .into_iter()
                    .reduce(f64::min)
                    .unwrap();
                let server = Server::new(meters.to_vec(), Wording::new(Fields::Draft8, reset));
                let run = Client::fast().run(server, 1_000_000, secs(180));
                let lately = |at: Micros| at > START + 60 * SECOND;
                let admitted = run.server.arrivals.iter();
                let admitted = admitted.filter(|arrival| lately(arrival.at)).count() as f64;
                let used = admitted / 120.0 / rate;
                let what = format!("{one:?} and {other:?} {anchor}, {reset:?}");
                assert_eq!(run.server.refused(), 0, "{what}");
                assert!(used >= 0.9, "{used:.3}: {what}");
            }
        }
    }
}

#[test]
fn the_servers_clock_may_be_hours_off() {
    for ahead in [0, 90 * SECOND, 5 * 3_600 * SECOND] {
        let meter = Meter::fixed_on_the_clock(50, 5 * SECOND);
        let mut server = server(meter, Fields::Draft6, ResetAs::Epoch(Rounding::Up));
        server.ahead = ahead;
        let run = saturate(&Client::fast(), server, 10);
        assert_eq!(run.server.refused(), 0, "{ahead} us ahead");
        assert!(use_since_third(&run) >= 0.97, "{ahead} us ahead");
    }
}

/// What was under way when a hold was announced cannot be called back: there and back, and timers.
const UNDER_WAY: Micros = 8 * MS;

#[test]
fn a_hidden_quota_with_a_wait_is_found_and_nothing_arrives_in_a_hold() {
    for retry_after in [
        RetryAfter::Seconds(Rounding::Up),
        RetryAfter::Seconds(Rounding::Nearest),
        RetryAfter::Seconds(Rounding::Down),
        RetryAfter::Date,
    ] {
        for meter in [Meter::fixed(40, 2 * SECOND), Meter::sliding(40, 2 * SECOND)] {
            let wording = Wording {
                retry_after,
                ..Wording::new(Fields::None, ResetAs::Fraction)
            };
            let mut server = Server::new(vec![meter], wording);
            server.ahead = 1_234 * MS;
            let client = Client::fast().but(|p| (p.rate, p.max_retries) = (Some(60.0), 10));
            let run = client.run(server, 200, secs(300));
            let what = format!("{retry_after:?}, {:?}", run.server.meters);
            assert!(run.server.refused() > 0, "{what}: it was found by nothing");
            assert_eq!(run.server.arrivals_in_a_hold(UNDER_WAY), 0, "{what}");
            assert_eq!(run.lost, 0, "{what}");
        }
    }
}

#[test]
fn in_an_outage_that_tells_its_end_nothing_arrives_before_it() {
    for tells in [RetryAfter::Seconds(Rounding::Up), RetryAfter::Date] {
        let mut server = Server::new(vec![], Wording::new(Fields::None, ResetAs::Fraction));
        server.outages.push(Outage {
            from: START + SECOND,
            to: START + 7 * SECOND,
            tells,
        });
        let run = Client::fast().run(server, 160, secs(120));
        assert!(run.server.count(503) > 0);
        assert_eq!(run.server.arrivals_in_a_hold(UNDER_WAY), 0, "{tells:?}");
        assert_eq!(run.lost, 0, "{tells:?}");
    }
}

#[test]
fn in_an_outage_that_tells_nothing_few_knock() {
    let mut server = Server::new(vec![], Wording::new(Fields::None, ResetAs::Fraction));
    server.outages.push(Outage {
        from: START + SECOND,
        to: START + 31 * SECOND,
        tells: RetryAfter::None,
    });
    let run = Client::fast().run(server, 160, secs(600));
    // What was in flight, then one after 1, 2, 4, 8 and 16 seconds.
    assert!(run.server.count(503) <= 8 + 5, "{}", run.server.count(503));
    assert_eq!(run.lost, 0);
}
