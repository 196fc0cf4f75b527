//! Requests as they are written, when they departed, and heads as they are read.

use std::time::{Duration, Instant};

use bytes::Bytes;
use curtsy::clock::Clock;
use curtsy::transport::{Limits, Phase, Transport, TransportErrorKind};
use http::Request;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::servers::{
    SHORT, builder, check_out, constant, failure, fetch, get, head, limited, ok, once, read_head,
    server, stalling, transport,
};

fn short_silence() -> Transport {
    limited(Limits {
        silence: SHORT,
        ..Limits::default()
    })
}

#[tokio::test]
async fn a_request_is_written_with_host_first_and_all_that_the_caller_set() {
    let (heads, mut heads_read) = mpsc::unbounded_channel();
    let server = server(move |mut stream, _| {
        let heads = heads.clone();
        async move {
            let head = read_head(&mut stream).await?;
            let mut body = [0; 4];
            stream.read_exact(&mut body).await.ok()?;
            heads.send(head).ok()?;
            stream.write_all(&ok("", &body)).await.ok()
        }
    })
    .await;
    let url = server.url("/a%20b?c=d#fragment");
    let request = Request::post(url.as_str())
        .header("user-agent", "curtsy/test")
        .header("x-own", "1")
        .body(Bytes::from_static(b"body"))
        .unwrap();
    let checkout = check_out(&transport(), &url).await.unwrap();
    let sent = checkout.send(request).await.unwrap();
    let body = sent.head().await.unwrap().body.collect(100).await.unwrap();
    assert_eq!(body, "body");
    let expected = format!(
        "POST /a%20b?c=d HTTP/1.1\r\nhost: {}\r\nuser-agent: curtsy/test\r\nx-own: 1\r\n\
         accept-encoding: gzip, deflate, br, zstd\r\ncontent-length: 4\r\n\r\n",
        server.address
    );
    assert_eq!(heads_read.recv().await.unwrap(), expected);
}

#[tokio::test]
async fn the_departure_is_known_before_the_answer_and_lies_between_hand_over_and_now() {
    let clock = Clock::system();
    let seen_by = clock.clone();
    let (arrivals, mut arrived) = mpsc::unbounded_channel();
    let server = server(move |mut stream, _| {
        let (arrivals, clock) = (arrivals.clone(), seen_by.clone());
        async move {
            loop {
                read_head(&mut stream).await?;
                arrivals.send(clock.stamp()).ok()?;
                tokio::time::sleep(Duration::from_millis(50)).await;
                stream.write_all(&ok("", b"body")).await.ok()?;
            }
        }
    })
    .await;
    let transport = Transport::builder(clock.clone()).build().unwrap();
    let url = server.url("/");
    for round in 0..4 {
        let checkout = check_out(&transport, &url).await.unwrap();
        // A wait at the gate, during which nothing may be written.
        tokio::time::sleep(Duration::from_millis(20)).await;
        let handed_over = clock.now();
        let sent = checkout.send(get(&url)).await.unwrap();
        let known_at = clock.stamp();
        let departed_at = sent.departed_at();
        let mut head = sent.head().await.unwrap();
        let answered_at = clock.now();
        assert!(
            handed_over <= departed_at && departed_at <= known_at,
            "round {round}"
        );
        assert!(
            answered_at.since(known_at) >= Duration::from_millis(40),
            "round {round}"
        );
        assert!(
            arrived.recv().await.unwrap() >= handed_over,
            "round {round}"
        );
        while head.body.chunk().await.unwrap().is_some() {}
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn nothing_is_written_between_check_out_and_send() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = url::Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    let transport = transport();
    let checkout = check_out(&transport, &url).await.unwrap();
    let (mut stream, _) = listener.accept().await.unwrap();
    let silent = tokio::time::timeout(SHORT, stream.read_u8()).await;
    assert!(silent.is_err(), "a byte came before the request was sent");
    let _sent = checkout.send(get(&url)).await.unwrap();
    assert_eq!(stream.read_u8().await.unwrap(), b'G');
}

#[tokio::test]
async fn a_head_that_never_comes_or_drips_times_out() {
    let silent = stalling(b"".to_vec()).await;
    let dripping = server(|mut stream, _| async move {
        read_head(&mut stream).await?;
        for byte in b"HTTP/1.1 200 OK\r\nX: ".iter().chain([b'x'; 1000].iter()) {
            stream.write_all(&[*byte]).await.ok()?;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        None
    })
    .await;
    let informing = server(|mut stream, _| async move {
        read_head(&mut stream).await?;
        loop {
            stream
                .write_all(b"HTTP/1.1 103 Early Hints\r\n\r\n")
                .await
                .ok()?;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let transport = short_silence();
    for server in [silent, dripping, informing] {
        let started = Instant::now();
        let kind = failure(&transport, &server.url("/")).await;
        assert_eq!(kind, TransportErrorKind::Timeout(Phase::Head));
        assert!(started.elapsed() >= SHORT);
        assert!(started.elapsed() < SHORT * 5);
        server.until_open(0).await;
    }
}

#[tokio::test]
async fn the_total_time_bounds_the_wait_for_the_head_too() {
    let server = stalling(b"".to_vec()).await;
    let transport = limited(Limits {
        total: SHORT,
        ..Limits::default()
    });
    let kind = failure(&transport, &server.url("/")).await;
    assert_eq!(kind, TransportErrorKind::Timeout(Phase::Total));
}

#[tokio::test]
async fn a_header_section_beyond_the_bound_is_an_error() {
    let a_megabyte = format!("X-Large: {}\r\n", "x".repeat(1 << 20));
    let many_lines = "X-Many: 1\r\n".repeat(1000);
    for headers in [a_megabyte, many_lines] {
        let server = once(ok(&headers, b"body")).await;
        let kind = failure(&transport(), &server.url("/")).await;
        assert_eq!(kind, TransportErrorKind::HeaderTooLarge);
    }
    // Never ending, it is bounded all the same.
    let endless = server(|mut stream, _| async move {
        read_head(&mut stream).await?;
        stream.write_all(b"HTTP/1.1 200 OK\r\nX: ").await.ok()?;
        while stream.write_all(&[b'x'; 4096]).await.is_ok() {}
        None
    })
    .await;
    let kind = failure(&transport(), &endless.url("/")).await;
    assert_eq!(kind, TransportErrorKind::HeaderTooLarge);
}

#[tokio::test]
async fn a_large_header_section_within_the_bound_is_read() {
    let headers = format!(
        "{}X-Last: {}\r\n",
        "X-Many: 1\r\n".repeat(200),
        "x".repeat(200_000)
    );
    let server = once(ok(&headers, b"body")).await;
    let head = head(&transport(), &server.url("/")).await.unwrap();
    assert_eq!(head.headers.get_all("x-many").iter().count(), 200);
    assert_eq!(head.headers["x-last"].len(), 200_000);
}

#[tokio::test]
async fn what_is_not_http_is_a_breach_of_protocol() {
    for answer in [
        "SSH-2.0-OpenSSH_9.2\r\n\r\n",
        "<html>\r\n\r\n",
        "HTTP/1.1 abc\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
    ] {
        let server = once(answer).await;
        let kind = failure(&transport(), &server.url("/")).await;
        assert_eq!(kind, TransportErrorKind::Protocol, "{answer}");
    }
}

#[tokio::test]
async fn sloppy_heads_are_read_as_browsers_read_them() {
    for headers in [
        "X-Kept : value\r\n",
        "X Broken\r\nX-Kept: value\r\n",
        "X-Kept:value\r\n",
        "X-Latin: caf\u{e9}\r\nX-Kept: value\r\n",
    ] {
        let server = once(ok(headers, b"body")).await;
        let head = head(&transport(), &server.url("/")).await.unwrap();
        assert_eq!(head.headers["x-kept"], "value", "{headers}");
    }
}

#[tokio::test]
async fn informational_answers_are_passed_over() {
    let mut answer = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".to_vec();
    answer.extend(ok("", b"body"));
    let server = constant(answer).await;
    assert_eq!(fetch(&transport(), &server.url("/")).await.unwrap(), "body");
}

#[tokio::test]
async fn a_server_that_is_not_there_or_hangs_up_is_told_apart() {
    let hangs_up = server(|mut stream, _| async move {
        read_head(&mut stream).await?;
        None
    })
    .await;
    assert_eq!(
        failure(&transport(), &hangs_up.url("/")).await,
        TransportErrorKind::Reset
    );

    let closed = {
        let unused = TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}/", unused.local_addr().unwrap())
    };
    assert_eq!(
        failure(&transport(), &closed.parse().unwrap()).await,
        TransportErrorKind::Refused
    );
    let nowhere = "http://name.invalid/".parse().unwrap();
    let dns = failure(&transport(), &nowhere).await;
    assert_eq!(dns, TransportErrorKind::Dns);
}

#[tokio::test]
async fn a_handshake_that_is_never_answered_times_out_as_connecting() {
    let server = stalling(b"".to_vec()).await;
    let url = format!("https://{}/", server.address).parse().unwrap();
    let limits = Limits {
        connect: SHORT,
        ..Limits::default()
    };
    let transport = builder().limits(limits).build().unwrap();
    let kind = failure(&transport, &url).await;
    assert_eq!(kind, TransportErrorKind::Timeout(Phase::Connect));
}
