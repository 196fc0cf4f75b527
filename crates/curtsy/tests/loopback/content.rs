//! Content codings through the client.

use curtsy_origin::sized_body;

use crate::support::*;

#[tokio::test]
async fn every_coding_is_decoded_whatever_the_size() {
    for coding in ["gzip", "deflate", "deflate_raw", "br", "zstd"] {
        for bytes in [0, 1, 70_000] {
            let origin = origin(&format!(
                r#"{{"robots": 404, "page": {{"body_bytes": {bytes}, "coding": "{coding}"}}}}"#
            ))
            .await;
            let client = client(|_| ());
            let got = response(client.get(&origin.url("/x")).await);
            let body = got.body.collect(bytes).await.unwrap();
            assert_eq!(body, sized_body(bytes), "{coding} {bytes}");
            let offered = pages(&origin)[0]
                .header("accept-encoding")
                .map(str::to_owned);
            assert_eq!(offered.as_deref(), Some("gzip, deflate, br, zstd"));
        }
    }
}

#[tokio::test]
async fn a_head_has_no_body_whatever_it_says() {
    let origin = origin(r#"{"robots": 404, "page": {"body_bytes": 5000, "coding": "gzip"}}"#).await;
    let client = client(|_| ());
    let request = curtsy::Request::new(http::Method::HEAD, &origin.url("/x")).unwrap();
    let got = response(client.execute(request).await);
    assert!(got.body.collect(0).await.unwrap().is_empty());
    assert_eq!(status(&client, &origin.url("/x")).await, 200);
}
