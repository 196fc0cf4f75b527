//! The one gate: every departure passes it, and it is the only code that waits.
//!
//! One waiter a scope, first come first served. Waiting is until a time, then asking again; a change of
//! the scope's state wakes the waiter at once, so that a hold that arrives meanwhile applies to it. The
//! connection is checked out before the permit is taken, so that a dial cannot make the next request
//! early, and never during a hold. Several that may depart at the same instant are stored together; all
//! others wait until those have left, since they are measured from then.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use curtsy_core::{Ask, Bound, Decision, Decline, Draw, Kind, Permit, Reason, Timestamp, decide};
use curtsy_store::StoreErrorKind;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;

use crate::clock::Clock;
use crate::error::{Error, ErrorKind};
use crate::flight::Flight;
use crate::hosts::{Ahead, Batch, Host, Hosts, Known, Leaving, OpenTurn};
use crate::notice::{Notice, Notices};
use crate::transport::{
    Checkout, Guard, Limits, Target, Transport, TransportError, TransportErrorKind,
};

/// A connection is made ready at most so long before the departure.
const LEAD: Duration = Duration::from_secs(1);
/// How often the store is asked whether another process's request has been answered.
const PEER_POLL: Duration = Duration::from_secs(1);
/// A permit that took longer to be stored may be out of date by then.
const PROMPT: Duration = Duration::from_millis(20);
/// The waits between two attempts to reach a store that is lost.
const STORE_RETRY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// The gate of a client.
pub(crate) struct Gate {
    pub(crate) hosts: Hosts,
    pub(crate) clock: Clock,
    pub(crate) notices: Notices,
    transport: Transport,
    /// The same for robots.txt, which is never too large: whoever reads it stops where it no longer counts.
    robots_transport: Transport,
    /// All requests in flight.
    flights: Arc<Semaphore>,
    concurrency: usize,
    /// How long a lost store is waited for; `None`: as long as it takes.
    store_timeout: Option<Duration>,
    /// Whether the store is lost, as far as was told.
    store_lost: AtomicBool,
    /// Whether nothing departs until it is resumed.
    paused: AtomicBool,
    /// Whether nothing departs any more.
    closed: watch::Sender<bool>,
}

/// A request at the gate.
pub(crate) struct Caller<'a> {
    pub(crate) host: &'a Arc<Host>,
    pub(crate) target: &'a Target,
    pub(crate) guard: Guard,
    pub(crate) kind: Kind,
    /// A bound of the request's own.
    pub(crate) own: Bound,
}

/// What became of a request at the gate.
#[expect(
    clippy::large_enum_variant,
    reason = "one a request, and a box would cost what it saves"
)]
pub(crate) enum Passage {
    /// It may depart now, on this connection; where none could be made, the attempt counts all the same.
    Passed {
        permit: Box<Permit>,
        /// Given up only when it is noted when the bytes really left: whoever comes next must not be
        /// measured from a permit that was used late.
        leaving: Leaving,
        /// The place of its line in the audit log.
        turn: OpenTurn,
        flight: Flight,
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

/// What a departure needs beside its permit.
struct Ready {
    place: OwnedSemaphorePermit,
    connection: Result<Checkout, TransportError>,
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
        let limits = Limits {
            body: u64::MAX,
            ..*transport.limits()
        };
        Self {
            hosts,
            clock,
            notices,
            robots_transport: transport.with_limits(limits),
            transport,
            flights: Arc::new(Semaphore::new(concurrency)),
            concurrency,
            store_timeout,
            store_lost: AtomicBool::new(false),
            paused: AtomicBool::new(false),
            closed: watch::Sender::new(false),
        }
    }

    /// How connections are made.
    pub(crate) fn transport(&self) -> &Transport {
        &self.transport
    }

    /// Lets nothing depart, to this scope or at all, or lets it again. Whether that changes anything.
    ///
    /// It is one more bound: what was bound before is still bound by that when this one is gone.
    pub(crate) fn pause(&self, host: Option<&Arc<Host>>, paused: bool) -> bool {
        let flag = host.map_or(&self.paused, |host| &host.paused);
        if flag.swap(paused, Ordering::SeqCst) == paused {
            return false;
        }
        match host {
            Some(host) => host.changed.notify_waiters(),
            None => {
                let all = self.hosts.all();
                all.iter().for_each(|host| host.changed.notify_waiters());
            }
        }
        true
    }

    /// Whether everything is paused.
    pub(crate) fn is_paused(&self) -> bool {
        self.paused.load(Ordering::SeqCst)
    }

    /// The bound of what is paused.
    pub(crate) fn paused(&self, host: &Host) -> Option<Bound> {
        (self.is_paused() || host.paused.load(Ordering::SeqCst)).then_some(Bound::PAUSED)
    }

    /// Lets nothing depart any more: who waits is sent away, who is in flight lands.
    pub(crate) fn close(&self) {
        self.closed.send_replace(true);
    }

    pub(crate) fn is_closed(&self) -> bool {
        *self.closed.borrow()
    }

    pub(crate) async fn until_closed(&self) {
        // The sender lives as long as the gate, so that this cannot fail.
        let _ = self.closed.subscribe().wait_for(|closed| *closed).await;
    }

    /// Waits until the request may depart. The permit is to be put on record before it is used.
    pub(crate) async fn pass(self: &Arc<Self>, caller: &Caller<'_>) -> Result<Passage, Error> {
        let host = caller.host;
        if self.rest(caller).await?.is_break() {
            return Ok(Passage::Deferred(caller.own));
        }
        let since = self.clock.now();
        let place = self.place(&host.flights).await?;
        let turn = self.place(&host.turn).await?;
        let ask = Ask {
            kind: caller.kind,
            since,
            own: caller.own,
        };
        let _shown = host.shows_wait();
        self.wait_turn(caller, &ask, (place, turn)).await
    }

    /// D1: what is only this request's wait is over before it takes a place and a turn from others.
    async fn rest(&self, caller: &Caller<'_>) -> Result<ControlFlow<()>, Error> {
        let wait = caller.own.not_before.since(self.clock.now());
        if wait > caller.host.policy.max_retry_after {
            return Ok(ControlFlow::Break(()));
        }
        if !wait.is_zero() {
            let _resting = caller.host.rest();
            self.unless_closed(self.until(caller.own.not_before))
                .await?;
        }
        Ok(ControlFlow::Continue(()))
    }

    async fn wait_turn(
        self: &Arc<Self>,
        caller: &Caller<'_>,
        ask: &Ask,
        (place, mut turn): (OwnedSemaphorePermit, OwnedSemaphorePermit),
    ) -> Result<Passage, Error> {
        let host = caller.host;
        let mut ready: Option<Ready> = None;
        let mut look_again = false;
        let mut peers = host.peers.lock().await;
        loop {
            if self.is_closed() {
                return Err(closed());
            }
            let changed = host.changed.notified();
            tokio::pin!(changed);
            // From here on no change goes unnoticed.
            changed.as_mut().enable();
            let ask = &Ask {
                own: self.paused(host).unwrap_or(ask.own),
                ..*ask
            };
            let looked = std::mem::take(&mut look_again);
            if looked {
                self.patiently(|| self.hosts.reload(host)).await?;
            }
            let look = |known: Known<'_>| {
                let now = match known.ahead {
                    Ahead::Nobody => self.clock.now(),
                    Ahead::Joinable(at) => at,
                    Ahead::OnTheirWay => return None,
                };
                let decision = decide(&host.policy, known.state, ask, now, self.draw());
                let alone = matches!(known.ahead, Ahead::Nobody);
                // Who may not join those ahead is decided on when they have left.
                (alone || matches!(decision, Decision::Depart(_)))
                    .then_some((known.mark, now, decision))
            };
            let decided = self.patiently(|| self.hosts.look(host, look)).await?;
            let Some((mark, now, decision)) = decided else {
                self.unless_closed(changed).await?;
                continue;
            };
            let bound = match decision {
                // Another process may have lifted what this one remembers.
                Decision::Decline(_) | Decision::Defer(_) if !looked => {
                    look_again = true;
                    continue;
                }
                Decision::Decline(decline) => return Ok(Passage::Declined(decline)),
                Decision::Defer(bound) => return Ok(Passage::Deferred(bound)),
                Decision::Wait(bound) => bound,
                Decision::Depart(permit) => {
                    let Some(made) = ready.take_if(|ready| ready.stands()) else {
                        // What is no longer open makes room before another is waited for.
                        drop(ready.take());
                        match self.make_ready(caller).await? {
                            Ok(made) => ready = Some(made),
                            Err(refusal) => return Ok(Passage::Refused(refusal)),
                        }
                        continue;
                    };
                    let Some((batch, leaving, line)) = self.hosts.depart(host, mark, &permit)
                    else {
                        ready = Some(made);
                        continue;
                    };
                    // Whoever is next may join it.
                    drop((peers, turn));
                    let Some(flight) = self.enter(host, batch, permit.seq).await? else {
                        drop(leaving);
                        ready = Some(made);
                        turn = self.place(&host.turn).await?;
                        peers = host.peers.lock().await;
                        continue;
                    };
                    return Ok(Passage::Passed {
                        permit,
                        leaving,
                        turn: line,
                        flight,
                        connection: made.connection,
                        places: Places {
                            _scope: place,
                            _all: made.place,
                        },
                    });
                }
            };
            host.show_wait(bound);
            let near = bound.not_before.since(now) <= LEAD && !host.is_held(now);
            if !near {
                // Neither a connection nor a place is kept from others over a long wait.
                ready = None;
            } else if ready.is_none() && self.has_room() && !is_answer(bound.reason) {
                match self.make_ready(caller).await? {
                    Ok(made) => ready = Some(made),
                    Err(refusal) => return Ok(Passage::Refused(refusal)),
                }
                continue;
            }
            // What another process's request is waited for is looked up now and then.
            look_again = is_answer(bound.reason);
            let until = if look_again {
                bound.not_before.min(now.after(PEER_POLL))
            } else {
                bound.not_before
            };
            if peers.is_none() && (!near || is_answer(bound.reason) && host.has_no_other_flight()) {
                *peers = self.hosts.watch(host);
            }
            tokio::select! {
                () = self.until(until) => {}
                () = changed => look_again = false,
                () = host.changed_by_peer(&mut peers) => look_again = true,
                () = self.until_closed() => return Err(closed()),
            }
        }
    }

    /// Stores the departure; `None` where the store held something else than it was decided on.
    async fn enter(
        self: &Arc<Self>,
        host: &Arc<Host>,
        batch: Batch,
        seq: u64,
    ) -> Result<Option<Flight>, Error> {
        // Should the caller go away, it takes itself out of the state again.
        let flight = Flight::new(Arc::clone(self), Arc::clone(host), Arc::clone(&batch), seq);
        let mut batch = Some(batch);
        let stands = || {
            let batch = batch.take();
            async move {
                match batch {
                    Some(batch) => self.hosts.stands(host, batch).await,
                    // It is void since the store failed. Once that is back, it is decided anew.
                    None => self.hosts.reload(host).await.map(|_| false),
                }
            }
        };
        let asked = Instant::now();
        let mut stands = self.patiently(stands).await?;
        if stands && asked.elapsed() > PROMPT {
            // P9: another process may have met a hold since this one was let through.
            self.patiently(|| self.hosts.reload(host)).await?;
            stands = !host.is_held(self.clock.now());
        }
        if stands {
            return Ok(Some(flight));
        }
        flight.landed();
        Ok(None)
    }

    /// A place among all requests in flight, and a connection; or why there must be none.
    async fn make_ready(
        &self,
        caller: &Caller<'_>,
    ) -> Result<Result<Ready, TransportError>, Error> {
        let place = self.place(&self.flights).await?;
        let transport = match caller.kind {
            Kind::Robots => &self.robots_transport,
            _ => &self.transport,
        };
        let connection = self
            .unless_closed(transport.check_out(caller.target, caller.guard))
            .await?;
        Ok(match connection {
            Err(error) if is_refusal(&error) => Err(error),
            connection => Ok(Ready { place, connection }),
        })
    }

    /// Whether so many places are free that one may be taken before it is needed: a scope that waits
    /// takes nothing from one that need not.
    fn has_room(&self) -> bool {
        self.flights.available_permits() > self.concurrency.div_ceil(2)
    }

    /// S4: a store that is lost is waited for, and nothing departs meanwhile. Not beyond closing.
    pub(crate) async fn patiently<T, F>(&self, call: impl FnMut() -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        self.retry_store(call, true).await
    }

    /// The same for what has departed already: its end is put down after closing, too.
    pub(crate) async fn persistently<T, F>(&self, call: impl FnMut() -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        self.retry_store(call, false).await
    }

    async fn retry_store<T, F>(
        &self,
        mut call: impl FnMut() -> F,
        until_closed: bool,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let since = self.clock.now();
        let mut pause = STORE_RETRY.0;
        loop {
            let error = match call().await {
                Ok(value) => {
                    if pause > STORE_RETRY.0 && self.store_lost.swap(false, Ordering::Relaxed) {
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
            // All scopes wait for one store: it is told once.
            if !self.store_lost.swap(true, Ordering::Relaxed) {
                self.notices.tell(Notice::StoreLost { error: &error });
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.until_closed(), if until_closed => return Err(closed()),
            }
            pause = (pause * 2).min(STORE_RETRY.1);
        }
    }

    /// Waits until the clock shows `at`.
    pub(crate) async fn until(&self, at: Timestamp) {
        tokio::time::sleep_until(self.clock.instant_of(at)).await;
    }

    async fn place(&self, places: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Error> {
        let place = self.unless_closed(Arc::clone(places).acquire_owned());
        place.await?.map_err(|_| closed())
    }

    /// What comes of it, unless the gate closes first.
    async fn unless_closed<T>(&self, work: impl Future<Output = T>) -> Result<T, Error> {
        if self.is_closed() {
            return Err(closed());
        }
        // What is done at once need not wait for the closing.
        tokio::select! {
            biased;
            done = work => Ok(done),
            () = self.until_closed() => Err(closed()),
        }
    }

    pub(crate) fn draw(&self) -> Draw {
        // Six decimals are enough, and what is on record is then what was drawn.
        Draw::new(f64::from(fastrand::u32(..=1_000_000)) / 1e6)
    }
}

impl Ready {
    /// Whether it is still as good as when it was made.
    fn stands(&self) -> bool {
        self.connection.as_ref().map_or(true, Checkout::is_open)
    }
}

/// Whether the wait is for another request's answer.
fn is_answer(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::FirstAnswer | Reason::Probe | Reason::Concurrency
    )
}

/// What must not be connected to at all is no departure.
fn is_refusal(error: &TransportError) -> bool {
    matches!(
        error.kind(),
        TransportErrorKind::RefusedTarget | TransportErrorKind::Configuration
    )
}

fn closed() -> Error {
    Error::new(ErrorKind::Closed, "nothing departs any more")
}
