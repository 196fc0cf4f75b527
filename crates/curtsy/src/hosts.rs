//! Each scope's state as this process knows it, and the one way to change it: load, decide,
//! compare-and-swap, and on a conflict once more with what is there now.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use curtsy_core::{
    Ask, Bound, Breaker, FORMAT, HostState, Kind, Policy, Scope, Suppression, Timestamp, bounds,
};
use curtsy_store::{HostStore, StoreErrorKind, Swap, Version, Versioned};
use tokio::sync::{Notify, Semaphore};

use crate::clock::Clock;
use crate::error::{Error, ErrorKind};
use crate::policies::Policies;

/// Under this prefix stand the scopes in the store.
pub(crate) const SCOPE_PREFIX: &str = "scope:";

/// From so many scopes on, those at rest that nobody uses are let go of; the store still knows them.
const MANY: usize = 8192;
/// A departure that left so little late is not worth a write of its own.
const UNTOLD: Duration = Duration::from_micros(500);

/// The scopes that this process works with.
pub(crate) struct Hosts {
    store: Arc<dyn HostStore>,
    clock: Clock,
    policies: Arc<Policies>,
    known: Mutex<Met>,
}

struct Met {
    hosts: HashMap<Scope, Arc<Host>>,
    /// How many there are when they are next gone through.
    sweep_at: usize,
}

/// One scope.
pub(crate) struct Host {
    pub(crate) scope: Scope,
    pub(crate) policy: Arc<Policy>,
    key: String,
    known: Mutex<Option<Known>>,
    /// Held by who changes the state, so that this process has no conflicts with itself.
    changing: tokio::sync::Mutex<()>,
    /// Tells who waits that the state has changed.
    pub(crate) changed: Notify,
    /// One waiter a scope, first come first served.
    pub(crate) turn: Arc<Semaphore>,
    /// Requests in flight.
    pub(crate) flights: Arc<Semaphore>,
    /// What the request whose turn it is waits for.
    waits_for: Mutex<Option<Bound>>,
    /// Requests that wait for a bound of their own, in nobody's way.
    resting: AtomicUsize,
    /// Tells that one more of them rests.
    pub(crate) rested: Notify,
}

/// The state as last seen in the store.
#[derive(Clone)]
pub(crate) struct Known {
    pub(crate) version: Version,
    pub(crate) state: HostState,
}

impl Hosts {
    pub(crate) fn new(store: Arc<dyn HostStore>, clock: Clock, policies: Arc<Policies>) -> Self {
        Self {
            store,
            clock,
            policies,
            known: Mutex::new(Met {
                hosts: HashMap::new(),
                sweep_at: MANY,
            }),
        }
    }

    pub(crate) fn store(&self) -> &Arc<dyn HostStore> {
        &self.store
    }

    pub(crate) fn host(&self, scope: &Scope) -> Arc<Host> {
        let mut known = lock(&self.known);
        if let Some(host) = known.hosts.get(scope) {
            return Arc::clone(host);
        }
        if known.hosts.len() >= known.sweep_at {
            known.sweep(self.clock.now());
        }
        let policy = self.policies.policy_of(scope);
        let host = Arc::new(Host {
            key: format!("{SCOPE_PREFIX}{scope}"),
            scope: scope.clone(),
            known: Mutex::default(),
            changing: tokio::sync::Mutex::default(),
            changed: Notify::new(),
            turn: Arc::new(Semaphore::new(1)),
            flights: Arc::new(Semaphore::new(policy.per_host as usize)),
            waits_for: Mutex::default(),
            resting: AtomicUsize::new(0),
            rested: Notify::new(),
            policy,
        });
        known.hosts.insert(scope.clone(), Arc::clone(&host));
        host
    }

    /// The policy and the state of a scope, where it was met.
    pub(crate) fn met(&self, scope: &Scope) -> Option<(Arc<Policy>, Option<HostState>)> {
        let host = lock(&self.known).hosts.get(scope).map(Arc::clone)?;
        Some((Arc::clone(&host.policy), host.seen()))
    }

    /// The scopes met so far, but for those that nobody has used for long.
    pub(crate) fn all(&self) -> Vec<Arc<Host>> {
        lock(&self.known).hosts.values().map(Arc::clone).collect()
    }

    /// The state as last seen; loaded where it was not seen yet.
    pub(crate) async fn state(&self, host: &Host) -> Result<Known, Error> {
        if let Some(known) = lock(&host.known).clone() {
            return Ok(known);
        }
        self.reload(host).await
    }

    /// The state as the store has it now.
    pub(crate) async fn reload(&self, host: &Host) -> Result<Known, Error> {
        let found = self.store.load(&host.key).await?;
        self.take(host, found)
    }

    /// Stores `next` where nothing has changed since `version`; on a conflict what is there now is known
    /// from then on, and the answer is no.
    pub(crate) async fn swap(
        &self,
        host: &Host,
        version: Version,
        next: HostState,
    ) -> Result<bool, Error> {
        let _changing = host.changing.lock().await;
        let stands = lock(&host.known)
            .as_ref()
            .is_some_and(|known| known.version == version);
        // Another change of this process needs no store to be noticed.
        if !stands {
            return Ok(false);
        }
        self.put(host, version, next).await
    }

    async fn put(&self, host: &Host, version: Version, next: HostState) -> Result<bool, Error> {
        let value = serde_json::to_vec(&next).map_err(|error| {
            Error::new(ErrorKind::Configuration, "a state cannot be written").caused_by(error)
        })?;
        match self
            .store
            .compare_and_swap(&host.key, version, value)
            .await?
        {
            Swap::Stored(version) => {
                *lock(&host.known) = Some(Known {
                    version,
                    state: next,
                });
                host.changed.notify_waiters();
                Ok(true)
            }
            Swap::Conflict(found) => {
                self.take(host, found)?;
                Ok(false)
            }
        }
    }

    /// Changes the state by `change`, as often as it takes; `None` from `change` leaves it as it is.
    pub(crate) async fn update<T>(
        &self,
        host: &Host,
        mut change: impl FnMut(&HostState) -> Option<(HostState, T)> + Send,
    ) -> Result<Option<T>, Error> {
        let _changing = host.changing.lock().await;
        loop {
            let known = self.state(host).await?;
            let Some((next, result)) = change(&known.state) else {
                return Ok(None);
            };
            if self.put(host, known.version, next).await? {
                return Ok(Some(result));
            }
        }
    }

    /// P1: departure `seq` really left at `at`, `late` after it was permitted. What follows in this process
    /// is measured from then. The store is told with the next change, unless that is late enough to matter
    /// to another process.
    pub(crate) async fn note_departed(
        &self,
        host: &Host,
        seq: u64,
        at: Timestamp,
        late: Duration,
    ) -> Result<(), Error> {
        if late < UNTOLD {
            let _changing = host.changing.lock().await;
            if let Some(known) = &mut *lock(&host.known) {
                known.state.note_departed(seq, at);
                return Ok(());
            }
        }
        let note = |state: &HostState| {
            let mut next = state.clone();
            next.note_departed(seq, at).then_some((next, ()))
        };
        self.update(host, note).await.map(|_| ())
    }

    /// Forgets all that was learned of a scope.
    pub(crate) async fn forget(&self, host: &Host) -> Result<bool, Error> {
        loop {
            let known = self.reload(host).await?;
            if known.version == Version::ABSENT {
                return Ok(false);
            }
            if let Swap::Stored(_) = self.store.remove(&host.key, known.version).await? {
                *lock(&host.known) = None;
                host.changed.notify_waiters();
                return Ok(true);
            }
        }
    }

    fn take(&self, host: &Host, found: Option<Versioned>) -> Result<Known, Error> {
        let known = match found {
            None => Known {
                version: Version::ABSENT,
                state: HostState::default(),
            },
            Some(found) => Known {
                version: found.version,
                state: decode(&found.value)?.restored(&host.policy, self.clock.now()),
            },
        };
        *lock(&host.known) = Some(known.clone());
        host.changed.notify_waiters();
        Ok(known)
    }
}

impl Met {
    /// Lets go of the scopes that nobody uses and that nobody would ask about. Twice as many as are left
    /// may then come, so that this costs little for each.
    fn sweep(&mut self, now: Timestamp) {
        self.hosts
            .retain(|_, host| Arc::strong_count(host) > 1 || !host.is_at_rest(now));
        self.sweep_at = MANY.max(2 * self.hosts.len());
    }
}

impl Host {
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

    /// Whether there is nothing to tell of it: no hold, no delay, no suppression, no open breaker.
    fn is_at_rest(&self, now: Timestamp) -> bool {
        self.seen().is_none_or(|state| {
            state.hold(now).is_none()
                && state.backoff_until(now).is_none()
                && state.dynamic_delay().is_zero()
                && state.breaker() == Breaker::Closed
                && matches!(state.suppression(), Suppression::None { .. })
        })
    }

    /// The state as last seen, without asking the store.
    pub(crate) fn seen(&self) -> Option<HostState> {
        lock(&self.known).as_ref().map(|known| known.state.clone())
    }

    /// When a page may depart next, as far as is known here.
    pub(crate) fn next_departure(&self, now: Timestamp) -> Option<Bound> {
        let ask = Ask {
            kind: Kind::Page,
            since: now,
            own: Bound::FREE,
        };
        Some(bounds(&self.policy, &self.seen()?, &ask, now).latest())
    }

    /// Departures ever of a scope with a request in flight or in wait; `None` of any other.
    pub(crate) fn bustle(&self) -> Option<u64> {
        let known = lock(&self.known);
        let state = &known.as_ref()?.state;
        let is_busy = state.in_flight() > 0 || lock(&self.waits_for).is_some();
        is_busy.then(|| state.departures())
    }

    /// Whether a hold of any kind is in force at `now`, as far as is known here: then not even a
    /// connection is made.
    pub(crate) fn is_held(&self, now: Timestamp) -> bool {
        self.seen()
            .is_some_and(|state| state.hold(now).is_some() || state.backoff_until(now).is_some())
    }
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use curtsy_core::{Decision, Draw, decide};
    use curtsy_store::MemoryStore;

    use super::*;

    #[tokio::test]
    async fn scopes_at_rest_that_nobody_uses_are_let_go_of_and_the_others_kept() {
        let store = Arc::new(MemoryStore::new());
        let hosts = Hosts::new(store, Clock::system(), Arc::default());
        let suppressed = Scope::named("suppressed.example");
        let host = hosts.host(&suppressed);
        for _ in 0..3 {
            let forbid = |state: &HostState| Some((forbidden(&host.policy, state), ()));
            hosts.update(&host, forbid).await.unwrap();
        }
        drop(host);
        let used = hosts.host(&Scope::named("used.example"));
        for n in 0..3 * MANY {
            hosts.host(&Scope::named(&format!("{n}.example")));
        }
        let left = hosts.all();
        assert!(left.len() <= MANY + 2, "{}", left.len());
        assert!(left.iter().any(|host| host.scope == suppressed));
        assert!(left.iter().any(|host| Arc::ptr_eq(host, &used)));
    }

    /// The state after one more 403.
    fn forbidden(policy: &Policy, state: &HostState) -> HostState {
        let now = Timestamp::from_secs(1_700_000_000 + 3600 * state.departures());
        let ask = Ask {
            kind: Kind::Page,
            since: now,
            own: Bound::FREE,
        };
        let Decision::Depart(permit) = decide(policy, state, &ask, now, Draw::LEAST) else {
            panic!("it may not depart");
        };
        let attempt = curtsy_core::Attempt {
            seq: permit.seq,
            kind: Kind::Page,
            departed: now,
            host: "suppressed.example",
        };
        let answer = curtsy_core::Answer::Head {
            status: 403,
            latency: std::time::Duration::ZERO,
            signal: &curtsy_core::Signal::default(),
        };
        curtsy_core::observe(policy, &permit.state, &attempt, &answer, now, Draw::LEAST).state
    }
}
