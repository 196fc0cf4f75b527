//! H1–H3, H9–H11: waits that a server asks for.

use std::time::Duration;

use curtsy_core::{Change, Class, Decision, Draw, Reason, duration_from_secs};

use crate::scene::{LATENCY, Scene, fields, holds, ms, quota, secs};

/// When the hold ends that is in force.
fn held_for(scene: &Scene) -> Duration {
    scene
        .state
        .hold(scene.now)
        .map_or(Duration::ZERO, |hold| hold.until.since(scene.now))
}

#[test]
fn h1_a_refusal_with_a_wait_holds_for_that_and_a_buffer_of_a_tenth_to_a_seventh() {
    for (status, draw, expected) in [
        (429, Draw::LEAST, ms(22_000)),
        (429, Draw::GREATEST, ms(23_000)),
        (503, Draw::new(0.5), ms(22_500)),
    ] {
        let mut scene = Scene::compliant();
        scene.draw = draw;
        let observed = scene.fetch(status, &[("retry-after", "20")]);
        assert_eq!(observed.class, Some(Class::Throttled), "{status}");
        assert_eq!(held_for(&scene), expected, "{status} at {draw:?}");
        assert_eq!(holds(&observed), [(secs(20), expected - secs(20))]);
    }
}

#[test]
fn h1_the_buffer_is_a_minute_at_most() {
    let mut scene = Scene::compliant();
    scene.fetch(429, &[("retry-after", "36000")]);
    assert_eq!(held_for(&scene), secs(36_060));
}

#[test]
fn h1_http_client_waits_as_told() {
    let mut scene = Scene::http_client();
    scene.draw = Draw::GREATEST;
    scene.fetch(429, &[("retry-after", "20")]);
    assert_eq!(held_for(&scene), secs(20));
}

#[test]
fn h1_nothing_shortens_a_hold_and_a_later_bound_still_binds() {
    let mut scene = Scene::compliant();
    scene.fetch(200, &[]);
    let in_flight: Vec<u64> = (0..3).map(|_| scene.depart()).collect();
    let departed = scene.now;
    scene.pass(LATENCY);
    scene.answer(in_flight[0], departed, 429, &[("retry-after", "100")]);
    let until = scene.bound().not_before;
    for (seq, status, said) in [
        (in_flight[1], 429, vec![("retry-after", "5")]),
        (in_flight[2], 200, vec![]),
    ] {
        scene.answer(seq, departed, status, &said);
        assert!(scene.bound().not_before >= until, "{status} {said:?}");
    }
    let mut scene = scene.but(|p| p.delay = Some(curtsy_core::Interval::fixed(secs(500))));
    assert_eq!(scene.bound().reason, Reason::ConfiguredDelay);
    scene.state = scene.state.clone().restored(&scene.policy, scene.now);
    assert!(held_for(&scene) >= secs(100));
}

#[test]
fn h1_any_status_that_asks_for_patience_holds() {
    let wait = [("retry-after", "20")];
    let used_up = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "20")];
    for (status, fields, class) in [
        (403, &wait[..], Class::Throttled),
        (403, &used_up[..], Class::Throttled),
        (420, &wait[..], Class::Throttled),
        (529, &wait[..], Class::Throttled),
        (301, &wait[..], Class::Healthy),
        (404, &wait[..], Class::Healthy),
        (202, &wait[..], Class::Healthy),
    ] {
        let mut scene = Scene::compliant();
        let observed = scene.fetch(status, fields);
        assert_eq!(observed.class, Some(class), "{status} {fields:?}");
        let wait = scene.wait();
        assert!(
            wait >= secs(20) && wait <= ms(23_500),
            "{status} {fields:?}: {wait:?}"
        );
    }
}

#[test]
fn h1_a_wait_that_is_only_advice_on_a_success_is_no_hold() {
    let mut scene = Scene::compliant();
    let mut said = quota(50, 5, 40, "5").to_vec();
    said.push(("retry-after".to_owned(), "5".to_owned()));
    scene.fetch(200, &fields(&said));
    assert_eq!(held_for(&scene), Duration::ZERO);
}

#[test]
fn h1_a_wait_that_a_success_states_with_nothing_left_is_obeyed_in_full() {
    for (mut scene, expected) in [
        (Scene::compliant(), ms(5_500)),
        (Scene::http_client(), secs(5)),
    ] {
        let mut said = quota(50, 5, 0, "5").to_vec();
        said.push(("retry-after".to_owned(), "5".to_owned()));
        scene.fetch(200, &fields(&said));
        assert_eq!(held_for(&scene), expected, "{:?}", scene.policy.preset);
    }
}

#[test]
fn h2_seconds_and_dates_hold_alike_and_the_servers_clock_cancels_out() {
    // By the server's clock it is ten minutes to eight; by ours it is what the scene says.
    let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
    for wait in [
        "30",
        "Sun, 06 Nov 1994 08:50:07 GMT",
        "Sunday, 06-Nov-94 08:50:07 GMT",
        "Sun Nov  6 08:50:07 1994",
    ] {
        let mut scene = Scene::compliant();
        // Where our own clock says so, too, the date counts.
        scene.now = curtsy_core::Timestamp::from_secs(784_111_777 + 3_600);
        scene.fetch(429, &[("retry-after", wait), date]);
        assert_eq!(held_for(&scene), secs(33), "{wait}");
    }
}

#[test]
fn h2_a_date_in_the_past_is_no_wait_and_leaves_the_backoff() {
    let mut scene = Scene::compliant();
    scene.fetch(
        503,
        &[
            ("retry-after", "Tue, 14 Nov 2023 22:13:00 GMT"),
            ("date", "Tue, 14 Nov 2023 22:13:20 GMT"),
        ],
    );
    assert_eq!(held_for(&scene), Duration::ZERO);
    assert_eq!(
        scene.state.backoff_until(scene.now),
        Some(scene.now.after(secs(1)))
    );
}

#[test]
fn h2_no_wait_can_be_so_absurd_as_to_break_anything_or_to_speed_it_up() {
    for said in ["99999999999", "-1", "NaN", "", "1e9", "0x10", "inf"] {
        for mut scene in [Scene::compliant(), Scene::http_client()] {
            scene.fetch(429, &[("retry-after", said)]);
            assert!(scene.wait() >= ms(999), "{said:?}: {:?}", scene.wait());
        }
    }
}

#[test]
fn h3_without_retry_after_a_reset_is_the_wait_of_a_refusal() {
    for said in [
        [("ratelimit-remaining", "0"), ("ratelimit-reset", "40")],
        [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "40")],
        [
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", "1700000040"),
        ],
    ] {
        for (mut scene, expected) in [
            (Scene::compliant(), ms(44_000)),
            (Scene::http_client(), secs(40)),
        ] {
            scene.fetch(429, &said);
            let held = held_for(&scene);
            assert!(
                held <= expected && held + ms(6) >= expected,
                "{said:?}: {held:?} is not {expected:?}"
            );
        }
    }
}

#[test]
fn h9_a_429_without_a_directive_backs_off_and_http_client_waits_a_minute_at_least() {
    for (mut scene, steps) in [
        (Scene::compliant(), [1, 2, 4, 8, 16, 32]),
        (Scene::http_client(), [60, 60, 60, 60, 60, 60]),
    ] {
        for expected in steps {
            scene.fetch(429, &[]);
            let until = scene.state.backoff_until(scene.now);
            assert_eq!(
                until,
                Some(scene.now.after(secs(expected))),
                "{:?}",
                scene.policy.preset
            );
        }
    }
    // 64 s of backoff is more than a minute.
    let mut scene = Scene::http_client();
    (0..6).for_each(|_| drop(scene.fetch(503, &[])));
    scene.fetch(429, &[]);
    assert_eq!(
        scene.state.backoff_until(scene.now),
        Some(scene.now.after(secs(64)))
    );
}

#[test]
fn h10_a_wait_beyond_patience_is_deferred_and_the_hold_stands() {
    for (said, is_deferred) in [("300", false), ("301", true), ("864000", true)] {
        let mut scene = Scene::compliant();
        scene.draw = Draw::GREATEST;
        scene.fetch(429, &[("retry-after", said)]);
        let told = duration_from_secs(said.parse().unwrap());
        assert!(held_for(&scene) > told, "{said}");
        match scene.decide() {
            Decision::Defer(bound) => {
                assert!(is_deferred, "{said}");
                assert!(bound.not_before.since(scene.now) >= told, "{said}");
                assert_eq!(bound.reason, Reason::ServerHold);
            }
            Decision::Wait(_) => assert!(!is_deferred, "{said}"),
            other => panic!("{said}: {other:?}"),
        }
        // Nearer its end it is waited for.
        scene.pass(told - secs(10));
        assert!(matches!(scene.decide(), Decision::Wait(_)), "{said}");
    }
}

#[test]
fn h10_an_exhausted_quota_and_a_long_backoff_are_deferred_too() {
    let mut scene = Scene::compliant();
    scene.fetch(200, &fields(&quota(5_000, 3_600, 0, "3000")));
    match scene.decide() {
        Decision::Defer(bound) => assert_eq!(bound.reason, Reason::QuotaExhausted),
        other => panic!("{other:?}"),
    }
}

#[test]
fn h10_http_client_cuts_the_hold_to_its_patience_and_never_defers() {
    let mut scene = Scene::http_client();
    scene.fetch(429, &[("retry-after", "3600")]);
    assert_eq!(held_for(&scene), secs(300));
    assert!(matches!(scene.decide(), Decision::Wait(_)));
    scene.draw = Draw::GREATEST;
    for _ in 0..12 {
        scene.fetch(503, &[]);
        assert!(matches!(scene.decide(), Decision::Wait(_)));
    }
}

#[test]
fn h10_a_slow_pace_is_waited_for_however_slow() {
    let mut scene = Scene::compliant().but(|p| {
        p.max_retry_after = secs(1);
        p.delay = Some(curtsy_core::Interval::fixed(secs(600)));
    });
    scene.fetch(200, &[]);
    assert!(matches!(scene.decide(), Decision::Wait(_)));
}

#[test]
fn h11_every_hold_rate_change_and_delay_change_is_told_with_its_trigger() {
    let mut scene = Scene::compliant();
    let observed = scene.fetch(200, &fields(&quota(50, 5, 49, "5")));
    assert!(matches!(
        &observed.changes[..],
        [Change::RateAdjusted { before: Some(2.0), trigger, .. }] if trigger.contains("ratelimit")
    ));
    let observed = scene.fetch(429, &[("retry-after", "20")]);
    assert!(matches!(
        &observed.changes[..],
        [Change::HoldStarted { trigger, .. }, Change::DynamicDelay { trigger: status, .. }]
            if trigger == "429_retry_after" && status == "429"
    ));
    let observed = scene.fetch(503, &[]);
    assert!(matches!(
        &observed.changes[..],
        [Change::DynamicDelay { before, after, until: Some(_), trigger, .. }]
            if *before == secs(1) && *after == secs(2) && trigger == "503"
    ));
    let observed = scene.fetch(200, &[]);
    assert!(matches!(
        &observed.changes[..],
        [Change::DynamicDelay { after, until: None, trigger, .. }]
            if after.is_zero() && trigger == "healthy"
    ));
}

#[test]
fn h11_a_quota_that_a_success_finds_used_up_is_a_hold_on_record() {
    let mut scene = Scene::compliant();
    let observed = scene.fetch(200, &fields(&quota(50, 5, 0, "3")));
    let told = holds(&observed);
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].1, Duration::ZERO, "no buffer on a bracketed reset");
    assert_eq!(scene.bound().not_before, scene.now.after(told[0].0));
    assert_eq!(scene.bound().reason, Reason::QuotaExhausted);
}
