//! What holds for any policy and any server, however it behaves: thousands of made-up histories.

#![allow(clippy::unwrap_used)]

mod history;
mod stored;
mod world;

use std::time::Duration;

use curtsy_core::signal::LONGEST_WAIT;
use curtsy_core::{Decision, Draw, HostState, Policy, Reason, Timestamp, bounds, decide, pace};
use proptest::prelude::*;

use history::{Said, failure, history, policy, said, steps};
use world::World;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Every departure is held against bounds that the test keeps by itself, from what it made the server say.
    #[test]
    fn no_departure_precedes_a_bound_that_is_kept_independently(
        policy in policy(),
        steps in steps(80),
    ) {
        let mut world = World::new(policy);
        for step in &steps {
            world.take(step);
        }
        world.judge();
    }

    #[test]
    fn it_is_refused_until_exactly_the_instant_that_was_told_and_permitted_at_it(
        (policy, state, now) in history(),
        share in 0.0..1.0,
        draw in 0.0..=1.0,
    ) {
        let ask = world::ask(now);
        let at = |now| decide(&policy, &state, &ask, now, Draw::new(draw));
        let bound = match at(now) {
            Decision::Wait(bound) | Decision::Defer(bound) => bound,
            Decision::Depart(_) | Decision::Decline(_) => return Ok(()),
        };
        let wait = bound.not_before.since(now);
        prop_assert!(!wait.is_zero());
        let between = now.after(wait.mul_f64(share)).min(just_before(bound.not_before));
        for then in [between, just_before(bound.not_before)] {
            match at(then) {
                Decision::Wait(told) | Decision::Defer(told) => prop_assert_eq!(told, bound, "at {}", then),
                other => prop_assert!(false, "at {}: {:?}", then, other),
            }
        }
        let is_permitted = matches!(at(bound.not_before), Decision::Depart(_));
        prop_assert!(is_permitted, "at {:?}: {:?}", bound, at(bound.not_before));
    }

    /// H7. Landing alone may free what waits for an answer; so that is what it is compared with.
    #[test]
    fn an_answer_that_says_nothing_understandable_never_speeds_anything_up(
        (policy, mut state, now) in history(),
        said in said().prop_map(Said::garbled),
    ) {
        let (mut abandoned, mut bare) = (state.clone(), state.clone());
        world::land(&policy, &mut abandoned, now, &Said::Abandoned);
        // L4: that the server answers well at all is what load returns by.
        world::land(&policy, &mut bare, now, &Said::Head(404, Vec::new()));
        world::land(&policy, &mut state, now, &said);
        prop_assert_eq!(pace(&policy, &state), pace(&policy, &bare));
        let asked = |state| bounds(&policy, state, &world::ask(now), now).server.not_before;
        prop_assert!(asked(&state) >= asked(&bare));
        for (one, other) in state.hold(now).iter().zip(abandoned.hold(now).iter()) {
            prop_assert!(one.until >= other.until);
        }
    }

    #[test]
    fn a_failure_never_shortens_a_wait(
        (policy, state, now) in history(),
        said in failure(),
    ) {
        let (mut abandoned, mut failed) = (state.clone(), state.clone());
        world::land(&policy, &mut abandoned, now, &Said::Abandoned);
        world::land(&policy, &mut failed, now, &said);
        if waits_for_an_answer(&policy, &abandoned, now) {
            return Ok(());
        }
        let ask = world::ask(now);
        let wait = |state| bounds(&policy, state, &ask, now).latest().not_before;
        prop_assert!(wait(&failed) >= wait(&abandoned), "{:?}", said);
        prop_assert!(failed.dynamic_delay() >= abandoned.dynamic_delay());
    }

    /// D7: of two draws the greater one never waits less, neither for an answer nor for the next departure.
    #[test]
    fn jitter_only_lengthens(
        (policy, state, now) in history(),
        said in said(),
        draws in (0.0_f64..=1.0, 0.0_f64..=1.0),
    ) {
        let (less, more) = (draws.0.min(draws.1), draws.0.max(draws.1));
        let ask = world::ask(now);
        let after = |draw| {
            let draw = Draw::new(draw);
            let mut state = state.clone();
            world::land_at(&policy, &mut state, now, &said, draw);
            let held = bounds(&policy, &state, &ask, now).latest().not_before;
            let Decision::Depart(permit) = decide(&policy, &state, &ask, held.max(now), draw) else {
                return (held, None);
            };
            let next = bounds(&policy, &permit.state, &ask, permit.at).latest();
            (held, Some(next.not_before.since(permit.at)))
        };
        let (short, long) = (after(less), after(more));
        prop_assert!(short.0 <= long.0, "{:?} then {:?}", short, long);
    }

    #[test]
    fn a_state_survives_its_store(
        (policy, state, now) in history(),
    ) {
        let text = serde_json::to_string(&state).unwrap();
        let back: HostState = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&back, &state, "{}", text);
        let restored = back.restored(&policy, now);
        prop_assert_eq!(&restored, &state, "{}", text);
        prop_assert!(text.len() < 1_024, "{} bytes: {}", text.len(), text);
    }

    /// D6: whatever a store says, nothing breaks, and nothing waits for ever.
    #[test]
    fn a_hostile_store_breaks_nothing_and_holds_nothing_for_ever(
        (policy, state, now) in history(),
        numbers in prop::collection::vec(stored::number(), 1..12),
        places in prop::collection::vec(any::<prop::sample::Index>(), 12),
        said in said(),
    ) {
        let text = stored::tampered_with(&state, &numbers, &places);
        let Ok(back) = serde_json::from_str::<HostState>(&text) else {
            return Ok(());
        };
        // As it is, and as it is meant to be read.
        for mut state in [back.clone(), back.restored(&policy, now)] {
            world::land(&policy, &mut state, now, &said);
            let _ = decide(&policy, &state, &world::ask(now), now, Draw::GREATEST);
            let again: HostState =
                serde_json::from_str(&serde_json::to_string(&state).unwrap()).unwrap();
            let _ = decide(&policy, &again, &world::ask(now), now, Draw::GREATEST);
        }
        let restored: HostState = serde_json::from_str(&text).unwrap();
        let restored = restored.restored(&policy, now);
        let bound = bounds(&policy, &restored, &world::ask(now), now).latest();
        let longest = LONGEST_WAIT + Duration::from_secs(2 * 86_400);
        prop_assert!(bound.not_before <= now.after(longest), "{:?} by {}", bound, text);
        prop_assert!(restored.dynamic_delay() <= policy.backoff_max);
    }
}

/// Whether it is an answer that is waited for, so that landing as such, however it ends, frees the next.
fn waits_for_an_answer(policy: &Policy, state: &HostState, now: Timestamp) -> bool {
    let reason = bounds(policy, state, &world::ask(now), now).latest().reason;
    matches!(reason, Reason::FirstAnswer | Reason::Probe)
}

fn just_before(at: Timestamp) -> Timestamp {
    Timestamp::from_micros(at.as_micros() - 1)
}
