//! What one request costs the core: the permit of its departure and what its answer changes.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use curtsy_core::signal::{self, Signal};
use curtsy_core::{
    Answer, Ask, Attempt, Decision, Draw, HostState, Kind, Policy, PolicyValues, Timestamp, decide,
    observe,
};
use http::HeaderMap;

const MS: u64 = 1_000;

/// A job under way: one quota that has been read often, two requests in flight, latencies known.
struct Scene {
    policy: Policy,
    state: HostState,
    now: Timestamp,
    signal: Signal,
}

fn scene() -> Scene {
    let mut values = PolicyValues::compliant();
    (values.rate, values.max_rate) = (Some(20.0), Some(100.0));
    let policy = values.build().expect("the policy is sound");
    let (mut state, mut now) = (HostState::default(), Timestamp::from_secs(1_700_000_000));
    let mut signal = reading(49);
    for remaining in (10..49).rev() {
        let seq = depart(&policy, &mut state, &mut now);
        now = now.after(Duration::from_millis(5));
        signal = reading(remaining);
        state = answer(&policy, &state, seq, &signal, now).state;
    }
    depart(&policy, &mut state, &mut now);
    depart(&policy, &mut state, &mut now);
    Scene {
        policy,
        state,
        now,
        signal,
    }
}

fn ask(now: Timestamp) -> Ask {
    Ask::page(now.before(Duration::from_millis(50)))
}

/// Waits as long as it takes, then departs.
fn depart(policy: &Policy, state: &mut HostState, now: &mut Timestamp) -> u64 {
    loop {
        match decide(policy, state, &ask(*now), *now, Draw::new(0.5)) {
            Decision::Depart(permit) => {
                *state = permit.state;
                return permit.seq;
            }
            Decision::Wait(bound) | Decision::Defer(bound) => *now = bound.not_before,
            Decision::Decline(decline) => panic!("{decline:?}"),
        }
    }
}

fn reading(remaining: u64) -> Signal {
    let mut headers = HeaderMap::new();
    let remaining = remaining.to_string();
    for (name, value) in [
        ("ratelimit-policy", "50;w=5"),
        ("ratelimit-limit", "50"),
        ("ratelimit-remaining", remaining.as_str()),
        ("ratelimit-reset", "5"),
    ] {
        headers.insert(name, value.parse().expect("a header value"));
    }
    signal::read(
        200,
        &headers,
        Timestamp::from_secs(1_700_000_000),
        None,
        None,
    )
}

fn answer(
    policy: &Policy,
    state: &HostState,
    seq: u64,
    signal: &Signal,
    now: Timestamp,
) -> curtsy_core::Observed {
    let attempt = Attempt {
        seq,
        kind: Kind::Page,
        departed: now.before(Duration::from_millis(5)),
        host: "example.org",
    };
    let answer = Answer::Head {
        status: 200,
        latency: Duration::from_micros(5 * MS),
        signal,
    };
    observe(policy, state, &attempt, &answer, now, Draw::new(0.5))
}

fn decide_and_observe(criterion: &mut Criterion) {
    let Scene {
        policy,
        state,
        now,
        signal,
    } = scene();
    let later = now.after(Duration::from_secs(1));
    let answered = later.after(Duration::from_millis(5));

    criterion.bench_function("decide that it waits", |bencher| {
        bencher.iter(|| decide(&policy, black_box(&state), &ask(now), now, Draw::new(0.5)));
    });
    criterion.bench_function("decide and observe", |bencher| {
        bencher.iter(|| {
            let decision = decide(
                &policy,
                black_box(&state),
                &ask(later),
                later,
                Draw::new(0.5),
            );
            let Decision::Depart(permit) = decision else {
                panic!("{decision:?}");
            };
            answer(
                &policy,
                &permit.state,
                permit.seq,
                black_box(&signal),
                answered,
            )
        });
    });
}

criterion_group!(benches, decide_and_observe);
criterion_main!(benches);
