//! One leased scope: its URLs, a few at a time, until none is due or all of it has to wait.

use std::collections::VecDeque;
use std::sync::Arc;

use curtsy_core::{Bound, Scope};
use curtsy_store::queue::MAX_PAGE;
use curtsy_store::{Lease, LeasedScope, Page, QueuedUrl, Rest};
use tokio::task::JoinSet;

use super::Shared;
use super::fetch::Aftermath;
use crate::error::{Error, ErrorKind};

/// A scope that this worker has leased.
struct Lane {
    shared: Arc<Shared>,
    scope: Scope,
    lease: Lease,
    urls: VecDeque<QueuedUrl>,
    /// Whether the queue may have more of it.
    more: bool,
    parked: Option<Bound>,
}

/// Works through a leased scope and gives it back.
pub(super) async fn run(shared: Arc<Shared>, leased: LeasedScope) -> Result<(), Error> {
    let scope = Scope::named(leased.lease.scope());
    let width = shared.client.shared.policies.policy_of(&scope).per_host as usize;
    let mut lane = Lane {
        shared,
        scope,
        lease: leased.lease,
        urls: leased.urls.into(),
        more: true,
        parked: None,
    };
    let mut running: JoinSet<Result<Aftermath, Error>> = JoinSet::new();
    loop {
        // One more than may be in flight: it waits at the gate while the others are on their way.
        while running.len() <= width {
            let Some(url) = lane.next().await? else { break };
            let (shared, scope) = (Arc::clone(&lane.shared), lane.scope.clone());
            running.spawn(async move { shared.fetch(&scope, &url).await });
        }
        let Some(ended) = running.join_next().await else {
            break;
        };
        match ended.map_err(|error| {
            Error::new(ErrorKind::Configuration, "a fetch ended in a panic").caused_by(error)
        })?? {
            Aftermath::None => {}
            Aftermath::Park(bound) => {
                lane.parked = Some(lane.parked.map_or(bound, |parked| parked.latest(bound)))
            }
            Aftermath::Closed => lane.more = false,
        }
    }
    let rest = match lane.parked {
        Some(bound) => Rest::Parked {
            until: bound.not_before,
            reason: bound.reason.label().to_owned(),
        },
        None => Rest::Due(curtsy_core::Timestamp::EPOCH),
    };
    lane.shared.queue.release(vec![(lane.lease, rest)]).await?;
    Ok(())
}

impl Lane {
    /// The next URL to start; none where the scope waits, the job stops, or nothing is due.
    async fn next(&mut self) -> Result<Option<QueuedUrl>, Error> {
        if self.parked.is_some() || self.shared.is_stopping() || !self.more {
            return Ok(None);
        }
        if self.urls.is_empty() {
            match self
                .shared
                .queue
                .more(&mut self.lease, MAX_PAGE, self.shared.client.now())
                .await?
            {
                Page::Urls(urls) if !urls.is_empty() => self.urls.extend(urls),
                Page::Urls(_) | Page::Lost => {
                    self.more = false;
                    return Ok(None);
                }
            }
        }
        Ok(self.urls.pop_front())
    }
}
