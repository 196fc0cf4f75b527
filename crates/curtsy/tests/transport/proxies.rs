//! Requests through proxies.

use curtsy::transport::{Guard, Proxies, Target, TransportErrorKind};
use tokio::io::{AsyncWriteExt, copy_bidirectional};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::servers::{Server, builder, constant, failure, fetch, ok, read_head, server};
use crate::tls::{Authority, https, tls_server};

/// A proxy that answers plain requests itself, and leads every tunnel to `behind`.
async fn proxy(
    behind: Option<&Server>,
    verdict: &'static str,
) -> (Server, UnboundedReceiver<String>) {
    let behind = behind.map(|server| server.address);
    let (heads, heads_read) = unbounded_channel();
    let proxy = server(move |mut stream, _| {
        let heads = heads.clone();
        async move {
            loop {
                let head = read_head(&mut stream).await?;
                let tunnel = head.starts_with("CONNECT ");
                heads.send(head).ok()?;
                if !tunnel {
                    stream.write_all(&ok("", b"by proxy")).await.ok()?;
                    continue;
                }
                stream.write_all(verdict.as_bytes()).await.ok()?;
                let mut behind = TcpStream::connect(behind?).await.ok()?;
                copy_bidirectional(&mut stream, &mut behind).await.ok()?;
            }
        }
    })
    .await;
    (proxy, heads_read)
}

const GRANTED: &str = "HTTP/1.1 200 Connection established\r\nX-Via: test\r\n\r\n";

fn with_password(proxy: &Server) -> Proxies {
    Proxies::none().with_url(&format!("http://user:p%40ss@{}", proxy.address))
}

#[tokio::test]
async fn plain_requests_go_to_the_proxy_in_absolute_form_with_its_credentials() {
    let (proxy, mut heads) = proxy(None, GRANTED).await;
    let transport = builder().proxies(with_password(&proxy)).build().unwrap();
    let url = "http://name.invalid/path?query".parse().unwrap();
    for _ in 0..2 {
        assert_eq!(fetch(&transport, &url).await.unwrap(), "by proxy");
        let head = heads.recv().await.unwrap();
        assert!(
            head.starts_with(
                "GET http://name.invalid/path?query HTTP/1.1\r\nhost: name.invalid\r\n"
            )
        );
        assert!(
            head.contains("proxy-authorization: Basic dXNlcjpwQHNz\r\n"),
            "{head}"
        );
    }
    assert_eq!(proxy.connections(), 1);
}

#[tokio::test]
async fn secure_requests_go_through_a_tunnel_that_alone_carries_the_credentials() {
    let authority = Authority::new();
    let origin = tls_server(authority.acceptor(&["secure.test"], &[])).await;
    let (proxy, mut heads) = proxy(Some(&origin), GRANTED).await;
    let transport = builder()
        .ca_certificates(authority.pem.as_str())
        .proxies(with_password(&proxy))
        .build()
        .unwrap();
    let url = https("secure.test", &origin);
    for _ in 0..2 {
        assert_eq!(fetch(&transport, &url).await.unwrap(), "secured");
    }
    let authority = format!("secure.test:{}", origin.address.port());
    assert_eq!(
        heads.recv().await.unwrap(),
        format!(
            "CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\
             Proxy-Authorization: Basic dXNlcjpwQHNz\r\n\r\n"
        )
    );
    assert!(heads.try_recv().is_err());
    assert_eq!((proxy.connections(), origin.connections()), (1, 1));
}

#[tokio::test]
async fn a_proxy_may_itself_be_spoken_to_over_tls() {
    let authority = Authority::new();
    let origin = tls_server(authority.acceptor(&["secure.test"], &[])).await;
    let behind = origin.address;
    let acceptor = authority.acceptor(&["127.0.0.1"], &["http/1.1"]);
    let proxy = server(move |stream, _| {
        let acceptor = acceptor.clone();
        async move {
            let mut stream = acceptor.accept(stream).await.ok()?;
            read_head(&mut stream).await?;
            stream.write_all(GRANTED.as_bytes()).await.ok()?;
            let mut behind = TcpStream::connect(behind).await.ok()?;
            copy_bidirectional(&mut stream, &mut behind).await.ok()?;
            None
        }
    })
    .await;
    let transport = builder()
        .ca_certificates(authority.pem.as_str())
        .proxies(Proxies::none().with_url(&format!("https://{}", proxy.address)))
        .build()
        .unwrap();
    let body = fetch(&transport, &https("secure.test", &origin))
        .await
        .unwrap();
    assert_eq!(body, "secured");
}

#[tokio::test]
async fn a_proxy_that_refuses_or_misbehaves_is_told_apart_and_keeps_the_password() {
    for verdict in [
        "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n",
        "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\nspeaks first",
        "nonsense\r\n\r\n",
        "",
    ] {
        let (proxy, _heads) = proxy(None, verdict).await;
        let transport = builder().proxies(with_password(&proxy)).build().unwrap();
        let url = "https://name.invalid/".parse().unwrap();
        let error = fetch(&transport, &url).await.unwrap_err();
        assert_eq!(error.kind(), TransportErrorKind::Proxy, "{verdict}");
        let shown = format!("{error} {error:?}");
        assert!(
            !shown.contains("p@ss") && !shown.contains("dXNlc"),
            "{shown}"
        );
    }
}

#[tokio::test]
async fn an_exempt_host_is_reached_directly() {
    let origin = constant(ok("", b"direct")).await;
    let (proxy, mut heads) = proxy(None, GRANTED).await;
    let proxies = with_password(&proxy).with_no_proxy("127.0.0.0/8");
    let transport = builder().proxies(proxies).build().unwrap();
    assert_eq!(fetch(&transport, &origin.url("/")).await.unwrap(), "direct");
    assert!(heads.try_recv().is_err());
}

#[tokio::test]
async fn a_proxy_is_not_a_way_around_the_guard() {
    let (proxy, mut heads) = proxy(None, GRANTED).await;
    let transport = builder().proxies(with_password(&proxy)).build().unwrap();
    for (url, public) in [
        ("http://169.254.169.254/", false),
        ("http://localhost/", false),
        ("http://name.invalid/", true),
    ] {
        let target = Target::of(&url.parse().unwrap()).unwrap();
        let checkout = transport.check_out(&target, Guard::PublicOnly).await;
        let kind = checkout.as_ref().err().map(|error| error.kind());
        let expected = (!public).then_some(TransportErrorKind::RefusedTarget);
        assert_eq!(kind, expected, "{url}");
    }
    assert!(heads.try_recv().is_err());
    // The proxy itself may stand anywhere, but the resolver is not asked for the name behind it.
    let kind = failure(
        &builder().build().unwrap(),
        &"http://name.invalid/".parse().unwrap(),
    )
    .await;
    assert_eq!(kind, TransportErrorKind::Dns);
}
