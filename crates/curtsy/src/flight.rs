//! A departure whose answer is awaited.

use std::sync::Arc;

use curtsy_core::audit::Noted;
use curtsy_core::{Answer, Attempt, Kind, observe};

use crate::gate::Gate;
use crate::hosts::{Batch, Host};

/// A departure that stands in its scope's state. Dropped before it has landed, since the caller went
/// away, it is taken out of there.
pub(crate) struct Flight {
    gate: Arc<Gate>,
    host: Arc<Host>,
    /// The change of the state that it is part of.
    batch: Batch,
    seq: u64,
    landed: bool,
}

impl Flight {
    pub(crate) fn new(gate: Arc<Gate>, host: Arc<Host>, batch: Batch, seq: u64) -> Self {
        Self {
            gate,
            host,
            batch,
            seq,
            landed: false,
        }
    }

    /// Its end has been observed.
    pub(crate) fn landed(mut self) {
        self.landed = true;
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if self.landed {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let (gate, host, seq) = (Arc::clone(&self.gate), Arc::clone(&self.host), self.seq);
        let batch = Arc::clone(&self.batch);
        runtime.spawn(async move {
            // Where that does not stand, its number is another's.
            if !matches!(gate.hosts.stands(&host, batch).await, Ok(true)) {
                return;
            }
            let now = gate.clock.now();
            let attempt = Attempt {
                seq,
                kind: Kind::Page,
                departed: now,
                host: host.scope.host(),
            };
            let answer = Answer::Abandoned;
            let abandon = |state: &curtsy_core::HostState| {
                let observed = observe(&host.policy, state, &attempt, &answer, now, gate.draw());
                Some(observed.state)
            };
            let noted = Noted::Abandoned {
                departure: seq,
                at: now,
            };
            // Where this fails, the flight counts as lost after the timeout all the same.
            let _ = gate.hosts.note(&host, &noted, abandon).await;
        });
    }
}
