//! One leased scope: its URLs, a few at a time, until none is due or all of it has to wait.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use curtsy_core::{Bound, Scope, Timestamp};
use curtsy_store::queue::MAX_PAGE;
use curtsy_store::{Lease, LeaseToken, LeasedScope, Page, QueuedUrl, Rest};
use tokio::sync::{Mutex, Semaphore};
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
    /// Whether another worker has it now.
    lost: Arc<AtomicBool>,
    agenda: Mutex<Agenda>,
    /// A place for each URL that is fetched or on its way to the record.
    unrecorded: Arc<Semaphore>,
}

/// What there is to do in a lane.
struct Agenda {
    lease: Lease,
    urls: VecDeque<QueuedUrl>,
    /// Whether the queue may have more of it.
    more: bool,
    /// URLs under way.
    running: usize,
    parked: Option<Bound>,
    /// When the scope's next departure may be, where it has made room until then.
    resting_until: Option<Timestamp>,
}

/// Works through a leased scope and gives it back. The answer is the lease.
pub(super) async fn run(
    shared: Arc<Shared>,
    leased: LeasedScope,
    lost: Arc<AtomicBool>,
) -> Result<LeaseToken, Error> {
    let scope = Scope::named(leased.lease.scope());
    let lane = Arc::new(Lane {
        host: shared.client.shared.gate.hosts.host(&scope),
        shared,
        lost,
        agenda: Mutex::new(Agenda {
            lease: leased.lease,
            urls: leased.urls.into(),
            more: true,
            running: 0,
            parked: None,
            resting_until: None,
        }),
        unrecorded: Arc::new(Semaphore::new(MAX_UNRECORDED as usize)),
    });
    lane.work().await?;
    lane.give_back().await
}

impl Lane {
    async fn work(self: &Arc<Self>) -> Result<(), Error> {
        let mut hands: JoinSet<Result<(), Error>> = JoinSet::new();
        loop {
            let rested = self.host.rested.notified();
            tokio::pin!(rested);
            rested.as_mut().enable();
            while let Some(url) = self.another(&mut *self.agenda.lock().await).await? {
                // Boxed, since it is large and a task is moved about until it runs, and once more at its end.
                hands.spawn(Box::pin(Arc::clone(self).fetch_from(url)));
            }
            let ended = tokio::select! {
                ended = hands.join_next() => ended,
                () = rested => continue,
            };
            let Some(ended) = ended else { return Ok(()) };
            ended.map_err(|error| {
                Error::new(ErrorKind::Configuration, "a fetch ended in a panic").caused_by(error)
            })??;
        }
    }

    /// Fetches one URL after another, as long as its place is the only one that is free after each.
    async fn fetch_from(self: Arc<Self>, mut url: QueuedUrl) -> Result<(), Error> {
        loop {
            // It fails only where the semaphore is closed, which nobody does.
            let Ok(receipt) = Arc::clone(&self.unrecorded).acquire_owned().await else {
                return Ok(());
            };
            let aftermath = self.shared.fetch(&self.host.scope, &url, receipt).await?;
            let mut agenda = self.agenda.lock().await;
            agenda.running -= 1;
            agenda.heed(aftermath);
            if agenda.running + 1 < self.width() {
                return Ok(());
            }
            match self.another(&mut agenda).await? {
                Some(next) => url = next,
                None => return Ok(()),
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

    /// The next URL to start; none where as many as may be are under way, the scope waits, the job stops, or
    /// nothing is due.
    async fn another(&self, agenda: &mut Agenda) -> Result<Option<QueuedUrl>, Error> {
        let over = agenda.is_over() || self.lost.load(Ordering::Relaxed);
        if over || self.shared.is_stopping() || agenda.running >= self.width() {
            return Ok(None);
        }
        if agenda.urls.is_empty() {
            match self.next_page(&mut agenda.lease).await {
                Ok(Page::Urls(urls)) if !urls.is_empty() => agenda.urls.extend(urls),
                Err(error) if error.kind() != ErrorKind::Closed => return Err(error),
                Ok(Page::Urls(_) | Page::Lost) | Err(_) => agenda.more = false,
            }
        }
        let next = agenda.urls.pop_front();
        agenda.running += usize::from(next.is_some());
        Ok(next)
    }

    async fn next_page(&self, lease: &mut Lease) -> Result<Page, Error> {
        let (queue, now) = (&self.shared.queue, self.shared.client.now());
        let more = || async {
            let mut lease = lease.clone();
            let page = queue.more(&mut lease, MAX_PAGE, now).await?;
            Ok((lease, page))
        };
        let (ahead, page) = self.shared.client.shared.gate.patiently(more).await?;
        *lease = ahead;
        Ok(page)
    }

    /// Only when all that has ended is recorded: what is not would be handed out again.
    async fn give_back(&self) -> Result<LeaseToken, Error> {
        // It fails only where the semaphore is closed, which nobody does.
        let _all = self.unrecorded.acquire_many(MAX_UNRECORDED).await;
        let agenda = self.agenda.lock().await;
        let rest = match agenda.parked {
            Some(bound) => Rest::Parked {
                until: bound.not_before,
                reason: bound.reason.label().to_owned(),
            },
            None => Rest::Due(agenda.resting_until.unwrap_or(Timestamp::EPOCH)),
        };
        let queue = &self.shared.queue;
        let release = || async {
            let released = vec![(agenda.lease.clone(), rest.clone())];
            Ok(queue.release(released).await?)
        };
        let gate = &self.shared.client.shared.gate;
        gate.persistently(release).await?;
        Ok(agenda.lease.token())
    }
}

impl Agenda {
    /// Whether nothing more of the scope is to be fetched for now.
    fn is_over(&self) -> bool {
        self.parked.is_some() || self.resting_until.is_some() || !self.more
    }

    fn heed(&mut self, aftermath: Aftermath) {
        match aftermath {
            Aftermath::None => {}
            Aftermath::Park(bound) => {
                self.parked = Some(self.parked.map_or(bound, |parked| parked.latest(bound)));
            }
            // The queue keeps it among the scopes that are due later, the earliest first.
            Aftermath::MadeRoom(until) => self.resting_until = Some(until),
            Aftermath::Closed => self.more = false,
        }
    }
}
