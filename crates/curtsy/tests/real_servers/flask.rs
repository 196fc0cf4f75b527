//! Flask-Limiter, which publishes its quota and prints Retry-After on every answer.

use std::time::Duration;

use crate::reading::Told;
use crate::scene::{Scene, numbered, obedient};
use crate::server::Server;

/// 20 requests at 12 per 2 s, in either strategy.
async fn assert_a_published_quota_is_read_and_never_overrun(strategy: &str) {
    let server = Server::start("flask-limiter", &[strategy, "12", "2"]);
    let (scene, paths) = (Scene::with(server), numbered(20));
    let done = scene.fetch(obedient(), &paths).await;
    done.assert_each_is_fetched_once(&paths);
    assert_eq!(done.refused().len(), 0);
    done.assert_quota_is_read(&Told {
        limit: 12,
        window: Duration::from_secs(2),
        names_window: false,
    });
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
