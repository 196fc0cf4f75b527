//! What an answer says, and what becomes of that: into the state, the log and the notices.

use std::sync::Arc;
use std::time::Duration;

use curtsy_core::audit::{Entry, Heard, Subject};
use curtsy_core::{
    Answer, Attempt, Change, Class, HostState, Observed, Signal, Timestamp, classify, observe,
    observe_body, signal,
};

use super::{Exchange, Hop};
use crate::error::Error;
use crate::hosts::{Host, OpenTurn};
use crate::notice::Notice;
use crate::transport::{Head, TransportError};

/// So long a body's beginning is waited for where it may say something of pace. An error page comes with
/// its head; a body that does not is read for what it is, not for hints.
const BODY_PATIENCE: Duration = Duration::from_millis(500);

/// What was understood.
pub(super) struct Understood {
    pub(super) signal: Signal,
    pub(super) class: Class,
}

impl Exchange<'_> {
    /// Reads what a response says of pace and notes it. A refusal is heeded at once, by its head; where
    /// the class of an answer hangs on its body, that is read first, and else after.
    pub(super) async fn listen(
        &self,
        hop: &Hop<'_>,
        subject: &Subject<'_>,
        attempt: &Attempt<'_>,
        head: &mut Head,
        received: Timestamp,
    ) -> Result<Understood, Error> {
        let status = head.status.as_u16();
        let latency = received.since(attempt.departed);
        let mut signal = read(head, received, None, hop);
        let mut may_say_more = signal::may_hold_hints(&head.headers, hop.profile);
        let mut heard_at = received;
        let is_refusal = classify(&answer(status, latency, &signal)) == Some(Class::Throttled);
        if may_say_more && status >= 400 && !is_refusal {
            (signal, heard_at) = self.read_with_body(head, hop).await;
            may_say_more = false;
        }
        let observed = self
            .observe(
                hop.host,
                subject,
                attempt,
                &answer(status, latency, &signal),
                heard_at,
            )
            .await?;
        self.tell(hop, &observed, Ok(head));
        if may_say_more {
            let (whole, at) = self.read_with_body(head, hop).await;
            let said = (&signal, &answer(status, latency, &whole));
            if whole != signal {
                let more = self
                    .observe_body(hop.host, subject, attempt, said, at)
                    .await?;
                self.tell(hop, &more, Ok(head));
                signal = whole;
            }
        }
        Ok(Understood {
            signal,
            class: observed.class.unwrap_or(Class::Healthy),
        })
    }

    pub(super) async fn observe(
        &self,
        host: &Arc<Host>,
        subject: &Subject<'_>,
        attempt: &Attempt<'_>,
        answer: &Answer<'_>,
        received: Timestamp,
    ) -> Result<Observed, Error> {
        let (policy, draw) = (&host.policy, self.gate.draw());
        let (observed, turn) = self
            .note(host, |state| {
                observe(policy, state, attempt, answer, received, draw)
            })
            .await?;
        let turn = turn.take();
        if self.audit.is_on() {
            let heard = Heard {
                attempt,
                answer,
                at: received,
                draw,
            };
            self.audit
                .record(Entry::outcome(subject, &heard, &observed, turn))
                .await?;
        }
        Ok(observed)
    }

    /// Notes what the whole `answer` says beyond what its head did.
    async fn observe_body(
        &self,
        host: &Arc<Host>,
        subject: &Subject<'_>,
        attempt: &Attempt<'_>,
        (head, answer): (&Signal, &Answer<'_>),
        received: Timestamp,
    ) -> Result<Observed, Error> {
        let (policy, draw) = (&host.policy, self.gate.draw());
        let (observed, turn) = self
            .note(host, |state| {
                observe_body(policy, state, attempt, answer, head, received, draw)
            })
            .await?;
        let turn = turn.take();
        if self.audit.is_on() {
            let heard = Heard {
                attempt,
                answer,
                at: received,
                draw,
            };
            self.audit
                .record(Entry::body_read(subject, &heard, head, &observed, turn))
                .await?;
        }
        Ok(observed)
    }

    /// Reads the head again with the beginning of its body, and when that was in.
    async fn read_with_body(&self, head: &mut Head, hop: &Hop<'_>) -> (Signal, Timestamp) {
        let beginning = head.body.read_ahead(signal::MAX_BODY);
        // What has come by then is read.
        let _ = tokio::time::timeout(BODY_PATIENCE, beginning).await;
        let now = self.gate.clock.now();
        (read(head, now, Some(&head.body.ahead()), hop), now)
    }

    async fn note(
        &self,
        host: &Arc<Host>,
        observe: impl Fn(&HostState) -> Observed + Send + Sync,
    ) -> Result<(Observed, OpenTurn), Error> {
        let change = |state: &HostState| {
            let mut observed = observe(state);
            (std::mem::take(&mut observed.state), observed)
        };
        self.gate
            .persistently(|| self.gate.hosts.update(host, change))
            .await
    }

    pub(super) fn tell(
        &self,
        hop: &Hop<'_>,
        observed: &Observed,
        head: Result<&Head, &TransportError>,
    ) {
        let scope = &hop.host.scope;
        let mut until = None;
        let mut told = None;
        for change in &observed.changes {
            match change {
                Change::HoldStarted {
                    told: wait,
                    until: end,
                    ..
                } => (told, until) = (Some(*wait), Some(*end)),
                Change::DynamicDelay {
                    until: Some(end), ..
                } => until = until.max(Some(*end)),
                Change::BreakerOpened { until, .. } => {
                    self.gate.notices.tell(Notice::BreakerOpened {
                        scope,
                        until: *until,
                    })
                }
                Change::Suppressed { .. } => self.gate.notices.tell(Notice::Suppressed { scope }),
                _ => {}
            }
        }
        match head {
            Ok(head) if observed.class == Some(Class::Throttled) => {
                let state = hop.host.seen();
                let hold = state
                    .as_ref()
                    .and_then(|state| state.hold(self.gate.clock.now()));
                let until = until
                    .or(hold.map(|hold| hold.until))
                    .unwrap_or_else(|| self.gate.clock.now());
                let told = told.zip(hold.map(|hold| hold.source.as_str()));
                self.gate.notices.tell(Notice::Throttled {
                    scope,
                    status: head.status.as_u16(),
                    told,
                    until,
                    headers: &head.headers,
                });
            }
            Ok(_) => {}
            Err(error) => self.gate.notices.tell(Notice::Failed {
                scope,
                error,
                until,
            }),
        }
    }
}

fn answer(status: u16, latency: Duration, signal: &Signal) -> Answer<'_> {
    Answer::Head {
        status,
        latency,
        signal,
    }
}

fn read(head: &Head, received: Timestamp, body: Option<&[u8]>, hop: &Hop<'_>) -> Signal {
    let status = head.status.as_u16();
    signal::read(status, &head.headers, received, body, hop.profile)
}
