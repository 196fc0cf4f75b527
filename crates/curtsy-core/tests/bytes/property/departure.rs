//! What a reading makes of the pace.

use std::sync::LazyLock;
use std::time::Duration;

use curtsy_core::policy::PolicyValues;
use curtsy_core::signal::Signal;
use curtsy_core::{
    Answer, Ask, Attempt, Decision, Draw, HostState, Kind, Policy, Timestamp, decide, observe,
};

/// A default rate of its own takes the place of the guess for unknown servers, and no rate above it is
/// permitted: then nothing that a server says makes the next request earlier.
static POLICY: LazyLock<Policy> = LazyLock::new(|| {
    let values = PolicyValues {
        rate: Some(2.0),
        max_rate: Some(2.0),
        burst: 1,
        ..PolicyValues::compliant()
    };
    values.build().expect("it is within the bounds")
});

/// After a 200 that is read as this, no request departs earlier than after one that says nothing.
pub(crate) fn assert_no_earlier_than_after_silence(signal: &Signal, start: Timestamp) {
    let told = second_departure(signal, start);
    let silent = second_departure(&Signal::default(), start);
    assert!(told >= silent, "{told} before {silent}: {signal:?}");
}

/// The earliest second departure to a server that answers the first with this.
fn second_departure(signal: &Signal, start: Timestamp) -> Timestamp {
    let draw = Draw::LEAST;
    let ask = Ask::page(start);
    let Decision::Depart(permit) = decide(&POLICY, &HostState::default(), &ask, start, draw) else {
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
    let observed = observe(&POLICY, &permit.state, &attempt, &answer, received, draw);
    let mut now = received;
    // A bound is asked again when it has passed.
    for _ in 0..100 {
        match decide(&POLICY, &observed.state, &ask, now, draw) {
            Decision::Depart(permit) => return permit.at,
            Decision::Wait(bound) | Decision::Defer(bound) => now = bound.not_before,
            Decision::Decline(_) => return Timestamp::MAX,
        }
    }
    panic!("no departure after a hundred bounds");
}
