//! What every [`Queue`] keeps of its URLs.

use std::collections::BTreeMap;
use std::sync::Arc;

use curtsy_core::Timestamp;

use super::steps::{
    add, at, counts, deferred, finish, finished, ids, lease, only, records, release, url_of,
};
use crate::queue::{
    Counts, Enqueued, NewUrl, Queue, QueuedUrl, Rest, Settlement, UrlId, UrlRecord, UrlState,
};

/// Nothing is not an error.
pub async fn an_empty_queue_has_nothing_to_tell(queue: Arc<dyn Queue>) {
    assert_eq!(lease(&*queue, "w", 10, at(1)).await.len(), 0);
    assert_eq!(queue.next_due().await.expect("next_due"), None);
    assert_eq!(counts(&*queue).await, Counts::default());
    assert_eq!(records(&*queue).await, []);
    assert_eq!(queue.scope_counts(None, 10).await.expect("scopes"), []);
    assert_eq!(queue.meta("seq").await.expect("meta"), None);
    assert_eq!(queue.take_over("w").await.expect("take_over"), 0);
}

/// Input may be added again, whole or in part.
pub async fn the_same_url_twice_is_one_url(queue: Arc<dyn Queue>) {
    let keyed = |url: &str, key: &str| NewUrl {
        key: Some(key.to_owned()),
        ..url_of("a.org", url)
    };
    for (urls, added, duplicates) in [
        (vec![url_of("a.org", "http://a.org/1"); 2], 1, 1),
        (vec![keyed("http://a.org/1#x", "http://a.org/1")], 0, 1),
        (vec![keyed("HTTP://a.org/2", "http://a.org/2")], 1, 0),
        (vec![url_of("a.org", "http://a.org/2")], 0, 1),
        (vec![url_of("b.org", "http://a.org/1")], 0, 1),
        (vec![url_of("a.org", "HTTP://a.org/2")], 1, 0),
        (vec![], 0, 0),
    ] {
        let expected = Enqueued { added, duplicates };
        let told = queue.enqueue(urls.clone()).await.expect("enqueue");
        assert_eq!(told, expected, "{urls:?}");
    }
    let leased = only(lease(&*queue, "w", 10, at(1)).await);
    finish(&*queue, leased.urls[0].id, "fetched").await;
    let again = queue.enqueue(vec![url_of("a.org", "http://a.org/1")]);
    assert_eq!(again.await.expect("enqueue").duplicates, 1);
    assert_eq!(counts(&*queue).await.total(), 3);
}

/// What came with a URL goes with it.
pub async fn a_url_is_handed_back_as_it_came(queue: Arc<dyn Queue>) {
    let url = "https://user:pw@bücher.example/ä?q='\"%00#frag";
    let new = NewUrl {
        scope: "bücher.example".to_owned(),
        url: url.to_owned(),
        key: Some("https://xn--bcher-kva.example/".to_owned()),
        out: Some("a/b.html".to_owned()),
        headers: Some(r#"{"Accept":"*/*"}"#.to_owned()),
    };
    queue.enqueue(vec![new]).await.expect("enqueue");
    let leased = only(lease(&*queue, "w", 10, at(1)).await);
    assert_eq!(leased.lease.scope(), "bücher.example");
    let id = leased.urls[0].id;
    let expected = QueuedUrl {
        id,
        url: url.to_owned(),
        out: Some("a/b.html".to_owned()),
        headers: Some(r#"{"Accept":"*/*"}"#.to_owned()),
        attempts: 0,
        line: None,
    };
    assert_eq!(leased.urls, [expected]);
    let expected = UrlRecord {
        id,
        scope: "bücher.example".to_owned(),
        url: url.to_owned(),
        out: Some("a/b.html".to_owned()),
        attempts: 0,
        state: UrlState::Pending,
        line: None,
    };
    assert_eq!(records(&*queue).await, [expected]);
}

/// The end of a URL.
pub async fn a_finished_url_is_counted_and_never_handed_out_again(queue: Arc<dyn Queue>) {
    add(&*queue, "a.org", 3).await;
    let leased = only(lease(&*queue, "w", 10, at(1)).await);
    finish(&*queue, leased.urls[0].id, "fetched").await;
    finish(&*queue, leased.urls[1].id, "failed").await;
    let expected = Counts {
        pending: 1,
        deferred: 0,
        finished: BTreeMap::from([("failed".to_owned(), 1), ("fetched".to_owned(), 1)]),
        leased_scopes: 1,
    };
    assert_eq!(counts(&*queue).await, expected);
    release(&*queue, leased.clone(), Rest::Due(Timestamp::EPOCH)).await;
    let again = only(lease(&*queue, "w", 10, at(2)).await);
    assert_eq!(again.urls, leased.urls[2..]);
    finish(&*queue, again.urls[0].id, "fetched").await;
    release(&*queue, again, Rest::Due(Timestamp::EPOCH)).await;
    assert_eq!(lease(&*queue, "w", 10, at(3)).await.len(), 0);
    assert_eq!(queue.next_due().await.expect("next_due"), None);
}

/// Whoever comes second has fetched in vain, and is told.
pub async fn the_first_end_of_a_url_stands(queue: Arc<dyn Queue>) {
    add(&*queue, "a.org", 1).await;
    let leased = only(lease(&*queue, "w", 10, at(1)).await);
    let id = leased.urls[0].id;
    finish(&*queue, id, "fetched").await;
    let before = (counts(&*queue).await, records(&*queue).await);
    let stranger = UrlId(id.0 + 1000);
    for late in [
        finished(id, "failed"),
        deferred(id, at(99)),
        Settlement::Retry { id, attempts: 7 },
        finished(stranger, "fetched"),
        finished(UrlId(0), "fetched"),
    ] {
        let told = queue.settle(vec![late.clone()]).await.expect("settle");
        assert_eq!(
            (told.recorded, told.stale),
            (0, vec![late.id()]),
            "{late:?}"
        );
        let after = (counts(&*queue).await, records(&*queue).await);
        assert_eq!(after, before, "{late:?}");
    }
}

/// H10, K2: a deferral.
pub async fn a_deferred_url_waits_for_its_instant_behind_the_others(queue: Arc<dyn Queue>) {
    add(&*queue, "a.org", 4).await;
    let leased = only(lease(&*queue, "w", 10, at(1)).await);
    let [one, two, three, four] = ids(&leased.urls)[..] else {
        panic!("four URLs");
    };
    let settled = queue
        .settle(vec![
            deferred(one, at(50)),
            deferred(two, at(40)),
            deferred(three, Timestamp::MAX),
        ])
        .await
        .expect("settle");
    assert_eq!(settled.recorded, 3);
    assert_eq!(counts(&*queue).await.deferred, 3);
    release(&*queue, leased, Rest::Due(Timestamp::EPOCH)).await;

    let early = only(lease(&*queue, "w", 10, at(39)).await);
    assert_eq!(ids(&early.urls), [four]);
    release(&*queue, early, Rest::Due(Timestamp::EPOCH)).await;
    let later = only(lease(&*queue, "w", 10, at(50)).await);
    assert_eq!(ids(&later.urls), [four, two, one]);
    finish(&*queue, four, "fetched").await;
    finish(&*queue, two, "fetched").await;
    queue
        .settle(vec![deferred(one, at(60))])
        .await
        .expect("settle");
    release(&*queue, later, Rest::Due(Timestamp::EPOCH)).await;

    assert_eq!(queue.next_due().await.expect("next_due"), Some(at(60)));
    assert_eq!(lease(&*queue, "w", 10, at(59)).await.len(), 0);
    let records = records(&*queue).await;
    let waiting = |not_before| UrlState::Deferred {
        not_before,
        reason: "hold".to_owned(),
    };
    assert_eq!(records[0].state, waiting(at(60)));
    assert_eq!(records[2].state, waiting(Timestamp::MAX));
    assert_eq!(records[0].line.as_deref(), Some("deferred line"));
    assert_eq!(records[1].line.as_deref(), Some("fetched line"));
    assert_eq!(counts(&*queue).await.deferred, 2);
}

/// Attempts outlive the worker that made them.
pub async fn a_retry_keeps_its_attempts_and_its_place(queue: Arc<dyn Queue>) {
    add(&*queue, "a.org", 2).await;
    let leased = only(lease(&*queue, "w", 10, at(1)).await);
    let id = leased.urls[0].id;
    let retry = Settlement::Retry { id, attempts: 2 };
    let told = queue.settle(vec![retry, deferred(leased.urls[1].id, at(5))]);
    assert_eq!(told.await.expect("settle").recorded, 2);
    let late = Settlement::Retry {
        id: leased.urls[1].id,
        attempts: 1,
    };
    queue.settle(vec![late]).await.expect("settle");
    release(&*queue, leased.clone(), Rest::Due(Timestamp::EPOCH)).await;
    let again = only(lease(&*queue, "w", 10, at(5)).await);
    assert_eq!(ids(&again.urls), ids(&leased.urls));
    let attempts: Vec<u32> = again.urls.iter().map(|url| url.attempts).collect();
    assert_eq!(attempts, [2, 1]);
    assert_eq!(counts(&*queue).await.deferred, 1);
}

/// A finished manifest has one line a URL in input order.
pub async fn records_come_in_input_order_page_by_page(queue: Arc<dyn Queue>) {
    for scope in ["b.org", "a.org", "c.org"] {
        add(&*queue, scope, 3).await;
    }
    let mut leased = lease(&*queue, "w", 10, at(1)).await;
    leased.reverse();
    for scope in &leased {
        for url in scope.urls.iter().rev() {
            finish(&*queue, url.id, "fetched").await;
        }
    }
    let mut scopes = Vec::new();
    let mut after = None;
    loop {
        let page = queue.records(after, 4).await.expect("records");
        assert!(page.len() <= 4);
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        for record in page {
            assert_eq!(record.line.as_deref(), Some("fetched line"));
            scopes.push(record.scope);
        }
    }
    let expected: Vec<&str> = ["b.org", "a.org", "c.org"]
        .into_iter()
        .flat_map(|scope| [scope; 3])
        .collect();
    assert_eq!(scopes, expected);
}

/// `--retry-failed`.
pub async fn failed_urls_are_reopened_and_others_are_not(queue: Arc<dyn Queue>) {
    add(&*queue, "a.org", 5).await;
    let leased = only(lease(&*queue, "w", 10, at(1)).await);
    let of = ids(&leased.urls);
    let retry = Settlement::Retry {
        id: of[1],
        attempts: 3,
    };
    queue.settle(vec![retry]).await.expect("settle");
    for (id, outcome) in [
        (of[0], "fetched"),
        (of[1], "failed"),
        (of[2], "http_error"),
        (of[3], "failed"),
    ] {
        finish(&*queue, id, outcome).await;
    }
    queue
        .settle(vec![deferred(of[4], at(50))])
        .await
        .expect("settle");
    release(&*queue, leased, Rest::Due(Timestamp::EPOCH)).await;

    let reopen = async |outcomes: &[&str]| queue.reopen(outcomes).await.expect("reopen");
    assert_eq!(reopen(&["suppressed"]).await, 0);
    assert_eq!(reopen(&[]).await, 0);
    assert_eq!(queue.next_due().await.expect("next_due"), Some(at(50)));
    assert_eq!(reopen(&["failed", "http_error"]).await, 3);
    let expected = Counts {
        pending: 3,
        deferred: 1,
        finished: BTreeMap::from([("fetched".to_owned(), 1)]),
        leased_scopes: 0,
    };
    assert_eq!(counts(&*queue).await, expected);
    let again = only(lease(&*queue, "w", 10, at(2)).await);
    assert_eq!(ids(&again.urls), of[1..4]);
    assert!(again.urls.iter().all(|url| url.attempts == 0));
    assert!(again.urls.iter().all(|url| url.line.is_some()));
    let lines: Vec<bool> = records(&*queue)
        .await
        .iter()
        .map(|r| r.line.is_some())
        .collect();
    assert_eq!(lines, [true; 5]);
}

/// The table at the end of a run.
pub async fn counts_are_kept_by_scope(queue: Arc<dyn Queue>) {
    for (scope, urls) in [("b.org", 2), ("a.org", 1), ("c.org", 3)] {
        add(&*queue, scope, urls).await;
    }
    let leased = lease(&*queue, "me", 2, at(1)).await;
    finish(&*queue, leased[0].urls[0].id, "fetched").await;
    queue
        .settle(vec![deferred(leased[0].urls[1].id, at(9))])
        .await
        .expect("settle");
    let all = queue.scope_counts(None, 10).await.expect("scopes");
    let told: Vec<_> = all
        .iter()
        .map(|of| {
            let fetched = of.finished.get("fetched").copied().unwrap_or_default();
            (
                &*of.scope,
                of.pending,
                of.deferred,
                fetched,
                of.worker.as_deref(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("a.org", 1, 0, 0, Some("me")),
            ("b.org", 0, 1, 1, Some("me")),
            ("c.org", 3, 0, 0, None),
        ]
    );
    let first = queue.scope_counts(None, 2).await.expect("scopes");
    let rest = queue.scope_counts(Some("b.org"), 2).await.expect("scopes");
    assert_eq!([first, rest].concat(), all);
}

/// The end of an audit log is its number and its hash: never one without the other.
pub async fn small_values_are_kept_together(queue: Arc<dyn Queue>) {
    let entry = |name: &str, value: &[u8]| (name.to_owned(), value.to_vec());
    let set = async |entries| queue.set_meta(entries).await.expect("set_meta");
    set(vec![entry("seq", b"1"), entry("hash", b"\0\xFF")]).await;
    set(vec![entry("seq", b"2"), entry("empty", b"")]).await;
    for (name, expected) in [
        ("seq", Some(b"2".to_vec())),
        ("hash", Some(b"\0\xFF".to_vec())),
        ("empty", Some(Vec::new())),
        ("SEQ", None),
    ] {
        assert_eq!(queue.meta(name).await.expect("meta"), expected, "{name}");
    }
}
