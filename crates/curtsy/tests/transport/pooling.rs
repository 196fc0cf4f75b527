//! Keeping connections, and telling when a request was not sent.

use std::time::Duration;

use curtsy::transport::TransportErrorKind;
use http::{Method, Request};
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;

use crate::servers::{
    SHORT, builder, check_out, constant, fetch, get, head, ok, once, read_head, server, stalling,
    transport, until_hung_up,
};

#[tokio::test]
async fn a_connection_is_used_again_once_its_response_is_whole() {
    for (method, answer) in [
        (Method::GET, ok("", b"body")),
        (Method::GET, ok("", b"")),
        (
            Method::GET,
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\nTrailer: read away\r\n\r\n"
                .to_vec(),
        ),
        (Method::GET, b"HTTP/1.1 204 No Content\r\n\r\n".to_vec()),
        (Method::GET, b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n".to_vec()),
        (
            Method::HEAD,
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nContent-Encoding: gzip\r\n\r\n".to_vec(),
        ),
    ] {
        let shown = format!("{method} {}", String::from_utf8_lossy(&answer));
        let server = constant(answer).await;
        let transport = transport();
        let url = server.url("/");
        for round in 0..5 {
            let checkout = check_out(&transport, &url).await.unwrap();
            assert_eq!(checkout.is_reused(), round > 0, "{shown}");
            assert_eq!(checkout.peer(), Some(server.address), "{shown}");
            let request = Request::builder().method(&method).uri(url.as_str());
            let sent = checkout.send(request.body(Default::default()).unwrap()).await.unwrap();
            sent.head().await.unwrap().body.collect(100).await.unwrap();
        }
        assert_eq!(server.connections(), 1, "{shown}");
    }
}

#[tokio::test]
async fn a_checkout_that_is_dropped_unused_goes_back() {
    let server = constant(ok("", b"body")).await;
    let transport = transport();
    let url = server.url("/");
    drop(check_out(&transport, &url).await.unwrap());
    assert!(check_out(&transport, &url).await.unwrap().is_reused());
    fetch(&transport, &url).await.unwrap();
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn requests_at_the_same_time_have_a_connection_each() {
    let server = constant(ok("", b"body")).await;
    let transport = transport();
    let url = server.url("/");
    let first = check_out(&transport, &url).await.unwrap();
    let second = check_out(&transport, &url).await.unwrap();
    assert!(!second.is_reused());
    assert_eq!(server.connections(), 2);
    drop((first, second));
    server.until_open(2).await;
}

#[tokio::test]
async fn a_body_dropped_half_read_closes_its_connection() {
    let server = stalling(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf".to_vec()).await;
    let transport = transport();
    let mut half = head(&transport, &server.url("/")).await.unwrap();
    assert_eq!(half.body.chunk().await.unwrap().unwrap(), "half");
    assert_eq!(half.body.declared_bytes(), Some(96));
    drop(half);
    server.until_open(0).await;
}

#[tokio::test]
async fn a_request_given_up_before_its_answer_closes_its_connection() {
    let server = stalling(b"".to_vec()).await;
    let transport = transport();
    let url = server.url("/");
    let checkout = check_out(&transport, &url).await.unwrap();
    let sent = checkout.send(get(&url)).await.unwrap();
    server.until_open(1).await;
    drop(sent);
    server.until_open(0).await;
}

#[tokio::test]
async fn a_connection_that_is_not_to_be_kept_is_not() {
    for answer in [
        ok("Connection: close\r\n", b"body"),
        b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nbody".to_vec(),
    ] {
        let server = constant(answer).await;
        let transport = transport();
        for expected in 1..=2 {
            fetch(&transport, &server.url("/")).await.unwrap();
            server.until_open(0).await;
            assert_eq!(server.connections(), expected);
        }
    }
}

#[tokio::test]
async fn an_idle_connection_that_the_server_closed_is_not_given_out() {
    let server = once(ok("", b"body")).await;
    let transport = transport();
    for expected in 1..=3 {
        let checkout = check_out(&transport, &server.url("/")).await.unwrap();
        assert!(!checkout.is_reused());
        let sent = checkout.send(get(&server.url("/"))).await.unwrap();
        sent.head().await.unwrap().body.collect(100).await.unwrap();
        server.until_open(0).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(server.connections(), expected);
    }
}

#[tokio::test]
async fn a_request_on_a_connection_that_closed_meanwhile_is_unsent() {
    let (heads, mut heads_read) = mpsc::unbounded_channel();
    let server = server(move |mut stream, number| {
        let heads = heads.clone();
        async move {
            if number == 0 {
                // Closes while the gate holds the request back.
                return None;
            }
            heads.send(read_head(&mut stream).await?).ok()?;
            stream.write_all(&ok("", b"body")).await.ok()
        }
    })
    .await;
    let transport = transport();
    let url = server.url("/");

    let checkout = check_out(&transport, &url).await.unwrap();
    assert!(checkout.is_open());
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!checkout.is_open());
    let error = checkout.send(get(&url)).await.err().unwrap();
    assert_eq!(error.kind(), TransportErrorKind::Unsent);

    assert_eq!(fetch(&transport, &url).await.unwrap(), "body");
    assert!(heads_read.recv().await.is_some());
    assert!(heads_read.try_recv().is_err(), "the request came once");
}

#[tokio::test]
async fn a_request_that_was_read_and_not_answered_is_never_sent_again() {
    let (heads, mut heads_read) = mpsc::unbounded_channel();
    let server = server(move |mut stream, _| {
        let heads = heads.clone();
        async move {
            read_head(&mut stream).await?;
            stream.write_all(&ok("", b"body")).await.ok()?;
            heads.send(read_head(&mut stream).await?).ok()
        }
    })
    .await;
    let transport = transport();
    let url = server.url("/");
    fetch(&transport, &url).await.unwrap();

    let checkout = check_out(&transport, &url).await.unwrap();
    assert!(checkout.is_reused());
    let sent = checkout.send(get(&url)).await.unwrap();
    assert_eq!(
        sent.head().await.unwrap_err().kind(),
        TransportErrorKind::Reset
    );
    assert!(heads_read.recv().await.is_some());
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(heads_read.try_recv().is_err());
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn the_connection_unused_for_longest_makes_way() {
    let (one, two, three) = tokio::join!(
        constant(ok("", b"1")),
        constant(ok("", b"2")),
        constant(ok("", b"3"))
    );
    let transport = builder().idle_connections(2).build().unwrap();
    fetch(&transport, &one.url("/")).await.unwrap();
    fetch(&transport, &two.url("/")).await.unwrap();
    // Used again, so two is now the one unused for longest.
    fetch(&transport, &one.url("/")).await.unwrap();
    fetch(&transport, &three.url("/")).await.unwrap();
    two.until_open(0).await;
    one.until_open(1).await;
    three.until_open(1).await;
    assert_eq!(one.connections(), 1);
}

#[tokio::test]
async fn idle_connections_to_one_target_are_bounded() {
    let server = constant(ok("", b"body")).await;
    let transport = builder().idle_per_target(2).build().unwrap();
    let url = server.url("/");
    let mut checkouts = Vec::new();
    for _ in 0..4 {
        checkouts.push(check_out(&transport, &url).await.unwrap());
    }
    server.until_open(4).await;
    drop(checkouts);
    server.until_open(2).await;
}

#[tokio::test]
async fn a_connection_that_is_idle_for_too_long_is_closed() {
    let server = constant(ok("", b"body")).await;
    let transport = builder().idle_timeout(SHORT).build().unwrap();
    fetch(&transport, &server.url("/")).await.unwrap();
    server.until_open(1).await;
    tokio::time::sleep(SHORT * 2).await;
    server.until_open(0).await;
    // And the next one too, although the first sweep has ended.
    fetch(&transport, &server.url("/")).await.unwrap();
    tokio::time::sleep(SHORT * 2).await;
    server.until_open(0).await;
}

#[tokio::test]
async fn a_transport_that_is_dropped_closes_its_idle_connections() {
    let server = server(|mut stream, _| async move {
        read_head(&mut stream).await?;
        stream.write_all(&ok("", b"body")).await.ok()?;
        until_hung_up(&mut stream).await
    })
    .await;
    let transport = transport();
    fetch(&transport, &server.url("/")).await.unwrap();
    server.until_open(1).await;
    drop(transport);
    server.until_open(0).await;
}
