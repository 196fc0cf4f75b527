//! P: pacing.

use curtsy_core::{
    Bound, Decision, Draw, Interval, Kind, LEEWAY, Origin, PolicyValues, Reason, Timestamp, pace,
};
use url::Url;

use crate::scene::{LATENCY, START, Scene, fields, ms, quota, secs};

fn origin(url: &str) -> Origin {
    Origin::of(&Url::parse(url).unwrap()).unwrap()
}

/// A scene that respects robots.txt, whose Crawl-delay is this.
fn with_crawl_delay(delay: std::time::Duration) -> Scene {
    let mut scene = Scene::with(PolicyValues::compliant());
    assert!(
        scene
            .state
            .note_crawl_delay(&origin("https://example.org"), Some(delay))
    );
    scene
}

fn range(min: u64, max: u64) -> Interval {
    Interval::from_bounds(Some(secs(min)), Some(secs(max)))
        .unwrap()
        .unwrap()
}

#[test]
fn p1_intervals_count_from_departure_to_departure_and_never_from_an_answer() {
    for answered_after in [ms(1), ms(700), ms(1_999)] {
        let mut scene = with_crawl_delay(secs(2));
        let seq = scene.depart();
        scene.pass(answered_after);
        scene.answer(seq, START, 200, &[]);
        assert_eq!(
            scene.bound().not_before,
            START.after(secs(2)),
            "answered after {answered_after:?}"
        );
    }
}

#[test]
fn p1_what_left_later_than_permitted_counts_from_when_it_left() {
    let mut scene = with_crawl_delay(secs(2));
    let first = scene.depart();
    assert!(scene.state.note_departed(first, START.after(ms(30))));
    scene.pass(ms(100));
    scene.answer(first, START.after(ms(30)), 200, &[]);
    assert_eq!(scene.bound().not_before, START.after(ms(2_030)));
    assert!(
        !scene.state.note_departed(first, START),
        "it did not leave earlier"
    );
}

#[test]
fn p1_nor_does_one_that_left_late_make_the_next_one_early() {
    let mut scene = Scene::compliant().but(|p| (p.rate, p.burst) = (Some(10.0), 1));
    scene.fetch(200, &[]);
    let late = scene.depart();
    let left = scene.now.after(ms(400));
    scene.state.note_departed(late, left);
    scene.now = left;
    assert!(scene.wait() >= ms(95), "{:?}", scene.bound());
}

#[test]
fn p1_who_reads_of_a_departure_before_it_left_is_measured_from_when_it_leaves_at_the_latest() {
    for (leaves_by, counts_from) in [(ms(2), ms(2)), (LEEWAY, LEEWAY), (secs(60), LEEWAY)] {
        let mut scene = with_crawl_delay(secs(2));
        scene.depart();
        scene.state.leaves_by(START.after(leaves_by));
        let read = scene.state.clone().restored(&scene.policy, scene.now);
        // Not even a clock that is ahead makes that later than the leeway.
        assert_eq!(read.last_departure(), Some(START.after(counts_from)));
    }
}

#[test]
fn p2_the_latest_of_the_four_times_binds_and_the_decision_names_it() {
    type Staged = fn() -> Scene;
    let cases: [(&str, Reason, Staged); 7] = [
        ("Crawl-delay", Reason::CrawlDelay, || {
            with_crawl_delay(secs(7))
        }),
        ("delay", Reason::ConfiguredDelay, || {
            Scene::compliant().but(|p| p.delay = Some(Interval::fixed(secs(3))))
        }),
        ("rate", Reason::Rate, || {
            Scene::compliant().but(|p| (p.rate, p.burst) = (Some(0.5), 1))
        }),
        ("nothing known", Reason::UnstatedPace, || {
            Scene::with(PolicyValues::compliant())
        }),
        ("backoff", Reason::DynamicDelay, || {
            let mut scene = Scene::compliant();
            scene.fetch(503, &[]);
            scene
        }),
        ("a hold", Reason::ServerHold, || {
            let mut scene = with_crawl_delay(secs(7));
            scene.fetch(429, &[("retry-after", "20")]);
            scene
        }),
        ("a quota", Reason::Quota, || {
            let mut scene = Scene::compliant().but(|p| p.burst = 1);
            scene.fetch(200, &fields(&quota(20, 10, 10, "10")));
            scene
        }),
    ];
    for (what, reason, scene) in cases {
        let mut scene = scene();
        if scene.state.departures() == 0 {
            scene.fetch(200, &[]);
        }
        match scene.decide() {
            Decision::Wait(bound) => assert_eq!(bound.reason, reason, "{what}"),
            other => panic!("{what}: {other:?}"),
        }
        scene.pass(scene.wait());
        let permit = scene.depart_now();
        assert_eq!(permit.bound.reason, reason, "{what}, on the permit");
    }
}

#[test]
fn p2_causes_never_add_up() {
    let mut scene = with_crawl_delay(secs(7)).but(|p| {
        (p.rate, p.burst) = (Some(0.5), 1);
        p.delay = Some(Interval::fixed(secs(3)));
    });
    scene.fetch(200, &[]);
    let bounds = scene.bounds();
    assert_eq!(bounds.crawl_delay.not_before, START.after(secs(7)));
    assert_eq!(bounds.latest().not_before, START.after(secs(7)));
}

#[test]
fn p3_a_silent_server_gets_a_burst_of_five_and_then_two_a_second() {
    let mut scene = Scene::compliant();
    let mut left = Vec::new();
    for _ in 0..8 {
        scene.fetch(200, &[]);
        left.push(scene.now.before(LATENCY).since(START).as_millis());
    }
    // The first waits for nobody, the next three for the answer before them, which brings tokens, too.
    assert_eq!(left, [0, 5, 10, 15, 20, 500, 1_000, 1_500]);
}

#[test]
fn p3_silence_never_speeds_anything_up_and_only_a_published_quota_lifts_the_rate() {
    let mut scene = Scene::compliant();
    for _ in 0..100 {
        scene.fetch(200, &[]);
        assert_eq!(pace(&scene.policy, &scene.state), Some((2.0, Reason::Rate)));
    }
    for (limit, rate) in [(40, 4.0), (1_000, 10.0)] {
        let mut scene = Scene::compliant();
        scene.fetch(200, &fields(&quota(limit, 10, limit, "10")));
        assert_eq!(
            pace(&scene.policy, &scene.state),
            Some((rate, Reason::Quota)),
            "{limit} in 10 s"
        );
    }
}

#[test]
fn p3_a_delay_replaces_the_default_rate_and_an_explicit_rate_stays_beside_it() {
    let delay = || Scene::compliant().but(|p| p.delay = Some(Interval::fixed(ms(100))));
    let crawl_delay = || with_crawl_delay(ms(100));
    for (what, scene) in [("delay", delay()), ("Crawl-delay", crawl_delay())] {
        let mut scene = scene;
        scene.fetch(200, &[]);
        let gaps: Vec<_> = (0..20).map(|_| scene.gap()).collect();
        assert_eq!(gaps[1..], [ms(100); 19], "{what}");
    }
    for (what, scene) in [("delay", delay()), ("Crawl-delay", crawl_delay())] {
        let mut scene = scene.but(|p| (p.rate, p.burst) = (Some(2.0), 1));
        scene.fetch(200, &[]);
        let gaps: Vec<_> = (0..20).map(|_| scene.gap()).collect();
        assert_eq!(gaps[1..], [ms(500); 19], "{what} and --rate");
    }
}

#[test]
fn p3_a_crawl_delay_of_nothing_is_no_reason_to_go_beyond_the_highest_rate() {
    let mut scene = with_crawl_delay(secs(0));
    scene.fetch(200, &[]);
    let gaps: Vec<_> = (0..20).map(|_| scene.gap()).collect();
    assert_eq!(gaps[10..], [ms(100); 10]);
}

#[test]
fn p3_http_client_has_no_bucket() {
    let mut scene = Scene::http_client();
    scene.fetch(200, &[]);
    assert_eq!(pace(&scene.policy, &scene.state), None);
    assert!((0..50).all(|_| scene.gap().is_zero()));
}

#[test]
fn p3_the_bucket_is_empty_after_a_hold() {
    let mut scene = Scene::compliant().but(|p| p.retry_after_buffer = (0.0, 0.0));
    scene.fetch(200, &[]);
    scene.fetch(429, &[("retry-after", "60")]);
    let since = scene.now;
    let gaps: Vec<_> = (0..4)
        .map(|_| {
            scene.fetch(200, &[]);
            scene.now.before(LATENCY).since(since)
        })
        .collect();
    // By the rate of two a second, from the end of the hold on; the dynamic delay of D2 makes no difference to that.
    assert_eq!(gaps[0], ms(60_500));
    assert!(
        gaps.windows(2).all(|two| two[1] - two[0] >= ms(500)),
        "{gaps:?}"
    );
}

#[test]
fn p4_every_departure_draws_its_own_interval_from_the_range() {
    let mut scene = Scene::compliant().but(|p| p.delay = Some(range(1, 5)));
    scene.fetch(200, &[]);
    for (draw, gap) in [
        (0.0, secs(1)),
        (0.25, secs(2)),
        (1.0, secs(5)),
        (0.5, secs(3)),
    ] {
        scene.draw = Draw::new(draw);
        scene.depart();
        assert_eq!(scene.wait(), gap, "{draw}");
    }
}

#[test]
fn p4_one_bound_gives_the_other() {
    for (min, max, expected) in [
        (Some(2), None, Some((2, 6))),
        (None, Some(4), Some((0, 4))),
        (Some(1), Some(5), Some((1, 5))),
        (None, None, None),
    ] {
        let interval = Interval::from_bounds(min.map(secs), max.map(secs)).unwrap();
        let ends = interval.map(|interval| (interval.min(), interval.max()));
        assert_eq!(
            ends,
            expected.map(|(min, max)| (secs(min), secs(max))),
            "{min:?}..{max:?}"
        );
    }
    assert!(Interval::from_bounds(Some(secs(5)), Some(secs(1))).is_err());
}

#[test]
fn p5_a_crawl_delay_raises_the_floor_of_the_range_and_lowers_nothing() {
    for (configured, crawl_delay, least, greatest) in [
        (Some((1, 5)), ms(3_000), ms(3_000), ms(5_000)),
        (Some((1, 5)), ms(500), ms(1_000), ms(5_000)),
        (Some((1, 3)), ms(10_000), ms(10_000), ms(10_000)),
        (None, ms(5_000), ms(5_000), ms(5_000)),
    ] {
        for preset in [PolicyValues::compliant(), PolicyValues::http_client()] {
            for (draw, expected) in [(Draw::LEAST, least), (Draw::GREATEST, greatest)] {
                let mut scene = Scene::with(preset.clone()).but(|p| {
                    p.respect_robots = true;
                    p.delay = configured.map(|(min, max)| range(min, max));
                });
                scene
                    .state
                    .note_crawl_delay(&origin("https://example.org"), Some(crawl_delay));
                scene.draw = draw;
                scene.depart();
                let at = scene.now;
                scene.pass(LATENCY);
                scene.answer(1, at, 200, &[]);
                assert_eq!(
                    scene.bound().not_before,
                    at.after(expected),
                    "{configured:?} with {crawl_delay:?} at {draw:?} in {:?}",
                    preset.preset
                );
            }
        }
    }
}

#[test]
fn p5_of_http_and_https_the_larger_crawl_delay_counts_and_a_new_file_takes_it_back() {
    let mut scene = with_crawl_delay(secs(2));
    scene
        .state
        .note_crawl_delay(&origin("http://example.org"), Some(secs(9)));
    assert_eq!(scene.state.crawl_delay(), Some(secs(9)));
    scene
        .state
        .note_crawl_delay(&origin("http://example.org"), None);
    assert_eq!(scene.state.crawl_delay(), Some(secs(2)));
}

#[test]
fn p5_a_crawl_delay_that_is_not_respected_binds_nothing_and_replaces_nothing() {
    let mut scene = with_crawl_delay(secs(9)).but(|p| p.respect_robots = false);
    scene.fetch(200, &[]);
    let gaps: Vec<_> = (0..10).map(|_| scene.gap()).collect();
    assert_eq!(gaps[9], ms(500));
}

#[test]
fn p6_where_nothing_is_known_the_interval_is_one_to_three_seconds() {
    let with_rate = |p: &mut PolicyValues| p.rate = Some(2.0);
    let with_delay = |p: &mut PolicyValues| p.delay = Some(Interval::fixed(ms(600)));
    let without_robots = |p: &mut PolicyValues| p.respect_robots = false;
    let nothing = |_: &mut PolicyValues| {};
    type Change = fn(&mut PolicyValues);
    let cases: [(&str, Change, bool); 4] = [
        ("nothing", nothing, true),
        ("a rate", with_rate, false),
        ("a delay", with_delay, false),
        ("no robots", without_robots, false),
    ];
    for (what, change, guesses) in cases {
        let mut scene = Scene::with(PolicyValues::compliant()).but(change);
        scene.draw = Draw::new(0.5);
        scene.fetch(200, &[]);
        let guessed = scene.bound()
            == Bound {
                not_before: START.after(secs(2)),
                reason: Reason::UnstatedPace,
            };
        assert_eq!(guessed, guesses, "{what} known");
    }
}

#[test]
fn p6_http_client_guesses_too_once_it_respects_robots() {
    let mut scene = Scene::http_client().but(|p| p.respect_robots = true);
    scene.draw = Draw::GREATEST;
    scene.fetch(200, &[]);
    assert_eq!(scene.bound().not_before, START.after(secs(3)));
}

#[test]
fn p6_a_published_quota_replaces_the_guess() {
    let mut scene = Scene::with(PolicyValues::compliant());
    scene.fetch(200, &fields(&quota(100, 10, 100, "10")));
    assert!(scene.wait() < secs(1), "{:?}", scene.bound());
}

#[test]
fn p7_the_dynamic_delay_acts_on_the_range_as_a_crawl_delay_does() {
    for (configured, delay, least, greatest) in [
        (Some((1, 5)), 4, 4, 5),
        (Some((3, 5)), 2, 3, 5),
        (Some((1, 3)), 8, 8, 8),
        (None, 4, 4, 4),
    ] {
        for (draw, expected) in [(Draw::LEAST, least), (Draw::GREATEST, greatest)] {
            let mut scene = Scene::http_client().but(|p| {
                p.delay = configured.map(|(min, max)| range(min, max));
                p.backoff_base = secs(delay + 1);
            });
            scene.fetch(503, &[]);
            scene.draw = draw;
            // Recovers by one second: then the delay is as the table says.
            scene.fetch(200, &[]);
            assert_eq!(scene.state.dynamic_delay(), secs(delay));
            let departed = scene.now.before(LATENCY);
            assert_eq!(
                scene.bound().not_before,
                departed.after(secs(expected)),
                "{configured:?} with {delay} at {draw:?}"
            );
        }
    }
}

#[test]
fn p8_a_new_scope_has_one_request_in_flight_until_its_first_answer() {
    for mut scene in [Scene::compliant(), Scene::http_client()] {
        let seq = scene.depart();
        scene.pass(secs(10));
        assert_eq!(scene.bound().reason, Reason::FirstAnswer);
        scene.answer(seq, START, 404, &[]);
        scene.depart_now();
        scene.depart_now();
        assert_eq!(scene.state.in_flight(), 2);
    }
}

#[test]
fn p8_its_robots_file_is_no_first_answer_and_a_lost_request_is_not_waited_for_for_ever() {
    let mut scene = Scene::compliant();
    let seq = scene.depart();
    scene.pass(LATENCY);
    let signal = Default::default();
    let answer = curtsy_core::Answer::Head {
        status: 404,
        latency: LATENCY,
        signal: &signal,
    };
    scene.observe(seq, START, Kind::Robots, &answer);
    scene.depart_now();
    let lost = scene.now.after(scene.policy.timeout);
    let bound = scene.bound();
    assert_eq!(bound.reason, Reason::FirstAnswer);
    assert!(bound.not_before >= lost && bound.not_before < lost.after(secs(1)));
    scene.now = bound.not_before;
    scene.depart_now();
}

#[test]
fn p9_a_hold_that_arrives_while_a_request_waits_applies_to_it() {
    let mut scene = Scene::compliant().but(|p| (p.rate, p.burst) = (Some(1.0), 2));
    scene.fetch(200, &[]);
    let (seq, departed) = (scene.depart(), scene.now);
    let waiting = scene.ask();
    let before = scene.bound();
    assert_eq!(before.reason, Reason::Rate);
    scene.pass(LATENCY);
    scene.answer(seq, departed, 429, &[("retry-after", "30")]);
    let after = curtsy_core::bounds(&scene.policy, &scene.state, &waiting, scene.now).latest();
    assert_eq!(after.reason, Reason::ServerHold);
    assert!(after.not_before > before.not_before);
}

#[test]
fn p10_nothing_departs_before_the_instant_that_was_told_and_at_it_everything_may() {
    for mut scene in [
        with_crawl_delay(ms(1_234)),
        Scene::compliant().but(|p| (p.rate, p.burst) = (Some(3.0), 1)),
        Scene::with(PolicyValues::compliant()),
    ] {
        scene.fetch(200, &[]);
        for _ in 0..20 {
            let bound = scene.bound();
            if bound.not_before > scene.now {
                scene.now = Timestamp::from_micros(bound.not_before.as_micros() - 1);
                assert_eq!(scene.decide(), Decision::Wait(bound));
            }
            scene.now = bound.not_before.max(scene.now);
            scene.depart_now();
        }
    }
}
