//! HAProxy with a stick table, which counts what it refuses and tells only what it is told to tell.

use crate::scene::Scene;
use crate::server::Server;

#[tokio::test]
#[ignore = "needs HAProxy: ./test installs it and runs this"]
async fn d1_a_bare_429_is_no_directive_and_is_backed_off_from_and_nothing_is_lost() {
    let scene = Scene::with(Server::start("haproxy", &["20", "1"]));
    scene.assert_bare_refusals_are_backed_off_from().await;
}

#[tokio::test]
#[ignore = "needs HAProxy: ./test installs it and runs this"]
async fn h1_a_429_with_retry_after_gets_nothing_in_the_hold_and_nothing_is_lost() {
    let scene = Scene::with(Server::start("haproxy", &["12", "1", "retry-after"]));
    scene.assert_retry_after_is_obeyed(20).await;
}

#[tokio::test]
#[ignore = "needs HAProxy: ./test installs it and runs this"]
async fn h5_a_quota_of_a_sliding_window_that_it_tells_is_read_and_never_overrun() {
    let scene = Scene::with(Server::start("haproxy", &["12", "2", "quota"]));
    scene.assert_a_quota_is_never_overrun(20, false).await;
}
