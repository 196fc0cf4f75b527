//! express-rate-limit, which publishes its quota in whichever of four dialects it is told to.

use crate::scene::Scene;
use crate::server::Server;

/// 30 requests at 12 per 2 s: the quota is met, waited out and met again, and never overrun.
async fn assert_a_published_quota_is_read_and_never_overrun(dialect: &str) {
    let server = Server::start("express-rate-limit", &[dialect, "12", "2000"]);
    let scene = Scene::with(server);
    let names_window = dialect != "legacy";
    scene
        .assert_a_quota_is_never_overrun(30, names_window)
        .await;
}

#[tokio::test]
#[ignore = "needs express-rate-limit: ./test installs it and runs this"]
async fn h5_a_quota_told_by_x_ratelimit_headers_is_never_overrun() {
    assert_a_published_quota_is_read_and_never_overrun("legacy").await;
}

#[tokio::test]
#[ignore = "needs express-rate-limit: ./test installs it and runs this"]
async fn h5_a_quota_told_as_in_draft_6_is_never_overrun() {
    assert_a_published_quota_is_read_and_never_overrun("draft-6").await;
}

#[tokio::test]
#[ignore = "needs express-rate-limit: ./test installs it and runs this"]
async fn h5_a_quota_told_as_in_draft_7_is_never_overrun() {
    assert_a_published_quota_is_read_and_never_overrun("draft-7").await;
}

#[tokio::test]
#[ignore = "needs express-rate-limit: ./test installs it and runs this"]
async fn h5_a_quota_told_as_in_draft_8_is_never_overrun() {
    assert_a_published_quota_is_read_and_never_overrun("draft-8").await;
}
