//! nginx, whose `limit_req` tells nothing before it refuses.

use crate::scene::{Scene, eager, numbered};
use crate::server::Server;

#[tokio::test]
#[ignore = "needs nginx: ./test installs it and runs this"]
async fn d1_a_503_without_a_directive_is_backed_off_from_and_nothing_is_lost() {
    let scene = Scene::with(Server::start("nginx", &["20", "4"]));
    scene.assert_bare_refusals_are_backed_off_from().await;
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
    scene.assert_retry_after_is_obeyed(12).await;
}
