//! The lanes under way and their leases.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use curtsy_core::Timestamp;
use curtsy_store::{Lease, LeaseToken, LeasedScope};
use tokio::task::{JoinError, JoinSet};

use super::{Shared, lane};
use crate::error::{Error, ErrorKind};

/// The shortest lease.
const SHORTEST: Duration = Duration::from_secs(1);

pub(super) struct Lanes {
    /// How many there may be.
    most: usize,
    /// How long a lease lasts.
    length: Duration,
    tasks: JoinSet<Result<LeaseToken, Error>>,
    held: HashMap<LeaseToken, Held>,
    /// When the leases are renewed next.
    renewal: Timestamp,
}

struct Held {
    lease: Lease,
    /// Tells the lane that another worker has its scope.
    lost: Arc<AtomicBool>,
}

impl Lanes {
    pub(super) fn new(most: usize, length: Duration) -> Self {
        Self {
            most: most.max(1),
            length: length.max(SHORTEST),
            tasks: JoinSet::new(),
            held: HashMap::new(),
            renewal: Timestamp::EPOCH,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// How long a lease lasts.
    pub(super) fn length(&self) -> Duration {
        self.length
    }

    pub(super) fn len(&self) -> usize {
        self.tasks.len()
    }

    /// How many more there may be.
    pub(super) fn room(&self) -> usize {
        self.most - self.tasks.len()
    }

    /// Starts a lane for a scope leased at `now`.
    pub(super) fn start(&mut self, shared: &Arc<Shared>, leased: LeasedScope, now: Timestamp) {
        if self.held.is_empty() {
            self.renewal = now.after(self.length / 4);
        }
        let lost = Arc::default();
        let held = Held {
            lease: leased.lease.clone(),
            lost: Arc::clone(&lost),
        };
        self.held.insert(leased.lease.token(), held);
        self.tasks
            .spawn(lane::run(Arc::clone(shared), leased, lost));
    }

    /// Waits until lanes have ended; for ever where there are none.
    pub(super) async fn next_end(&mut self) -> Result<(), Error> {
        let Some(mut ended) = self.tasks.join_next().await else {
            return std::future::pending().await;
        };
        // All that have: as many scopes are then leased at once.
        loop {
            let token = ended.map_err(panicked)??;
            self.held.remove(&token);
            match self.tasks.try_join_next() {
                Some(next) => ended = next,
                None => return Ok(()),
            }
        }
    }

    /// When the leases have to be renewed: after a quarter of their length.
    pub(super) fn renewal(&self) -> Timestamp {
        if self.held.is_empty() {
            Timestamp::MAX
        } else {
            self.renewal
        }
    }

    pub(super) fn leases(&self) -> Vec<Lease> {
        self.held.values().map(|held| held.lease.clone()).collect()
    }

    /// All leases but the lost ones last on from `now`.
    pub(super) fn renewed(&mut self, lost: &[LeaseToken], now: Timestamp) {
        self.renewal = now.after(self.length / 4);
        for token in lost {
            if let Some(held) = self.held.remove(token) {
                held.lost.store(true, Ordering::Relaxed);
            }
        }
    }
}

fn panicked(error: JoinError) -> Error {
    Error::new(ErrorKind::Configuration, "a lane ended in a panic").caused_by(error)
}
