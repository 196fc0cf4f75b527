//! [`Watch`]: being told that something in a shared store has changed.

use std::any::Any;
use std::fmt;

use tokio::sync::watch::Receiver;

use crate::host_store::Version;

/// Tells of the changes of one thing in a store that others share. It may tell late, several in one, and
/// of nothing at all: it is a reason to look, and what is done rests on what is found then.
///
/// It tells once when it begins to listen, and again whenever it may have missed something.
pub struct Watch {
    changes: Receiver<Version>,
    /// What ends with this watch.
    _subscription: Box<dyn Any + Send + Sync>,
}

impl Watch {
    /// Tells what `changes` tells, and drops `subscription` at its end.
    pub fn new(changes: Receiver<Version>, subscription: impl Any + Send + Sync) -> Self {
        Self {
            changes,
            _subscription: Box::new(subscription),
        }
    }

    /// Waits for a change, and answers with the version that it led to; [`Version::ABSENT`] where that is
    /// not known. Never, where the store is gone.
    pub async fn changed(&mut self) -> Version {
        if self.changes.changed().await.is_err() {
            return std::future::pending().await;
        }
        *self.changes.borrow_and_update()
    }

    /// Has [`changed`](Self::changed) answer at once, with the last version told.
    pub fn tell_again(&mut self) {
        self.changes.mark_changed();
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}
