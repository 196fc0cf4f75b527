//! Content codings.

use async_compression::tokio::bufread::{
    BrotliEncoder, DeflateEncoder, GzipEncoder, ZlibEncoder, ZstdEncoder,
};
use curtsy::transport::{Limits, TransportErrorKind};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc;

use crate::servers::{
    check_out, constant, failure, fetch, get, limited, ok, read_head, server, transport,
};

const TEXT: &[u8] = b"Fetch as fast as each server permits, and no faster. ";

async fn all(mut encoder: impl AsyncRead + Unpin) -> Vec<u8> {
    let mut encoded = Vec::new();
    encoder.read_to_end(&mut encoded).await.unwrap();
    encoded
}

async fn encode(coding: &str, plain: &[u8]) -> Vec<u8> {
    match coding {
        "gzip" => all(GzipEncoder::new(plain)).await,
        "deflate" => all(ZlibEncoder::new(plain)).await,
        "raw deflate" => all(DeflateEncoder::new(plain)).await,
        "br" => all(BrotliEncoder::new(plain)).await,
        "zstd" => all(ZstdEncoder::new(plain)).await,
        other => panic!("{other}"),
    }
}

/// A response with this body under this `Content-Encoding`.
fn coded(coding: &str, body: &[u8]) -> Vec<u8> {
    ok(&format!("Content-Encoding: {coding}\r\n"), body)
}

#[tokio::test]
async fn each_coding_is_taken_off_and_the_connection_used_again() {
    let plain = TEXT.repeat(2000);
    for (name, how) in [
        ("gzip", "gzip"),
        ("x-gzip", "gzip"),
        ("deflate", "deflate"),
        ("deflate", "raw deflate"),
        ("br", "br"),
        ("zstd", "zstd"),
    ] {
        let encoded = encode(how, &plain).await;
        assert!(encoded.len() < plain.len());
        let server = constant(coded(name, &encoded)).await;
        let transport = transport();
        for _ in 0..3 {
            let body = fetch(&transport, &server.url("/")).await.unwrap();
            assert!(body == plain, "{how}: {} bytes", body.len());
        }
        assert_eq!(server.connections(), 1, "{how}");
    }
}

#[tokio::test]
async fn a_coded_body_may_come_in_pieces_of_a_byte() {
    for how in ["gzip", "deflate", "raw deflate", "br", "zstd"] {
        let encoded = encode(how, TEXT).await;
        let mut answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Encoding: {}\r\nTransfer-Encoding: chunked\r\n\r\n",
            how.trim_start_matches("raw ")
        )
        .into_bytes();
        for byte in encoded {
            answer.extend_from_slice(b"1\r\n");
            answer.push(byte);
            answer.extend_from_slice(b"\r\n");
        }
        answer.extend_from_slice(b"0\r\n\r\n");
        let server = constant(answer).await;
        let transport = transport();
        for _ in 0..2 {
            assert_eq!(
                fetch(&transport, &server.url("/")).await.unwrap(),
                TEXT,
                "{how}"
            );
        }
        assert_eq!(server.connections(), 1, "{how}");
    }
}

#[tokio::test]
async fn stacked_codings_are_taken_off_in_reverse_and_only_so_many() {
    let once = encode("gzip", TEXT).await;
    let twice = encode("br", &once).await;
    let thrice = encode("deflate", &twice).await;
    let server = constant(coded("gzip, br, deflate", &thrice)).await;
    assert_eq!(fetch(&transport(), &server.url("/")).await.unwrap(), TEXT);

    let server = constant(coded("gzip, br, deflate, gzip", &thrice)).await;
    let kind = failure(&transport(), &server.url("/")).await;
    assert_eq!(kind, TransportErrorKind::BadEncoding);
}

#[tokio::test]
async fn all_members_and_frames_of_a_coded_body_are_read() {
    for how in ["gzip", "zstd"] {
        let twice = [encode(how, TEXT).await, encode(how, TEXT).await].concat();
        let server = constant(coded(how, &twice)).await;
        let body = fetch(&transport(), &server.url("/")).await.unwrap();
        assert_eq!(body, TEXT.repeat(2), "{how}");
    }
}

#[tokio::test]
async fn an_empty_body_is_empty_under_every_coding() {
    for coding in ["gzip", "deflate", "br", "zstd", "gzip, br"] {
        let server = constant(coded(coding, b"")).await;
        let body = fetch(&transport(), &server.url("/")).await.unwrap();
        assert!(body.is_empty(), "{coding}");
    }
}

#[tokio::test]
async fn a_body_under_no_known_coding_is_left_as_it_is() {
    for coding in ["utf-8", "identity", "gzip, compress"] {
        let server = constant(coded(coding, TEXT)).await;
        let body = fetch(&transport(), &server.url("/")).await.unwrap();
        assert_eq!(body, TEXT, "{coding}");
    }
}

#[tokio::test]
async fn a_part_of_a_body_is_left_as_it_is() {
    let answer = format!(
        "HTTP/1.1 206 Partial Content\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
        TEXT.len()
    );
    let server = constant([answer.as_bytes(), TEXT].concat()).await;
    assert_eq!(fetch(&transport(), &server.url("/")).await.unwrap(), TEXT);
}

#[tokio::test]
async fn coded_data_that_ends_early_is_cut_short_and_other_data_is_bad() {
    use TransportErrorKind::{BadEncoding, BodyCutShort};
    for (how, early) in [
        ("gzip", BodyCutShort),
        // Its decoder cannot tell the two apart.
        ("deflate", BadEncoding),
        ("br", BodyCutShort),
        ("zstd", BodyCutShort),
    ] {
        let whole = encode(how, &TEXT.repeat(100)).await;
        let server = constant(coded(how, &whole[..whole.len() / 2])).await;
        assert_eq!(
            failure(&transport(), &server.url("/")).await,
            early,
            "{how}"
        );

        let server = constant(coded(how, &[0xff; 300])).await;
        assert_eq!(
            failure(&transport(), &server.url("/")).await,
            BadEncoding,
            "{how}"
        );
    }
}

#[tokio::test]
async fn a_connection_cut_within_coded_data_is_told_as_that() {
    let whole = encode("gzip", &TEXT.repeat(100)).await;
    let answer = coded("gzip", &whole);
    let server = crate::servers::once(&answer[..answer.len() - 10]).await;
    let kind = failure(&transport(), &server.url("/")).await;
    assert_eq!(kind, TransportErrorKind::BodyCutShort);
}

#[tokio::test]
async fn a_bomb_is_stopped_at_the_bound_of_the_body() {
    let bomb = vec![0; 20_000_000];
    let transport = limited(Limits {
        body: 100_000,
        ..Limits::default()
    });
    for how in ["gzip", "deflate", "br", "zstd"] {
        let encoded = encode(how, &bomb).await;
        assert!(encoded.len() < 100_000, "{how}");
        let server = constant(coded(how, &encoded)).await;
        let kind = failure(&transport, &server.url("/")).await;
        assert_eq!(kind, TransportErrorKind::BodyTooLarge, "{how}");
    }
}

#[tokio::test]
async fn what_decodes_to_nothing_does_not_come_without_end() {
    let empty_member = encode("gzip", b"").await;
    let server = server(move |mut stream, _| {
        let members = empty_member.repeat(100);
        async move {
            use tokio::io::AsyncWriteExt;
            read_head(&mut stream).await?;
            stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n")
                .await
                .ok()?;
            while stream.write_all(&members).await.is_ok() {}
            None
        }
    })
    .await;
    let transport = limited(Limits {
        body: 100_000,
        ..Limits::default()
    });
    let kind = failure(&transport, &server.url("/")).await;
    assert_eq!(kind, TransportErrorKind::BodyTooLarge);
}

#[tokio::test]
async fn an_undecoded_checkout_offers_no_coding_and_decodes_none() {
    let encoded = encode("gzip", TEXT).await;
    let answer = coded("gzip", &encoded);
    let (heads, mut heads_read) = mpsc::unbounded_channel();
    let server = server(move |mut stream, _| {
        let (heads, answer) = (heads.clone(), answer.clone());
        async move {
            use tokio::io::AsyncWriteExt;
            heads.send(read_head(&mut stream).await?).ok()?;
            stream.write_all(&answer).await.ok()
        }
    })
    .await;
    let url = server.url("/");
    let checkout = check_out(&transport(), &url).await.unwrap();
    let sent = checkout.undecoded().send(get(&url)).await.unwrap();
    let head = sent.head().await.unwrap();
    assert!(!head.body.is_decoded());
    assert_eq!(head.body.collect(10_000).await.unwrap(), encoded);
    assert!(!heads_read.recv().await.unwrap().contains("accept-encoding"));
}
