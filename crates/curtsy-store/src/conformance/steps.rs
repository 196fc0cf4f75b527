//! The steps that the tests of a [`Queue`] are made of.

use std::time::Duration;

use curtsy_core::Timestamp;

use crate::queue::{
    Counts, LeasedScope, NewUrl, Page, Queue, QueuedUrl, Rest, Settlement, UrlId, UrlRecord,
};

/// How long the leases of these tests last.
pub(super) const LEASE: Duration = Duration::from_secs(60);

/// An instant of these tests.
pub(super) fn at(secs: u64) -> Timestamp {
    Timestamp::from_secs(secs)
}

pub(super) fn url_of(scope: &str, url: &str) -> NewUrl {
    NewUrl {
        scope: scope.to_owned(),
        url: url.to_owned(),
        key: None,
        out: None,
        headers: None,
    }
}

/// Adds the URLs `http://SCOPE/0` and so on.
pub(super) async fn add(queue: &dyn Queue, scope: &str, urls: usize) {
    let urls = (0..urls)
        .map(|n| url_of(scope, &format!("http://{scope}/{n}")))
        .collect();
    queue.enqueue(urls).await.expect("enqueue");
}

/// Leases scopes with ten URLs each.
pub(super) async fn lease(
    queue: &dyn Queue,
    worker: &str,
    scopes: usize,
    now: Timestamp,
) -> Vec<LeasedScope> {
    queue
        .lease_due(worker, scopes, 10, LEASE, now)
        .await
        .expect("lease_due")
}

pub(super) fn only(leased: Vec<LeasedScope>) -> LeasedScope {
    assert_eq!(leased.len(), 1, "{leased:?}");
    leased.into_iter().next().expect("one")
}

pub(super) async fn release(queue: &dyn Queue, leased: LeasedScope, rest: Rest) {
    let released = vec![(leased.lease, rest)];
    queue.release(released).await.expect("release");
}

pub(super) async fn more(
    queue: &dyn Queue,
    leased: &mut LeasedScope,
    now: Timestamp,
) -> Vec<UrlId> {
    match queue.more(&mut leased.lease, 10, now).await.expect("more") {
        Page::Urls(urls) => ids(&urls),
        Page::Lost => panic!("{:?} was lost", leased.lease),
    }
}

pub(super) fn ids(urls: &[QueuedUrl]) -> Vec<UrlId> {
    urls.iter().map(|url| url.id).collect()
}

pub(super) fn finished(id: UrlId, outcome: &str) -> Settlement {
    Settlement::Finished {
        id,
        outcome: outcome.to_owned(),
        line: format!("{outcome} line"),
    }
}

pub(super) fn deferred(id: UrlId, not_before: Timestamp) -> Settlement {
    Settlement::Deferred {
        id,
        not_before,
        reason: "hold".to_owned(),
        line: "deferred line".to_owned(),
    }
}

pub(super) async fn finish(queue: &dyn Queue, id: UrlId, outcome: &str) {
    let told = queue.settle(vec![finished(id, outcome)]).await;
    assert_eq!(told.expect("settle").recorded, 1);
}

pub(super) async fn counts(queue: &dyn Queue) -> Counts {
    queue.counts().await.expect("counts")
}

pub(super) async fn records(queue: &dyn Queue) -> Vec<UrlRecord> {
    queue.records(None, usize::MAX).await.expect("records")
}
