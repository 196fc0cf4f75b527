//! H4–H8: quotas that a server publishes.

use std::time::Duration;

use curtsy_core::{Change, Observed, Reason, Timestamp, pace};

use crate::scene::{LATENCY, START, Scene, fields, ms, quota, secs};

/// A scene with a high ceiling, so that quotas alone bind.
fn fast() -> Scene {
    Scene::compliant().but(|p| (p.rate, p.max_rate, p.burst) = (Some(20.0), Some(1_000.0), 1))
}

fn rate(scene: &Scene) -> f64 {
    pace(&scene.policy, &scene.state).unwrap().0
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < b * 0.001
}

fn resets_by(scene: &Scene) -> Timestamp {
    scene.state.quotas()[0].resets_by().unwrap()
}

#[test]
fn h4_every_form_of_one_reset_steers_alike() {
    let date = ("date", "Tue, 14 Nov 2023 22:13:20 GMT");
    for reset in [
        "40.000",
        "1700000040",
        "1700000040000",
        "2023-11-14T22:14:00Z",
        "40s",
    ] {
        let mut scene = fast();
        scene.now = START.before(LATENCY);
        scene.fetch(
            200,
            &[
                ("x-ratelimit-limit", "100"),
                ("x-ratelimit-remaining", "80"),
                ("x-ratelimit-reset", reset),
                date,
            ],
        );
        let rate = rate(&scene);
        assert!((1.9..=2.01).contains(&rate), "{reset}: {rate}");
    }
}

#[test]
fn h5_the_rate_is_what_is_left_over_the_time_to_the_reset() {
    for (remaining, reset, expected) in [(50, "10.0", 5.0), (5, "50.0", 0.1), (300, "60.0", 5.0)] {
        let mut scene = fast();
        let said = [
            ("ratelimit-remaining", remaining.to_string()),
            ("ratelimit-reset", reset.to_owned()),
        ];
        let said = said.map(|(name, value)| (name.to_owned(), value));
        let observed = scene.fetch(200, &fields(&said));
        assert!(
            near(rate(&scene), expected),
            "{remaining} in {reset}: {}",
            rate(&scene)
        );
        let told = rate_told(&observed);
        assert!(near(told, expected), "{remaining} in {reset}: {told} told");
    }
}

fn rate_told(observed: &Observed) -> f64 {
    let rate = |change: &Change| match change {
        Change::RateAdjusted { after, .. } => Some(*after),
        _ => None,
    };
    observed.changes.iter().find_map(rate).unwrap()
}

#[test]
fn h5_the_rate_stays_between_floor_and_ceiling() {
    for (remaining, reset, expected) in [(1, "3000.0", 0.1), (1_000_000, "10.0", 10.0)] {
        let mut scene = Scene::compliant();
        let remaining = remaining.to_string();
        scene.fetch(
            200,
            &[
                ("ratelimit-remaining", &remaining),
                ("ratelimit-reset", reset),
            ],
        );
        assert!(near(rate(&scene), expected), "{remaining} in {reset}");
    }
}

#[test]
fn h5_a_short_time_to_the_reset_makes_no_large_rate() {
    let mut scene = fast();
    scene.fetch(
        200,
        &[("ratelimit-remaining", "50"), ("ratelimit-reset", "0.01")],
    );
    assert!(near(rate(&scene), 50.0), "{}", rate(&scene));
}

#[test]
fn h5_what_departed_since_and_what_is_unanswered_from_before_is_not_counted_yet() {
    let mut scene = fast().but(|p| p.rate = Some(1_000.0));
    scene.fetch(200, &[]);
    let seqs: Vec<u64> = (0..5).map(|_| scene.depart()).collect();
    let departed = scene.now;
    scene.pass(LATENCY);
    // Two that departed later and two from before are in the air.
    scene.answer(seqs[2], departed, 200, &fields(&quota(20, 10, 10, "10.0")));
    assert_eq!(scene.state.quotas()[0].left(), 6);
    // One from before was counted in that reading already, one after it was not.
    scene.answer(seqs[0], departed, 200, &fields(&quota(20, 10, 12, "10.0")));
    assert_eq!(scene.state.quotas()[0].left(), 7);
    scene.answer(seqs[3], departed, 200, &fields(&quota(20, 10, 9, "10.0")));
    assert_eq!(scene.state.quotas()[0].left(), 7);
}

#[test]
fn h5_what_was_answered_without_a_reading_is_counted_in_the_next_one() {
    let mut scene = fast().but(|p| p.burst = 5);
    scene.fetch(200, &fields(&quota(20, 10, 19, "10.0")));
    scene.fetch(200, &[]);
    scene.fetch(304, &[]);
    assert_eq!(scene.state.quotas()[0].left(), 17);
    // The server counted one of the two, and the one that brings this.
    scene.fetch(200, &fields(&quota(20, 10, 17, "10.0")));
    assert_eq!(scene.state.quotas()[0].left(), 17);
}

/// A scene with a quota that has been seen to come back whole: `limit` in `window` seconds, opened now.
fn refilled(limit: u64, window: u64) -> Scene {
    let mut scene = fast().but(|p| (p.burst, p.per_host) = (5, 8));
    scene.fetch(200, &fields(&quota(limit, window, 1, "1")));
    scene.pass(secs(1));
    let reset = window.to_string();
    scene.fetch(200, &fields(&quota(limit, window, limit - 1, &reset)));
    scene
}

#[test]
fn h5_an_answer_that_was_overtaken_tells_of_the_window_before() {
    let mut scene = fast().but(|p| p.burst = 5);
    scene.fetch(200, &fields(&quota(50, 1, 20, "1")));
    let old = scene.depart();
    let old_departed = scene.now;
    scene.pass(ms(400));
    let new = scene.depart();
    let new_departed = scene.now;
    scene.pass(ms(300));
    scene.answer(new, new_departed, 200, &fields(&quota(50, 1, 49, "1")));
    assert_eq!(
        scene.state.quotas()[0].left(),
        48,
        "the other may be counted yet"
    );
    scene.answer(old, old_departed, 200, &fields(&quota(50, 1, 19, "1")));
    assert_eq!(scene.state.quotas()[0].left(), 49, "but was counted before");
}

#[test]
fn h5_as_much_left_as_before_after_one_more_is_a_window_of_its_own() {
    let mut scene = fast().but(|p| p.burst = 2);
    scene.fetch(200, &fields(&quota(2, 1, 1, "1")));
    scene.pass(ms(500));
    scene.fetch(200, &fields(&quota(2, 1, 1, "1")));
    assert_eq!(resets_by(&scene), scene.now.after(secs(1)));
}

#[test]
fn h5_where_a_reading_may_have_been_of_the_next_window_one_request_looks_first() {
    for (told, looks) in [(5, false), (8, true)] {
        let mut scene = refilled(10, 1);
        let (one, other) = (scene.depart(), scene.depart());
        let departed = scene.now;
        scene.pass(ms(600));
        scene.answer(one, departed, 200, &fields(&quota(10, 1, 6, "1")));
        scene.answer(other, departed, 200, &fields(&quota(10, 1, told, "1")));
        scene.pass(secs(1));
        scene.depart_now();
        let reason = scene.bound().reason;
        assert_eq!(
            reason == Reason::FirstAnswer,
            looks,
            "{told} left: {reason:?}"
        );
    }
}

#[test]
fn h5_a_window_that_nothing_is_read_of_yet_gives_its_limit_less_what_may_be_counted_in_it() {
    let mut scene = refilled(10, 1);
    let (old, _) = (scene.depart(), scene.depart());
    let departed = scene.now;
    scene.now = resets_by(&scene);
    scene.depart_now();
    // One of the ten has departed, and the server may count the two in flight now.
    assert_eq!(scene.state.quotas()[0].left(), 7);
    scene.pass(LATENCY);
    scene.answer(old, departed, 200, &fields(&quota(10, 1, 1, "1")));
    assert_eq!(scene.state.quotas()[0].left(), 7);
}

#[test]
fn h5_tokens_are_cut_to_what_is_left() {
    let mut scene = Scene::compliant();
    scene.fetch(200, &fields(&quota(50, 60, 2, "60")));
    scene.depart_now();
    scene.depart_now();
    assert_eq!(scene.bound().reason, Reason::QuotaExhausted);
}

#[test]
fn h5_the_floor_makes_no_wait_longer_than_the_time_to_the_reset() {
    let mut scene = Scene::compliant().but(|p| (p.min_rate, p.burst) = (0.01, 1));
    scene.fetch(200, &fields(&quota(50, 60, 1, "60.0")));
    // By its rate the last one would come after half a minute, by the floor after a minute and a half.
    scene.pass(secs(58));
    scene.fetch(200, &fields(&quota(50, 60, 0, "2.0")));
    assert!(scene.wait() <= ms(2_010), "{:?}", scene.bound());
}

#[test]
fn h5_of_several_quotas_the_one_with_the_lowest_rate_steers() {
    let mut scene = fast();
    let observed = scene.fetch(
        200,
        &[
            (
                "ratelimit-policy",
                r#""second";q=20;w=1, "hour";q=3600;w=3600"#,
            ),
            ("ratelimit", r#""second";r=20;t=1, "hour";r=1800;t=3599"#),
        ],
    );
    assert!(near(rate(&scene), 0.5), "{}", rate(&scene));
    assert!(
        matches!(&observed.changes[0], Change::RateAdjusted { trigger, .. } if trigger == "hour")
    );
}

#[test]
fn h5_a_quota_that_is_used_up_is_no_reason_for_another_to_take_the_pace_up() {
    let told = |second: u64, minute: u64| {
        let policy = r#""second";q=10;w=1, "minute";q=6000;w=60"#.to_owned();
        let state = format!(r#""second";r={second};t=1, "minute";r={minute};t=60"#);
        [("ratelimit-policy", policy), ("ratelimit", state)]
            .map(|(name, value)| (name.to_owned(), value))
    };
    let mut scene = fast();
    scene.fetch(200, &fields(&told(5, 5_990)));
    let before = rate(&scene);
    scene.fetch(200, &fields(&told(0, 5_989)));
    assert_eq!(rate(&scene), before);
    assert_eq!(scene.bound().reason, Reason::QuotaExhausted);
}

#[test]
fn h5_refusals_do_not_steer() {
    let mut scene = fast();
    scene.fetch(429, &fields(&quota(50, 5, 40, "5")));
    assert_eq!(
        pace(&scene.policy, &scene.state),
        Some((20.0, Reason::Rate))
    );
}

#[test]
fn h5_http_client_does_not_steer_on_success() {
    let mut scene = Scene::http_client();
    scene.fetch(200, &fields(&quota(50, 5, 0, "5")));
    assert!(scene.wait().is_zero(), "{:?}", scene.bound());
}

/// A window that closes at `ends`, read at each of `times`.
fn read_at(scene: &mut Scene, ends: Timestamp, times: &[u64], reset: impl Fn(Duration) -> u64) {
    for (nth, &at) in times.iter().enumerate() {
        let at = START.after(ms(at));
        let seq = scene.state.departures() + 1;
        scene.now = at;
        scene.depart_now();
        scene.pass(LATENCY);
        let said = reset(ends.since(scene.now)).to_string();
        let said = [
            ("x-ratelimit-limit", "1000"),
            ("x-ratelimit-remaining", &(900 - nth).to_string()),
            ("x-ratelimit-reset", &said),
        ]
        .map(|(name, value)| (name, value.to_owned()));
        let said: Vec<(&str, &str)> = said.iter().map(|(name, value)| (*name, &**value)).collect();
        scene.answer(seq, at, 200, &said);
    }
}

#[test]
fn h5a_the_readings_of_one_window_bracket_its_reset() {
    type Rounded = fn(Duration) -> u64;
    let roundings: [(&str, Rounded); 3] = [
        ("up", |left| left.as_millis().div_ceil(1_000) as u64),
        ("down", |left| left.as_secs()),
        ("nearest", |left| (left + ms(500)).as_secs()),
    ];
    for (how, rounded) in roundings {
        let ends = START.after(ms(10_400));
        let mut scene = fast().but(|p| p.rate = Some(1_000.0));
        read_at(&mut scene, ends, &[0], rounded);
        let first = scene.state.quotas()[0].reset.unwrap();
        assert!(first.earliest() <= ends && ends <= first.latest(), "{how}");
        assert!(first.latest().since(first.earliest()) <= secs(2) + LATENCY);
        read_at(
            &mut scene,
            ends,
            &[300, 350, 380, 420, 860, 910, 1_500],
            rounded,
        );
        let last = scene.state.quotas()[0].reset.unwrap();
        assert!(last.earliest() <= ends && ends <= last.latest(), "{how}");
        assert!(
            last.latest().since(last.earliest()) < ms(1_150),
            "{how}: the bracket is no narrower than {:?}",
            last.latest().since(last.earliest())
        );
        assert!(last.latest() <= first.latest() && last.earliest() >= first.earliest());
    }
}

#[test]
fn h5a_how_a_server_rounds_is_learned_from_when_its_quota_refilled() {
    let mut scene = fast().but(|p| p.rate = Some(1_000.0));
    let up = |left: Duration| left.as_millis().div_ceil(1_000) as u64;
    let ends = START.after(secs(5));
    read_at(&mut scene, ends, &[0, 900, 990, 1_010, 4_900], up);
    // Until the window has ended it may as well be rounded down, and last until the sixth second.
    assert!(resets_by(&scene) > START.after(ms(5_900)));
    let (seq, at) = (scene.state.departures() + 1, START.after(ms(5_050)));
    scene.now = at;
    scene.depart_now();
    scene.pass(LATENCY);
    scene.answer(
        seq,
        at,
        200,
        &[
            ("x-ratelimit-limit", "1000"),
            ("x-ratelimit-remaining", "999"),
            ("x-ratelimit-reset", "5"),
        ],
    );
    // It refilled at the fifth: it is rounded up, so that 5 means five at most.
    assert_eq!(resets_by(&scene), scene.now.after(secs(5)));
}

#[test]
fn h5a_a_refusal_after_the_reset_unlearns_how_the_server_rounds() {
    let mut scene = fast().but(|p| p.rate = Some(1_000.0));
    let said = |remaining: &'static str, reset: &'static str| {
        [
            ("x-ratelimit-limit", "1000"),
            ("x-ratelimit-remaining", remaining),
            ("x-ratelimit-reset", reset),
        ]
    };
    scene.fetch(200, &said("500", "2"));
    scene.pass(ms(1_200));
    scene.fetch(200, &said("999", "2"));
    let ends = scene.now.after(secs(2));
    assert_eq!(resets_by(&scene), ends, "it rounds up");
    scene.pass(secs(2));
    scene.fetch(429, &said("0", "1"));
    let later = ends.after(secs(1));
    assert_eq!(resets_by(&scene), later, "or down after all");
}

#[test]
fn h5a_a_time_of_day_that_has_changed_is_another_window() {
    let mut scene = fast().but(|p| p.rate = Some(1_000.0));
    for (at, remaining, reset, date) in [
        (0, "5", "1700000001", "Tue, 14 Nov 2023 22:13:20 GMT"),
        (1_200, "4", "1700000003", "Tue, 14 Nov 2023 22:13:21 GMT"),
    ] {
        scene.now = START.after(ms(at));
        scene.fetch(
            200,
            &[
                ("x-ratelimit-remaining", remaining),
                ("x-ratelimit-reset", reset),
                ("date", date),
            ],
        );
    }
    assert!(
        resets_by(&scene) >= START.after(secs(3)),
        "{}",
        resets_by(&scene)
    );
}

#[test]
fn h5a_clocks_that_drift_apart_make_no_window_roll() {
    let mut scene = fast().but(|p| p.rate = Some(1_000.0));
    for hundreds in 0..36_u64 {
        scene.now = START.after(secs(100 * hundreds));
        // The server's clock is slow by one in two thousand.
        let reset = 3_600.0 - 100.0 * hundreds as f64 * 0.999_5;
        let said = quota(1_000, 3_600, 999 - hundreds, &format!("{reset:.3}"));
        scene.fetch(200, &fields(&said));
        let known = &scene.state.quotas()[0];
        assert!(!known.rolling, "after {} s", 100 * hundreds);
    }
}

#[test]
fn h5a_a_window_that_is_running_ends_within_its_length() {
    let mut scene = fast();
    scene.fetch(200, &fields(&quota(50, 5, 49, "5")));
    assert_eq!(resets_by(&scene), scene.now.after(secs(5)));
    let mut scene = fast();
    scene.fetch(
        200,
        &[("ratelimit-remaining", "49"), ("ratelimit-reset", "5")],
    );
    assert_eq!(resets_by(&scene), scene.now.after(secs(6)));
}

#[test]
fn h5a_zero_in_whole_seconds_means_under_one() {
    let mut scene = fast();
    scene.fetch(200, &fields(&quota(50, 5, 0, "0")));
    assert_eq!(scene.bound().reason, Reason::QuotaExhausted);
    assert_eq!(scene.wait(), secs(1));
}

#[test]
fn h5a_who_says_zero_does_not_round_up() {
    let mut scene = fast();
    let said = |remaining: &'static str, reset: &'static str| {
        [
            ("ratelimit-remaining", remaining),
            ("ratelimit-reset", reset),
        ]
    };
    scene.fetch(200, &said("40", "1"));
    let wide = scene.state.quotas()[0].reset.unwrap();
    scene.fetch(200, &said("39", "0"));
    let narrow = scene.state.quotas()[0].reset.unwrap();
    assert!(narrow.earliest() >= wide.earliest().after(ms(500)));
}

#[test]
fn h5b_a_reset_that_does_not_count_down_is_a_rolling_window_paced_by_its_length() {
    let mut scene = fast().but(|p| p.burst = 1);
    // A sliding log: what is left is the limit less what departed in the last ten seconds.
    let mut departures: Vec<Timestamp> = Vec::new();
    while scene.now < START.after(secs(60)) {
        let seq = scene.depart();
        let at = scene.now;
        departures.push(at);
        let lately = departures.iter().filter(|then| at.since(**then) < secs(10));
        let remaining = 100 - lately.count() as u64;
        scene.pass(LATENCY);
        scene.answer(seq, at, 200, &fields(&quota(100, 10, remaining, "10")));
    }
    assert!(scene.state.quotas()[0].rolling);
    let last = departures.iter().filter(|at| **at > START.after(secs(40)));
    let rate = last.count() as f64 / 20.0;
    assert!((9.0..=10.0).contains(&rate), "{rate} of 10 per second");
}

#[test]
fn h6_nothing_left_holds_until_the_upper_end_of_the_bracket_and_no_longer() {
    let mut scene = fast();
    scene.fetch(
        200,
        &[("ratelimit-remaining", "0"), ("ratelimit-reset", "4")],
    );
    assert_eq!(scene.bound().reason, Reason::QuotaExhausted);
    assert_eq!(scene.wait(), secs(5), "four seconds, rounded down at worst");
    let mut scene = fast();
    scene.fetch(200, &fields(&quota(50, 4, 0, "4")));
    assert_eq!(scene.wait(), secs(4), "the window is no longer than that");
}

#[test]
fn h6_the_bound_is_told_with_the_answers_that_it_waits_for() {
    let mut scene = fast();
    scene.fetch(200, &fields(&quota(50, 1, 1, "1")));
    scene.depart();
    let told = scene.bound();
    assert_eq!(
        told.reason,
        Reason::FirstAnswer,
        "whether it comes back whole is not known"
    );
    scene.now = resets_by(&scene);
    assert_eq!(scene.bound(), told);
}

#[test]
fn h6_a_quota_in_another_unit_holds_when_it_is_used_up_and_in_http_client_only_on_a_refusal() {
    let said = [
        ("x-ratelimit-limit-tokens", "1000"),
        ("x-ratelimit-remaining-tokens", "0"),
        ("x-ratelimit-reset-tokens", "20s"),
    ];
    for (mut scene, status, holds) in [
        (Scene::compliant(), 200, true),
        (Scene::compliant(), 429, true),
        (Scene::http_client(), 200, false),
        (Scene::http_client(), 429, true),
    ] {
        scene.fetch(status, &said);
        let held = scene.state.hold(scene.now).is_some();
        assert_eq!(held, holds, "{status} in {:?}", scene.policy.preset);
    }
}

#[test]
fn h6_where_the_reset_is_missing_the_floor_is_the_rate() {
    let mut scene = Scene::compliant().but(|p| p.burst = 1);
    scene.fetch(200, &[("ratelimit-remaining", "0")]);
    assert!(near(rate(&scene), 0.1), "{}", rate(&scene));
    assert_eq!(scene.bound().reason, Reason::Quota);
}

#[test]
fn h6_what_is_used_up_by_what_departed_holds_as_well() {
    let mut scene = fast().but(|p| p.burst = 3);
    scene.fetch(200, &fields(&quota(3, 60, 2, "60")));
    scene.depart_now();
    scene.depart();
    assert_eq!(scene.bound().reason, Reason::QuotaExhausted);
    assert!(scene.bound().not_before >= START.after(secs(60)));
}

#[test]
fn h6_no_token_accrues_while_nothing_is_left() {
    let mut scene = Scene::compliant().but(|p| p.max_rate = Some(100.0));
    // It has been seen to come back whole.
    scene.fetch(200, &fields(&quota(50, 5, 1, "1.0")));
    scene.pass(secs(1));
    scene.fetch(200, &fields(&quota(50, 5, 49, "5.0")));
    scene.pass(secs(2));
    scene.fetch(200, &fields(&quota(50, 5, 0, "3.0")));
    let first = scene.gap();
    assert!(first >= ms(2_990), "{first:?}");
    assert!(scene.wait() >= ms(90), "{:?}", scene.bound());
}

#[test]
fn h7_nothing_left_until_an_instant_ago_speeds_nothing_up() {
    for reset in ["0.000", "1700000000", "0.010"] {
        let mut scene = Scene::compliant().but(|p| p.burst = 1);
        scene.fetch(
            200,
            &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", reset)],
        );
        assert!(scene.wait() >= ms(495), "{reset}: {:?}", scene.bound());
    }
}

#[test]
fn h7_a_quota_that_is_published_no_more_is_waited_for_no_more() {
    let mut scene = fast();
    scene.fetch(200, &fields(&quota(3, 5, 2, "5.0")));
    scene.pass(secs(60));
    scene.fetch(200, &[]);
    let first = scene.depart();
    let departed = scene.now;
    scene.depart();
    scene.depart();
    assert_eq!(
        scene.state.in_flight(),
        3,
        "none waits for the answer to another"
    );
    scene.pass(LATENCY);
    scene.answer(first, departed, 200, &fields(&quota(3, 5, 0, "5.0")));
    assert_eq!(scene.bound().reason, Reason::QuotaExhausted, "it is back");
}

#[test]
fn h7_an_answer_without_a_quota_leaves_the_rate_as_it_is() {
    let mut scene = fast();
    scene.fetch(200, &fields(&quota(100, 50, 50, "50")));
    let before = rate(&scene);
    for said in [
        vec![],
        vec![("ratelimit-remaining", "many")],
        vec![("ratelimit-reset", "-5"), ("ratelimit-remaining", "NaN")],
        vec![("ratelimit", "r=1000000;t=1")],
        vec![("x-ratelimit-limit", "")],
    ] {
        let observed = scene.fetch(200, &said);
        assert_eq!(rate(&scene), before, "{said:?}");
        assert_eq!(observed.changes, [], "{said:?}");
    }
}

#[test]
fn h7_when_the_reset_has_passed_the_learned_rate_stays() {
    let mut scene = fast();
    scene.fetch(200, &fields(&quota(100, 50, 50, "50")));
    let before = rate(&scene);
    scene.pass(secs(3_600));
    scene.fetch(200, &[]);
    assert_eq!(rate(&scene), before);
}

#[test]
fn h8_a_quota_never_raises_the_rate_above_the_ceiling_and_an_operators_cap_lowers_it() {
    for (max_rate, cap, ceiling) in [
        (None, None, 10.0),
        (Some(50.0), None, 50.0),
        (Some(50.0), Some(3.0), 3.0),
        (None, Some(3.0), 3.0),
    ] {
        let mut scene =
            Scene::compliant().but(|p| (p.max_rate, p.tos_cap, p.burst) = (max_rate, cap, 1));
        let mut left = 100_000;
        let mut departures = Vec::new();
        for _ in 0..50 {
            left -= 1;
            scene.fetch(200, &fields(&quota(100_000, 10, left, "10")));
            departures.push(scene.now.before(LATENCY));
        }
        assert!(near(rate(&scene), ceiling), "{max_rate:?}, cap {cap:?}");
        let shortest = departures.windows(2).map(|two| two[1].since(two[0])).min();
        assert!(
            shortest.unwrap().as_secs_f64() >= 1.0 / ceiling - 1e-6,
            "{max_rate:?}, cap {cap:?}: {shortest:?}"
        );
    }
}

#[test]
fn h8_the_ceiling_binds_also_where_the_reset_is_sooner() {
    for (cap, remaining, reset) in [(1.0, 3, "0.3"), (2.0, 1, "0"), (2.0, 1_000, "2.0")] {
        let mut scene = Scene::compliant().but(|p| (p.tos_cap, p.burst) = (Some(cap), 1));
        scene.fetch(200, &fields(&quota(5_000, 5, remaining, reset)));
        assert_eq!(
            scene.bound().not_before,
            START.after(secs(1).div_f64(cap)),
            "{remaining} in {reset}"
        );
    }
}

#[test]
fn h8_an_operators_cap_binds_a_silent_server_and_a_preset_without_a_bucket() {
    for scene in [Scene::compliant(), Scene::http_client()] {
        let mut scene = scene.but(|p| (p.tos_cap, p.burst) = (Some(0.5), 1));
        scene.fetch(200, &[]);
        assert_eq!(scene.bound().not_before, START.after(secs(2)));
        assert_eq!(scene.bound().reason, Reason::Rate);
    }
}

#[test]
fn h8_what_is_over_the_days_cap_is_deferred_until_the_day_is_over_and_after_a_restart_too() {
    let mut scene = Scene::compliant().but(|p| (p.day_cap, p.rate) = (Some(3), Some(10.0)));
    for _ in 0..3 {
        scene.fetch(200, &[]);
    }
    let stored = serde_json::to_string(&scene.state).unwrap();
    let stored: curtsy_core::HostState = serde_json::from_str(&stored).unwrap();
    scene.state = stored.restored(&scene.policy, scene.now);
    let curtsy_core::Decision::Defer(bound) = scene.decide() else {
        panic!("{:?}", scene.decide())
    };
    assert_eq!(bound.reason, Reason::DayCap);
    let wait = bound.not_before.since(START);
    assert!(wait >= secs(86_400) && wait <= secs(27 * 3_600), "{wait:?}");
    scene.now = bound.not_before;
    scene.depart_now();
    // Where nobody caps it, nothing is counted.
    let mut free = Scene::compliant();
    free.fetch(200, &[]);
    assert!(
        !serde_json::to_string(&free.state)
            .unwrap()
            .contains("\"y\"")
    );
}

#[test]
fn h7_a_reset_in_another_form_than_the_scope_settled_on_brings_nothing_nearer() {
    let said = |remaining, reset| {
        [
            ("x-ratelimit-limit", "100"),
            ("x-ratelimit-remaining", remaining),
            ("x-ratelimit-reset", reset),
        ]
    };
    let (epoch, later) = ("1700000600", "1700000900");
    for (others, expected) in [
        // Zero among epochs is neither the year 1970 nor "now".
        (&["0"][..], 600),
        (&["30"], 600),
        (&["30", epoch, "29"], 600),
        // The next one in a row shows that the server has changed its ways.
        (&["30", "30"], 31),
        // Nothing is said against what only puts it off.
        (&["900"], 901),
        (&[later], 901),
    ] {
        let mut scene = fast();
        scene.fetch(200, &said("99", epoch));
        for other in others {
            scene.fetch(200, &said("90", other));
            scene.state =
                serde_json::from_str(&serde_json::to_string(&scene.state).unwrap()).unwrap();
        }
        let ends = resets_by(&scene).since(START).as_secs();
        assert!(ends.abs_diff(expected) <= 15, "{others:?}: {ends} s");
    }
}
