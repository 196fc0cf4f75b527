//! Holds that an answer asks for (rules H1–H3, H10).

use std::time::Duration;

use super::{Change, Observation};
use crate::outcome::{Answer, Class};
use crate::policy::{OverCap, RETRY_AFTER_BUFFER_CAP};
use crate::signal::{LONGEST_WAIT, Signal, Unit};
use crate::state::{Hold, short};

/// A hold that an answer asks for.
struct Asked {
    wait: Duration,
    source: String,
    status: u16,
}

impl Observation<'_> {
    /// Holds the scope for as long as the answer asks. Whether it asks for anything.
    pub(super) fn hold_as_told(&mut self) -> bool {
        let Some(asked) = self.asked_for() else {
            return false;
        };
        let wait = match self.policy.retry_after_over_cap {
            OverCap::Clamp => asked.wait.min(self.policy.max_retry_after),
            OverCap::Defer => asked.wait,
        };
        let (least, most) = self.policy.retry_after_buffer;
        let buffer = self
            .draw
            .between(wait.mul_f64(least), wait.mul_f64(most))
            .min(RETRY_AFTER_BUFFER_CAP);
        let (told, until) = (
            self.now.after(wait),
            self.now.after(wait.saturating_add(buffer)),
        );
        self.drain_bucket(until);
        // A shorter instruction that comes later takes nothing back from a longer one.
        let hold = &mut self.state.hold;
        if hold.as_ref().is_some_and(|hold| hold.until >= until) {
            return true;
        }
        *hold = Some(Hold {
            since: self.now,
            told,
            until,
            source: short(&asked.source).into_owned(),
        });
        let header = asked.source.to_ascii_lowercase();
        let header = header.replace(": ", "_").replace('-', "_");
        self.changes.push(Change::HoldStarted {
            told: wait,
            buffer,
            until,
            trigger: format!("{}_{header}", asked.status),
        });
        true
    }

    /// The longest wait that the answer asks for, if it asks for any. What only follows from a quota that
    /// a success finds used up is no hold of this kind: of requests, its bracketed reset holds (H6); and
    /// where successes do not steer, none does.
    fn asked_for(&self) -> Option<Asked> {
        let Answer::Head { status, signal, .. } = *self.answer else {
            return None;
        };
        let is_refused = self.class == Class::Throttled;
        let told = signal.wait.as_ref().filter(|wait| {
            let is_stated = signal
                .explicit
                .as_ref()
                .is_some_and(|stated| stated.after >= wait.after);
            let follows = self.policy.steer && !is_reset_of_exhausted(signal, wait.after);
            !wait.after.is_zero() && (is_refused || is_stated || follows)
        });
        let (wait, source) = match told {
            Some(wait) => (wait.after, wait.source.to_string()),
            None if is_refused || self.policy.steer => exhausted_other_unit(signal)?,
            None => return None,
        };
        Some(Asked {
            wait: wait.min(LONGEST_WAIT),
            source,
            status,
        })
    }
}

fn is_reset_of_exhausted(signal: &Signal, wait: Duration) -> bool {
    signal
        .quotas
        .iter()
        .filter(|quota| quota.unit == Unit::Requests && quota.remaining == Some(0))
        .any(|quota| quota.reset.is_some_and(|reset| reset.after == wait))
}

/// A quota of tokens, bytes or points says one thing about requests: used up, it holds until its reset.
fn exhausted_other_unit(signal: &Signal) -> Option<(Duration, String)> {
    let used_up = signal
        .quotas
        .iter()
        .filter(|quota| quota.unit != Unit::Requests && quota.remaining == Some(0));
    let resets = used_up.filter_map(|quota| Some((quota.reset?.after, quota.name.to_string())));
    resets.max().filter(|(wait, _)| !wait.is_zero())
}
