//! The reference drivers: everything is lost at the end of the process.

mod job;
mod queue;
mod state;

pub use queue::MemoryQueue;
pub use state::MemoryStore;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// No call panics between two changes that belong together, so that a poisoned lock still guards
/// sound data.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
