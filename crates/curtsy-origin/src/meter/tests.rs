use std::time::Duration;

use proptest::prelude::*;

use super::{Admission, Meter};
use crate::script::{Anchor, Policy, Rule};

const NANO: Duration = Duration::from_nanos(1);

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn meter(rule: &Rule) -> Meter {
    Meter::new(rule, Duration::ZERO)
}

#[test]
fn each_rule_admits_exactly_what_it_says() {
    let window = ms(1000);
    let fixed = Policy::fixed_window(2, window).rule;
    let sliding = |count_refused| Rule::SlidingWindow {
        limit: 2,
        window,
        count_refused,
    };
    let counter = |count_refused| Rule::SlidingCounter {
        limit: 4,
        window,
        count_refused,
    };
    let bucket = Policy::token_bucket(10.0, 3).rule;
    let queue = Rule::LeakyQueue {
        rate_per_s: 10.0,
        queue: 2,
    };
    let gap = |slack| Rule::MinGap {
        gap: ms(200),
        slack: ms(slack),
    };
    // The requests in milliseconds, and for each `+` where it is admitted, `-` where refused.
    let table: [(&str, Rule, &[u64], &str); 10] = [
        (
            "fixed",
            fixed.clone(),
            &[0, 900, 999, 1000, 1001, 1002, 2000],
            "++-++-+",
        ),
        (
            "fixed, opened late",
            fixed,
            &[300, 1299, 1299, 1300],
            "++-+",
        ),
        (
            "sliding",
            sliding(false),
            &[0, 900, 999, 1000, 1001, 1899, 1900],
            "++-+--+",
        ),
        (
            "sliding, all count",
            sliding(true),
            &[0, 500, 900, 1400, 1900, 2350, 2900],
            "++--+-+",
        ),
        (
            "counter",
            counter(false),
            &[0, 0, 0, 0, 999, 1000, 1249, 1250, 1499, 1500],
            "++++---+-+",
        ),
        (
            "counter, all count",
            counter(true),
            &[0, 0, 0, 0, 999, 1399, 1400],
            "++++---",
        ),
        (
            "bucket",
            bucket,
            &[0, 0, 0, 0, 99, 100, 100, 200, 500, 500, 500, 500],
            "+++--+-++++-",
        ),
        (
            "queue",
            queue,
            &[0, 0, 0, 0, 99, 100, 100, 1000],
            "+++--+-+",
        ),
        ("gap", gap(0), &[0, 199, 200, 399, 400], "+-+-+"),
        ("gap with slack", gap(5), &[0, 194, 195, 389, 390], "+-+-+"),
    ];
    for (name, rule, requests, expected) in table {
        let mut meter = meter(&rule);
        let answers: String = requests
            .iter()
            .map(|at| match meter.admit(ms(*at)) {
                Admission::Admitted { .. } => '+',
                Admission::Refused { .. } => '-',
            })
            .collect();
        assert_eq!(answers, expected, "{name}");
    }
}

#[test]
fn a_window_on_the_clock_ends_at_a_whole_multiple() {
    let rule = Rule::FixedWindow {
        limit: 1,
        window: ms(5000),
        anchor: Anchor::Clock,
    };
    // The instant zero is 13.2 s after the epoch: windows end at 1.8 s, 6.8 s …
    let mut meter = Meter::new(&rule, ms(13_200));
    assert_eq!(meter.read(ms(0)).full, ms(1800));
    assert!(matches!(meter.admit(ms(100)), Admission::Admitted { .. }));
    assert_eq!(meter.admit(ms(200)), Admission::Refused { wait: ms(1600) });
    assert!(matches!(meter.admit(ms(1800)), Admission::Admitted { .. }));
    assert_eq!(meter.admit(ms(6000)), Admission::Refused { wait: ms(800) });
}

#[test]
fn a_leaky_queue_serves_in_turn() {
    let mut meter = meter(&Rule::LeakyQueue {
        rate_per_s: 10.0,
        queue: 2,
    });
    for turn in [0, 100, 200] {
        assert_eq!(meter.admit(ms(0)), Admission::Admitted { turn: ms(turn) });
    }
    assert_eq!(meter.admit(ms(0)), Admission::Refused { wait: ms(100) });
    assert_eq!(meter.admit(ms(150)), Admission::Admitted { turn: ms(150) });
}

#[test]
fn a_concurrency_limit_admits_again_when_one_has_ended() {
    let mut meter = meter(&Policy::concurrency(2).rule);
    for _ in 0..2 {
        assert!(matches!(meter.admit(ms(0)), Admission::Admitted { .. }));
    }
    assert!(matches!(meter.admit(ms(0)), Admission::Refused { .. }));
    assert_eq!(meter.read(ms(0)).remaining, 0);
    meter.release();
    assert_eq!(meter.read(ms(1)).remaining, 1);
    assert!(matches!(meter.admit(ms(1)), Admission::Admitted { .. }));
}

#[test]
fn a_reading_counts_down_to_the_reset() {
    let mut meter = meter(&Policy::fixed_window(2, ms(1000)).rule);
    meter.admit(ms(0));
    let reading = meter.read(ms(400));
    assert_eq!(
        (reading.remaining, reading.next, reading.full),
        (1, ms(0), ms(600))
    );
    meter.admit(ms(400));
    let reading = meter.read(ms(700));
    assert_eq!(
        (reading.remaining, reading.next, reading.full),
        (0, ms(300), ms(300))
    );
}

fn rules() -> impl Strategy<Value = Rule> {
    let window = (1u64..3000).prop_map(ms);
    prop_oneof![
        (1u64..8, window.clone())
            .prop_map(|(limit, window)| Policy::fixed_window(limit, window).rule),
        (1u64..8, window.clone()).prop_map(|(limit, window)| Rule::FixedWindow {
            limit,
            window,
            anchor: Anchor::Clock,
        }),
        (1u64..8, window.clone(), any::<bool>()).prop_map(|(limit, window, count_refused)| {
            Rule::SlidingWindow {
                limit,
                window,
                count_refused,
            }
        }),
        (1u64..8, window.clone(), any::<bool>()).prop_map(|(limit, window, count_refused)| {
            Rule::SlidingCounter {
                limit,
                window,
                count_refused,
            }
        }),
        (0.1f64..50.0, 1u64..8).prop_map(|(rate, burst)| Policy::token_bucket(rate, burst).rule),
        (0.1f64..50.0, 0u64..8)
            .prop_map(|(rate_per_s, queue)| Rule::LeakyQueue { rate_per_s, queue }),
        window.prop_map(|gap| Policy::min_gap(gap).rule),
    ]
}

/// Steps in microseconds from one request to the next; many are none at all.
fn steps() -> impl Strategy<Value = Vec<Duration>> {
    prop::collection::vec(
        prop_oneof![Just(0u64), 0u64..50_000, 0u64..3_000_000].prop_map(Duration::from_micros),
        1..120,
    )
}

/// What a rule may at most admit within `span`, both ends included.
fn ceiling(rule: &Rule, span: Duration) -> u64 {
    let windows = |window: &Duration| (span.as_nanos() / window.as_nanos()) as u64 + 1;
    match rule {
        // A span of less than a window can touch two of them.
        Rule::FixedWindow { limit, window, .. } => limit * (windows(window) + 1),
        Rule::SlidingWindow { limit, window, .. } => limit * windows(window),
        Rule::SlidingCounter { limit, window, .. } => limit * (windows(window) + 1),
        Rule::TokenBucket { rate_per_s, burst } => {
            burst + (span.as_secs_f64() * rate_per_s + 1e-3) as u64
        }
        Rule::LeakyQueue { rate_per_s, queue } => {
            queue + 1 + (span.as_secs_f64() * rate_per_s + 1e-3) as u64
        }
        Rule::MinGap { gap, .. } => (span.as_nanos() / gap.as_nanos()) as u64 + 1,
        Rule::Concurrency { .. } => u64::MAX,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_told_wait_is_exact_to_the_nanosecond(rule in rules(), steps in steps()) {
        let mut meter = meter(&rule);
        let mut now = Duration::ZERO;
        for step in steps {
            now += step;
            if let Admission::Refused { wait } = meter.admit(now) {
                prop_assert!(!meter.wait(now + wait - NANO).is_zero(), "{rule:?} at {now:?}");
                now += wait;
                prop_assert!(meter.wait(now).is_zero(), "{rule:?} at {now:?}");
            }
        }
    }

    #[test]
    fn what_remains_is_what_is_admitted_at_once(rule in rules(), steps in steps()) {
        let mut meter = meter(&rule);
        let mut now = Duration::ZERO;
        for step in &steps {
            now += *step;
            meter.admit(now);
        }
        let reading = meter.read(now);
        let mut admitted = 0;
        while matches!(meter.admit(now), Admission::Admitted { .. }) {
            admitted += 1;
        }
        prop_assert_eq!(reading.remaining, admitted, "{:?}", rule);
        prop_assert_eq!(reading.next.is_zero(), admitted > 0, "{:?}", rule);
        prop_assert!(reading.next <= reading.full || reading.remaining > 0 , "{:?}", rule);
    }

    #[test]
    fn no_span_sees_more_than_the_rule_allows(rule in rules(), steps in steps()) {
        let mut meter = meter(&rule);
        let mut now = Duration::ZERO;
        let mut admitted = Vec::new();
        for step in steps {
            now += step;
            if matches!(meter.admit(now), Admission::Admitted { .. }) {
                admitted.push(now);
            }
        }
        for (i, from) in admitted.iter().enumerate() {
            for (j, to) in admitted.iter().enumerate().skip(i) {
                let most = ceiling(&rule, *to - *from);
                prop_assert!((j - i + 1) as u64 <= most, "{rule:?}: {} of {most}", j - i + 1);
            }
        }
    }

    #[test]
    fn the_whole_quota_is_there_after_the_time_told(rule in rules(), steps in steps()) {
        let mut meter = meter(&rule);
        let mut now = Duration::ZERO;
        for step in steps {
            now += step;
            meter.admit(now);
        }
        let later = now + meter.read(now).full;
        let reading = meter.read(later);
        prop_assert_eq!(reading.remaining, reading.limit, "{:?}", rule);
    }
}
