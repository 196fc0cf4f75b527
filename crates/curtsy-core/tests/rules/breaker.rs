//! K: the circuit breaker.

use curtsy_core::{Breaker, Change, Decision, Failure, Observed, Reason};

use crate::scene::{LATENCY, Scene, ms, secs};

/// What opened the breaker, if it opened.
fn opened_by(observed: &Observed) -> Option<&str> {
    observed.changes.iter().find_map(|change| match change {
        Change::BreakerOpened { trigger, .. } => Some(trigger.as_str()),
        _ => None,
    })
}

#[test]
fn k1_opens_when_the_delay_has_been_above_45_seconds_three_overloads_in_a_row() {
    let mut scene = Scene::compliant();
    // 1, 2, 4, 8, 16, 32; then 64, 128, 256.
    for nth in 1..=9 {
        let observed = scene.fetch(503, &[]);
        let expected = (nth == 9).then_some("dynamic_delay");
        assert_eq!(opened_by(&observed), expected, "overload {nth}");
    }
}

#[test]
fn k1_an_overload_counts_once_however_many_were_in_flight() {
    let mut scene = Scene::compliant().but(|p| (p.rate, p.max_rate) = (Some(100.0), None));
    scene.fetch(200, &[]);
    for nth in 1..=8 {
        scene.pass(secs(600));
        let seqs: Vec<u64> = (0..3).map(|_| scene.depart()).collect();
        let departed = scene.now;
        scene.pass(LATENCY);
        for seq in seqs {
            let observed = scene.answer(seq, departed, 503, &[]);
            assert_eq!(opened_by(&observed), None, "overload {nth}");
        }
    }
}

#[test]
fn k1_a_delay_that_has_come_down_starts_over() {
    let mut scene = Scene::compliant();
    (0..8).for_each(|_| drop(scene.fetch(503, &[])));
    let mut scene = scene.but(|p| p.backoff_decay = secs(200));
    scene.fetch(200, &[]);
    assert!(scene.state.dynamic_delay() < secs(45));
    let mut scene = scene.but(|p| p.backoff_decay = secs(1));
    for nth in 1..=2 {
        // It doubles from 1 s again: the second is far below.
        assert_eq!(opened_by(&scene.fetch(503, &[])), None, "{nth}");
    }
}

#[test]
fn k1_opens_when_more_than_half_of_the_last_twenty_failed_and_ten_were_seen() {
    for (outcomes, opens) in [
        ("ffffffffff", true),
        ("fffffffff", false),
        ("fffffhhhhh", false),
        ("fffffhhhhhf", true),
        ("hhhhhhhhhhhhhhhhhhhhfffffffffff", true),
        ("hhhhhhhhhhhhhhhhhhhhffffffffff", false),
        ("tttttttttt", false),
    ] {
        let mut scene = Scene::compliant().but(|p| p.backoff_max = secs(2));
        let mut last = None;
        for outcome in outcomes.chars() {
            let observed = match outcome {
                'f' => scene.fetch(500, &[]),
                't' => scene.fetch(429, &[]),
                _ => scene.fetch(200, &[]),
            };
            assert_eq!(last, None, "{outcomes}: it had opened before the last");
            last = opened_by(&observed).map(str::to_owned);
        }
        assert_eq!(
            last.as_deref() == Some("failure_share"),
            opens,
            "{outcomes}"
        );
    }
}

#[test]
fn k1_connections_that_fail_count_as_failures() {
    let mut scene = Scene::compliant().but(|p| p.backoff_max = secs(2));
    let opened: Vec<bool> = (0..10)
        .map(|_| opened_by(&scene.fail(Failure::Refused)).is_some())
        .collect();
    assert_eq!(opened.iter().position(|opened| *opened), Some(9));
}

#[test]
fn k1_http_client_has_none() {
    let mut scene = Scene::http_client();
    (0..40).for_each(|_| drop(scene.fail(Failure::Refused)));
    assert_eq!(scene.state.breaker(), Breaker::Closed);
}

/// A scene whose breaker has just opened.
fn broken() -> Scene {
    let mut scene = Scene::compliant().but(|p| p.backoff_max = secs(2));
    (0..10).for_each(|_| drop(scene.fetch(500, &[])));
    assert!(matches!(scene.state.breaker(), Breaker::Open { .. }));
    scene
}

#[test]
fn k2_while_it_is_open_nothing_departs_and_everything_is_deferred() {
    let mut scene = broken();
    for _ in 0..60 {
        match scene.decide() {
            Decision::Defer(bound) => assert_eq!(bound.reason, Reason::BreakerOpen),
            other => panic!("{other:?}"),
        }
        scene.pass(ms(999));
    }
    // Also where a slower pace binds.
    let scene = broken().but(|p| p.delay = Some(curtsy_core::Interval::fixed(secs(600))));
    assert!(matches!(scene.decide(), Decision::Defer(_)));
}

#[test]
fn k3_one_probe_departs_after_a_minute_and_all_else_waits_for_its_answer() {
    let mut scene = broken();
    scene.pass(secs(60));
    let probe = scene.depart_now();
    assert_eq!(probe.bound.reason, Reason::BreakerOpen);
    assert!(matches!(scene.state.breaker(), Breaker::HalfOpen { .. }));
    match scene.decide() {
        Decision::Wait(bound) => assert_eq!(bound.reason, Reason::Probe),
        other => panic!("{other:?}"),
    }
}

#[test]
fn k3_a_healthy_probe_closes_it_and_keeps_the_delay() {
    let mut scene = Scene::linear();
    (0..9).for_each(|_| drop(scene.fetch(503, &[])));
    assert!(matches!(scene.state.breaker(), Breaker::Open { .. }));
    let observed = scene.fetch(200, &[]);
    assert!(observed.changes.contains(&Change::BreakerClosed));
    assert_eq!(scene.state.breaker(), Breaker::Closed);
    assert_eq!(scene.state.dynamic_delay(), secs(255));
    assert_eq!(scene.bound().reason, Reason::DynamicDelay);
}

#[test]
fn k3_where_the_pace_is_learned_load_returns_by_it() {
    let mut scene = Scene::compliant();
    (0..9).for_each(|_| drop(scene.fetch(503, &[])));
    assert!(matches!(scene.state.breaker(), Breaker::Open { .. }));
    scene.fetch(200, &[]);
    assert_eq!(scene.state.breaker(), Breaker::Closed);
    assert!(scene.state.dynamic_delay().is_zero());
    assert_eq!(scene.bound().reason, Reason::LearnedRate);
}

#[test]
fn k3_any_other_probe_opens_it_again_for_twice_as_long_up_to_an_hour() {
    let mut scene = broken();
    let mut minutes = Vec::new();
    for outcome in ["500", "503", "refused", "403", "500", "500", "500"] {
        scene.pass(scene.wait());
        let probe = scene.depart_now().seq;
        let departed = scene.now;
        scene.pass(LATENCY);
        let observed = match outcome {
            "refused" => {
                let answer = curtsy_core::Answer::Failed(Failure::Refused);
                scene.observe(probe, departed, curtsy_core::Kind::Page, &answer)
            }
            status => scene.answer(probe, departed, status.parse().unwrap(), &[]),
        };
        assert_eq!(opened_by(&observed), Some("probe_failed"), "{outcome}");
        match scene.state.breaker() {
            Breaker::Open { until, .. } => minutes.push(until.since(scene.now).as_secs() / 60),
            other => panic!("{outcome}: {other:?}"),
        }
    }
    assert_eq!(minutes, [2, 4, 8, 16, 32, 60, 60]);
}

#[test]
fn k3_a_probe_that_is_never_answered_makes_room_for_another() {
    let mut scene = broken();
    scene.pass(secs(60));
    scene.depart_now();
    scene.pass(scene.wait());
    scene.depart_now();
    assert!(matches!(scene.state.breaker(), Breaker::HalfOpen { .. }));
}

#[test]
fn k3_stragglers_from_before_it_opened_say_nothing_new() {
    let mut scene = Scene::compliant().but(|p| p.backoff_max = secs(2));
    (0..9).for_each(|_| drop(scene.fetch(500, &[])));
    let (last, straggler) = (scene.depart(), scene.depart());
    let departed = scene.now;
    scene.pass(LATENCY);
    scene.answer(last, departed, 500, &[]);
    let before = scene.state.breaker();
    for status in [200, 500] {
        scene.answer(straggler, departed, status, &[]);
        assert_eq!(scene.state.breaker(), before, "{status}");
    }
}

#[test]
fn k3_after_it_the_bucket_is_empty() {
    let mut scene = broken();
    scene.fetch(200, &[]);
    assert_eq!(scene.wait(), ms(500), "{:?}", scene.bound());
    assert_eq!(scene.bound().reason, Reason::Rate);
}
