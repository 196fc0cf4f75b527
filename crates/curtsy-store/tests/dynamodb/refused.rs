//! What is not to be worked with: what is said of it, and that it holds a way out.

use aws_config::SdkConfig;
use curtsy_store::{DynamoDbStore, StoreErrorKind};
use tokio::time::{Duration, Instant};

use crate::answers::{answers, refuses};
use crate::server::{DYNALITE, MOTO};
use crate::table::config;

const NOBODY: &str = "http://127.0.0.1:1";

#[tokio::test]
#[ignore = "needs dynalite and moto: ./test installs them and runs this"]
async fn a_table_that_cannot_be_worked_with_is_told_in_a_line_with_a_way_out() {
    use StoreErrorKind::{Denied, Foreign, Invalid, Missing, Unavailable};
    let without_region = config(NOBODY).into_builder().region(None).build();
    let page = "<html>secret</html>";
    for (name, config, kind, way_out) in [
        (
            "no table",
            config(&DYNALITE.endpoint()),
            Missing,
            "curtsy state init",
        ),
        (
            "no table",
            config(&MOTO.endpoint()),
            Missing,
            "curtsy state init",
        ),
        ("no region", without_region, Invalid, "set AWS_REGION"),
        ("nobody", config(NOBODY), Unavailable, "AWS_ENDPOINT_URL"),
        (
            "an unknown key",
            config(&refuses("UnrecognizedClientException")),
            Denied,
            "AWS_ACCESS_KEY_ID",
        ),
        (
            "a wrong secret",
            config(&refuses("InvalidSignatureException")),
            Denied,
            "AWS_ACCESS_KEY_ID",
        ),
        (
            "no permission",
            config(&refuses("AccessDeniedException")),
            Denied,
            "dynamodb:GetItem",
        ),
        (
            "a web server",
            config(&answers("404 Not Found", page)),
            Foreign,
            "AWS_ENDPOINT_URL",
        ),
    ] {
        assert_is_told(name, &config, kind, way_out).await;
    }
}

#[tokio::test]
#[ignore = "of the same kind as the others here"]
async fn a_server_that_does_not_tell_the_time_is_not_worked_with() {
    let config = config(&answers("200 OK", "{}"));
    assert_is_told("no date", &config, StoreErrorKind::Foreign, "no Date").await;
}

#[tokio::test]
#[ignore = "of the same kind as the others here"]
async fn a_server_that_is_asked_too_much_is_asked_for_some_seconds_more() {
    let begun = Instant::now();
    let config = config(&refuses("ThrottlingException"));
    let kind = StoreErrorKind::Unavailable;
    assert_is_told("throttled", &config, kind, "asked too much").await;
    let took = begun.elapsed();
    assert!(took > Duration::from_secs(4), "{took:?}");
}

async fn assert_is_told(name: &str, config: &SdkConfig, kind: StoreErrorKind, way_out: &str) {
    let table = "dynamodb://nowhere".parse().unwrap();
    let opened = DynamoDbStore::open_with(&table, config).await;
    let error = opened.unwrap_err();
    assert_eq!(error.kind(), kind, "{name}: {error:?}");
    let said = error.to_string();
    assert!(said.starts_with("dynamodb://nowhere "), "{name}: {said}");
    assert!(said.contains(way_out), "{name}: {said}");
    assert!(
        !format!("{error:?}").contains("secret"),
        "{name}: {error:?}"
    );
}
