//! nginx, whose `limit_req` tells nothing before it refuses.

use std::time::Duration;

use curtsy::core::PolicyValues;

use crate::scene::{Scene, eager, numbered};
use crate::server::Server;

#[tokio::test]
#[ignore = "needs nginx: ./test installs it and runs this"]
async fn d1_a_503_without_a_directive_is_backed_off_from_and_nothing_is_lost() {
    let scene = Scene::with(Server::start("nginx", &["20", "4"]));
    let (policy, paths) = (eager(), numbered(30));
    let (base, per_host) = (policy.backoff_base, policy.per_host as usize);
    let done = scene.fetch(policy, &paths).await;
    done.assert_each_is_fetched_once(&paths);
    assert!(!done.refused().is_empty(), "the limit was never met");
    done.assert_no_arrival_in_a_hold(base, per_host);
    done.assert_nothing_is_read();
}

#[tokio::test]
#[ignore = "needs nginx: ./test installs it and runs this"]
async fn d1_a_bare_429_is_no_directive_either() {
    let scene = Scene::with(Server::start("nginx", &["20", "4", "429"]));
    let paths = numbered(20);
    let done = scene.fetch(eager(), &paths).await;
    done.assert_each_is_fetched_once(&paths);
    assert!(!done.refused().is_empty(), "the limit was never met");
    done.assert_nothing_is_read();
}

#[tokio::test]
#[ignore = "needs nginx: ./test installs it and runs this"]
async fn h1_a_429_with_retry_after_gets_nothing_in_the_hold_and_nothing_is_lost() {
    let scene = Scene::with(Server::start("nginx", &["10", "4", "429", "1"]));
    let paths = numbered(12);
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
