//! R: retries, redirects, refusals. That an origin's secrets stay behind (R3), and whose User-Agent wins
//! (R6), is the client's business and tested there.

use std::time::Duration;

use curtsy_core::{
    Answer, Bound, Class, Decision, Decline, Draw, Failure, Interval, Kind, Next, PolicyValues,
    Reason, Suppression, decide, retry, signal,
};

use crate::scene::{LATENCY, START, Scene, headers, secs};

#[test]
fn r1_each_preset_tries_its_own_statuses_again() {
    for (status, by_compliant, by_http_client) in [
        (200, false, false),
        (301, false, false),
        (403, false, false),
        (404, false, false),
        (408, true, false),
        (425, true, false),
        (429, true, true),
        (500, true, false),
        (501, false, false),
        (502, true, false),
        (503, true, true),
        (504, true, true),
        (522, true, false),
        (524, true, false),
        (529, true, false),
    ] {
        for (scene, expected) in [
            (Scene::compliant(), by_compliant),
            (Scene::http_client(), by_http_client),
        ] {
            let again = scene.retry(1, status, &[]) != Next::Stands;
            assert_eq!(again, expected, "{status} in {:?}", scene.policy.preset);
        }
    }
}

#[test]
fn r1_a_connection_that_failed_is_tried_again_but_in_http_client() {
    for (scene, expected) in [(Scene::compliant(), true), (Scene::http_client(), false)] {
        let answer = Answer::Failed(Failure::Timeout);
        let next = retry(
            &scene.policy,
            true,
            &answer,
            Class::Failed,
            1,
            scene.now,
            scene.draw,
        );
        assert_eq!(next != Next::Stands, expected, "{:?}", scene.policy.preset);
    }
}

#[test]
fn r1_a_request_is_tried_three_times_more_and_then_its_last_answer_stands() {
    for scene in [Scene::compliant(), Scene::http_client()] {
        let stands: Vec<bool> = (1..=5)
            .map(|tries| scene.retry(tries, 503, &[]) == Next::Stands)
            .collect();
        assert_eq!(stands, [false, false, false, true, true]);
        let scene = scene.but(|p| p.max_retries = 0);
        assert_eq!(scene.retry(1, 503, &[]), Next::Stands);
    }
}

#[test]
fn r1_a_method_that_may_not_be_repeated_is_not() {
    let scene = Scene::compliant();
    let signal = signal::Signal::default();
    let answer = Answer::Head {
        status: 503,
        latency: LATENCY,
        signal: &signal,
    };
    let next = retry(
        &scene.policy,
        false,
        &answer,
        Class::Throttled,
        1,
        scene.now,
        scene.draw,
    );
    assert_eq!(next, Next::Stands);
}

#[test]
fn r1_one_urls_own_failures_climb_a_ladder_of_their_own_beside_the_scopes_bounds() {
    let scene = Scene::compliant();
    let mut waits = Vec::new();
    for tries in 1..=3 {
        let Next::Again(own) = scene.retry(tries, 500, &[]) else {
            panic!("{tries} tries");
        };
        assert_eq!(own.reason, Reason::RetryBackoff);
        waits.push(own.not_before.since(scene.now));
        let mut ask = scene.ask();
        ask.own = own;
        match decide(&scene.policy, &scene.state, &ask, scene.now, scene.draw) {
            Decision::Wait(bound) => assert_eq!(bound, own),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(waits, [secs(1), secs(2), secs(4)]);
    assert_eq!(
        scene.retry(1, 503, &[]),
        Next::Again(Bound::FREE),
        "a throttle holds the whole scope instead"
    );
}

#[test]
fn r2_without_honor_retry_after_the_caller_gets_the_429_and_the_hold_stands() {
    for values in [PolicyValues::compliant(), PolicyValues::http_client()] {
        let mut scene = Scene::with(values).but(|p| p.honor_retry_after = false);
        let said = [("retry-after", "20")];
        scene.fetch(429, &said);
        assert_eq!(scene.retry(1, 429, &said), Next::Stands);
        assert_ne!(scene.retry(1, 503, &said), Next::Stands);
        assert!(scene.wait() >= secs(20));
    }
}

#[test]
fn r3_every_hop_and_every_other_departure_is_paced_alike() {
    for kind in [Kind::Page, Kind::Redirect, Kind::Retry, Kind::Robots] {
        let mut scene = Scene::compliant().but(|p| p.delay = Some(Interval::fixed(secs(3))));
        scene.fetch(302, &[]);
        let mut ask = scene.ask();
        ask.kind = kind;
        match decide(&scene.policy, &scene.state, &ask, scene.now, scene.draw) {
            Decision::Wait(bound) => assert_eq!(bound.not_before, START.after(secs(3)), "{kind:?}"),
            other => panic!("{kind:?}: {other:?}"),
        }
    }
}

fn suppressed_until(scene: &Scene) -> Option<Option<Duration>> {
    match scene.decide() {
        Decision::Decline(Decline::Suppressed { until }) => {
            Some(until.map(|until| until.since(scene.now)))
        }
        _ => None,
    }
}

#[test]
fn r4_three_403s_in_a_row_suppress_for_a_day_and_in_http_client_the_first_for_good() {
    let mut scene = Scene::compliant();
    for expected in [None, None, Some(Some(secs(24 * 3_600)))] {
        scene.fetch(403, &[]);
        assert_eq!(suppressed_until(&scene), expected);
    }
    let mut scene = Scene::http_client();
    scene.fetch(403, &[]);
    assert_eq!(suppressed_until(&scene), Some(None));
}

#[test]
fn r4_a_success_between_starts_over() {
    let mut scene = Scene::compliant();
    for status in [403, 403, 200, 403, 403] {
        scene.fetch(status, &[]);
    }
    assert_eq!(suppressed_until(&scene), None);
    scene.fetch(403, &[]);
    assert!(suppressed_until(&scene).is_some());
}

fn refuse(scene: &mut Scene, kind: Kind, host: &str) {
    let seq = scene.depart();
    let departed = scene.now;
    scene.pass(LATENCY);
    let signal = signal::read(403, &headers(&[]), scene.now, None, None);
    let answer = Answer::Head {
        status: 403,
        latency: LATENCY,
        signal: &signal,
    };
    let attempt = curtsy_core::Attempt {
        seq,
        kind,
        departed,
        host,
    };
    let observed = curtsy_core::observe(
        &scene.policy,
        &scene.state,
        &attempt,
        &answer,
        scene.now,
        scene.draw,
    );
    scene.state = observed.state;
}

#[test]
fn r4_never_for_a_robots_file_nor_for_who_only_redirects() {
    for (kind, host, suppresses) in [
        (Kind::Page, "example.org", true),
        (Kind::Robots, "example.org", false),
        (Kind::Page, "doi.org", false),
        (Kind::Page, "dx.doi.org", false),
        (Kind::Redirect, "publisher.example", true),
    ] {
        let mut scene = Scene::http_client();
        refuse(&mut scene, kind, host);
        assert_eq!(
            suppressed_until(&scene).is_some(),
            suppresses,
            "{kind:?} of {host}"
        );
    }
}

#[test]
fn r4_a_403_that_is_a_rate_limit_in_disguise_throttles_instead() {
    for said in [
        [("retry-after", "20"), ("x", "y")],
        [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "20")],
    ] {
        let mut scene = Scene::http_client();
        let observed = scene.fetch(403, &said);
        assert_eq!(observed.class, Some(Class::Throttled), "{said:?}");
        assert_eq!(suppressed_until(&scene), None, "{said:?}");
        assert_eq!(scene.bound().reason, Reason::ServerHold, "{said:?}");
    }
}

#[test]
fn r4_it_expires_with_one_probe_that_decides() {
    for (status, lifts) in [(200, true), (403, false)] {
        let mut scene = Scene::compliant();
        (0..3).for_each(|_| drop(scene.fetch(403, &[])));
        scene.pass(secs(24 * 3_600));
        let probe = scene.depart_now().seq;
        let departed = scene.now;
        assert_eq!(scene.bound().reason, Reason::Probe);
        scene.pass(LATENCY);
        scene.answer(probe, departed, status, &[]);
        assert_eq!(suppressed_until(&scene).is_none(), lifts, "{status}");
    }
}

#[test]
fn r4_what_was_in_flight_before_the_suppression_neither_lifts_nor_renews_it() {
    let mut scene = Scene::compliant();
    scene.fetch(200, &[]);
    let seqs: Vec<u64> = (0..4).map(|_| scene.depart()).collect();
    let departed = scene.now;
    scene.pass(LATENCY);
    for seq in &seqs[..3] {
        scene.answer(*seq, departed, 403, &[]);
    }
    let until = suppressed_until(&scene);
    scene.answer(seqs[3], departed, 200, &[]);
    assert_eq!(suppressed_until(&scene), until);
}

#[test]
fn r4_it_can_be_inspected_and_lifted_and_a_hold_cannot() {
    let mut scene = Scene::http_client();
    scene.fetch(200, &[]);
    let (first, second) = (scene.depart(), scene.depart());
    let departed = scene.now;
    scene.pass(LATENCY);
    scene.answer(first, departed, 403, &[]);
    scene.answer(second, departed, 429, &[("retry-after", "100")]);
    assert_eq!(
        scene.state.suppression(),
        Suppression::Active {
            since: scene.now,
            until: None
        }
    );
    assert!(scene.state.lift());
    assert!(!scene.state.lift(), "there is nothing left to lift");
    match scene.decide() {
        Decision::Wait(bound) => assert_eq!(bound.reason, Reason::ServerHold),
        other => panic!("{other:?}"),
    }
}

#[test]
fn r4_it_can_be_switched_off() {
    let mut scene = Scene::compliant().but(|p| p.suppress_after = None);
    (0..50).for_each(|_| drop(scene.fetch(403, &[])));
    assert_eq!(suppressed_until(&scene), None);
}

#[test]
fn r5_raw_bypasses_delays_retries_backoff_and_suppression() {
    let mut scene = Scene::compliant();
    (0..3).for_each(|_| drop(scene.fetch(403, &[])));
    let suppressed = scene.state.suppression();
    scene.policy = PolicyValues::raw().build().unwrap();
    for status in [200, 429, 503, 403, 403, 403, 403] {
        scene.draw = Draw::GREATEST;
        let observed = scene.fetch(status, &[("retry-after", "100")]);
        assert_eq!(observed.changes, [], "{status}");
        assert!(matches!(scene.decide(), Decision::Depart(_)), "{status}");
    }
    assert_eq!(scene.retry(1, 503, &[]), Next::Stands);
    assert_eq!(
        scene.state.suppression(),
        suppressed,
        "who is polite keeps to it afterwards"
    );
}
