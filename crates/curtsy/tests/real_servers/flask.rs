//! Flask-Limiter, which publishes its quota and prints Retry-After on every answer.

use crate::scene::Scene;
use crate::server::Server;

/// 20 requests at 12 per 2 s, in either strategy.
async fn assert_a_published_quota_is_read_and_never_overrun(strategy: &str) {
    let server = Server::start("flask-limiter", &[strategy, "12", "2"]);
    let scene = Scene::with(server);
    let done = scene.assert_a_quota_is_never_overrun(20, false).await;
    // Obeyed, it would have let one request of each window through.
    for answer in done.answers() {
        let reading = answer.reading();
        let told = answer.retry_after();
        assert!(told.is_some(), "{answer:?}");
        if reading.figures.remaining != Some(0) {
            let is_advisory = |why: &str| why.starts_with("advisory");
            let mut ignored = reading.ignored.iter();
            assert!(
                ignored.any(|ignored| is_advisory(ignored.why)),
                "{answer:?}"
            );
        }
    }
}

#[tokio::test]
#[ignore = "needs Flask-Limiter: ./test installs it and runs this"]
async fn h2_retry_after_on_every_answer_of_a_fixed_window_is_advice_while_quota_is_left() {
    assert_a_published_quota_is_read_and_never_overrun("fixed-window").await;
}

#[tokio::test]
#[ignore = "needs Flask-Limiter: ./test installs it and runs this"]
async fn h2_retry_after_on_every_answer_of_a_moving_window_is_advice_while_quota_is_left() {
    assert_a_published_quota_is_read_and_never_overrun("moving-window").await;
}
