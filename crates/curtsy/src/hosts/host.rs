//! One scope: what is known of it, who waits for it, and how its state comes into the store.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use curtsy_core::{
    Ask, Bound, Breaker, FORMAT, HostState, LEEWAY, Policy, Scope, Suppression, Timestamp, bounds,
};
use curtsy_store::{HostStore, StoreErrorKind, Swap, Version, Versioned, Watch};
use tokio::sync::{Notify, Semaphore};

use super::record::Record;
use super::{SCOPE_PREFIX, lock};
use crate::clock::Clock;
use crate::error::{Error, ErrorKind};
use crate::metrics::Bustle;

/// The least time that a departure is given to leave in after it began to be stored.
const LEAST_LEEWAY: Duration = Duration::from_micros(500);

/// One scope.
pub(crate) struct Host {
    pub(crate) scope: Scope,
    pub(crate) policy: Arc<Policy>,
    pub(super) key: String,
    pub(super) record: Mutex<Record>,
    /// Held by who speaks with the store about it, so that this process has no conflicts with itself.
    pub(super) storing: Arc<tokio::sync::Mutex<()>>,
    /// Tells who waits that the state has changed.
    pub(crate) changed: Notify,
    /// Tells whose turn it is that another process has changed the state.
    pub(crate) peers: tokio::sync::Mutex<Option<Watch>>,
    /// One waiter a scope, first come first served.
    pub(crate) turn: Arc<Semaphore>,
    /// Requests in flight.
    pub(crate) flights: Arc<Semaphore>,
    /// Whether nothing departs to it until it is resumed.
    pub(crate) paused: AtomicBool,
    /// What the request whose turn it is waits for.
    waits_for: Mutex<Option<Bound>>,
    /// Requests that wait for a bound of their own, in nobody's way.
    resting: AtomicUsize,
    /// How much departed to it lately from here, for the metrics.
    pub(crate) bustle_here: Mutex<Bustle>,
    /// Tells that one more of them rests.
    pub(crate) rested: Notify,
}

impl Host {
    /// A scope that is met; its first turn is the one after `turn`.
    pub(super) fn new(scope: Scope, policy: Arc<Policy>, turn: u64) -> Self {
        Self {
            key: format!("{SCOPE_PREFIX}{scope}"),
            scope,
            record: Mutex::new(Record::after(turn)),
            storing: Arc::default(),
            changed: Notify::new(),
            peers: tokio::sync::Mutex::default(),
            turn: Arc::new(Semaphore::new(1)),
            flights: Arc::new(Semaphore::new(policy.per_host as usize)),
            paused: AtomicBool::new(false),
            waits_for: Mutex::default(),
            resting: AtomicUsize::new(0),
            bustle_here: Mutex::default(),
            rested: Notify::new(),
            policy,
        }
    }

    /// Stores all changes made so far. On a conflict what is there now is known from then on.
    pub(super) async fn swap(&self, store: &dyn HostStore, clock: &Clock) -> Result<bool, Error> {
        let (batch, version, value) = {
            let mut record = lock(&self.record);
            let leave_by = |state: &HostState| self.leave_by(state, clock.now());
            let Some(begun) = record.begin(leave_by) else {
                return Ok(false);
            };
            let value = serde_json::to_vec(&*begun.state).map_err(|error| {
                Error::new(ErrorKind::Configuration, "a state cannot be written").caused_by(error)
            })?;
            (begun.batch, begun.version, value)
        };
        let swapped = store.compare_and_swap(&self.key, version, value).await;
        // Whoever waits for the batch looks when this is over.
        let _ = batch.set(matches!(swapped, Ok(Swap::Stored(_))));
        match swapped {
            Ok(Swap::Stored(version)) => {
                lock(&self.record).stored(version);
                Ok(true)
            }
            Ok(Swap::Conflict(found)) => self.take(found, clock.now()).map(|()| false),
            Err(error) => {
                // It may be stored all the same: the store is asked before anything else is changed.
                lock(&self.record).replace(None);
                Err(error.into())
            }
        }
    }

    /// When those that depart now have left, as the store is told. Other processes are measured from then until they
    /// are told better, so that it is soon where the interval is short; where there is none, nobody is held up.
    fn leave_by(&self, state: &HostState, now: Timestamp) -> Timestamp {
        let interval = next_page(&self.policy, state, now).not_before.since(now);
        now.after(if interval > LEEWAY {
            (interval / 50).clamp(LEAST_LEEWAY, LEEWAY)
        } else {
            LEEWAY
        })
    }

    /// The store holds this.
    pub(super) fn take(&self, found: Option<Versioned>, now: Timestamp) -> Result<(), Error> {
        let version = version_of(found.as_ref());
        let state = match found {
            None => Ok(HostState::default()),
            Some(found) => decode(&found.value).map(|state| state.restored(&self.policy, now)),
        };
        let mut record = lock(&self.record);
        let taken = match state {
            Ok(state) => {
                record.replace(Some((version, state)));
                Ok(())
            }
            Err(error) => {
                record.replace(None);
                Err(error)
            }
        };
        drop(record);
        self.changed.notify_waiters();
        taken
    }

    /// Waits until another process has changed the state; for ever where nobody tells of that.
    pub(crate) async fn changed_by_peer(&self, peers: &mut Option<Watch>) {
        let Some(watch) = peers else {
            return std::future::pending().await;
        };
        loop {
            let version = watch.changed().await;
            if self.is_at(version) {
                continue;
            }
            // One that this process has stored is known as soon as the store has answered. Whoever gives up
            // meanwhile is told again.
            watch.tell_again();
            drop(self.storing.lock().await);
            let version = watch.changed().await;
            if !self.is_at(version) {
                return;
            }
        }
    }

    /// Whether this is the version that is known here.
    fn is_at(&self, version: Version) -> bool {
        let record = lock(&self.record);
        record.version() == Some(version)
    }

    /// Whether this process has none in flight but the request whose turn it is.
    pub(crate) fn has_no_other_flight(&self) -> bool {
        self.flights.available_permits() + 1 == self.policy.per_host as usize
    }

    /// What the request whose turn it is waits for, for people to see.
    pub(crate) fn waits_for(&self) -> Option<Bound> {
        *lock(&self.waits_for)
    }

    pub(crate) fn show_wait(&self, bound: Bound) {
        *lock(&self.waits_for) = Some(bound);
    }

    /// Shows no wait any more when this is dropped.
    pub(crate) fn shows_wait(&self) -> impl Drop + '_ {
        struct Shown<'a>(&'a Host);

        impl Drop for Shown<'_> {
            fn drop(&mut self) {
                *lock(&self.0.waits_for) = None;
            }
        }

        Shown(self)
    }

    /// Counts a request among those that wait for a bound of their own, until this is dropped.
    pub(crate) fn rest(&self) -> impl Drop + '_ {
        struct Resting<'a>(&'a Host);

        impl Drop for Resting<'_> {
            fn drop(&mut self) {
                self.0.resting.fetch_sub(1, Ordering::Relaxed);
            }
        }

        self.resting.fetch_add(1, Ordering::Relaxed);
        self.rested.notify_waiters();
        Resting(self)
    }

    /// How many requests wait for a bound of their own.
    pub(crate) fn resting(&self) -> usize {
        self.resting.load(Ordering::Relaxed)
    }

    /// Whether there is nothing to tell of it: no hold, no delay, no suppression, no open breaker, no pause.
    pub(super) fn is_at_rest(&self, now: Timestamp) -> bool {
        !self.paused.load(Ordering::SeqCst)
            && lock(&self.record).state().is_none_or(|state| {
                state.hold(now).is_none()
                    && state.backoff_until(now).is_none()
                    && state.dynamic_delay().is_zero()
                    && state.breaker() == Breaker::Closed
                    && matches!(state.suppression(), Suppression::None { .. })
            })
    }

    /// The state as last seen, without asking the store.
    pub(crate) fn seen(&self) -> Option<HostState> {
        lock(&self.record).state().cloned()
    }

    /// When a page may depart next, as far as is known here.
    pub(crate) fn next_departure(&self, now: Timestamp) -> Option<Bound> {
        let record = lock(&self.record);
        Some(next_page(&self.policy, record.state()?, now))
    }

    /// Departures ever of a scope with a request in flight or in wait; `None` of any other.
    pub(crate) fn bustle(&self) -> Option<u64> {
        let record = lock(&self.record);
        let state = record.state()?;
        let is_busy = state.in_flight() > 0 || lock(&self.waits_for).is_some();
        is_busy.then(|| state.departures())
    }

    /// Whether a hold of any kind is in force at `now`, as far as is known here: then not even a
    /// connection is made.
    pub(crate) fn is_held(&self, now: Timestamp) -> bool {
        lock(&self.record)
            .state()
            .is_some_and(|state| state.hold(now).is_some() || state.backoff_until(now).is_some())
    }
}

fn next_page(policy: &Policy, state: &HostState, now: Timestamp) -> Bound {
    bounds(policy, state, &Ask::page(now), now).latest()
}

pub(super) fn version_of(found: Option<&Versioned>) -> Version {
    found.map_or(Version::ABSENT, |found| found.version)
}

fn decode(value: &[u8]) -> Result<HostState, Error> {
    /// The one field that every format has.
    #[derive(serde::Deserialize)]
    struct Format {
        format: u32,
    }

    let damaged = |error| {
        let kind = ErrorKind::Store(StoreErrorKind::Damaged);
        Error::new(kind, "a stored scope cannot be read").caused_by(error)
    };
    let Format { format } = serde_json::from_slice(value).map_err(damaged)?;
    if format > FORMAT {
        return Err(Error::new(
            ErrorKind::Store(StoreErrorKind::Newer),
            "the stored state is of a newer version of curtsy",
        ));
    }
    serde_json::from_slice(value).map_err(damaged)
}
