//! Each scope's state as this process knows it, and the one way to change it: load, decide,
//! compare-and-swap, and on a conflict once more with what is there now.

mod host;
mod record;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use curtsy_core::audit::{Noted, Turn};
use curtsy_core::{HostState, Permit, Policy, Scope, Timestamp};
use curtsy_store::{HostStore, Swap, Version, Watch};

use crate::clock::Clock;
use crate::error::{Error, ErrorKind};
use crate::policies::Policies;
pub(crate) use host::Host;
use host::version_of;
pub(crate) use record::{Ahead, Batch, Known};

/// Under this prefix stand the scopes in the store.
pub(crate) const SCOPE_PREFIX: &str = "scope:";

/// From so many scopes on, those at rest that nobody uses are let go of; the store still knows them.
const MANY: usize = 8192;
/// So many turns of the runtime are waited at most for further changes to be stored with the first.
const TURNS: usize = 16;

/// The scopes that this process works with.
pub(crate) struct Hosts {
    store: Arc<dyn HostStore>,
    clock: Clock,
    policies: Arc<Policies>,
    known: Mutex<Met>,
    /// How many changes were made, of all scopes.
    changes: Arc<AtomicU64>,
}

struct Met {
    hosts: HashMap<Scope, Arc<Host>>,
    /// How many there are when they are next gone through.
    sweep_at: usize,
    /// No scope that was let go of has had a later turn: one that is met again goes on from there.
    last_turn: u64,
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
                last_turn: 0,
            }),
            changes: Arc::default(),
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
        let host = Arc::new(Host::new(scope.clone(), policy, known.last_turn));
        known.hosts.insert(scope.clone(), Arc::clone(&host));
        host
    }

    /// A scope, where it was met.
    pub(crate) fn find(&self, scope: &Scope) -> Option<Arc<Host>> {
        lock(&self.known).hosts.get(scope).map(Arc::clone)
    }

    /// The policy and the state of a scope, where it was met.
    pub(crate) fn met(&self, scope: &Scope) -> Option<(Arc<Policy>, Option<HostState>)> {
        let host = self.find(scope)?;
        Some((Arc::clone(&host.policy), host.seen()))
    }

    /// The scopes met so far, but for those that nobody has used for long.
    pub(crate) fn all(&self) -> Vec<Arc<Host>> {
        lock(&self.known).hosts.values().map(Arc::clone).collect()
    }

    /// What tells of changes that other processes make of the state, where the store can.
    pub(crate) fn watch(&self, host: &Host) -> Option<Watch> {
        self.store.watch(&host.key)
    }

    /// Looks at the state as last seen; loaded where it was not seen yet.
    pub(crate) async fn look<T>(
        &self,
        host: &Host,
        look: impl Fn(Known<'_>) -> T,
    ) -> Result<T, Error> {
        loop {
            if let Some(known) = lock(&host.record).known() {
                return Ok(look(known));
            }
            self.load(host).await?;
        }
    }

    /// The state as the store has it now, and with what this process is about to store.
    pub(crate) async fn reload(&self, host: &Host) -> Result<HostState, Error> {
        self.load(host).await?;
        self.look(host, |known| known.state.clone()).await
    }

    async fn load(&self, host: &Host) -> Result<Version, Error> {
        let _storing = host.storing.lock().await;
        let found = self.store.load(&host.key).await?;
        let version = version_of(found.as_ref());
        let seen = lock(&host.record).version();
        if seen != Some(version) {
            host.take(found, self.clock.now())?;
        }
        Ok(version)
    }

    /// Changes the state that had this mark by a departure, to be stored by [`stands`](Self::stands). `None`
    /// where it has changed meanwhile.
    pub(crate) fn depart(
        &self,
        host: &Arc<Host>,
        mark: u64,
        permit: &Permit,
    ) -> Option<(Batch, Leaving, OpenTurn)> {
        let mut record = lock(&host.record);
        let (batch, turn) = record.is_at(mark).then(|| record.depart(permit))?;
        drop(record);
        self.note_change(host);
        let turn = OpenTurn::new(host, &batch, turn);
        Some((batch, Leaving(Arc::clone(host)), turn))
    }

    /// Changes the state by `change`, as often as it takes, which then is to be put on record.
    pub(crate) async fn update<T>(
        &self,
        host: &Arc<Host>,
        mut change: impl FnMut(&HostState) -> (HostState, T) + Send,
    ) -> Result<(T, OpenTurn), Error> {
        loop {
            let made = {
                let mut record = lock(&host.record);
                let changed = record.state().map(&mut change);
                changed.map(|(next, result)| (record.change(next), result))
            };
            let Some(((batch, turn), result)) = made else {
                self.load(host).await?;
                continue;
            };
            let turn = OpenTurn::new(host, &batch, turn);
            self.note_change(host);
            if self.stands(host, batch).await? {
                return Ok((result, turn));
            }
        }
    }

    /// The same for what has no line of its own. `None` from `change` leaves the state as it is. Whether that
    /// changed it.
    pub(crate) async fn note(
        &self,
        host: &Arc<Host>,
        noted: &Noted,
        mut change: impl FnMut(&HostState) -> Option<HostState> + Send,
    ) -> Result<bool, Error> {
        loop {
            let made = {
                let mut record = lock(&host.record);
                match record.state().map(&mut change) {
                    None => None,
                    Some(None) => return Ok(false),
                    Some(Some(next)) => Some(record.note(noted.clone(), |state| *state = next)),
                }
            };
            let Some(batch) = made else {
                self.load(host).await?;
                continue;
            };
            self.note_change(host);
            if self.stands(host, batch).await? {
                return Ok(true);
            }
        }
    }

    /// Whether a batch is in the store, once that is known; if not, it is as if it had not been made. The
    /// first of those who wait for it stores it.
    pub(crate) async fn stands(&self, host: &Arc<Host>, batch: Batch) -> Result<bool, Error> {
        let storing = Arc::clone(&host.storing).lock_owned().await;
        if let Some(stands) = batch.get() {
            return Ok(*stands);
        }
        let (store, clock) = (Arc::clone(&self.store), self.clock.clone());
        let (host, changes) = (Arc::clone(host), Arc::clone(&self.changes));
        // Others wait for it too: it is carried through even where the caller goes away.
        let swap = tokio::spawn(async move {
            gather(&changes).await;
            let swapped = host.swap(&*store, &clock).await;
            drop(storing);
            swapped
        });
        // It is cut off only with the whole runtime.
        swap.await
            .unwrap_or_else(|_| Err(Error::new(ErrorKind::Closed, "nothing is stored any more")))
    }

    fn note_change(&self, host: &Host) {
        self.changes.fetch_add(1, Ordering::Relaxed);
        host.changed.notify_waiters();
    }

    /// P1: departure `seq` really left at `at`. What follows in this process is measured from then. What the store
    /// must be told at once, since it left later than the store was told; else it is told with the next change.
    #[must_use]
    pub(crate) fn note_departed(&self, host: &Host, seq: u64, at: Timestamp) -> Option<Batch> {
        let departed = Noted::Departed { departure: seq, at };
        let mut record = lock(&host.record);
        let has_told = record.has_told(at);
        let batch = record.note(departed, |state| {
            state.note_departed(seq, at);
        });
        (!has_told).then_some(batch)
    }

    /// The same for other processes: `noted` is what the store must be told.
    pub(crate) async fn tell_departed(
        &self,
        host: &Arc<Host>,
        seq: u64,
        at: Timestamp,
        noted: Option<&Batch>,
    ) -> Result<(), Error> {
        let Some(noted) = noted else { return Ok(()) };
        if self.stands(host, Arc::clone(noted)).await? {
            return Ok(());
        }
        let note = |state: &HostState| {
            let mut next = state.clone();
            next.note_departed(seq, at);
            Some(next)
        };
        let departed = Noted::Departed { departure: seq, at };
        self.note(host, &departed, note).await.map(|_| ())
    }

    /// Forgets all that was learned of a scope.
    pub(crate) async fn forget(&self, host: &Host) -> Result<bool, Error> {
        loop {
            let version = self.load(host).await?;
            if version == Version::ABSENT {
                return Ok(false);
            }
            let _storing = host.storing.lock().await;
            if let Swap::Stored(_) = self.store.remove(&host.key, version).await? {
                lock(&host.record).replace(None);
                host.changed.notify_waiters();
                return Ok(true);
            }
        }
    }
}

/// A departure that is permitted and has not left; to be dropped when it is noted that it has.
pub(crate) struct Leaving(Arc<Host>);

impl Drop for Leaving {
    fn drop(&mut self) {
        if lock(&self.0.record).left() {
            self.0.changed.notify_waiters();
        }
    }
}

/// A change that stands, or will, and whose line is still to be written. Where its caller goes away before,
/// the next line tells that.
pub(crate) struct OpenTurn {
    host: Arc<Host>,
    batch: Batch,
    turn: Option<Turn>,
}

impl OpenTurn {
    fn new(host: &Arc<Host>, batch: &Batch, turn: Turn) -> Self {
        Self {
            host: Arc::clone(host),
            batch: Arc::clone(batch),
            turn: Some(turn),
        }
    }

    /// The turn, for its line to be written now.
    pub(crate) fn take(mut self) -> Turn {
        self.turn.take().unwrap_or_default()
    }
}

impl Drop for OpenTurn {
    fn drop(&mut self) {
        if let Some(turn) = self.turn.take()
            && self.batch.get() != Some(&false)
        {
            lock(&self.host.record).untold(&turn);
        }
    }
}

impl Met {
    /// Lets go of the scopes that nobody uses and that nobody would ask about. Twice as many as are left
    /// may then come, so that this costs little for each.
    fn sweep(&mut self, now: Timestamp) {
        let last_turn = &mut self.last_turn;
        self.hosts.retain(|_, host| {
            let stays = Arc::strong_count(host) > 1 || !host.is_at_rest(now);
            if !stays {
                *last_turn = (*last_turn).max(lock(&host.record).turn());
            }
            stays
        });
        self.sweep_at = MANY.max(2 * self.hosts.len());
    }
}

/// Waits as long as each turn of the runtime brings further changes, of whatever scope: they are stored with those
/// made so far, in one commit. Where nothing else goes on that is one turn.
async fn gather(changes: &AtomicU64) {
    let mut seen = changes.load(Ordering::Relaxed);
    for _ in 0..TURNS {
        tokio::task::yield_now().await;
        let made = changes.load(Ordering::Relaxed);
        if made == seen {
            return;
        }
        seen = made;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
