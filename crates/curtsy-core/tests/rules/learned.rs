//! L1–L5: the learned pace, one overload at a time. Whole servers are in `tests/simulator`.

use curtsy_core::{Answer, Change, Failure, HostState, Kind, Reason};

use crate::scene::{START, Scene, ms, secs};

const DAY: u64 = 24 * 3_600;

/// A scope paced at 20/s, one request at a time.
fn fast() -> Scene {
    Scene::compliant().but(|p| (p.rate, p.burst) = (Some(20.0), 1))
}

/// One that a hidden quota of 50 in 5 s has refused once, with all that belongs to it: admitted again at 5.6 s.
fn refused() -> Scene {
    let mut scene = fast();
    (0..50).for_each(|_| drop(scene.fetch(200, &[])));
    scene.fetch(429, &[]);
    scene.fetch(429, &[]);
    scene.fetch(200, &[]);
    scene
}

fn learned(scene: &Scene) -> f64 {
    scene.state.learned_pace().unwrap().rate
}

#[test]
fn l1_nothing_is_learned_without_an_overload_nor_of_a_quota_that_is_published() {
    let mut scene = fast();
    (0..100).for_each(|_| drop(scene.fetch(200, &[])));
    assert_eq!(scene.state.learned_pace(), None);
    let told = [
        ("ratelimit-limit", "50"),
        ("ratelimit-remaining", "40"),
        ("ratelimit-reset", "5"),
    ];
    scene.fetch(200, &told);
    scene.fetch(429, &[]);
    scene.fetch(200, &told);
    assert_eq!(scene.state.learned_pace(), None);
}

#[test]
fn l2_the_rate_restarts_under_the_middle_of_the_bracket() {
    let scene = refused();
    let passed = scene.now.since(START).as_secs_f64();
    // 50 were admitted; one was refused after 3.5 s, and the one after 5.6 s was not.
    assert!((5.5..5.7).contains(&passed), "{passed}");
    let (low, high) = (50.0 / 5.6, 50.0 / 3.5);
    let expected = 0.97 * (low + 0.4 * (high - low));
    let rate = learned(&scene);
    assert!((rate - expected).abs() < 0.2, "{rate} is not {expected}");
    assert_eq!(scene.bound().reason, Reason::LearnedRate);
}

#[test]
fn l2_it_restarts_without_a_burst_and_on_record() {
    let mut scene = fast().but(|p| p.burst = 50);
    (0..60).for_each(|_| drop(scene.fetch(200, &[])));
    scene.fetch(429, &[]);
    let observed = scene.fetch(200, &[]);
    assert!(observed.changes.iter().any(|change| matches!(
        change,
        Change::RateAdjusted { before: Some(20.0), after, trigger } if *after < 20.0 && trigger == "overload"
    )));
    scene.pass(secs(5));
    scene.depart_now();
    assert!(scene.wait() > ms(50), "{:?}", scene.bound());
}

#[test]
fn l2_a_later_overload_is_waited_for_as_long_as_the_server_has_taken_to_recover() {
    let mut scene = refused();
    let began = scene.now;
    (0..30).for_each(|_| drop(scene.fetch(200, &[])));
    scene.fetch(429, &[]);
    let recovered = scene.bound().not_before.since(began);
    assert!((secs(5)..secs(7)).contains(&recovered), "{recovered:?}");
}

#[test]
fn l3_in_health_it_grows_toward_what_failed_and_stays_under_it_for_twenty_periods() {
    let mut scene = refused();
    let (restart, mut before) = (learned(&scene), learned(&scene));
    for period in 1..=20 {
        (0..restart as u64 * 5).for_each(|_| drop(scene.fetch(200, &[])));
        let now = learned(&scene);
        assert!(now >= before, "{period}: {now} after {before}");
        before = now;
    }
    assert!(before > restart && before < 50.0 / 3.5, "{before}");
    (0..2_000).for_each(|_| drop(scene.fetch(200, &[])));
    assert!(
        learned(&scene) > 50.0 / 3.5,
        "a limit that was raised is found"
    );
    assert!(scene.bound().not_before <= scene.now.after(ms(51)));
}

#[test]
fn l3_it_survives_a_restart_ages_and_is_forgotten() {
    let scene = refused();
    let text = serde_json::to_string(&scene.state).unwrap();
    let restored: HostState = serde_json::from_str(&text).unwrap();
    assert_eq!(restored, scene.state);
    for (days, expected) in [(0, 0.0), (2, 1.0), (40, f64::INFINITY)] {
        let mut scene = refused();
        let before = learned(&scene);
        scene.pass(secs(days * DAY + 20));
        scene.fetch(200, &[]);
        let after = scene
            .state
            .learned_pace()
            .map_or(f64::INFINITY, |pace| pace.rate);
        assert!(
            after - before >= expected,
            "{days} days: {before} then {after}"
        );
    }
}

#[test]
fn l4_one_probe_at_a_time_until_a_healthy_answer_ends_the_backoff() {
    let mut scene = fast();
    scene.fetch(200, &[]);
    scene.fetch(503, &[]);
    scene.fetch(503, &[]);
    assert_eq!(scene.state.dynamic_delay(), secs(2));
    let probe = scene.depart();
    assert_eq!(scene.bound().reason, Reason::Probe);
    let departed = scene.now;
    scene.answer(probe, departed, 200, &[]);
    assert!(scene.state.dynamic_delay().is_zero());
    assert!(scene.wait() <= ms(100));
}

#[test]
fn l4_after_an_outage_load_returns_by_half_and_then_in_full_with_a_clean_round_trip() {
    let mut scene = fast();
    (0..20).for_each(|_| drop(scene.fetch(200, &[])));
    (0..3).for_each(|_| drop(scene.fetch(503, &[])));
    scene.fetch(200, &[]);
    assert_eq!(learned_pace(&scene), 10.0);
    scene.fetch(200, &[]);
    assert_eq!(learned_pace(&scene), 20.0);
}

#[test]
fn l4_an_outage_that_comes_back_at_once_is_a_limit() {
    let mut scene = fast();
    for _ in 0..2 {
        (0..20).for_each(|_| drop(scene.fetch(200, &[])));
        (0..3).for_each(|_| drop(scene.fetch(503, &[])));
        scene.fetch(200, &[]);
    }
    assert!(learned(&scene) < 20.0);
}

#[test]
fn l4_a_failure_now_and_then_whatever_the_rate_does_not_wear_it_down() {
    for (status, every) in [(503, 97), (503, 40), (504, 300)] {
        let mut scene = fast();
        let begun = scene.now;
        for nth in 1..=4_000 {
            let status = if nth % every == 0 { status } else { 200 };
            scene.fetch(status, &[]);
        }
        let rate = 4_000.0 / scene.now.since(begun).as_secs_f64();
        assert!(rate > 8.0, "{status} every {every}: {rate:.1}/s");
    }
}

#[test]
fn l4_broken_connections_never_count_as_a_limit() {
    let mut scene = fast();
    for _ in 0..5 {
        (0..20).for_each(|_| drop(scene.fetch(200, &[])));
        scene.fail(Failure::Reset);
        scene.fetch(200, &[]);
    }
    assert_eq!(scene.state.learned_pace(), None);
}

fn learned_pace(scene: &Scene) -> f64 {
    curtsy_core::pace(&scene.policy, &scene.state).unwrap().0
}

#[test]
fn l5_a_refusal_among_more_than_were_ever_admitted_is_about_their_number() {
    let mut scene = fast().but(|p| (p.burst, p.per_host) = (10, 8));
    scene.fetch(200, &[]);
    scene.pass(secs(10));
    let flights: Vec<u64> = (0..4).map(|_| scene.depart_now().seq).collect();
    let departed = scene.now;
    scene.answer(flights[3], departed, 429, &[]);
    for flight in &flights[..3] {
        scene.answer(*flight, departed, 200, &[]);
    }
    scene.fetch(200, &[]);
    assert_eq!(scene.state.learned_concurrency(), Some(3));
    assert_eq!(scene.state.learned_pace(), None);
    scene.pass(secs(10));
    (0..3).for_each(|_| _ = scene.depart());
    assert_eq!(scene.bound().reason, Reason::Concurrency);
}

#[test]
fn l5_latency_that_rises_with_load_lowers_it_and_quiet_raises_it_again() {
    let mut scene = fast().but(|p| (p.burst, p.per_host) = (10, 8));
    scene.fetch(200, &[]);
    for _ in 0..5 {
        scene.pass(secs(10));
        let pair = [scene.depart_now().seq, scene.depart_now().seq];
        let departed = scene.now;
        scene.pass(ms(100));
        for seq in pair {
            scene.answer(seq, departed, 200, &[]);
        }
    }
    assert_eq!(scene.state.learned_concurrency(), Some(1));
    (0..300).for_each(|_| drop(scene.fetch(200, &[])));
    assert_eq!(scene.state.learned_concurrency(), None);
}

#[test]
fn l5_a_quick_robots_txt_makes_no_page_slow() {
    let mut scene = fast().but(|p| (p.burst, p.per_host) = (10, 8));
    let robots = scene.depart();
    let departed = scene.now;
    let signal = Default::default();
    let answer = Answer::Head {
        status: 200,
        latency: ms(1),
        signal: &signal,
    };
    scene.observe(robots, departed, Kind::Robots, &answer);
    scene.fetch(200, &[]);
    for _ in 0..20 {
        scene.pass(secs(10));
        let pair = [scene.depart_now().seq, scene.depart_now().seq];
        let departed = scene.now;
        scene.pass(ms(8));
        for seq in pair {
            scene.answer(seq, departed, 200, &[]);
        }
    }
    assert_eq!(scene.state.learned_concurrency(), None);
}
