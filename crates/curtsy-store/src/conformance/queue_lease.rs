//! How every [`Queue`] hands out its scopes.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::Timestamp;

use super::host_store::poll_once;
use super::steps::{
    LEASE, add, at, counts, deferred, finish, finished, ids, lease, more, only, records, release,
    url_of,
};
use crate::queue::{MAX_PAGE, Page, Queue, Rest, UrlId, UrlState};

/// One worker paces a scope.
pub async fn a_scope_has_one_worker_at_a_time(queue: Arc<dyn Queue>) {
    for scope in ["a.org", "b.org", "c.org"] {
        add(&*queue, scope, 2).await;
    }
    let first = lease(&*queue, "one", 2, at(1)).await;
    let second = lease(&*queue, "two", 2, at(1)).await;
    let names = |leased: &[crate::LeasedScope]| -> Vec<String> {
        leased
            .iter()
            .map(|of| of.lease.scope().to_owned())
            .collect()
    };
    assert_eq!(names(&first), ["a.org", "b.org"]);
    assert_eq!(names(&second), ["c.org"]);
    assert_eq!(lease(&*queue, "three", 2, at(1)).await.len(), 0);
    assert_eq!(queue.next_due().await.expect("next_due"), None);
    let tokens: HashSet<_> = first
        .iter()
        .chain(&second)
        .map(|of| of.lease.token())
        .collect();
    assert_eq!(tokens.len(), 3);
    assert!(
        first
            .iter()
            .all(|of| of.lease.until() == at(1).after(LEASE))
    );
}

/// A scope's URLs come page by page, each one time.
pub async fn pages_follow_each_other_in_input_order(queue: Arc<dyn Queue>) {
    add(&*queue, "a.org", 25).await;
    let mut leased = only(lease(&*queue, "w", 1, at(1)).await);
    let mut handed = ids(&leased.urls);
    for id in &handed {
        finish(&*queue, *id, "fetched").await;
    }
    for length in [10, 5, 0, 0] {
        let page = more(&*queue, &mut leased, at(1)).await;
        assert_eq!(page.len(), length);
        handed.extend(page);
    }
    let input: Vec<UrlId> = records(&*queue)
        .await
        .iter()
        .map(|record| record.id)
        .collect();
    assert_eq!(handed, input);
}

/// Memory stays bounded: no worker holds more than a page of a scope by one call.
pub async fn a_page_is_bounded_whatever_is_asked_for(queue: Arc<dyn Queue>) {
    add(&*queue, "a.org", 3 * MAX_PAGE).await;
    add(&*queue, "b.org", 2).await;
    let leased = queue.lease_due("w", 10, usize::MAX, LEASE, at(1)).await;
    let mut leased = leased.expect("lease_due");
    assert_eq!(leased[0].urls.len(), MAX_PAGE);
    assert_eq!(leased[1].urls.len(), 2);
    for (asked, length) in [(usize::MAX, MAX_PAGE), (0, 1), (3, 3)] {
        match queue.more(&mut leased[0].lease, asked, at(1)).await {
            Ok(Page::Urls(urls)) => assert_eq!(urls.len(), length, "asked for {asked}"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(
        queue
            .lease_due("w", 0, 1, LEASE, at(1))
            .await
            .expect("lease_due")
            .len(),
        0
    );
}

/// No host starves: the one that has been due for the longest time comes first.
pub async fn scopes_come_up_in_the_order_of_their_instant(queue: Arc<dyn Queue>) {
    let scopes = ["a.org", "b.org", "c.org", "d.org"];
    for scope in scopes {
        add(&*queue, scope, 2).await;
    }
    let leased = lease(&*queue, "w", 4, at(1)).await;
    for (leased, due) in leased.into_iter().zip([30, 10, 20, 20]) {
        release(&*queue, leased, Rest::Due(at(due))).await;
    }
    add(&*queue, "e.org", 1).await;
    assert_eq!(
        queue.next_due().await.expect("next_due"),
        Some(Timestamp::EPOCH)
    );
    let mut order = Vec::new();
    for now in [9, 9, 20, 20, 20, 20, 30] {
        for leased in lease(&*queue, "w", 1, at(now)).await {
            order.push((now, leased.lease.scope().to_owned()));
        }
    }
    let expected = [
        (9, "e.org"),
        (20, "b.org"),
        (20, "c.org"),
        (20, "d.org"),
        (30, "a.org"),
    ];
    assert_eq!(order, expected.map(|(now, scope)| (now, scope.to_owned())));
}

/// A dead worker's scopes are taken over.
pub async fn a_lease_ends_by_itself_and_its_urls_come_back(queue: Arc<dyn Queue>) {
    add(&*queue, "a.org", 2).await;
    let dead = only(lease(&*queue, "dead", 1, at(100)).await);
    finish(&*queue, dead.urls[0].id, "fetched").await;
    assert_eq!(lease(&*queue, "next", 1, at(159)).await.len(), 0);
    let next = only(lease(&*queue, "next", 1, at(160)).await);
    assert_eq!(next.urls, dead.urls[1..]);
    assert_ne!(next.lease.token(), dead.lease.token());
}

/// A worker that lives keeps its scopes.
pub async fn a_renewed_lease_goes_on(queue: Arc<dyn Queue>) {
    add(&*queue, "a.org", 1).await;
    let leased = only(lease(&*queue, "w", 1, at(100)).await);
    let renew = async |now| {
        let leases = [leased.lease.clone()];
        queue.renew(&leases, LEASE, now).await.expect("renew")
    };
    assert_eq!(renew(at(150)).await, []);
    assert_eq!(lease(&*queue, "other", 1, at(209)).await.len(), 0);
    // Nobody was faster, so that the worker may come late.
    assert_eq!(renew(at(1000)).await, []);
    assert_eq!(lease(&*queue, "other", 1, at(1059)).await.len(), 0);
    assert_eq!(lease(&*queue, "other", 1, at(1060)).await.len(), 1);
    assert_eq!(renew(at(1061)).await, [leased.lease.token()]);
}

/// A worker that was taken for dead does not disturb its successor; what it fetched still counts.
pub async fn a_lost_lease_is_told_and_changes_nothing(queue: Arc<dyn Queue>) {
    add(&*queue, "a.org", 20).await;
    let mut old = only(lease(&*queue, "old", 1, at(1)).await);
    let mut new = only(lease(&*queue, "new", 1, at(100)).await);
    let page = queue.more(&mut old.lease, 10, at(100)).await.expect("more");
    assert_eq!(page, Page::Lost);
    let first = old.urls[0].id;
    release(
        &*queue,
        old,
        Rest::Parked {
            until: at(999),
            reason: "breaker".to_owned(),
        },
    )
    .await;
    assert_eq!(lease(&*queue, "third", 1, at(101)).await.len(), 0);
    assert_eq!(more(&*queue, &mut new, at(101)).await.len(), 10);
    finish(&*queue, first, "fetched").await;
    let told = queue
        .settle(vec![finished(first, "failed")])
        .await
        .expect("settle");
    assert_eq!(told.stale, [first]);
    assert_eq!(counts(&*queue).await.finished["fetched"], 1);
}

/// K2: an open breaker defers a scope, however many URLs it has.
pub async fn a_parked_scope_counts_as_deferred_until_its_instant(queue: Arc<dyn Queue>) {
    add(&*queue, "a.org", 5).await;
    add(&*queue, "b.org", 1).await;
    let mut leased = lease(&*queue, "w", 2, at(1)).await.into_iter();
    let (a, b) = (leased.next().expect("a"), leased.next().expect("b"));
    finish(&*queue, a.urls[0].id, "fetched").await;
    queue
        .settle(vec![deferred(a.urls[1].id, at(99))])
        .await
        .expect("settle");
    release(
        &*queue,
        a,
        Rest::Parked {
            until: at(50),
            reason: "breaker".to_owned(),
        },
    )
    .await;
    queue
        .enqueue(vec![url_of("a.org", "http://a.org/new")])
        .await
        .expect("enqueue");

    let parked = counts(&*queue).await;
    assert_eq!((parked.pending, parked.deferred), (1, 5));
    let of = queue.scope_counts(None, 1).await.expect("scopes");
    assert_eq!((of[0].pending, of[0].deferred), (0, 5));
    let waiting = |secs, reason: &str| UrlState::Deferred {
        not_before: at(secs),
        reason: reason.to_owned(),
    };
    let records = records(&*queue).await;
    assert_eq!(records[1].state, waiting(99, "hold"));
    assert_eq!(records[2].state, waiting(50, "breaker"));
    assert_eq!(records[2].line, None);
    assert_eq!(queue.next_due().await.expect("next_due"), Some(at(50)));
    assert_eq!(lease(&*queue, "w", 2, at(49)).await.len(), 0);

    let again = only(lease(&*queue, "w", 2, at(50)).await);
    assert_eq!(again.urls.len(), 4);
    let counts = counts(&*queue).await;
    assert_eq!((counts.pending, counts.deferred), (5, 1));
    release(&*queue, b, Rest::Due(Timestamp::EPOCH)).await;
}

/// Input streams in while the job runs.
pub async fn a_url_added_to_a_leased_scope_is_handed_to_its_worker(queue: Arc<dyn Queue>) {
    add(&*queue, "a.org", 1).await;
    let mut leased = only(lease(&*queue, "w", 1, at(1)).await);
    finish(&*queue, leased.urls[0].id, "fetched").await;
    assert_eq!(more(&*queue, &mut leased, at(1)).await, []);
    queue
        .enqueue(vec![url_of("a.org", "http://a.org/new")])
        .await
        .expect("enqueue");
    assert_eq!(lease(&*queue, "other", 1, at(1)).await.len(), 0);
    assert_eq!(more(&*queue, &mut leased, at(1)).await.len(), 1);
}

/// A lease moves on in both of its queues.
pub async fn urls_added_behind_deferred_ones_are_not_missed(queue: Arc<dyn Queue>) {
    add(&*queue, "a.org", 3).await;
    let mut leased = only(lease(&*queue, "w", 1, at(1)).await);
    let of = ids(&leased.urls);
    let settled = queue.settle(vec![
        deferred(of[0], at(5)),
        deferred(of[1], at(6)),
        deferred(of[2], at(6)),
    ]);
    settled.await.expect("settle");
    assert_eq!(more(&*queue, &mut leased, at(4)).await, []);
    assert_eq!(more(&*queue, &mut leased, at(5)).await, [of[0]]);
    queue
        .enqueue(vec![url_of("a.org", "http://a.org/new")])
        .await
        .expect("enqueue");
    let page = more(&*queue, &mut leased, at(6)).await;
    assert_eq!(page.len(), 3);
    assert_eq!(page[1..], of[1..]);
    queue
        .settle(vec![deferred(of[0], at(7))])
        .await
        .expect("settle");
    assert_eq!(more(&*queue, &mut leased, at(7)).await, [of[0]]);
    assert_eq!(more(&*queue, &mut leased, at(99)).await, []);
}

/// When a worker comes back after a crash, nobody waits for its leases to end.
pub async fn taking_over_ends_the_leases_of_that_worker(queue: Arc<dyn Queue>) {
    for scope in ["a.org", "b.org", "c.org"] {
        add(&*queue, scope, 2).await;
    }
    let dead = lease(&*queue, "dead", 2, at(1)).await;
    assert_eq!(lease(&*queue, "alive", 1, at(1)).await.len(), 1);
    finish(&*queue, dead[0].urls[0].id, "fetched").await;
    assert_eq!(queue.take_over("dead").await.expect("take_over"), 2);
    assert_eq!(counts(&*queue).await.leased_scopes, 1);
    let next = lease(&*queue, "next", 2, at(1)).await;
    assert_eq!(next[0].urls, dead[0].urls[1..]);
    assert_eq!(next[1].urls, dead[1].urls);
    let mut lost = dead[0].lease.clone();
    assert_eq!(
        queue.more(&mut lost, 1, at(1)).await.expect("more"),
        Page::Lost
    );
}

/// A caller that goes away before the answer does not keep a scope from the others.
pub async fn a_dropped_call_leaves_no_lease_behind(queue: Arc<dyn Queue>) {
    add(&*queue, "a.org", 1).await;
    for round in 0..20 {
        if let Some(answered) = poll_once(queue.lease_due("at once", 1, 1, LEASE, at(1))) {
            release(
                &*queue,
                only(answered.expect("lease_due")),
                Rest::Due(at(1)),
            )
            .await;
            continue;
        }
        let mut leased = Vec::new();
        // What is given back takes its time to arrive, but nothing like the length of a lease.
        for _ in 0..1000 {
            leased = lease(&*queue, "w", 1, at(1)).await;
            if !leased.is_empty() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        assert_eq!(leased.len(), 1, "round {round}");
        release(&*queue, only(leased), Rest::Due(at(1))).await;
    }
}

/// Workers side by side lose nothing and do nothing twice.
pub async fn sixteen_workers_finish_each_url_once(queue: Arc<dyn Queue>) {
    const SCOPES: usize = 40;
    const EACH: usize = 5;
    for scope in 0..SCOPES {
        add(&*queue, &format!("{scope}.org"), EACH).await;
    }
    let workers: Vec<_> = (0..16)
        .map(|worker| tokio::spawn(work(Arc::clone(&queue), format!("w{worker}"))))
        .collect();
    let mut done = Vec::new();
    for worker in workers {
        done.extend(worker.await.expect("a worker"));
    }
    let once: HashSet<UrlId> = done.iter().copied().collect();
    assert_eq!((done.len(), once.len()), (SCOPES * EACH, SCOPES * EACH));
    assert_eq!(
        counts(&*queue).await.finished["fetched"],
        (SCOPES * EACH) as u64
    );
}

async fn work(queue: Arc<dyn Queue>, worker: String) -> Vec<UrlId> {
    let mut done = Vec::new();
    loop {
        let leased = queue.lease_due(&worker, 2, 3, LEASE, at(1)).await;
        let leased = leased.expect("lease_due");
        if leased.is_empty() {
            return done;
        }
        for mut of in leased {
            let mut page = ids(&of.urls);
            while !page.is_empty() {
                let ends = page.iter().map(|id| finished(*id, "fetched")).collect();
                let told = queue.settle(ends).await.expect("settle");
                assert_eq!(told.stale, []);
                done.extend(page);
                page = more(&*queue, &mut of, at(1)).await;
            }
            release(&*queue, of, Rest::Due(at(1))).await;
        }
    }
}
