use std::sync::Arc;

use bytes::Bytes;
use curtsy_origin::{ErrorKind, Options, Origin, Protocol, Script, Tls};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::{connect, start};

async fn speak<T>(stream: T) -> SendRequest<Empty<Bytes>>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream))
        .await
        .expect("the origin speaks HTTP/2");
    tokio::spawn(connection);
    sender
}

fn request(method: &str, uri: &str) -> Request<Empty<Bytes>> {
    let request = Request::builder().method(method).uri(uri);
    request.body(Empty::new()).expect("the request is right")
}

#[tokio::test]
async fn http2_is_spoken_by_prior_knowledge() {
    let origin = start(
        r#"{"policies": [{"kind": "fixed_window", "limit": 2, "window_s": 60}], "dialect": "draft7"}"#,
    )
    .await;
    let mut sender = speak(connect(&origin).await).await;
    for status in [
        StatusCode::OK,
        StatusCode::OK,
        StatusCode::TOO_MANY_REQUESTS,
    ] {
        sender.ready().await.unwrap();
        let answer = sender
            .send_request(request("GET", "http://example.org/a?b"))
            .await
            .unwrap();
        assert_eq!(answer.status(), status);
        assert!(answer.headers().contains_key("ratelimit"));
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        assert!(!body.is_empty());
    }
    let arrivals = origin.arrivals();
    let last = &arrivals[2];
    assert_eq!(
        (last.protocol, last.path.as_str()),
        (Protocol::Http2, "/a?b")
    );
    assert_eq!(last.host.as_deref(), Some("example.org"));
    assert_eq!(origin.connections(), 1);
}

#[tokio::test]
async fn faults_have_their_form_in_http2() {
    let origin = start(
        r#"{"pages": {"/cut": {"body_bytes": 1000, "fault": {"cut_body": {"after_bytes": 400}}},
                      "/head": {"body_bytes": 1000},
                      "/reset": {"fault": "reset_before_head"}}}"#,
    )
    .await;
    let mut sender = speak(connect(&origin).await).await;
    let answer = sender
        .send_request(request("HEAD", "http://a/head"))
        .await
        .unwrap();
    assert_eq!(answer.headers()["content-length"], "1000");
    assert!(
        answer
            .into_body()
            .collect()
            .await
            .unwrap()
            .to_bytes()
            .is_empty()
    );
    let mut body = sender
        .send_request(request("GET", "http://a/cut"))
        .await
        .unwrap()
        .into_body();
    let mut received = 0;
    let cut = loop {
        match body.frame().await {
            Some(Ok(frame)) => received += frame.data_ref().map_or(0, Bytes::len),
            Some(Err(_)) => break true,
            None => break false,
        }
    };
    assert!(cut && received <= 400, "{received}");
    assert!(
        sender
            .send_request(request("GET", "http://a/reset"))
            .await
            .is_err()
    );
    let whole: Vec<_> = origin
        .arrivals()
        .iter()
        .map(|arrival| arrival.whole)
        .collect();
    assert_eq!(whole, [true, false, false]);
}

/// An origin with a certificate of a CA made for it, and what trusts that CA.
async fn start_tls(offers: Option<&[&str]>) -> (Origin, Arc<RootCertStore>) {
    let key =
        rcgen::generate_simple_self_signed(["example.org".to_owned()]).expect("a certificate");
    let mut roots = RootCertStore::empty();
    roots.add(key.cert.der().clone()).expect("a root");
    let tls = Tls::from_pem(&key.cert.pem(), &key.signing_key.serialize_pem()).expect("they match");
    let options = Options {
        tls: Some(offers.map_or(tls.clone(), |offers| tls.offering(offers))),
        ..Options::default()
    };
    let origin = Origin::start_with(Script::default(), options)
        .await
        .expect("it starts");
    (origin, Arc::new(roots))
}

async fn connect_tls(
    origin: &Origin,
    roots: Arc<RootCertStore>,
    protocols: &[&[u8]],
) -> TlsStream<TcpStream> {
    let mut config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    let name = ServerName::try_from("example.org").expect("a name");
    TlsConnector::from(Arc::new(config))
        .connect(name, connect(origin).await)
        .await
        .expect("the handshake is done")
}

#[tokio::test]
async fn under_tls_the_protocol_is_chosen_by_alpn() {
    let (origin, roots) = start_tls(None).await;
    assert!(origin.url("/x").starts_with("https://127.0.0.1:"));
    let stream = connect_tls(&origin, Arc::clone(&roots), &[b"h2", b"http/1.1"]).await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let mut sender = speak(stream).await;
    let answer = sender
        .send_request(request("GET", "https://example.org/"))
        .await
        .unwrap();
    assert_eq!(answer.status(), StatusCode::OK);

    let (origin, roots) = start_tls(Some(&["http/1.1"])).await;
    let mut stream = connect_tls(&origin, roots, &[b"h2", b"http/1.1"]).await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    stream
        .write_all(b"GET /x HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n")
        .await
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"));
    assert_eq!(origin.arrivals()[0].protocol, Protocol::Http11);
}

#[tokio::test]
async fn a_certificate_that_is_none_is_refused() {
    for (chain, key) in [("", ""), ("no pem", "no pem")] {
        assert_eq!(
            Tls::from_pem(chain, key).unwrap_err().kind(),
            ErrorKind::Tls
        );
    }
}
