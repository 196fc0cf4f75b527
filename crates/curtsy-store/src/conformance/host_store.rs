//! What every [`HostStore`] does.

use std::collections::HashSet;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::error::StoreErrorKind;
use crate::host_store::{HostStore, MAX_KEY_BYTES, MAX_VALUE_BYTES, Swap, Version, Versioned};

const KEY: &str = "scope:example.org";

/// An absent key is not an error.
pub async fn an_absent_key_loads_as_none(store: Arc<dyn HostStore>) {
    assert_eq!(load(&*store, KEY).await, None);
    assert_eq!(keys(&*store, "").await, Vec::<String>::new());
}

/// What was stored comes back with the version that the swap told.
pub async fn what_was_swapped_in_is_loaded(store: Arc<dyn HostStore>) {
    let first = stored(swap(&*store, KEY, Version::ABSENT, b"one").await);
    let second = stored(swap(&*store, KEY, first, b"two").await);
    assert_ne!(first, second);
    assert_eq!(load(&*store, KEY).await, Some(versioned(second, b"two")));
}

/// `Version::ABSENT` creates a value and never replaces one.
pub async fn a_swap_of_an_absent_key_creates_it_once(store: Arc<dyn HostStore>) {
    let first = stored(swap(&*store, KEY, Version::ABSENT, b"one").await);
    assert_ne!(first, Version::ABSENT);
    assert_eq!(
        swap(&*store, KEY, Version::ABSENT, b"two").await,
        Swap::Conflict(Some(versioned(first, b"one")))
    );
    assert_eq!(
        swap(&*store, "scope:other.org", first, b"one").await,
        Swap::Conflict(None)
    );
    assert_eq!(load(&*store, "scope:other.org").await, None);
}

/// A conflict brings what the caller needs to decide again, and changes nothing.
pub async fn a_stale_version_conflicts_and_tells_what_is_there(store: Arc<dyn HostStore>) {
    let first = stored(swap(&*store, KEY, Version::ABSENT, b"one").await);
    let second = stored(swap(&*store, KEY, first, b"two").await);
    let there = versioned(second, b"two");
    assert_eq!(
        swap(&*store, KEY, first, b"three").await,
        Swap::Conflict(Some(there.clone()))
    );
    assert_eq!(load(&*store, KEY).await, Some(there));
}

/// A value that was removed and stored again is another one (no ABA).
pub async fn a_removed_value_is_gone_and_its_versions_never_return(store: Arc<dyn HostStore>) {
    let mut seen = HashSet::new();
    for round in 0..5 {
        let mut version = Version::ABSENT;
        for _ in 0..3 {
            version = stored(swap(&*store, KEY, version, b"same").await);
            assert!(
                seen.insert(version),
                "{version:?} came twice, round {round}"
            );
        }
        let removed = store.remove(KEY, version).await.expect("remove");
        assert_eq!(removed, Swap::Stored(Version::ABSENT));
        assert_eq!(load(&*store, KEY).await, None);
        assert_eq!(
            swap(&*store, KEY, version, b"late").await,
            Swap::Conflict(None)
        );
    }
}

/// A removal is a compare-and-swap as well.
pub async fn removing_what_has_changed_is_a_conflict(store: Arc<dyn HostStore>) {
    let remove = async |version| store.remove(KEY, version).await.expect("remove");
    assert_eq!(remove(Version::ABSENT).await, Swap::Stored(Version::ABSENT));
    let first = stored(swap(&*store, KEY, Version::ABSENT, b"one").await);
    assert_eq!(
        remove(Version::ABSENT).await,
        Swap::Conflict(Some(versioned(first, b"one")))
    );
    let second = stored(swap(&*store, KEY, first, b"two").await);
    let there = versioned(second, b"two");
    assert_eq!(remove(first).await, Swap::Conflict(Some(there.clone())));
    assert_eq!(load(&*store, KEY).await, Some(there));
    assert_eq!(remove(second).await, Swap::Stored(Version::ABSENT));
    assert_eq!(remove(second).await, Swap::Conflict(None));
}

/// However a driver makes its versions, keys do not disturb each other.
pub async fn a_version_never_returns_when_other_keys_are_removed(store: Arc<dyn HostStore>) {
    let mut seen: [HashSet<Version>; 3] = Default::default();
    let mut versions = [Version::ABSENT; 3];
    for round in 0..30 {
        let which = round * 7 % 3;
        let key = format!("scope:{which}.org");
        versions[which] = stored(swap(&*store, &key, versions[which], b"v").await);
        assert!(seen[which].insert(versions[which]), "{key}, round {round}");
        if round % 4 == 3 {
            store.remove(&key, versions[which]).await.expect("remove");
            versions[which] = Version::ABSENT;
        }
    }
}

/// A prefix is compared byte by byte; none of its characters has a meaning.
pub async fn keys_are_told_by_prefix_in_byte_order(store: Arc<dyn HostStore>) {
    let all = [
        "scope:%",
        "scope:B",
        "scope:_",
        "scope:a",
        "scope:ä",
        "scope:\u{10FFFF}x",
        "scopf:",
    ];
    for key in all.iter().rev() {
        swap(&*store, key, Version::ABSENT, b"").await;
    }
    for (prefix, expected) in [
        ("", &all[..]),
        ("scope:", &all[..6]),
        ("scope:%", &all[..1]),
        ("scope:_", &all[2..3]),
        ("scope:A", &[]),
        ("scope:\u{10FFFF}", &all[5..6]),
        ("t", &[]),
    ] {
        assert_eq!(keys(&*store, prefix).await, expected, "prefix {prefix:?}");
    }
}

/// Up to the bounds, any text is a key and any bytes are a value.
pub async fn any_key_and_value_within_bounds_is_kept(store: Arc<dyn HostStore>) {
    let long = "k".repeat(MAX_KEY_BYTES);
    let every_byte: Vec<u8> = (0..=u8::MAX).collect();
    for (key, value) in [
        ("robots:https://[::1]:8443", every_byte),
        ("scope:bücher.example", Vec::new()),
        ("scope:a'b\"c\\d\n", b"x".to_vec()),
        (&long, vec![7; MAX_VALUE_BYTES]),
    ] {
        let version = stored(swap(&*store, key, Version::ABSENT, &value).await);
        assert_eq!(
            load(&*store, key).await,
            Some(Versioned { version, value }),
            "{key:?}"
        );
    }
}

/// Beyond the bounds, nothing is stored.
pub async fn keys_and_values_out_of_bounds_are_invalid(store: Arc<dyn HostStore>) {
    let long = "k".repeat(MAX_KEY_BYTES + 1);
    for (key, bytes) in [("", 1), (&*long, 1), (KEY, MAX_VALUE_BYTES + 1)] {
        let error = store
            .compare_and_swap(key, Version::ABSENT, vec![0; bytes])
            .await
            .expect_err("out of bounds");
        assert_eq!(error.kind(), StoreErrorKind::Invalid, "{key:?}, {bytes}");
    }
    for key in ["", &long] {
        let error = store.load(key).await.expect_err("out of bounds");
        assert_eq!(error.kind(), StoreErrorKind::Invalid, "{key:?}");
        let removed = store.remove(key, Version::ABSENT).await;
        let error = removed.expect_err("out of bounds");
        assert_eq!(error.kind(), StoreErrorKind::Invalid, "{key:?}");
    }
    assert_eq!(keys(&*store, "").await, Vec::<String>::new());
}

/// Compare-and-swap is what it says under contention.
pub async fn sixteen_tasks_lose_no_swap(store: Arc<dyn HostStore>) {
    const TASKS: u64 = 16;
    const EACH: u64 = 40;
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                for _ in 0..EACH {
                    count_up(&*store, KEY).await;
                    count_up(&*store, &format!("scope:{task}.org")).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("a task");
    }
    assert_eq!(count(&*store, KEY).await, TASKS * EACH);
    for task in 0..TASKS {
        assert_eq!(count(&*store, &format!("scope:{task}.org")).await, EACH);
    }
}

/// A caller that goes away in the middle leaves a sound value behind.
pub async fn a_dropped_call_is_done_wholly_or_not_at_all(store: Arc<dyn HostStore>) {
    let first = stored(swap(&*store, KEY, Version::ABSENT, b"one").await);
    poll_once(store.compare_and_swap(KEY, first, b"two".to_vec()));
    poll_once(store.remove("scope:other.org", first));
    let there = load(&*store, KEY).await.expect("a value");
    match there.value.as_slice() {
        b"one" => assert_eq!(there.version, first),
        b"two" => assert_ne!(there.version, first),
        other => panic!("{other:?} was never swapped in"),
    }
    stored(swap(&*store, KEY, there.version, b"three").await);
}

/// Adds one to the number under `key` by compare-and-swap, as often as it takes, and returns it. For
/// tests with tasks and processes of their own.
pub async fn count_up(store: &dyn HostStore, key: &str) -> u64 {
    let mut there = load(store, key).await;
    loop {
        let version = there
            .as_ref()
            .map_or(Version::ABSENT, |there| there.version);
        let next = there.as_ref().map_or(0, number) + 1;
        match swap(store, key, version, &next.to_be_bytes()).await {
            Swap::Stored(_) => return next,
            Swap::Conflict(other) => there = other,
        }
    }
}

/// The number that [`count_up`] has come to, 0 where it was never called.
pub async fn count(store: &dyn HostStore, key: &str) -> u64 {
    load(store, key).await.as_ref().map_or(0, number)
}

/// Polls a call one time and drops it, unless it has answered by then.
pub(super) fn poll_once<F: Future>(call: F) -> Option<F::Output> {
    match pin!(call).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    }
}

fn number(there: &Versioned) -> u64 {
    let bytes = there.value.as_slice().try_into().expect("eight bytes");
    u64::from_be_bytes(bytes)
}

async fn load(store: &dyn HostStore, key: &str) -> Option<Versioned> {
    store.load(key).await.expect("load")
}

async fn keys(store: &dyn HostStore, prefix: &str) -> Vec<String> {
    store.keys(prefix).await.expect("keys")
}

async fn swap(store: &dyn HostStore, key: &str, expected: Version, value: &[u8]) -> Swap {
    store
        .compare_and_swap(key, expected, value.to_vec())
        .await
        .expect("swap")
}

fn stored(swap: Swap) -> Version {
    match swap {
        Swap::Stored(version) => version,
        Swap::Conflict(there) => panic!("conflict with {there:?}"),
    }
}

fn versioned(version: Version, value: &[u8]) -> Versioned {
    Versioned {
        version,
        value: value.to_vec(),
    }
}
