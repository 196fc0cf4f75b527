//! The one gate: every departure passes it, and it is the only code that waits.
//!
//! One waiter a scope, first come first served. Waiting is until a time, then asking again; a change of
//! the scope's state wakes the waiter at once, so that a hold that arrives meanwhile applies to it. The
//! connection is checked out before the permit is taken, so that a dial cannot make the next request
//! early, and never during a hold.

use std::sync::Arc;
use std::time::Duration;

use curtsy_core::{Ask, Bound, Decision, Decline, Draw, Kind, Permit, Reason, Timestamp, decide};
use curtsy_store::StoreErrorKind;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore, watch};

use crate::clock::Clock;
use crate::error::{Error, ErrorKind};
use crate::hosts::{Host, Hosts};
use crate::notice::{Notice, Notices};
use crate::transport::{Checkout, Guard, Target, Transport, TransportError, TransportErrorKind};

/// A connection is made ready at most so long before the departure.
const LEAD: Duration = Duration::from_secs(1);
/// How often the store is asked whether another process's request has been answered.
const PEER_POLL: Duration = Duration::from_secs(1);
/// The waits between two attempts to reach a store that is lost.
const STORE_RETRY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// The gate of a client.
pub(crate) struct Gate {
    pub(crate) hosts: Hosts,
    pub(crate) clock: Clock,
    pub(crate) notices: Notices,
    transport: Transport,
    /// All requests in flight.
    flights: Arc<Semaphore>,
    /// How long a lost store is waited for; `None`: as long as it takes.
    store_timeout: Option<Duration>,
    /// Whether nothing departs any more.
    closed: watch::Sender<bool>,
}

/// A request at the gate.
pub(crate) struct Caller<'a> {
    pub(crate) host: &'a Host,
    pub(crate) target: &'a Target,
    pub(crate) guard: Guard,
    pub(crate) kind: Kind,
    /// A bound of the request's own.
    pub(crate) own: Bound,
}

/// What became of a request at the gate.
pub(crate) enum Passage {
    /// It may depart now, on this connection; where none could be made, the attempt counts all the same.
    Passed {
        permit: Box<Permit>,
        connection: Result<Checkout, TransportError>,
        places: Places,
    },
    /// Not before the bound, which is longer than patience.
    Deferred(Bound),
    /// Not at all.
    Declined(Decline),
    /// Its address may not be connected to.
    Refused(TransportError),
}

/// The places that a request holds while it is in flight.
#[derive(Debug)]
pub(crate) struct Places {
    _scope: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl Gate {
    pub(crate) fn new(
        hosts: Hosts,
        clock: Clock,
        transport: Transport,
        concurrency: usize,
        store_timeout: Option<Duration>,
        notices: Notices,
    ) -> Self {
        Self {
            hosts,
            clock,
            notices,
            transport,
            flights: Arc::new(Semaphore::new(concurrency)),
            store_timeout,
            closed: watch::Sender::new(false),
        }
    }

    /// Lets nothing depart any more: who waits is sent away, who is in flight lands.
    pub(crate) fn close(&self) {
        self.closed.send_replace(true);
    }

    /// Waits until the request may depart. `record` puts the permit on record before it is used.
    pub(crate) async fn pass(
        &self,
        caller: &Caller<'_>,
        record: impl Fn(&Permit) -> Result<(), Error>,
    ) -> Result<Passage, Error> {
        let host = caller.host;
        let since = self.clock.now();
        let place = self
            .unless_closed(Arc::clone(&host.flights).acquire_owned())
            .await?;
        let _turn = self.unless_closed(host.turn.acquire()).await?;
        let ask = Ask {
            kind: caller.kind,
            since,
            own: caller.own,
        };
        let passage = self.wait_turn(caller, &ask, place, record).await;
        host.show_wait(None);
        passage
    }

    async fn wait_turn(
        &self,
        caller: &Caller<'_>,
        ask: &Ask,
        place: OwnedSemaphorePermit,
        record: impl Fn(&Permit) -> Result<(), Error>,
    ) -> Result<Passage, Error> {
        let host = caller.host;
        let mut ready: Option<(OwnedSemaphorePermit, Result<Checkout, TransportError>)> = None;
        loop {
            let changed = host.changed.notified();
            tokio::pin!(changed);
            // From here on no change goes unnoticed.
            changed.as_mut().enable();
            let known = self.patiently(|| self.hosts.state(host)).await?;
            let now = self.clock.now();
            let bound = match decide(&host.policy, &known.state, ask, now, self.draw()) {
                Decision::Decline(decline) => return Ok(Passage::Declined(decline)),
                Decision::Defer(bound) => return Ok(Passage::Deferred(bound)),
                Decision::Wait(bound) => bound,
                Decision::Depart(permit) => {
                    let stands = match &ready {
                        Some((_, Ok(checkout))) => checkout.is_open(),
                        Some((_, Err(_))) => true,
                        None => false,
                    };
                    if !stands {
                        ready = Some(self.make_ready(caller).await?);
                        continue;
                    }
                    if let Some((_, Err(_))) = &ready
                        && let Some(refusal) = take_refusal(&mut ready)
                    {
                        return Ok(Passage::Refused(refusal));
                    }
                    let swap = || self.hosts.swap(host, known.version, permit.state.clone());
                    if !self.patiently(swap).await? {
                        continue;
                    }
                    record(&permit)?;
                    let Some((all, connection)) = ready.take() else {
                        continue;
                    };
                    return Ok(Passage::Passed {
                        permit,
                        connection,
                        places: Places {
                            _scope: place,
                            _all: all,
                        },
                    });
                }
            };
            host.show_wait(Some(bound));
            let near = bound.not_before.since(now) <= LEAD && !host.is_held(now);
            if near
                && ready.is_none()
                && bound.reason != Reason::FirstAnswer
                && bound.reason != Reason::Probe
            {
                ready = Some(self.make_ready(caller).await?);
                continue;
            }
            if !near {
                // Neither a connection nor a place is kept from others over a long wait.
                ready = None;
            }
            let until = self.wake_at(bound, now);
            tokio::select! {
                () = self.until(until) => {}
                () = changed => continue,
                () = self.until_closed() => return Err(closed()),
            }
            if until < bound.not_before {
                self.patiently(|| self.hosts.reload(host)).await?;
            }
        }
    }

    /// A place among all requests in flight, and a connection.
    async fn make_ready(
        &self,
        caller: &Caller<'_>,
    ) -> Result<(OwnedSemaphorePermit, Result<Checkout, TransportError>), Error> {
        let place = self
            .unless_closed(Arc::clone(&self.flights).acquire_owned())
            .await?;
        let checkout = self.transport.check_out(caller.target, caller.guard).await;
        Ok((place, checkout))
    }

    /// What another process's request is waited for is looked up now and then.
    fn wake_at(&self, bound: Bound, now: Timestamp) -> Timestamp {
        match bound.reason {
            Reason::FirstAnswer | Reason::Probe => bound.not_before.min(now.after(PEER_POLL)),
            _ => bound.not_before,
        }
    }

    /// S4: a store that is lost is waited for, and nothing departs meanwhile.
    pub(crate) async fn patiently<T, F>(&self, mut call: impl FnMut() -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let since = self.clock.now();
        let mut pause = STORE_RETRY.0;
        loop {
            let error = match call().await {
                Ok(value) => {
                    if pause > STORE_RETRY.0 {
                        self.notices.tell(Notice::StoreBack);
                    }
                    return Ok(value);
                }
                Err(error) => error,
            };
            let lost = error.kind() == ErrorKind::Store(StoreErrorKind::Unavailable);
            let waited = self.clock.now().since(since);
            if !lost || self.store_timeout.is_some_and(|most| waited >= most) {
                return Err(error);
            }
            if pause == STORE_RETRY.0 {
                self.notices.tell(Notice::StoreLost { error: &error });
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(STORE_RETRY.1);
        }
    }

    /// Waits until the clock shows `at`.
    pub(crate) async fn until(&self, at: Timestamp) {
        tokio::time::sleep_until(self.clock.instant_of(at)).await;
    }

    /// A place, unless the gate closes first.
    async fn unless_closed<T>(
        &self,
        acquire: impl Future<Output = Result<T, AcquireError>>,
    ) -> Result<T, Error> {
        if *self.closed.borrow() {
            return Err(closed());
        }
        tokio::select! {
            place = acquire => place.map_err(|_| closed()),
            () = self.until_closed() => Err(closed()),
        }
    }

    async fn until_closed(&self) {
        // The sender lives as long as the gate, so that this cannot fail.
        let _ = self.closed.subscribe().wait_for(|closed| *closed).await;
    }

    pub(crate) fn draw(&self) -> Draw {
        Draw::new(fastrand::f64())
    }
}

/// What must not be connected to at all is no departure.
fn take_refusal(
    ready: &mut Option<(OwnedSemaphorePermit, Result<Checkout, TransportError>)>,
) -> Option<TransportError> {
    let refused = matches!(
        ready,
        Some((_, Err(error))) if matches!(error.kind(), TransportErrorKind::RefusedTarget | TransportErrorKind::Configuration)
    );
    if !refused {
        return None;
    }
    ready.take().and_then(|(_, connection)| connection.err())
}

fn closed() -> Error {
    Error::new(ErrorKind::Closed, "nothing departs any more")
}
