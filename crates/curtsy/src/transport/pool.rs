//! Idle connections, kept for the next request to the same target.
//!
//! Last in, first out: the one used last is the least likely to have been closed by the server. The
//! number is bounded, in all and for one target, the one unused for longest making way; each is kept
//! for a limited time. An HTTP/2 connection stays here while it is in use, for others to join.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;

use super::connection::{Facts, Http1, Http2, Permit};
use super::guard::Guard;
use super::target::Target;

/// What connections are kept by. The proxy, where there is one, follows from the target.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) target: Target,
    pub(super) proxied: bool,
}

/// How many idle connections are kept, and for how long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) total: usize,
    pub(super) per_target: usize,
    pub(super) idle: Duration,
}

pub(super) struct Pool {
    bounds: Bounds,
    shelves: Mutex<Shelves>,
}

#[derive(Default)]
struct Shelves {
    by_key: HashMap<Key, Vec<Kept>>,
    /// Every kept connection by its number, so the one unused for longest is the first.
    by_age: BTreeMap<u64, Key>,
    next_number: u64,
    sweeping: bool,
}

struct Kept {
    number: u64,
    since: Instant,
    connection: Connection,
}

enum Connection {
    Http1(Http1),
    Http2(Arc<Http2>),
}

impl Connection {
    fn is_open(&self) -> bool {
        match self {
            Self::Http1(http1) => http1.is_open(),
            Self::Http2(http2) => http2.is_open(),
        }
    }

    fn facts(&self) -> &Facts {
        match self {
            Self::Http1(http1) => http1.facts(),
            Self::Http2(http2) => http2.facts(),
        }
    }
}

impl Pool {
    pub(super) fn new(bounds: Bounds) -> Arc<Self> {
        Arc::new(Self {
            bounds,
            shelves: Mutex::default(),
        })
    }

    /// Takes the connection for `key` that was used last, if it is open and `guard` allows it.
    ///
    /// An HTTP/1 connection that is given may still be finishing its last request: see
    /// `Http1::ready`.
    pub(super) fn take(&self, key: &Key, guard: Guard) -> Option<Permit> {
        let mut shelves = self.shelves();
        let shelves = &mut *shelves;
        let kept = shelves.by_key.get_mut(key)?;
        for index in (0..kept.len()).rev() {
            if !kept[index].connection.is_open() {
                let gone = kept.remove(index);
                shelves.by_age.remove(&gone.number);
                continue;
            }
            if !guard.allows(kept[index].connection.facts().reach) {
                continue;
            }
            if let Connection::Http2(http2) = &kept[index].connection {
                let Some(stream) = http2.reserve() else {
                    continue;
                };
                shelves.by_age.remove(&kept[index].number);
                kept[index].number = shelves.next_number;
                kept[index].since = Instant::now();
                shelves.by_age.insert(shelves.next_number, key.clone());
                shelves.next_number += 1;
                return Some(Permit::Http2(stream));
            }
            let taken = kept.remove(index);
            shelves.by_age.remove(&taken.number);
            if let Connection::Http1(http1) = taken.connection {
                return Some(Permit::Http1(http1));
            }
        }
        None
    }

    /// Keeps an HTTP/1 connection whose request is done.
    pub(super) fn keep(self: &Arc<Self>, key: Key, http1: Http1) {
        if http1.is_open() {
            self.put(key, Connection::Http1(http1));
        }
    }

    /// Keeps a new HTTP/2 connection for others to join.
    pub(super) fn share(self: &Arc<Self>, key: Key, http2: Arc<Http2>) {
        self.put(key, Connection::Http2(http2));
    }

    fn put(self: &Arc<Self>, key: Key, connection: Connection) {
        if self.bounds.total == 0 || self.bounds.per_target == 0 {
            return;
        }
        let (displaced, start_sweeping) = {
            let mut shelves = self.shelves();
            let displaced = shelves.put(key, connection, &self.bounds);
            let start = !shelves.sweeping && tokio::runtime::Handle::try_current().is_ok();
            shelves.sweeping |= start;
            (displaced, start)
        };
        // Closing happens outside the lock.
        drop(displaced);
        if start_sweeping {
            tokio::spawn(sweep(Sweeping(Arc::downgrade(self)), self.bounds.idle));
        }
    }

    /// Drops what is closed or has been idle for too long. Whether anything is left to sweep.
    fn discard_expired(&self) -> bool {
        let now = Instant::now();
        let mut expired = Vec::new();
        let mut shelves = self.shelves();
        let Shelves { by_key, by_age, .. } = &mut *shelves;
        by_key.retain(|_, kept| {
            for connection in kept.iter_mut() {
                if let Connection::Http2(http2) = &connection.connection
                    && !http2.is_idle()
                {
                    connection.since = now;
                }
            }
            expired.extend(kept.extract_if(.., |kept| {
                let too_old = now.duration_since(kept.since) >= self.bounds.idle;
                too_old || !kept.connection.is_open()
            }));
            !kept.is_empty()
        });
        for gone in &expired {
            by_age.remove(&gone.number);
        }
        let any_left = !by_key.is_empty();
        shelves.sweeping = any_left;
        drop(shelves);
        any_left
    }

    fn shelves(&self) -> MutexGuard<'_, Shelves> {
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelves {
    /// Puts a connection on its shelf, and answers with those that have to make way.
    fn put(&mut self, key: Key, connection: Connection, bounds: &Bounds) -> Vec<Kept> {
        let number = self.next_number;
        self.next_number += 1;
        self.by_age.insert(number, key.clone());
        let mut displaced = Vec::new();
        let shelf = self.by_key.entry(key).or_default();
        shelf.push(Kept {
            number,
            since: Instant::now(),
            connection,
        });
        if shelf.len() > bounds.per_target {
            let oldest = shelf.iter().map(|kept| kept.number).min();
            displaced.extend(shelf.extract_if(.., |kept| Some(kept.number) == oldest));
            oldest.map(|number| self.by_age.remove(&number));
        }
        while self.by_age.len() > bounds.total {
            let Some((number, key)) = self.by_age.pop_first() else {
                break;
            };
            if let Some(shelf) = self.by_key.get_mut(&key) {
                displaced.extend(shelf.extract_if(.., |kept| kept.number == number));
                if shelf.is_empty() {
                    self.by_key.remove(&key);
                }
            }
        }
        displaced
    }
}

/// The sweeping task's hold on the pool: weak, and released when the task is cut off with its runtime,
/// so that another may start in the next.
struct Sweeping(Weak<Pool>);

impl Drop for Sweeping {
    fn drop(&mut self) {
        if let Some(pool) = self.0.upgrade() {
            pool.shelves().sweeping = false;
        }
    }
}

/// Throws out what has been idle for too long, until nothing is left.
async fn sweep(mut sweeping: Sweeping, idle: Duration) {
    // A connection stays for its idle time and at most half of it longer.
    let pause = (idle / 2).clamp(Duration::from_millis(10), Duration::from_secs(60));
    loop {
        tokio::time::sleep(pause).await;
        let Some(pool) = sweeping.0.upgrade() else {
            return;
        };
        if !pool.discard_expired() {
            // Said already, under the lock; another task may have started since.
            sweeping.0 = Weak::new();
            return;
        }
    }
}
