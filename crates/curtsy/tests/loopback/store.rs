//! S: state that outlives the client, is shared with others, and may be lost for a while.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use curtsy::core::{Interval, Reason, Scope, Suppression};
use curtsy::store::{
    HostStore, MemoryStore, SqliteStore, StoreError, StoreErrorKind, Swap, Version, Versioned,
    Watch,
};
use curtsy::{ErrorKind, Notice, Notices};
use curtsy_origin::lead_over_pace;
use http::StatusCode;
use tokio::sync::watch;

use crate::support::*;

async fn sqlite(dir: &tempfile::TempDir) -> Arc<dyn HostStore> {
    let path = dir.path().join("state.sqlite");
    Arc::new(SqliteStore::open(&path).await.unwrap())
}

#[tokio::test]
async fn s1_a_hold_a_delay_and_a_suppression_are_in_force_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let busy =
        origin(r#"{"robots": 404, "page": {"status": 503, "headers": [["Retry-After", "30"]]}}"#)
            .await;
    let shut = origin(r#"{"robots": 404, "page": {"status": 403}}"#).await;
    let patience = |p: &mut curtsy::core::PolicyValues| p.max_retry_after = ms(100);
    let first = on_store(&sqlite(&dir).await, patience);
    let told = deferred(first.get(&busy.url("/1")).await).bound;
    for n in 0..3 {
        response(first.get(&shut.url(&format!("/{n}"))).await);
    }
    let scope = Scope::named(&busy.addr().to_string());
    let before = first.state(&scope).await.unwrap();
    drop(first);

    let second = on_store(&sqlite(&dir).await, patience);
    let after = deferred(second.get(&busy.url("/2")).await);
    assert_eq!((after.bound, after.attempts), (told, 0));
    let state = second.state(&scope).await.unwrap();
    assert_eq!(state.dynamic_delay(), before.dynamic_delay());
    assert!(!state.dynamic_delay().is_zero());
    assert!(response(second.get(&shut.url("/3")).await).synthetic);
    let shut_scope = Scope::named(&shut.addr().to_string());
    let suppression = second.state(&shut_scope).await.unwrap().suppression();
    assert!(matches!(suppression, Suppression::Active { .. }));
    assert_eq!((pages(&busy).len(), pages(&shut).len()), (1, 3));
}

#[tokio::test]
async fn s2_two_clients_on_one_file_keep_one_pace() {
    let dir = tempfile::tempdir().unwrap();
    let origin = origin(r#"{"robots": 404}"#).await;
    let pace = |p: &mut curtsy::core::PolicyValues| {
        (p.rate, p.max_rate, p.burst, p.per_host) = (Some(40.0), Some(40.0), 1, 4);
    };
    let one = on_store(&sqlite(&dir).await, pace);
    let other = on_store(&sqlite(&dir).await, pace);
    let urls = |name: &str| {
        (0..12)
            .map(|n| origin.url(&format!("/{name}{n}")))
            .collect::<Vec<_>>()
    };
    let (a, b) = tokio::join!(statuses(&one, urls("a")), statuses(&other, urls("b")));
    assert_eq!([a, b].concat(), [200; 24]);
    let mut instants: Vec<_> = origin.arrivals().iter().map(|arrival| arrival.at).collect();
    instants.sort();
    let lead = lead_over_pace(&instants, ms(25));
    assert!(lead <= ms(5) + SLACK, "{lead:?} early");
}

#[tokio::test]
async fn s2_a_hold_that_one_client_sees_stops_the_other() {
    let dir = tempfile::tempdir().unwrap();
    let origin = origin(
        r#"{"robots": 404, "pages": {"/x": [
            {"status": 429, "headers": [["Retry-After", "1"]]}, {"status": 200}]}}"#,
    )
    .await;
    let one = on_store(&sqlite(&dir).await, |p| p.honor_retry_after = false);
    let other = on_store(&sqlite(&dir).await, |_| ());
    assert_eq!(status(&other, &origin.url("/before")).await, 200);
    assert_eq!(status(&one, &origin.url("/x")).await, 429);
    assert_eq!(status(&other, &origin.url("/after")).await, 200);
    let arrivals = pages(&origin);
    assert!(arrivals[2].at - arrivals[1].answered.unwrap() >= ms(1095));
}

#[tokio::test]
async fn p8_the_first_answer_that_another_client_waits_for_frees_this_one_too() {
    let dir = tempfile::tempdir().unwrap();
    let origin = origin(r#"{"robots": 404, "service": {"latency_ms": 200}}"#).await;
    let one = on_store(&sqlite(&dir).await, |_| ());
    let other = on_store(&sqlite(&dir).await, |_| ());
    one.can_fetch(&origin.url("/")).await.unwrap();
    let (first, second) = (origin.url("/1"), origin.url("/2"));
    let both = async { tokio::join!(status(&one, &first), status(&other, &second)) };
    let both = tokio::time::timeout(ms(5000), both).await;
    assert_eq!(both, Ok((200, 200)));
    let arrivals = pages(&origin);
    assert!(arrivals[1].at >= arrivals[0].answered.unwrap());
}

#[tokio::test]
async fn p3_departures_of_a_burst_are_stored_together_and_what_follows_keeps_the_rate() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state.sqlite");
    let store = Arc::new(SqliteStore::open(&path).await.unwrap());
    let origin = origin(r#"{"robots": 404, "service": {"latency_ms": 300}}"#).await;
    let shared: Arc<dyn HostStore> = store.clone();
    let client = on_store(&shared, |p| {
        (p.rate, p.max_rate, p.burst, p.per_host) = (Some(20.0), Some(20.0), 12, 16);
    });
    assert_eq!(status(&client, &origin.url("/first")).await, 200);
    let urls = |round: u32| (0..15).map(move |n| format!("/{round}/{n}"));
    // The first round makes the connections.
    for round in 0..2 {
        tokio::time::sleep(ms(700)).await;
        let before = store.commits();
        let urls = urls(round).map(|path| origin.url(&path));
        assert_eq!(statuses(&client, urls).await, [200; 15]);
        let commits = store.commits() - before;
        assert!(round == 0 || commits < 15, "{commits} commits");
    }
    let arrivals = &pages(&origin)[16..];
    for (n, arrival) in arrivals[12..].iter().enumerate() {
        let since = arrival.at - arrivals[0].at;
        assert!(
            since + SLACK + ms(5) >= ms(50) * (n as u32 + 1),
            "{n}: {since:?}"
        );
    }
}

/// A store that can be lost, and that tells of changes.
#[derive(Debug, Default)]
struct Flaky {
    inner: Arc<MemoryStore>,
    changes: watch::Sender<Version>,
    lost: AtomicBool,
    /// How long it keeps its answer after it has stored something, milliseconds.
    late_ms: AtomicU64,
}

impl Flaky {
    fn check(&self) -> Result<(), StoreError> {
        if self.lost.load(Ordering::SeqCst) {
            return Err(StoreError::new(StoreErrorKind::Unavailable, "gone"));
        }
        Ok(())
    }
}

#[async_trait]
impl HostStore for Flaky {
    async fn load(&self, key: &str) -> Result<Option<Versioned>, StoreError> {
        self.check()?;
        self.inner.load(key).await
    }

    async fn compare_and_swap(
        &self,
        key: &str,
        expected: Version,
        value: Vec<u8>,
    ) -> Result<Swap, StoreError> {
        self.check()?;
        let swapped = self.inner.compare_and_swap(key, expected, value).await;
        if let Ok(Swap::Stored(version)) = swapped {
            self.changes.send_replace(version);
            let late = ms(self.late_ms.load(Ordering::SeqCst));
            tokio::time::sleep(late).await;
        }
        swapped
    }

    async fn remove(&self, key: &str, expected: Version) -> Result<Swap, StoreError> {
        self.check()?;
        self.inner.remove(key, expected).await
    }

    async fn keys(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        self.check()?;
        self.inner.keys(prefix).await
    }

    fn watch(&self, _: &str) -> Option<Watch> {
        let mut changes = self.changes.subscribe();
        changes.mark_changed();
        Some(Watch::new(changes, ()))
    }
}

#[tokio::test]
async fn p9_who_waits_for_the_answer_to_another_process_is_woken_by_it() {
    let origin = origin(r#"{"robots": 404, "service": {"latency_ms": 200}}"#).await;
    let store: Arc<dyn HostStore> = Arc::new(Flaky::default());
    let (one, other) = (on_store(&store, |_| ()), on_store(&store, |_| ()));
    let (first, second) = (origin.url("/1"), origin.url("/2"));
    let both = tokio::join!(one.get(&first), async {
        tokio::time::sleep(ms(50)).await;
        other.get(&second).await
    });
    assert_eq!(
        (response(both.0).status, response(both.1).status),
        (StatusCode::OK, StatusCode::OK)
    );
    // robots.txt is asked for by one of them, or both; one at a time all the same.
    for pair in origin.arrivals().windows(2) {
        let idle = pair[1].at.saturating_sub(pair[0].answered.unwrap());
        assert!(idle < ms(150), "{idle:?} before {}", pair[1].path);
    }
}

#[tokio::test]
async fn p9_a_permit_that_took_long_to_be_stored_does_not_outlive_a_hold_of_another_process() {
    let origin = origin(
        r#"{"robots": 404, "service": {"latency_ms": 80}, "pages": {
            "/held": {"status": 429, "headers": [["Retry-After", "1"]]}}}"#,
    )
    .await;
    let slow = Arc::new(Flaky::default());
    let quick: Arc<dyn HostStore> = slow.inner.clone();
    let (one, other) = (
        on_store(&quick, |_| ()),
        on_store(&(slow.clone() as _), |_| ()),
    );
    assert_eq!(status(&other, &origin.url("/0")).await, 200);
    assert_eq!(status(&one, &origin.url("/1")).await, 200);
    slow.late_ms.store(200, Ordering::SeqCst);
    let (held_url, late_url) = (origin.url("/held"), origin.url("/late"));
    let held = tokio::spawn(async move { one.get(&held_url).await });
    tokio::time::sleep(ms(20)).await;
    let late = tokio::spawn(async move { status(&other, &late_url).await });
    assert_eq!(late.await.unwrap(), 200);
    held.abort();
    let arrivals = pages(&origin);
    let refused = arrivals
        .iter()
        .find(|arrival| arrival.path == "/held")
        .unwrap();
    let late = arrivals
        .iter()
        .find(|arrival| arrival.path == "/late")
        .unwrap();
    let quiet = late.at - refused.answered.unwrap();
    assert!(quiet >= ms(1000), "an arrival {quiet:?} into the hold");
}

#[tokio::test]
async fn s4_while_the_store_is_lost_nothing_departs_and_then_all_goes_on() {
    let origin = origin(r#"{"robots": 404, "service": {"latency_ms": 10}}"#).await;
    let store = Arc::new(Flaky::default());
    let told: Arc<Mutex<Vec<&str>>> = Arc::default();
    let teller = Arc::clone(&told);
    let notices = Notices::to(move |notice| match notice {
        Notice::StoreLost { .. } => teller.lock().unwrap().push("lost"),
        Notice::StoreBack => teller.lock().unwrap().push("back"),
        _ => {}
    });
    let policy = fast(|p| p.delay = Some(Interval::fixed(ms(20))));
    let client = builder(policy)
        .store(store.clone())
        .notices(notices)
        .build()
        .unwrap();
    let urls: Vec<String> = (0..30).map(|n| origin.url(&format!("/{n}"))).collect();
    let (working, all) = (client.clone(), urls.clone());
    let work = tokio::spawn(async move { statuses(&working, all).await });
    while origin.arrived() < 8 {
        tokio::time::sleep(ms(5)).await;
    }
    store.lost.store(true, Ordering::SeqCst);
    // What had been permitted before may still be on its way.
    tokio::time::sleep(ms(50)).await;
    let before = origin.arrived();
    tokio::time::sleep(ms(250)).await;
    assert_eq!(origin.arrived(), before, "it departs without its store");
    store.lost.store(false, Ordering::SeqCst);
    assert_eq!(work.await.unwrap(), [200; 30]);
    assert_eq!(paths(&origin).len(), 31, "each once, and robots.txt");
    assert_eq!(*told.lock().unwrap(), ["lost", "back"], "told once");
}

#[tokio::test]
async fn s4_with_a_timeout_a_store_that_stays_lost_is_an_error() {
    let origin = origin("{}").await;
    let store = Arc::new(Flaky::default());
    store.lost.store(true, Ordering::SeqCst);
    let client = builder(fast(|_| ()))
        .store(store)
        .store_timeout(Some(ms(200)))
        .build()
        .unwrap();
    let error = client.get(&origin.url("/x")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Store(StoreErrorKind::Unavailable));
    assert_eq!(origin.arrived(), 0);
}

#[tokio::test]
async fn s4_a_client_that_is_closed_does_not_wait_for_a_lost_store() {
    let origin = origin("{}").await;
    let store = Arc::new(Flaky::default());
    store.lost.store(true, Ordering::SeqCst);
    let client = builder(fast(|_| ())).store(store).build().unwrap();
    let (other, url) = (client.clone(), origin.url("/x"));
    let waiting = tokio::spawn(async move { other.get(&url).await });
    tokio::time::sleep(ms(20)).await;
    client.close();
    let error = waiting.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
}

#[tokio::test]
async fn a_request_that_is_dropped_while_its_departure_is_stored_leaves_no_flight() {
    let origin = origin("{}").await;
    let store = Arc::new(Flaky::default());
    let client = builder(fast(|p| p.respect_robots = false))
        .store(store.clone())
        .build()
        .unwrap();
    store.late_ms.store(60, Ordering::SeqCst);
    let dropped = tokio::time::timeout(ms(30), client.get(&origin.url("/x"))).await;
    assert!(dropped.is_err());
    store.late_ms.store(0, Ordering::SeqCst);
    // P8: the flight of a first request would be waited for until its timeout.
    let got = tokio::time::timeout(ms(5000), status(&client, &origin.url("/y"))).await;
    assert_eq!(got, Ok(200));
    assert_eq!(paths(&origin), ["/y"]);
    let scope = Scope::named(&origin.addr().to_string());
    assert_eq!(client.state(&scope).await.unwrap().in_flight(), 0);
}

#[tokio::test]
async fn d6_a_damaged_or_newer_state_is_an_error_and_stays_as_it_is() {
    let origin = origin("{}").await;
    for (value, kind) in [
        ("{\"format\": 999}", StoreErrorKind::Newer),
        ("no json", StoreErrorKind::Damaged),
        ("[]", StoreErrorKind::Damaged),
    ] {
        let store = Arc::new(MemoryStore::new());
        let key = format!("scope:{}", origin.addr());
        let bytes = value.as_bytes().to_vec();
        store
            .compare_and_swap(&key, Version::ABSENT, bytes.clone())
            .await
            .unwrap();
        let client = builder(fast(|_| ())).store(store.clone()).build().unwrap();
        let error = client.get(&origin.url("/x")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Store(kind), "{value}");
        assert_eq!(store.load(&key).await.unwrap().unwrap().value, bytes);
    }
    assert_eq!(origin.arrived(), 0);
}

#[tokio::test]
async fn k2_an_open_breaker_defers_at_once_also_in_another_client() {
    let origin = origin(r#"{"robots": 404, "page": {"status": 501}}"#).await;
    let store: Arc<dyn HostStore> = Arc::new(MemoryStore::new());
    let one = on_store(&store, |_| ());
    for n in 0..11 {
        // The robots.txt was a healthy answer.
        assert_eq!(status(&one, &origin.url(&format!("/{n}"))).await, 501);
        if !one
            .scopes()
            .iter()
            .all(|view| view.state.as_ref().unwrap().breaker() == curtsy::core::Breaker::Closed)
        {
            break;
        }
    }
    for client in [one, on_store(&store, |_| ())] {
        let put_off = deferred(client.get(&origin.url("/x")).await);
        assert_eq!(put_off.bound.reason, Reason::BreakerOpen);
    }
    assert_eq!(count(&origin, "/x"), 0);
}
