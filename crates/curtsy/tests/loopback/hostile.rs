//! Headers that mean harm: no panic, no endless wait, no faster pace.

use curtsy::core::Reason;
use curtsy::transport::TransportErrorKind;
use curtsy::{ErrorKind, Reply};
use curtsy_origin::lead_over_pace;

use crate::support::*;

#[tokio::test]
async fn a_refusal_with_a_senseless_wait_is_backed_off_from_and_an_absurd_one_deferred() {
    for value in [
        "-1",
        "NaN",
        "",
        " ",
        "soon",
        "0x10",
        "1e3",
        "inf",
        "99999999999999999999999",
        "99999999999",
    ] {
        let origin = origin(&format!(
            r#"{{"robots": 404, "pages": {{"/x": [
                {{"status": 429, "headers": [["Retry-After", "{value}"]]}}, {{"status": 200}}]}}}}"#
        ))
        .await;
        let client = client(|p| p.backoff_base = ms(100));
        let reply = tokio::time::timeout(ms(5000), client.get(&origin.url("/x"))).await;
        match reply
            .unwrap_or_else(|_| panic!("{value:?} is waited for"))
            .unwrap()
        {
            Reply::Response(response) => {
                assert_eq!(response.status, 200, "{value:?}");
                let gap = gaps(&pages(&origin))[0];
                assert!(gap + SLACK >= ms(100), "{value:?}: {gap:?}");
            }
            Reply::Deferred(deferred) => {
                assert_eq!(deferred.bound.reason, Reason::ServerHold, "{value:?}");
                assert!(value.len() > 8, "{value:?}");
            }
            Reply::Disallowed(no) => panic!("{no:?}"),
        }
    }
}

#[tokio::test]
async fn no_header_of_a_healthy_answer_makes_the_pace_faster() {
    for headers in [
        r#"["Retry-After", "0"]"#,
        r#"["Retry-After", "-5"]"#,
        r#"["X-RateLimit-Limit", "999999999"], ["X-RateLimit-Remaining", "999999999"], ["X-RateLimit-Reset", "0"]"#,
        r#"["X-RateLimit-Remaining", "NaN"], ["X-RateLimit-Reset", "-1"]"#,
        r#"["RateLimit", "\"a\";r=99999999999999999;t=0"], ["RateLimit-Policy", "\"a\";q=-1;w=NaN"]"#,
        r#"["RateLimit-Limit", ""], ["RateLimit-Remaining", ""], ["RateLimit-Reset", ""]"#,
        r#"["X-RateLimit-Remaining", "1, 2, 3"], ["X-RateLimit-Reset", "1e308"]"#,
    ] {
        let origin = origin(&format!(
            r#"{{"robots": 404, "page": {{"headers": [{headers}]}}}}"#
        ))
        .await;
        let client = client(|p| {
            (p.rate, p.max_rate, p.burst) = (Some(25.0), Some(25.0), 1);
        });
        let urls = (0..8).map(|n| origin.url(&format!("/{n}")));
        let all = tokio::time::timeout(ms(10_000), statuses(&client, urls)).await;
        assert_eq!(all.unwrap_or_default(), [200; 8], "{headers}");
        let instants: Vec<_> = origin.arrivals().iter().map(|arrival| arrival.at).collect();
        let lead = lead_over_pace(&instants, ms(40));
        assert!(lead <= ms(5) + SLACK, "{headers}: {lead:?} early");
    }
}

#[tokio::test]
async fn a_megabyte_of_header_is_an_error_of_that_url_alone() {
    let origin = origin(
        r#"{"robots": 404, "pages": {"/huge": {"fault": {"huge_header": {"bytes": 1000000}}}}}"#,
    )
    .await;
    let client = client(|p| (p.max_retries, p.backoff_base) = (1, ms(5)));
    let error = client.get(&origin.url("/huge")).await.unwrap_err();
    let kind = ErrorKind::Transport(TransportErrorKind::HeaderTooLarge);
    assert_eq!(error.kind(), kind);
    assert_eq!(status(&client, &origin.url("/x")).await, 200);
}

#[tokio::test]
async fn a_large_header_that_is_read_leaves_the_state_small() {
    let long = "a".repeat(60_000);
    let origin = origin(&format!(
        r#"{{"robots": 404, "pages": {{"/x": {{"status": 429, "headers": [
            ["Retry-After", "{long}"], ["RateLimit", "\"{long}\";r=1;t=1"],
            ["X-RateLimit-Limit", "{long}"]]}}}}}}"#
    ))
    .await;
    let store = std::sync::Arc::new(curtsy::store::MemoryStore::new());
    let client = builder(fast(|p| (p.max_retries, p.backoff_base) = (0, ms(5))))
        .store(store.clone())
        .build()
        .unwrap();
    assert_eq!(status(&client, &origin.url("/x")).await, 429);
    let key = format!("scope:{}", origin.addr());
    let stored = curtsy::store::HostStore::load(&*store, &key).await.unwrap();
    assert!(stored.unwrap().value.len() < 1024);
    assert_eq!(status(&client, &origin.url("/y")).await, 200);
}
