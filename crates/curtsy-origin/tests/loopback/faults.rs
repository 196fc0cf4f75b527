use std::time::{Duration, Instant};

use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use crate::{connect, fetch, read, send, start, until};

#[tokio::test]
async fn a_cut_body_is_shorter_than_its_content_length() {
    for (bytes, after_bytes, told) in [(1000, 400, 1000), (300_000, 200_000, 300_000), (3, 10, 4)] {
        let origin = start(&format!(
            r#"{{"pages": {{"/x": {{"body_bytes": {bytes},
                                   "fault": {{"cut_body": {{"after_bytes": {after_bytes}}}}}}}}}}}"#
        ))
        .await;
        let answer = fetch(&origin, "/x").await;
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.header("content-length"), Some(told.to_string()));
        assert_eq!(answer.body().len(), after_bytes.min(bytes));
        assert!(!answer.reset);
        let arrival = &origin.arrivals()[0];
        assert_eq!((arrival.status, arrival.whole), (Some(200), false));
    }
}

#[tokio::test]
async fn a_stalled_body_ends_with_the_origin() {
    let mut origin = start(
        r#"{"pages": {"/x": {"body_bytes": 100, "fault": {"stall_body": {"after_bytes": 40}}}}}"#,
    )
    .await;
    let mut client = connect(&origin).await;
    send(&mut client, "/x", "").await;
    let mut bytes = Vec::new();
    let silent = timeout(Duration::from_millis(100), client.read_to_end(&mut bytes)).await;
    assert!(silent.is_err());
    assert!(bytes.ends_with(b"\r\n\r\nabcdefghijklmnopqrstuvwxyzabcdefghijklmn"));
    assert!(origin.arrivals()[0].done.is_none());
    let begun = Instant::now();
    origin.stop().await.unwrap();
    assert!(begun.elapsed() < Duration::from_millis(500));
    assert!(origin.arrivals()[0].done.is_some());
}

#[tokio::test]
async fn an_endless_body_goes_on_until_the_client_has_enough() {
    let origin = start(r#"{"pages": {"/x": {"fault": {"endless_body": {}}}}}"#).await;
    let mut client = connect(&origin).await;
    send(&mut client, "/x", "").await;
    let mut bytes = vec![0; 3_000_000];
    client.read_exact(&mut bytes).await.unwrap();
    assert!(bytes.starts_with(b"HTTP/1.1 200 OK\r\n"));
    drop(client);
    until(|| origin.arrivals()[0].done.is_some()).await;
    assert!(!origin.arrivals()[0].whole);
}

#[tokio::test]
async fn a_head_that_never_comes_leaves_the_connection_open() {
    let mut origin = start(r#"{"pages": {"/x": {"fault": "no_head"}}}"#).await;
    let mut client = connect(&origin).await;
    send(&mut client, "/x", "").await;
    let silent = timeout(Duration::from_millis(80), client.read(&mut [0; 16])).await;
    assert!(silent.is_err());
    assert_eq!(origin.arrivals()[0].answered, None);
    let begun = Instant::now();
    origin.stop().await.unwrap();
    assert!(begun.elapsed() < Duration::from_millis(500));
}

#[tokio::test]
async fn a_client_that_leaves_ends_its_request() {
    let origin = start(r#"{"pages": {"/x": {"fault": "no_head"}}}"#).await;
    let mut client = connect(&origin).await;
    send(&mut client, "/x", "").await;
    until(|| origin.arrived() == 1).await;
    drop(client);
    until(|| origin.arrivals()[0].done.is_some()).await;
}

#[tokio::test]
async fn a_huge_header_is_as_large_as_it_was_told() {
    let origin =
        start(r#"{"pages": {"/x": {"fault": {"huge_header": {"bytes": 1000000}}}}}"#).await;
    let answer = fetch(&origin, "/x").await;
    assert_eq!(
        answer.header("x-huge").map(|value| value.len()),
        Some(1_000_000)
    );
    assert_eq!(answer.body(), b"ok\n");
}

#[tokio::test]
async fn a_dripping_body_takes_its_time_and_comes_whole() {
    let origin = start(
        r#"{"pages": {"/x": {"body": "slowly", "fault": {"drip_body": {"bytes": 2, "every_ms": 30}}}}}"#,
    )
    .await;
    let begun = Instant::now();
    let answer = fetch(&origin, "/x").await;
    assert!(begun.elapsed() >= Duration::from_millis(90));
    assert_eq!(answer.header("content-length").as_deref(), Some("6"));
    assert_eq!(answer.body(), b"slowly");
    assert!(origin.arrivals()[0].whole);
}

#[tokio::test]
async fn a_reset_comes_before_or_after_the_head() {
    let origin = start(
        r#"{"pages": {"/before": {"fault": "reset_before_head"},
                      "/after": {"fault": "reset_after_head"}}}"#,
    )
    .await;
    let before = fetch(&origin, "/before").await;
    assert!(before.reset && before.bytes.is_empty());
    let after = fetch(&origin, "/after").await;
    assert!(after.reset);
    assert_eq!((after.status(), after.body()), (200, &b""[..]));
    let statuses: Vec<_> = origin
        .arrivals()
        .iter()
        .map(|arrival| (arrival.status, arrival.whole))
        .collect();
    assert_eq!(statuses, [(None, false), (Some(200), false)]);
}

#[tokio::test]
async fn raw_bytes_go_out_as_they_are() {
    let origin = start(
        r#"{"pages": {"/x": {"fault": {"raw": "HTTP/1.1 twohundred OK\r\nno colon\r\n\r\n"}},
                      "/stale": {"fault": {"raw": ""}}}}"#,
    )
    .await;
    let mut client = connect(&origin).await;
    send(&mut client, "/x", "").await;
    let answer = read(&mut client).await;
    assert_eq!(answer.bytes, b"HTTP/1.1 twohundred OK\r\nno colon\r\n\r\n");
    let mut client = connect(&origin).await;
    send(&mut client, "/stale", "").await;
    let answer = read(&mut client).await;
    assert!(answer.bytes.is_empty() && !answer.reset);
}
