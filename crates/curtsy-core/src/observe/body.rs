//! [`observe_body`]: what only the body of an answer says.

use super::{Attempt, Observation, Observed, uncounted};
use crate::outcome::{Answer, Class, classify};
use crate::policy::Policy;
use crate::signal::Signal;
use crate::state::HostState;
use crate::{Draw, Timestamp};

/// What the body of an answer adds to its head, which [`observe`](super::observe) has taken in already: a
/// longer wait, and quotas that the head does not tell.
///
/// `answer` carries the signal that was read from both, `head` is the one from the head alone. The class
/// of the answer is not judged again, and the dynamic delay is left as it is.
#[must_use]
pub fn observe_body(
    policy: &Policy,
    state: &HostState,
    attempt: &Attempt<'_>,
    answer: &Answer<'_>,
    head: &Signal,
    now: Timestamp,
    draw: Draw,
) -> Observed {
    let class = classify(answer);
    let (
        &Answer::Head {
            status,
            latency,
            signal,
        },
        true,
    ) = (answer, policy.polite)
    else {
        return Observed {
            state: state.clone(),
            class,
            changes: Vec::new(),
        };
    };
    let mut more = signal.clone();
    let known = &head.quotas;
    more.quotas
        .retain(|quota| known.iter().all(|known| known.name != quota.name));
    let is_longer =
        more.wait.as_ref().map(|wait| wait.after) > head.wait.as_ref().map(|wait| wait.after);
    let mut observation = Observation {
        policy,
        state: state.clone(),
        attempt,
        answer: &Answer::Head {
            status,
            latency,
            signal: &more,
        },
        class: class.unwrap_or(Class::Healthy),
        uncounted: uncounted(state, attempt),
        among: 0,
        now,
        draw,
        changes: Vec::new(),
    };
    observation.read_quotas();
    if is_longer {
        observation.hold_as_told();
    }
    Observed {
        state: observation.state,
        changes: observation.changes,
        class,
    }
}
