//! HTTP/2 by ALPN.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use curtsy::clock::Clock;
use curtsy::transport::{Limits, Phase, Transport, TransportErrorKind};
use http::{Response, Version};
use http_body_util::Full;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};

use crate::servers::{SHORT, Server, builder, check_out, failure, fetch, get, head, server};
use crate::tls::{Authority, https, resolve_to};

/// What an HTTP/2 server saw.
#[derive(Default)]
struct Seen {
    at_once: AtomicUsize,
    most_at_once: AtomicUsize,
    requests: AtomicUsize,
}

/// Serves HTTP/2 over TLS: `/slow` takes 100 ms, `/never` for ever, `/large-head` answers with 1 MB
/// of header, all else at once with the request's own authority.
async fn http2_server(authority: &Authority, streams: u32) -> (Server, Arc<Seen>) {
    let acceptor = authority.acceptor(&["secure.test"], &["h2", "http/1.1"]);
    let seen = Arc::new(Seen::default());
    let shared = Arc::clone(&seen);
    let server = server(move |stream, _| {
        let (acceptor, seen) = (acceptor.clone(), Arc::clone(&shared));
        async move {
            let stream = acceptor.accept(stream).await.ok()?;
            let service = service_fn(move |request| answer(request, Arc::clone(&seen)));
            http2::Builder::new(TokioExecutor::new())
                .max_concurrent_streams(streams)
                .serve_connection(TokioIo::new(stream), service)
                .await
                .ok()
        }
    })
    .await;
    (server, seen)
}

async fn answer(
    request: http::Request<hyper::body::Incoming>,
    seen: Arc<Seen>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    seen.requests.fetch_add(1, Ordering::SeqCst);
    let at_once = seen.at_once.fetch_add(1, Ordering::SeqCst) + 1;
    seen.most_at_once.fetch_max(at_once, Ordering::SeqCst);
    match request.uri().path() {
        "/slow" => tokio::time::sleep(Duration::from_millis(100)).await,
        "/never" => std::future::pending().await,
        _ => {}
    }
    seen.at_once.fetch_sub(1, Ordering::SeqCst);
    let authority = request.uri().authority().map(ToString::to_string);
    let mut response = Response::new(Full::from(authority.unwrap_or_default()));
    if request.uri().path() == "/large-head" {
        let value = "x".repeat(10_000).parse().unwrap();
        for _ in 0..100 {
            response
                .headers_mut()
                .append("x-large", http::HeaderValue::clone(&value));
        }
    }
    Ok(response)
}

#[tokio::test]
async fn requests_at_the_same_time_share_one_connection() {
    let authority = Authority::new();
    let (server, seen) = http2_server(&authority, 100).await;
    let clock = Clock::system();
    let transport = Transport::builder(clock.clone())
        .ca_certificates(authority.pem.as_str())
        .resolve(resolve_to(&server))
        .build()
        .unwrap();
    let url = https("secure.test", &server).join("/slow").unwrap();
    fetch(&transport, &url).await.unwrap();

    let mut under_way = Vec::new();
    for number in 0..10 {
        let checkout = check_out(&transport, &url).await.unwrap();
        assert!(checkout.is_reused());
        let handed_over = clock.now();
        let sent = checkout.send(get(&url)).await.unwrap();
        assert!(sent.departed_at() >= handed_over, "{number}");
        assert!(sent.departed_at() <= clock.stamp(), "{number}");
        under_way.push(sent);
    }
    let departed: Vec<_> = under_way.iter().map(|sent| sent.departed_at()).collect();
    assert!(departed.is_sorted(), "{departed:?}");
    for sent in under_way {
        let head = sent.head().await.unwrap();
        assert_eq!(head.version, Version::HTTP_2);
        let expected = format!("secure.test:{}", server.address.port());
        assert_eq!(head.body.collect(100).await.unwrap(), expected);
    }
    assert_eq!(seen.most_at_once.load(Ordering::SeqCst), 10);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn dials_at_the_same_time_end_on_one_connection() {
    let authority = Authority::new();
    let (server, _) = http2_server(&authority, 100).await;
    let transport = authority.transport(&server);
    let url = https("secure.test", &server);
    let (first, second) = tokio::join!(fetch(&transport, &url), fetch(&transport, &url));
    assert!(first.is_ok() && second.is_ok());
    server.until_open(1).await;
}

#[tokio::test]
async fn what_the_server_does_not_allow_at_a_time_goes_on_another_connection() {
    let authority = Authority::new();
    let (server, seen) = http2_server(&authority, 2).await;
    let transport = authority.transport(&server);
    let url = https("secure.test", &server).join("/slow").unwrap();
    fetch(&transport, &url).await.unwrap();
    let mut under_way = Vec::new();
    for _ in 0..4 {
        let checkout = check_out(&transport, &url).await.unwrap();
        under_way.push(checkout.send(get(&url)).await.unwrap());
    }
    assert_eq!(server.connections(), 2);
    for sent in under_way {
        sent.head().await.unwrap();
    }
    assert_eq!(seen.most_at_once.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn http2_can_be_switched_off() {
    let authority = Authority::new();
    let acceptor = authority.acceptor(&["secure.test"], &["h2", "http/1.1"]);
    let server = crate::tls::tls_server(acceptor).await;
    let transport = builder()
        .ca_certificates(authority.pem.as_str())
        .resolve(resolve_to(&server))
        .http2(false)
        .build()
        .unwrap();
    let head = head(&transport, &https("secure.test", &server))
        .await
        .unwrap();
    assert_eq!(head.version, Version::HTTP_11);
}

#[tokio::test]
async fn a_header_section_beyond_the_bound_is_an_error_of_that_stream() {
    let authority = Authority::new();
    let (server, _) = http2_server(&authority, 100).await;
    let transport = authority.transport(&server);
    let url = https("secure.test", &server).join("/large-head").unwrap();
    let kind = failure(&transport, &url).await;
    assert!(
        matches!(
            kind,
            TransportErrorKind::Protocol | TransportErrorKind::Reset
        ),
        "{kind:?}"
    );
}

#[tokio::test]
async fn a_connection_on_which_an_answer_never_came_takes_no_new_requests() {
    let authority = Authority::new();
    let (server, seen) = http2_server(&authority, 100).await;
    let transport = authority.transport(&server);
    let short = transport.with_limits(Limits {
        silence: SHORT,
        ..Limits::default()
    });
    let url = https("secure.test", &server);
    let never = url.join("/never").unwrap();
    assert_eq!(
        failure(&short, &never).await,
        TransportErrorKind::Timeout(Phase::Head)
    );
    fetch(&transport, &url).await.unwrap();
    assert_eq!(server.connections(), 2);
    assert_eq!(
        seen.requests.load(Ordering::SeqCst),
        2,
        "nothing is sent again"
    );
}

#[tokio::test]
async fn an_idle_connection_is_closed_and_one_in_use_is_kept() {
    let authority = Authority::new();
    let (server, _) = http2_server(&authority, 100).await;
    let transport = builder()
        .ca_certificates(authority.pem.as_str())
        .resolve(resolve_to(&server))
        .idle_timeout(SHORT / 4)
        .build()
        .unwrap();
    let url = https("secure.test", &server);
    let slow = url.join("/slow").unwrap();
    fetch(&transport, &url).await.unwrap();
    let under_way = fetch(&transport, &slow);
    let joined = async {
        tokio::time::sleep(Duration::from_millis(90)).await;
        fetch(&transport, &url).await
    };
    let (first, second) = tokio::join!(under_way, joined);
    assert!(first.is_ok() && second.is_ok());
    assert_eq!(server.connections(), 1);
    tokio::time::sleep(SHORT).await;
    server.until_open(0).await;
}
