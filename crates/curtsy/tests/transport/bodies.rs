//! Bodies that are cut short, too large, endless or silent.

use std::time::{Duration, Instant};

use curtsy::transport::{Limits, Phase, Transport, TransportErrorKind};
use tokio::io::AsyncWriteExt;

use crate::servers::{
    SHORT, Server, failure, fetch, head, limited, ok, once, read_head, server, stalling, transport,
};

const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

fn small() -> Transport {
    limited(Limits {
        body: 10_000,
        ..Limits::default()
    })
}

/// A body that never ends, sent as fast as it is read or a byte at a time.
async fn endless(pause: Option<Duration>) -> Server {
    server(move |mut stream, _| async move {
        read_head(&mut stream).await?;
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.ok()?;
        loop {
            match pause {
                None => stream.write_all(&[b'x'; 4096]).await.ok()?,
                Some(pause) => {
                    stream.write_all(b"x").await.ok()?;
                    tokio::time::sleep(pause).await;
                }
            }
        }
    })
    .await
}

#[tokio::test]
async fn a_body_that_ends_early_is_cut_short() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n".to_owned(),
        format!("{CHUNKED}4\r\nbody\r\n"),
        format!("{CHUNKED}4\r\nbo"),
        CHUNKED.to_owned(),
    ] {
        let server = once(answer.as_str()).await;
        let kind = failure(&transport(), &server.url("/")).await;
        assert_eq!(kind, TransportErrorKind::BodyCutShort, "{answer}");
    }
}

#[tokio::test]
async fn a_body_that_breaks_its_own_framing_is_a_breach_of_protocol() {
    let server = once(format!("{CHUNKED}zz\r\nbody\r\n")).await;
    let kind = failure(&transport(), &server.url("/")).await;
    assert_eq!(kind, TransportErrorKind::Protocol);
}

#[tokio::test]
async fn a_body_without_length_ends_with_the_connection() {
    let server = once("HTTP/1.1 200 OK\r\n\r\nthe whole body").await;
    let body = fetch(&transport(), &server.url("/")).await.unwrap();
    assert_eq!(body, "the whole body");
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_at_once_where_it_says_so_and_else_when_it_shows() {
    let declared = stalling("HTTP/1.1 200 OK\r\nContent-Length: 10001\r\n\r\n").await;
    let shown = once(ok("", &[b'x'; 10_001])).await;
    let endless = endless(None).await;
    for server in [declared, shown, endless] {
        let kind = failure(&small(), &server.url("/")).await;
        assert_eq!(kind, TransportErrorKind::BodyTooLarge);
        server.until_open(0).await;
    }
    let largest = once(ok("", &[b'x'; 10_000])).await;
    assert_eq!(
        fetch(&small(), &largest.url("/")).await.unwrap().len(),
        10_000
    );
}

#[tokio::test]
async fn collecting_is_bounded_by_itself() {
    let server = once(ok("", &[b'x'; 101])).await;
    let head = head(&transport(), &server.url("/")).await.unwrap();
    let error = head.body.collect(100).await.unwrap_err();
    assert_eq!(error.kind(), TransportErrorKind::BodyTooLarge);
}

#[tokio::test]
async fn a_body_that_falls_silent_times_out_and_ends_there() {
    let server = stalling("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf").await;
    let transport = limited(Limits {
        silence: SHORT,
        ..Limits::default()
    });
    let mut head = head(&transport, &server.url("/")).await.unwrap();
    assert_eq!(head.body.chunk().await.unwrap().unwrap(), "half");
    let started = Instant::now();
    let error = head.body.chunk().await.unwrap_err();
    assert_eq!(error.kind(), TransportErrorKind::Timeout(Phase::Body));
    assert!(started.elapsed() >= SHORT && started.elapsed() < SHORT * 5);
    assert!(head.body.chunk().await.unwrap().is_none());
    server.until_open(0).await;
}

#[tokio::test]
async fn a_body_that_drips_without_end_is_bounded_by_the_total_time() {
    let server = endless(Some(Duration::from_millis(20))).await;
    let transport = limited(Limits {
        silence: SHORT,
        total: SHORT * 2,
        ..Limits::default()
    });
    let started = Instant::now();
    let kind = failure(&transport, &server.url("/")).await;
    assert_eq!(kind, TransportErrorKind::Timeout(Phase::Total));
    assert!(started.elapsed() >= SHORT * 2);
}

#[tokio::test]
async fn a_slow_reader_is_not_the_servers_silence() {
    let server = server(|mut stream, _| async move {
        read_head(&mut stream).await?;
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf")
            .await
            .ok()?;
        tokio::time::sleep(SHORT * 2).await;
        stream.write_all(b"half").await.ok()
    })
    .await;
    let transport = limited(Limits {
        silence: SHORT,
        ..Limits::default()
    });
    let mut head = head(&transport, &server.url("/")).await.unwrap();
    assert_eq!(head.body.chunk().await.unwrap().unwrap(), "half");
    tokio::time::sleep(SHORT + SHORT / 2).await;
    assert_eq!(head.body.chunk().await.unwrap().unwrap(), "half");
    assert!(head.body.chunk().await.unwrap().is_none());
}
