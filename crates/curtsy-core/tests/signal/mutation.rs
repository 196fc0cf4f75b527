//! Real responses with a few changes, seen through `decide` and `observe`.

use std::time::Duration;

use curtsy_core::policy::PolicyValues;
use curtsy_core::signal::Signal;
use curtsy_core::{
    Answer, Ask, Attempt, Bound, Decision, Draw, HostState, Kind, Policy, Timestamp, decide,
    observe,
};
use http::HeaderValue;
use proptest::prelude::*;

use crate::corpus::Case;
use crate::hostile::assert_is_sane;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// A default rate of its own takes the place of the guess for unknown servers, and no rate above
    /// it is permitted: then nothing that a server says makes the next request earlier.
    #[test]
    fn no_mutated_response_permits_more_than_a_silent_one(
        at in any::<usize>(),
        mutations in prop::collection::vec((any::<usize>(), mutation()), 0..4),
    ) {
        let all = Case::all();
        let mut case = all[at % all.len()].clone();
        for (line, mutation) in &mutations {
            mutate(&mut case, all, *line, mutation);
        }
        case.status = 200;
        let signal = case.read(None);
        assert_is_sane(&signal);
        let policy = PolicyValues { rate: Some(2.0), max_rate: Some(2.0), burst: 1, ..PolicyValues::compliant() };
        let policy = policy.build().unwrap();
        let told = second_departure(&policy, &signal, case.now);
        let silent = second_departure(&policy, &Signal::default(), case.now);
        prop_assert!(told >= silent, "{told} before {silent}: {:?}", case.headers);
    }
}

/// A change to one header line of a response.
#[derive(Clone, Debug)]
enum Mutation {
    Drop,
    Duplicate,
    /// A number in it, times this.
    Scale(f64),
    /// This byte in place of another.
    Corrupt(usize, u8),
    /// The value of another line of the corpus.
    Swap(usize),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    prop_oneof![
        Just(Mutation::Drop),
        Just(Mutation::Duplicate),
        prop_oneof![
            Just(-1.0),
            Just(0.0),
            Just(0.001),
            Just(1_000.0),
            Just(1e30)
        ]
        .prop_map(Mutation::Scale),
        (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Mutation::Corrupt(at, byte)),
        any::<usize>().prop_map(Mutation::Swap),
    ]
}

fn mutate(case: &mut Case, all: &[Case], line: usize, mutation: &Mutation) {
    if case.headers.is_empty() {
        return;
    }
    let line = line % case.headers.len();
    let mut value = case.headers[line].1.as_bytes().to_vec();
    match *mutation {
        Mutation::Drop => {
            case.headers.remove(line);
            return;
        }
        Mutation::Duplicate => {
            case.headers.push(case.headers[line].clone());
            return;
        }
        Mutation::Scale(by) => {
            let text = String::from_utf8_lossy(&value).into_owned();
            if let Ok(number) = text.trim().parse::<f64>() {
                value = (number * by).to_string().into_bytes();
            }
        }
        Mutation::Corrupt(at, byte) if !value.is_empty() => {
            let at = at % value.len();
            value[at] = byte;
        }
        Mutation::Corrupt(..) => {}
        Mutation::Swap(other) => {
            let other = &all[other % all.len()].headers;
            if let Some((_, other)) = other.first() {
                value = other.as_bytes().to_vec();
            }
        }
    }
    if let Ok(value) = HeaderValue::from_bytes(&value) {
        case.headers[line].1 = value;
    }
}

/// The earliest second departure to a server that answers the first with this.
fn second_departure(policy: &Policy, signal: &Signal, start: Timestamp) -> Timestamp {
    let draw = Draw::LEAST;
    let ask = Ask {
        kind: Kind::Page,
        since: start,
        own: Bound::FREE,
    };
    let Decision::Depart(permit) = decide(policy, &HostState::default(), &ask, start, draw) else {
        panic!("the first departure is free");
    };
    let latency = Duration::from_millis(20);
    let received = start.after(latency);
    let answer = Answer::Head {
        status: 200,
        latency,
        signal,
    };
    let attempt = Attempt {
        seq: permit.seq,
        kind: Kind::Page,
        departed: start,
        host: "example.org",
    };
    let observed = observe(policy, &permit.state, &attempt, &answer, received, draw);
    let mut now = received;
    // A bound is asked again when it has passed.
    for _ in 0..100 {
        match decide(policy, &observed.state, &ask, now, draw) {
            Decision::Depart(permit) => return permit.at,
            Decision::Wait(bound) | Decision::Defer(bound) => now = bound.not_before,
            Decision::Decline(_) => return Timestamp::MAX,
        }
    }
    panic!("no departure after a hundred bounds");
}
