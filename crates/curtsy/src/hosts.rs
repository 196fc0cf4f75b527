//! Each scope's state as this process knows it, and the one way to change it: load, decide,
//! compare-and-swap, and on a conflict once more with what is there now.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use curtsy_core::{Bound, FORMAT, HostState, Policy, Scope, Timestamp};
use curtsy_store::{HostStore, StoreErrorKind, Swap, Version, Versioned};
use tokio::sync::{Notify, Semaphore};

use crate::clock::Clock;
use crate::error::{Error, ErrorKind};
use crate::policies::Policies;

/// Under this prefix stand the scopes in the store.
pub(crate) const SCOPE_PREFIX: &str = "scope:";

/// All scopes that this process has met.
pub(crate) struct Hosts {
    store: Arc<dyn HostStore>,
    clock: Clock,
    policies: Arc<Policies>,
    known: Mutex<HashMap<Scope, Arc<Host>>>,
}

/// One scope.
pub(crate) struct Host {
    pub(crate) scope: Scope,
    pub(crate) policy: Arc<Policy>,
    key: String,
    known: Mutex<Option<Known>>,
    /// Tells who waits that the state has changed.
    pub(crate) changed: Notify,
    /// One waiter a scope, first come first served.
    pub(crate) turn: Semaphore,
    /// Requests in flight.
    pub(crate) flights: Arc<Semaphore>,
    /// What the request whose turn it is waits for.
    waits_for: Mutex<Option<Bound>>,
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
            known: Mutex::default(),
        }
    }

    pub(crate) fn store(&self) -> &Arc<dyn HostStore> {
        &self.store
    }

    pub(crate) fn host(&self, scope: &Scope) -> Arc<Host> {
        let mut known = lock(&self.known);
        if let Some(host) = known.get(scope) {
            return Arc::clone(host);
        }
        let policy = self.policies.policy_of(scope);
        let host = Arc::new(Host {
            key: format!("{SCOPE_PREFIX}{scope}"),
            scope: scope.clone(),
            known: Mutex::default(),
            changed: Notify::new(),
            turn: Semaphore::new(1),
            flights: Arc::new(Semaphore::new(policy.per_host as usize)),
            waits_for: Mutex::default(),
            policy,
        });
        known.insert(scope.clone(), Arc::clone(&host));
        host
    }

    /// The scopes met so far.
    pub(crate) fn all(&self) -> Vec<Arc<Host>> {
        lock(&self.known).values().map(Arc::clone).collect()
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
        loop {
            let known = self.state(host).await?;
            let Some((next, result)) = change(&known.state) else {
                return Ok(None);
            };
            if self.swap(host, known.version, next).await? {
                return Ok(Some(result));
            }
        }
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

impl Host {
    /// What the request whose turn it is waits for, for people to see.
    pub(crate) fn waits_for(&self) -> Option<Bound> {
        *lock(&self.waits_for)
    }

    pub(crate) fn show_wait(&self, bound: Option<Bound>) {
        *lock(&self.waits_for) = bound;
    }

    /// The state as last seen, without asking the store.
    pub(crate) fn seen(&self) -> Option<HostState> {
        lock(&self.known).as_ref().map(|known| known.state.clone())
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
