//! The thread that brings a store's log to the disk while the store goes on.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::file::with_suffix;

/// The least time between two syncs, and so the most that a power cut loses beside the sync under way.
const SYNC_INTERVAL: Duration = Duration::from_millis(100);

/// Syncs a write-ahead log soon after each commit. Dropped, it syncs once more and ends.
///
/// SQLite's locks are on the index beside the log, so that opening and closing the log itself drops
/// none of them.
#[derive(Debug)]
pub(super) struct LogSync {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    dirty: bool,
    ended: bool,
    failure: Option<io::ErrorKind>,
}

impl LogSync {
    /// Starts the thread for the log of the database at `path`, which has been made.
    pub(super) fn start(path: &Path) -> io::Result<Self> {
        let log = File::open(with_suffix(path, "-wal"))?;
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        thread::Builder::new()
            .name("curtsy-sync".to_owned())
            .spawn(move || theirs.run(&log))?;
        Ok(Self { shared })
    }

    /// Says that something was committed.
    pub(super) fn committed(&self) {
        // Who knows already is not woken again by each commit of the interval.
        if !std::mem::replace(&mut self.shared.lock().dirty, true) {
            self.shared.changed.notify_one();
        }
    }

    /// The error of a sync that failed: what was committed before may never reach the disk.
    pub(super) fn failure(&self) -> Option<io::ErrorKind> {
        self.shared.lock().failure
    }
}

impl Drop for LogSync {
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.changed.notify_one();
    }
}

impl Shared {
    fn run(&self, log: &File) {
        loop {
            let mut state = self
                .changed
                .wait_while(self.lock(), |state| !state.dirty && !state.ended)
                .unwrap_or_else(PoisonError::into_inner);
            if !state.dirty {
                return;
            }
            state.dirty = false;
            drop(state);
            let synced = log.sync_data();
            let mut state = self.lock();
            if let Err(error) = synced {
                state.failure = Some(error.kind());
                return;
            }
            let _woken = self
                .changed
                .wait_timeout_while(state, SYNC_INTERVAL, |state| !state.ended)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
