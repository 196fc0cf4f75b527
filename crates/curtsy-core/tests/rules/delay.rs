//! D: the dynamic delay, by `linear` recovery.

use std::time::Duration;

use curtsy_core::policy::Recovery;
use curtsy_core::{Change, Class, Draw, Failure, HostState, Observed, Reason};

use crate::scene::{LATENCY, Scene, ms, secs};

/// How the delay changed, if it did.
fn step(observed: &Observed) -> Option<(Duration, Duration)> {
    let step = |change: &Change| match change {
        Change::DynamicDelay { before, after, .. } => Some((*before, *after)),
        _ => None,
    };
    observed.changes.iter().find_map(step)
}

/// A scene whose delay stands at `delay` seconds.
fn delayed(delay: u64) -> Scene {
    let mut scene = Scene::compliant().but(|p| p.backoff_base = secs(delay));
    scene.fetch(503, &[]);
    scene.but(|p| p.backoff_base = secs(1))
}

#[test]
fn d1_a_throttle_without_a_directive_doubles_the_delay_from_a_second_to_five_minutes() {
    for status in [429, 503, 504] {
        let mut scene = Scene::compliant().but(|p| p.breaker = None);
        let delays: Vec<u64> = (0..11)
            .map(|_| {
                scene.fetch(status, &[]);
                scene.state.dynamic_delay().as_secs()
            })
            .collect();
        assert_eq!(
            delays,
            [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300],
            "{status}"
        );
    }
}

#[test]
fn d1_a_connection_that_fails_does_the_same() {
    for failure in [
        Failure::Refused,
        Failure::Reset,
        Failure::Timeout,
        Failure::Tls,
    ] {
        for mut scene in [Scene::compliant(), Scene::http_client()] {
            let observed = scene.fail(failure);
            assert_eq!(observed.class, Some(Class::Failed));
            assert_eq!(step(&observed), Some((secs(0), secs(1))), "{failure:?}");
            assert_eq!(scene.bound().reason, Reason::DynamicDelay, "{failure:?}");
        }
    }
}

#[test]
fn d1_the_scope_is_held_for_the_delay_and_a_jitter_of_up_to_the_base() {
    for (draw, expected) in [
        (Draw::LEAST, secs(1)),
        (Draw::new(0.5), ms(1_500)),
        (Draw::GREATEST, secs(2)),
    ] {
        let mut scene = Scene::http_client();
        scene.draw = draw;
        scene.fetch(503, &[]);
        assert_eq!(scene.wait(), expected, "{draw:?}");
    }
}

#[test]
fn d1_another_5xx_is_about_one_url_and_the_scope_goes_on() {
    for status in [500, 501, 502, 505, 520] {
        let mut scene = Scene::compliant();
        let observed = scene.fetch(status, &[]);
        assert_eq!(observed.class, Some(Class::Failed), "{status}");
        assert_eq!(step(&observed), None, "{status}");
        scene.depart_now();
    }
}

#[test]
fn d2_a_throttle_with_a_directive_multiplies_too_but_in_http_client() {
    for (mut scene, expected) in [
        (Scene::compliant(), Some((secs(0), secs(1)))),
        (Scene::http_client(), None),
    ] {
        let observed = scene.fetch(429, &[("retry-after", "20")]);
        assert_eq!(step(&observed), expected, "{:?}", scene.policy.preset);
        assert_eq!(scene.bound().reason, Reason::ServerHold);
        assert_eq!(
            scene.state.backoff_until(scene.now),
            None,
            "the hold is the directive's"
        );
    }
}

/// A scene with twenty-five answers behind it that took 10 ms, and a delay of four seconds.
fn acquainted(mut scene: Scene) -> Scene {
    for _ in 0..25 {
        let seq = scene.depart();
        let departed = scene.now;
        scene.pass(ms(10));
        scene.answer(seq, departed, 200, &[]);
    }
    scene.state = with_delay_of(&scene, 4);
    scene
}

fn with_delay_of(scene: &Scene, delay: u64) -> HostState {
    let mut aside = Scene {
        policy: scene.policy.clone(),
        state: scene.state.clone(),
        ..*scene
    }
    .but(|p| p.backoff_base = secs(delay));
    aside.fetch(503, &[]);
    aside.state
}

fn answer_after(scene: &mut Scene, latency: Duration) -> Observed {
    let seq = scene.depart();
    let departed = scene.now;
    scene.pass(latency);
    scene.answer(seq, departed, 200, &[])
}

#[test]
fn d3_an_answer_slower_than_the_95th_percentile_stretches_the_delay_by_a_quarter() {
    let mut scene = acquainted(Scene::linear());
    let observed = answer_after(&mut scene, ms(200));
    assert_eq!(observed.class, Some(Class::Slow));
    assert_eq!(step(&observed), Some((secs(4), secs(5))));
}

#[test]
fn d3_never_from_zero_nor_before_twenty_samples_nor_in_http_client() {
    let mut scene = acquainted(Scene::linear()).but(|p| p.backoff_decay = secs(300));
    scene.fetch(200, &[]);
    let observed = answer_after(&mut scene, ms(200));
    assert_eq!(observed.class, Some(Class::Slow));
    assert_eq!(step(&observed), None);

    let mut scene = delayed(4).but(|p| p.recovery = Recovery::Linear);
    let observed = answer_after(&mut scene, secs(9));
    assert_eq!(observed.class, Some(Class::Healthy));

    let mut scene = acquainted(Scene::http_client());
    let observed = answer_after(&mut scene, ms(200));
    assert_eq!(observed.class, Some(Class::Healthy));
}

#[test]
fn d4_a_healthy_answer_takes_a_second_off_until_nothing_is_left() {
    for status in [200, 204, 301, 304, 404, 410] {
        let mut scene = delayed(3).but(|p| p.recovery = Recovery::Linear);
        let steps: Vec<_> = (0..4).map(|_| step(&scene.fetch(status, &[]))).collect();
        assert_eq!(
            steps,
            [
                Some((secs(3), secs(2))),
                Some((secs(2), secs(1))),
                Some((secs(1), secs(0))),
                None
            ],
            "{status}"
        );
        assert!(scene.state.dynamic_delay().is_zero());
    }
}

#[test]
fn d4_what_is_neither_well_nor_an_overload_leaves_the_delay_as_it_is() {
    for status in [403, 500] {
        let mut scene = delayed(3);
        assert_eq!(step(&scene.fetch(status, &[])), None, "{status}");
        assert_eq!(scene.state.dynamic_delay(), secs(3), "{status}");
    }
}

#[test]
fn d5_a_burst_in_flight_when_the_refusal_comes_counts_once() {
    for scene in [Scene::compliant(), Scene::http_client()] {
        let mut scene = scene.but(|p| (p.rate, p.burst) = (Some(10.0), 5));
        scene.fetch(200, &[]);
        let seqs: Vec<u64> = (0..4).map(|_| scene.depart()).collect();
        let departed = scene.now;
        for seq in seqs {
            scene.pass(LATENCY);
            scene.answer(seq, departed, 503, &[]);
        }
        assert_eq!(scene.state.dynamic_delay(), secs(1));
        // One that departs after it counts again.
        scene.fetch(503, &[]);
        assert_eq!(scene.state.dynamic_delay(), secs(2));
    }
}

#[test]
fn d5_what_departed_before_the_overload_heals_nothing() {
    let mut scene = Scene::compliant();
    scene.fetch(200, &[]);
    let (first, second) = (scene.depart(), scene.depart());
    let departed = scene.now;
    scene.pass(LATENCY);
    scene.answer(first, departed, 503, &[]);
    scene.answer(second, departed, 200, &[]);
    assert_eq!(scene.state.dynamic_delay(), secs(1));
}

#[test]
fn d5_of_a_burst_of_slow_answers_one_stretches() {
    let mut scene = acquainted(Scene::linear()).but(|p| p.backoff_max = secs(4_000));
    let (first, second) = (scene.depart(), scene.depart());
    let departed = scene.now;
    scene.pass(secs(1));
    scene.answer(first, departed, 200, &[]);
    scene.answer(second, departed, 200, &[]);
    assert_eq!(scene.state.dynamic_delay(), secs(5));
}

#[test]
fn d6_what_a_stale_store_says_is_clamped_when_written_and_when_read() {
    let mut scene = Scene::compliant().but(|p| p.backoff_max = secs(3_600));
    for _ in 0..12 {
        scene.fetch(503, &[]);
    }
    assert!(scene.state.dynamic_delay() > secs(300));
    let strict = Scene::compliant().policy;
    let restored = scene.state.clone().restored(&strict, scene.now);
    assert_eq!(restored.dynamic_delay(), secs(300));
    assert!(restored.backoff_until(scene.now.after(secs(301))).is_none());
    scene.policy = strict;
    scene.state = restored;
    scene.fetch(503, &[]);
    assert_eq!(scene.state.dynamic_delay(), secs(300));
}

#[test]
fn d7_jitter_only_lengthens_and_is_drawn_for_each_decision() {
    let mut waits = Vec::new();
    for draw in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let mut scene = Scene::compliant();
        scene.draw = Draw::new(draw);
        scene.fetch(503, &[]);
        waits.push(scene.wait());
    }
    assert!(waits.iter().all(|wait| *wait >= secs(1)), "{waits:?}");
    assert!(waits.windows(2).all(|two| two[0] < two[1]), "{waits:?}");
}
