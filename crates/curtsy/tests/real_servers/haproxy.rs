//! HAProxy with a stick table, which counts what it refuses and tells only what it is told to tell.

use std::time::Duration;

use curtsy::core::PolicyValues;

use crate::reading::Told;
use crate::scene::{Scene, eager, numbered, obedient};
use crate::server::Server;

#[tokio::test]
#[ignore = "needs HAProxy: ./test installs it and runs this"]
async fn d1_a_bare_429_is_no_directive_and_is_backed_off_from_and_nothing_is_lost() {
    let scene = Scene::with(Server::start("haproxy", &["20", "1"]));
    let (policy, paths) = (eager(), numbered(30));
    let (base, per_host) = (policy.backoff_base, policy.per_host as usize);
    let done = scene.fetch(policy, &paths).await;
    done.assert_each_is_fetched_once(&paths);
    assert!(!done.refused().is_empty(), "the limit was never met");
    done.assert_no_arrival_in_a_hold(base, per_host);
    done.assert_nothing_is_read();
}

#[tokio::test]
#[ignore = "needs HAProxy: ./test installs it and runs this"]
async fn h1_a_429_with_retry_after_gets_nothing_in_the_hold_and_nothing_is_lost() {
    let scene = Scene::with(Server::start("haproxy", &["12", "1", "retry-after"]));
    let paths = numbered(20);
    // One at a time: then nothing at all can be in flight when a refusal comes.
    let policy = PolicyValues {
        per_host: 1,
        ..eager()
    };
    let done = scene.fetch(policy, &paths).await;
    done.assert_each_is_fetched_once(&paths);
    assert!(!done.refused().is_empty(), "the limit was never met");
    done.assert_no_arrival_in_a_hold(Duration::ZERO, 1);
    for answer in done.answers() {
        let wait = answer.reading().wait.map(|wait| wait.after);
        let expected = (answer.status == 429).then_some(Duration::from_secs(1));
        assert_eq!(wait, expected, "{answer:?}");
    }
}

#[tokio::test]
#[ignore = "needs HAProxy: ./test installs it and runs this"]
async fn h5_a_quota_of_a_sliding_window_that_it_tells_is_read_and_never_overrun() {
    let scene = Scene::with(Server::start("haproxy", &["12", "2", "quota"]));
    let paths = numbered(20);
    let done = scene.fetch(obedient(), &paths).await;
    done.assert_each_is_fetched_once(&paths);
    assert_eq!(done.refused().len(), 0);
    done.assert_quota_is_read(&Told {
        limit: 12,
        window: Duration::from_secs(2),
        names_window: false,
    });
}
