//! What a person does to a running client: ends a suppression or a breaker, pauses and resumes.

use curtsy_core::audit::{Entry, Event, Noted};
use curtsy_core::{Breaker, HostState, Scope, Suppression};

use super::Client;
use crate::error::Error;
use crate::notice::Notice;

/// The trigger of what a person did.
const BY_HAND: &str = "by_hand";

impl Client {
    /// Ends a suppression or a breaker, never a server's hold. Whether there was one.
    ///
    /// # Errors
    /// The store failed.
    pub async fn lift(&self, scope: &Scope) -> Result<bool, Error> {
        let host = self.shared.gate.hosts.host(scope);
        self.shared.gate.hosts.reload(&host).await?;
        let lift = |state: &HostState| {
            let mut next = state.clone();
            next.lift().then_some(next)
        };
        let before = host.seen();
        let hosts = &self.shared.gate.hosts;
        if !hosts.note(&host, &Noted::Lifted {}, lift).await? {
            return Ok(false);
        }
        self.record_lift(scope, before).await?;
        Ok(true)
    }

    async fn record_lift(&self, scope: &Scope, before: Option<HostState>) -> Result<(), Error> {
        let breaker = before.as_ref().map(HostState::breaker).unwrap_or_default();
        let suppression = before.as_ref().map(HostState::suppression);
        let mut entries = Vec::new();
        if breaker != Breaker::Closed {
            entries.push(Event::BreakerClosed {});
        }
        if let Some(Suppression::Active { .. } | Suppression::Probing { .. }) = suppression {
            entries.push(Event::SuppressionLifted {});
        }
        let entries = entries.into_iter();
        let entries = entries.map(|event| Entry::of_scope(scope, event, BY_HAND));
        self.shared.audit.record(entries).await?;
        self.shared.gate.notices.tell(Notice::Lifted { scope });
        Ok(())
    }

    /// Lets nothing depart to a scope, or at all where none is named, until it is [resumed](Self::resume).
    /// Requests in flight land. It is of this client, and not of others that share its store; it ends with
    /// the client. Whether it was not paused before.
    ///
    /// # Errors
    /// The audit log failed; it is paused all the same.
    pub async fn pause(&self, scope: Option<&Scope>) -> Result<bool, Error> {
        self.set_paused(scope, true).await
    }

    /// Lets departures to a scope, or all where none is named, go on from where every other bound has
    /// them: none is earlier than it would have been without the pause. A scope that was paused by itself
    /// stays so when everything is resumed. Whether it was paused before.
    ///
    /// # Errors
    /// The audit log failed; it goes on all the same.
    pub async fn resume(&self, scope: Option<&Scope>) -> Result<bool, Error> {
        self.set_paused(scope, false).await
    }

    /// Whether everything is paused.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.shared.gate.is_paused()
    }

    async fn set_paused(&self, scope: Option<&Scope>, is_paused: bool) -> Result<bool, Error> {
        let gate = &self.shared.gate;
        let host = scope.map(|scope| gate.hosts.host(scope));
        if !gate.pause(host.as_ref(), is_paused) {
            return Ok(false);
        }
        gate.notices.tell(Notice::Paused { scope, is_paused });
        let event = if is_paused {
            Event::Paused {}
        } else {
            Event::Resumed {}
        };
        let entry = match scope {
            Some(scope) => Entry::of_scope(scope, event, BY_HAND),
            None => Entry::of_run(event),
        };
        self.shared.audit.record([entry]).await?;
        Ok(true)
    }
}
