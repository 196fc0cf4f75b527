//! One leased scope: its URLs, a few at a time, until none is due or all of it has to wait.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use curtsy_core::{Bound, Scope, Timestamp};
use curtsy_store::queue::MAX_PAGE;
use curtsy_store::{Lease, LeaseToken, LeasedScope, Page, QueuedUrl, Rest};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::Shared;
use super::fetch::Aftermath;
use crate::error::{Error, ErrorKind};
use crate::hosts::Host;

/// URLs of one scope that wait for their own next try beside those whose turn it is.
const MAX_RESTING: usize = 64;
/// URLs of one scope that have ended and are not recorded yet.
const MAX_UNRECORDED: u32 = 256;

/// A scope that this worker has leased.
struct Lane {
    shared: Arc<Shared>,
    host: Arc<Host>,
    lease: Lease,
    /// Whether another worker has it now.
    lost: Arc<AtomicBool>,
    urls: VecDeque<QueuedUrl>,
    /// Whether the queue may have more of it.
    more: bool,
    parked: Option<Bound>,
    /// When the scope's next departure may be, where it has made room until then.
    resting_until: Option<Timestamp>,
    /// A place for each URL that is fetched or on its way to the record.
    unrecorded: Arc<Semaphore>,
}

/// Works through a leased scope and gives it back. The answer is the lease.
pub(super) async fn run(
    shared: Arc<Shared>,
    leased: LeasedScope,
    lost: Arc<AtomicBool>,
) -> Result<LeaseToken, Error> {
    let scope = Scope::named(leased.lease.scope());
    let mut lane = Lane {
        host: shared.client.shared.gate.hosts.host(&scope),
        shared,
        lease: leased.lease,
        lost,
        urls: leased.urls.into(),
        more: true,
        parked: None,
        resting_until: None,
        unrecorded: Arc::new(Semaphore::new(MAX_UNRECORDED as usize)),
    };
    lane.work().await?;
    lane.give_back().await
}

impl Lane {
    async fn work(&mut self) -> Result<(), Error> {
        let host = Arc::clone(&self.host);
        let mut running: JoinSet<Result<Aftermath, Error>> = JoinSet::new();
        loop {
            let rested = host.rested.notified();
            tokio::pin!(rested);
            rested.as_mut().enable();
            while running.len() < self.width() {
                let Some(url) = self.next().await? else { break };
                let Ok(receipt) = Arc::clone(&self.unrecorded).acquire_owned().await else {
                    break;
                };
                let (shared, host) = (Arc::clone(&self.shared), Arc::clone(&host));
                // Boxed, since it is large and a task is moved about until it runs, and once more at its end.
                running.spawn(Box::pin(async move {
                    shared.fetch(&host.scope, &url, receipt).await
                }));
            }
            let ended = tokio::select! {
                ended = running.join_next() => ended,
                () = rested => continue,
            };
            let Some(ended) = ended else { return Ok(()) };
            match ended.map_err(|error| {
                Error::new(ErrorKind::Configuration, "a fetch ended in a panic").caused_by(error)
            })?? {
                Aftermath::None => {}
                Aftermath::Park(bound) => {
                    self.parked = Some(self.parked.map_or(bound, |parked| parked.latest(bound)))
                }
                // The queue keeps it among the scopes that are due later, the earliest first.
                Aftermath::MadeRoom(until) => self.resting_until = Some(until),
                Aftermath::Closed => self.more = false,
            }
        }
    }

    /// How many may be under way: one more than in flight, which waits at the gate meanwhile, and those
    /// that wait for their own next try and are in nobody's way. While others wait for a lane, only one.
    fn width(&self) -> usize {
        if self.shared.crowd.is_crowded() {
            return 1;
        }
        self.host.policy.per_host as usize + 1 + self.host.resting().min(MAX_RESTING)
    }

    /// The next URL to start; none where the scope waits, the job stops, or nothing is due.
    async fn next(&mut self) -> Result<Option<QueuedUrl>, Error> {
        let over = self.parked.is_some() || !self.more || self.lost.load(Ordering::Relaxed);
        if over || self.shared.is_stopping() || self.resting_until.is_some() {
            return Ok(None);
        }
        if self.urls.is_empty() {
            match self.next_page().await {
                Ok(Page::Urls(urls)) if !urls.is_empty() => self.urls.extend(urls),
                Err(error) if error.kind() != ErrorKind::Closed => return Err(error),
                Ok(Page::Urls(_) | Page::Lost) | Err(_) => {
                    self.more = false;
                    return Ok(None);
                }
            }
        }
        Ok(self.urls.pop_front())
    }

    async fn next_page(&mut self) -> Result<Page, Error> {
        let (queue, now) = (&self.shared.queue, self.shared.client.now());
        let more = || async {
            let mut lease = self.lease.clone();
            let page = queue.more(&mut lease, MAX_PAGE, now).await?;
            Ok((lease, page))
        };
        let (lease, page) = self.shared.client.shared.gate.patiently(more).await?;
        self.lease = lease;
        Ok(page)
    }

    /// Only when all that has ended is recorded: what is not would be handed out again.
    async fn give_back(self) -> Result<LeaseToken, Error> {
        let token = self.lease.token();
        // It fails only where the semaphore is closed, which nobody does.
        let _all = self.unrecorded.acquire_many(MAX_UNRECORDED).await;
        let rest = match self.parked {
            Some(bound) => Rest::Parked {
                until: bound.not_before,
                reason: bound.reason.label().to_owned(),
            },
            None => Rest::Due(self.resting_until.unwrap_or(Timestamp::EPOCH)),
        };
        let queue = &self.shared.queue;
        let release = || async {
            let released = vec![(self.lease.clone(), rest.clone())];
            Ok(queue.release(released).await?)
        };
        let gate = &self.shared.client.shared.gate;
        gate.persistently(release).await?;
        Ok(token)
    }
}
