//! Stores that lie, and the largest state that there can be.

use std::time::Duration;

use curtsy_core::policy::BreakerPolicy;
use curtsy_core::{
    Answer, Attempt, Bound, Decision, Draw, Failure, HostState, Kind, Origin, Policy, PolicyValues,
    Timestamp, decide, observe, signal,
};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Number, Value};
use url::Url;

use crate::world::ask;

/// A number that nobody would store in earnest.
pub(crate) fn number() -> impl Strategy<Value = Number> {
    prop_oneof![
        any::<u64>().prop_map(Number::from),
        any::<i64>().prop_map(Number::from),
        Just(Number::from(u64::MAX)),
        Just(Number::from(i64::MIN)),
        any::<f64>().prop_filter_map("finite", Number::from_f64),
        (0_u64..5).prop_map(Number::from),
    ]
}

/// The state as JSON, with some of its numbers replaced.
pub(crate) fn tampered_with(state: &HostState, numbers: &[Number], places: &[Index]) -> String {
    let mut value = serde_json::to_value(state).unwrap();
    for (number, place) in numbers.iter().zip(places) {
        let mut found = Vec::new();
        gather(&mut value, &mut found);
        if !found.is_empty() {
            let at = place.index(found.len());
            *found[at] = Value::Number(number.clone());
        }
    }
    value.to_string()
}

fn gather<'a>(value: &'a mut Value, found: &mut Vec<&'a mut Value>) {
    match value {
        Value::Number(_) => found.push(value),
        Value::Array(items) => items.iter_mut().for_each(|item| gather(item, found)),
        Value::Object(fields) => fields.values_mut().for_each(|field| gather(field, found)),
        _ => {}
    }
}

/// Everything that can be remembered at once, with the longest names and large numbers.
fn largest() -> HostState {
    let policy = roomy_policy();
    let mut now = Timestamp::from_micros(1_799_999_999_123_457);
    let mut state = HostState::default();
    for host in ["one", "another", "a-third", "a-fourth", "a-fifth"] {
        let url = Url::parse(&format!("https://{host}.{}.example/", "x".repeat(60))).unwrap();
        let origin = Origin::of(&url).unwrap();
        state.note_crawl_delay(&origin, Some(Duration::from_micros(86_399_999_999)));
    }
    // Each quota has been seen to refill, so that nothing about it is unknown.
    for round in 0..60_u64 {
        let left = if round % 30 < 28 {
            999_900 - round
        } else {
            999_999_998
        };
        let seq = depart(&policy, &mut state, &mut now);
        let departed = now;
        now = now.after(Duration::from_micros(1_234_567 + 977_777 * (round % 23)));
        let signal = four_quotas(left, 86_300 - round, now);
        let answer = Answer::Head {
            status: 200,
            latency: Duration::from_micros(900 << (round % 17)),
            signal: &signal,
        };
        state = land(&policy, &state, seq, departed, &answer, now);
    }
    // Seven of eight are answered, so that the numbers of those in flight are far apart.
    let mut flights = Vec::new();
    for nth in 0..32 * 8_u64 {
        let seq = depart(&policy, &mut state, &mut now);
        if nth % 8 == 0 {
            flights.push((seq, now));
        } else {
            state = land(&policy, &state, seq, now, &Answer::Abandoned, now);
        }
        now = now.after(Duration::from_micros(3_987_654));
    }
    // A backoff, a breaker that opens, a suppression and a hold, of as few of them as can be.
    let policy = {
        let mut values = policy.values();
        values.breaker = values.breaker.map(|breaker| BreakerPolicy {
            min_outcomes: 1,
            failure_share: 0.0,
            ..breaker
        });
        values.build().unwrap()
    };
    let refused = Answer::Failed(Failure::Refused);
    state = land(
        &policy,
        &state,
        flights[0].0,
        flights[31].1.after(Duration::from_micros(1)),
        &refused,
        now,
    );
    for ((status, wait), (seq, departed)) in [(403, None), (503, Some("86399"))]
        .iter()
        .zip(&flights[1..])
    {
        let fields = wait.map(|wait| ("retry-after".parse().unwrap(), wait.parse().unwrap()));
        let signal = signal::read(*status, &fields.into_iter().collect(), now, None, None);
        let answer = Answer::Head {
            status: *status,
            latency: Duration::from_secs(1),
            signal: &signal,
        };
        state = land(&policy, &state, *seq, *departed, &answer, now);
    }
    state
}

fn roomy_policy() -> Policy {
    let mut values = PolicyValues::compliant();
    (values.rate, values.burst, values.per_host) = (Some(999.777_777), 1_000_000, 32);
    (values.max_rate, values.respect_robots) = (Some(999.888_888), false);
    (values.suppress_after, values.timeout) = (Some(1), Duration::from_secs(3_600));
    values.build().unwrap()
}

fn four_quotas(left: u64, reset: u64, now: Timestamp) -> signal::Signal {
    let list = |item: &dyn Fn(String) -> String| {
        let names = (0..4).map(|nth| item(format!("{}{nth}", "n".repeat(63))));
        names.collect::<Vec<_>>().join(", ")
    };
    let policy = list(&|name| format!("\"{name}\";q=999999999;w=86400"));
    let state = list(&|name| format!("\"{name}\";r={left};t={reset}"));
    let fields = [("ratelimit-policy", policy), ("ratelimit", state)];
    let fields = fields.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
    signal::read(200, &fields.into_iter().collect(), now, None, None)
}

fn depart(policy: &Policy, state: &mut HostState, now: &mut Timestamp) -> u64 {
    loop {
        match decide(policy, state, &ask(*now), *now, Draw::new(0.123_456_789)) {
            Decision::Depart(permit) => {
                *state = permit.state;
                return permit.seq;
            }
            Decision::Wait(Bound { not_before, .. })
            | Decision::Defer(Bound { not_before, .. }) => {
                *now = not_before;
            }
            Decision::Decline(decline) => panic!("{decline:?}"),
        }
    }
}

fn land(
    policy: &Policy,
    state: &HostState,
    seq: u64,
    departed: Timestamp,
    answer: &Answer<'_>,
    now: Timestamp,
) -> HostState {
    let attempt = Attempt {
        seq,
        kind: Kind::Page,
        departed,
        host: "example.org",
    };
    observe(policy, state, &attempt, answer, now, Draw::new(0.5)).state
}

#[test]
fn a_state_stays_under_a_kilobyte_and_a_quarter_at_its_largest() {
    let state = largest();
    let text = serde_json::to_string(&state).unwrap();
    for (what, has) in [
        ("four quotas", state.quotas().len() == 4),
        ("nearly all flights", state.in_flight() >= 29),
        ("a suppression", text.contains("\"s\":{\"a\"")),
        ("a breaker", text.contains("\"k\":{\"o\"")),
        ("a hold", text.contains("\"h\":[")),
        ("a backoff", text.contains("\"o\":[")),
        ("latencies", state.latency_percentile_95().is_some()),
        ("Crawl-delays", state.crawl_delay().is_some()),
    ] {
        assert!(has, "{what} is missing in {text}");
    }
    assert!(text.len() < 1_280, "{} bytes: {text}", text.len());
    assert_eq!(serde_json::from_str::<HostState>(&text).unwrap(), state);
}
