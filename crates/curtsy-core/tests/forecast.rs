//! What is forecast against what comes: requests one by one through `decide`, with random draws, and
//! answers that come at once.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use curtsy_core::{
    Answer, Ask, Attempt, Breaker, Course, Decision, Decline, Draw, Forecast, HostState, Interval,
    Kind, Origin, Policy, PolicyValues, Reason, Signal, Timestamp, decide, forecast, observe,
    signal,
};
use http::{HeaderMap, HeaderValue};

const START: Timestamp = Timestamp::from_micros(1_700_000_000_123_457);

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// A scope and a server with at most one fixed window.
struct World {
    policy: Policy,
    state: HostState,
    now: Timestamp,
    draws: u32,
    quota: Option<Quota>,
}

struct Quota {
    limit: u64,
    window: Duration,
    used: u64,
    ends: Timestamp,
}

impl World {
    fn with(change: impl FnOnce(&mut PolicyValues)) -> Self {
        let mut values = PolicyValues::compliant();
        change(&mut values);
        Self {
            policy: values.build().unwrap(),
            state: HostState::default(),
            now: START,
            draws: 0,
            quota: None,
        }
    }

    fn crawl_delay(mut self, delay: Duration) -> Self {
        let origin = Origin::of(&"http://example.org/".parse().unwrap()).unwrap();
        self.state.note_crawl_delay(&origin, Some(delay));
        self
    }

    /// A server with this quota, of which some is used, and which one answer has told.
    fn quota(mut self, limit: u64, window: Duration, used: u64, ends_in: Duration) -> Self {
        self.quota = Some(Quota {
            limit,
            window,
            used,
            ends: self.now.after(ends_in),
        });
        self.fetch(200, &[]);
        self
    }

    /// After an answer of this kind.
    fn after(mut self, status: u16, fields: &[(&'static str, &str)]) -> Self {
        self.fetch(status, fields);
        self
    }

    /// One request, as soon as may be, and its answer.
    fn fetch(&mut self, status: u16, fields: &[(&'static str, &str)]) {
        let since = self.now;
        let permit = loop {
            let ask = Ask::page(since);
            let draw = self.draw();
            match decide(&self.policy, &self.state, &ask, self.now, draw) {
                Decision::Depart(permit) => break permit,
                Decision::Wait(bound) | Decision::Defer(bound) => self.now = bound.not_before,
                Decision::Decline(decline) => panic!("{decline:?}"),
            }
        };
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.insert(*name, HeaderValue::from_str(value).unwrap());
        }
        if let Some(quota) = &mut self.quota {
            quota.tell(self.now, &mut headers);
        }
        let attempt = Attempt {
            seq: permit.seq,
            kind: Kind::Page,
            departed: self.now,
            host: "example.org",
        };
        let signal: Signal = signal::read(status, &headers, self.now, None, None);
        let answer = Answer::Head {
            status,
            latency: Duration::ZERO,
            signal: &signal,
        };
        let draw = self.draw();
        self.state = observe(
            &self.policy,
            &permit.state,
            &attempt,
            &answer,
            self.now,
            draw,
        )
        .state;
    }

    /// Uniform draws, as even as they can be: multiples of the golden ratio.
    fn draw(&mut self) -> Draw {
        self.draws += 1;
        Draw::new((f64::from(self.draws) * 0.618_033_988_749_895).fract())
    }

    fn forecast(&self, count: u64) -> Course {
        match forecast(&self.policy, &self.state, count, self.now) {
            Forecast::Departs(course) => course,
            Forecast::Declined(decline) => panic!("{decline:?}"),
        }
    }
}

impl Quota {
    fn tell(&mut self, now: Timestamp, headers: &mut HeaderMap) {
        while self.ends <= now {
            self.ends = self.ends.after(self.window);
            self.used = 0;
        }
        self.used += 1;
        assert!(self.used <= self.limit, "it would be refused");
        let reset = self.ends.since(now).as_secs_f64().ceil();
        for (name, value) in [
            (
                "ratelimit-policy",
                format!("{};w={}", self.limit, self.window.as_secs()),
            ),
            ("ratelimit-limit", self.limit.to_string()),
            ("ratelimit-remaining", (self.limit - self.used).to_string()),
            ("ratelimit-reset", reset.to_string()),
        ] {
            headers.insert(name, HeaderValue::from_str(&value).unwrap());
        }
    }
}

#[test]
fn what_is_forecast_comes_to_within_a_few_percent() {
    let fast = |p: &mut PolicyValues| {
        (p.respect_robots, p.rate, p.max_rate) = (false, Some(20.0), Some(100.0))
    };
    let delay = |from, to| Interval::from_bounds(Some(secs(from)), Some(secs(to))).unwrap();
    let polite = |_: &mut PolicyValues| ();
    let cases: Vec<(&str, World, u64, Reason)> = vec![
        ("a rate", World::with(fast), 500, Reason::Rate),
        (
            "a burst",
            World::with(|p| {
                fast(p);
                p.burst = 200;
            }),
            500,
            Reason::Rate,
        ),
        (
            "a burst that is not used up",
            World::with(|p| {
                fast(p);
                p.burst = 200;
            }),
            150,
            Reason::Rate,
        ),
        (
            "nothing said",
            World::with(polite),
            400,
            Reason::UnstatedPace,
        ),
        (
            "a delay range",
            World::with(|p| p.delay = delay(1, 5)),
            400,
            Reason::ConfiguredDelay,
        ),
        (
            "a Crawl-delay",
            World::with(polite).crawl_delay(secs(7)),
            300,
            Reason::CrawlDelay,
        ),
        (
            "a Crawl-delay within a delay",
            World::with(|p| p.delay = delay(1, 5)).crawl_delay(secs(3)),
            400,
            Reason::ConfiguredDelay,
        ),
        (
            "an operator's cap",
            World::with(|p| {
                fast(p);
                p.tos_cap = Some(0.5);
            }),
            200,
            Reason::Rate,
        ),
        (
            "a rate and a longer delay",
            World::with(|p| {
                fast(p);
                p.delay = delay(1, 1);
            }),
            200,
            Reason::ConfiguredDelay,
        ),
        (
            "a hold",
            World::with(fast).after(429, &[("retry-after", "120")]),
            400,
            Reason::Rate,
        ),
        (
            "a hold beyond patience",
            World::with(fast).after(503, &[("retry-after", "3600")]),
            400,
            Reason::Rate,
        ),
        (
            "a backoff",
            World::with(fast).after(503, &[]),
            400,
            Reason::Rate,
        ),
        (
            "a fresh quota",
            World::with(fast).quota(100, secs(60), 0, secs(60)),
            1000,
            Reason::Quota,
        ),
        (
            "a quota that is half used",
            World::with(fast).quota(600, secs(60), 500, secs(50)),
            900,
            Reason::Quota,
        ),
        (
            "a quota that ends with its window",
            World::with(fast).quota(600, secs(60), 300, secs(30)),
            200,
            Reason::Quota,
        ),
        (
            "a quota that is used up",
            World::with(fast).quota(50, secs(60), 49, secs(40)),
            300,
            Reason::Quota,
        ),
        (
            "a long quota",
            World::with(fast).quota(5000, secs(3600), 4000, secs(1800)),
            9000,
            Reason::Quota,
        ),
        (
            "a quota above the highest rate",
            World::with(fast).quota(9000, secs(60), 0, secs(60)),
            3000,
            Reason::Quota,
        ),
        (
            "a quota above the Crawl-delay",
            World::with(polite)
                .crawl_delay(secs(2))
                .quota(9000, secs(60), 0, secs(60)),
            200,
            Reason::CrawlDelay,
        ),
    ];
    for (name, mut world, count, reason) in cases {
        let course = world.forecast(count);
        let (begun, mut half) = (world.now, world.now);
        for departed in 1..=count {
            world.fetch(200, &[]);
            if departed == count / 2 {
                half = world.now;
            }
        }
        let (expected, came) = (course.end.since(begun), world.now.since(begun));
        assert!(
            apart(expected, came) <= 0.04,
            "{name}: {expected:?} was forecast, {came:?} it took; {course:?}"
        );
        assert_eq!(course.reason, reason, "{name}: {course:?}");
        if !name.contains("burst") && !name.contains("quota that") && !name.contains("hold") {
            let interval = world.now.since(half) / (count - count / 2) as u32;
            assert!(
                apart(course.interval, interval) <= 0.06,
                "{name}: {interval:?}, {course:?}"
            );
        }
    }
}

#[test]
fn what_is_in_force_is_what_the_first_request_waits_for() {
    let slow = World::with(|_| ()).after(429, &[("retry-after", "60")]);
    let course = slow.forecast(1);
    assert_eq!(course.first.reason, Reason::ServerHold);
    assert!(!course.is_deferred);
    assert_eq!(course.end, course.first.not_before);

    let far = World::with(|_| ()).after(429, &[("retry-after", "3600")]);
    assert!(far.forecast(1).is_deferred);

    let mut broken = World::with(|p| p.breaker.as_mut().unwrap().trip_after = 1);
    while broken.state.breaker() == Breaker::Closed {
        broken.fetch(503, &[]);
    }
    let Breaker::Open { until, .. } = broken.state.breaker() else {
        panic!("{:?}", broken.state.breaker())
    };
    let course = broken.forecast(10);
    assert!(
        course.is_deferred && course.first.not_before >= until,
        "{course:?}"
    );
    assert!(course.end > until);
}

#[test]
fn a_suppressed_scope_has_no_course() {
    let mut world = World::with(|_| ());
    (0..3).for_each(|_| world.fetch(403, &[]));
    let Forecast::Declined(Decline::Suppressed { until: Some(until) }) =
        forecast(&world.policy, &world.state, 5, world.now)
    else {
        panic!("it is not suppressed");
    };
    assert!(until > world.now);
}

#[test]
fn nothing_to_send_ends_at_once_and_any_number_is_told_quickly() {
    let world = World::with(|p| p.burst = 1_000_000).quota(100, secs(1), 0, secs(1));
    assert_eq!(world.forecast(0).end, world.now);
    for count in [1, 1_000, 1_000_000_000, u64::MAX] {
        let course = world.forecast(count);
        assert!(course.end >= world.now, "{count}: {course:?}");
    }
    let raw = World::with(|p| *p = PolicyValues::raw());
    let course = raw.forecast(1_000_000);
    assert_eq!(
        (course.interval, course.reason),
        (Duration::ZERO, Reason::Free)
    );
    assert_eq!(course.end, raw.now);
}

#[test]
fn what_is_in_the_air_does_not_hold_a_forecast_up() {
    let mut world = World::with(|p| p.rate = Some(10.0));
    let ask = Ask::page(world.now);
    let Decision::Depart(permit) =
        decide(&world.policy, &world.state, &ask, world.now, Draw::LEAST)
    else {
        panic!("it may not depart");
    };
    world.state = permit.state;
    let end = world.forecast(101).end.since(world.now);
    assert!(end < secs(11), "{end:?}");
}

/// By what share of the second they differ.
fn apart(a: Duration, b: Duration) -> f64 {
    (a.as_secs_f64() - b.as_secs_f64()).abs() / b.as_secs_f64().max(f64::MIN_POSITIVE)
}
