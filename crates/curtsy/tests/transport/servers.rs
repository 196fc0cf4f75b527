//! Servers that do as they are told, and the client's side of the conversation.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use curtsy::clock::Clock;
use curtsy::transport::{
    Checkout, Guard, Head, Limits, Target, Transport, TransportBuilder, TransportError,
    TransportErrorKind,
};
use http::Request;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

/// Short enough to wait for, long enough for a busy machine.
pub(crate) const SHORT: Duration = Duration::from_millis(200);

/// A server on loopback.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
    open: Arc<AtomicUsize>,
}

impl Server {
    /// How many connections were made to it.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Waits until as many connections are open.
    pub(crate) async fn until_open(&self, count: usize) {
        for _ in 0..200 {
            if self.open.load(Ordering::SeqCst) == count {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!(
            "{} connections are open, not {count}",
            self.open.load(Ordering::SeqCst)
        );
    }

    pub(crate) fn url(&self, path: &str) -> Url {
        Url::parse(&format!("http://{}{path}", self.address)).unwrap()
    }
}

/// Serves each connection with `serve`, which is told the connection's number.
pub(crate) async fn server<F, S>(serve: S) -> Server
where
    F: Future<Output = Option<()>> + Send + 'static,
    S: Fn(TcpStream, usize) -> F + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = Server {
        address: listener.local_addr().unwrap(),
        connections: Arc::default(),
        open: Arc::default(),
    };
    let connections = Arc::clone(&server.connections);
    let open = Arc::clone(&server.open);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let number = connections.fetch_add(1, Ordering::SeqCst);
            open.fetch_add(1, Ordering::SeqCst);
            let served = serve(stream, number);
            let open = Arc::clone(&open);
            tokio::spawn(async move {
                let _ = served.await;
                open.fetch_sub(1, Ordering::SeqCst);
            });
        }
    });
    server
}

/// Answers every request with the same bytes until the client hangs up.
pub(crate) async fn constant(answer: impl Into<Vec<u8>>) -> Server {
    let answer: Arc<[u8]> = answer.into().into();
    server(move |mut stream, _| {
        let answer = Arc::clone(&answer);
        async move {
            while read_head(&mut stream).await.is_some() {
                stream.write_all(&answer).await.ok()?;
            }
            None
        }
    })
    .await
}

/// Answers the first request of each connection with these bytes, then hangs up.
pub(crate) async fn once(answer: impl Into<Vec<u8>>) -> Server {
    let answer: Arc<[u8]> = answer.into().into();
    server(move |mut stream, _| {
        let answer = Arc::clone(&answer);
        async move {
            read_head(&mut stream).await?;
            stream.write_all(&answer).await.ok()
        }
    })
    .await
}

/// Answers the first request of each connection with these bytes, then neither writes nor hangs up.
pub(crate) async fn stalling(answer: impl Into<Vec<u8>>) -> Server {
    let answer: Arc<[u8]> = answer.into().into();
    server(move |mut stream, _| {
        let answer = Arc::clone(&answer);
        async move {
            read_head(&mut stream).await?;
            stream.write_all(&answer).await.ok()?;
            until_hung_up(&mut stream).await
        }
    })
    .await
}

/// Reads to the end of a request's head; none where the client hung up instead.
pub(crate) async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    String::from_utf8(head).ok()
}

pub(crate) async fn until_hung_up(stream: &mut TcpStream) -> Option<()> {
    let mut rest = [0; 1024];
    while stream.read(&mut rest).await.ok()? > 0 {}
    None
}

/// A whole response with this body.
pub(crate) fn ok(headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{headers}\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

pub(crate) fn builder() -> TransportBuilder {
    Transport::builder(Clock::system())
}

pub(crate) fn transport() -> Transport {
    builder().build().unwrap()
}

/// A transport with these limits.
pub(crate) fn limited(limits: Limits) -> Transport {
    builder().limits(limits).build().unwrap()
}

pub(crate) async fn check_out(
    transport: &Transport,
    url: &Url,
) -> Result<Checkout, TransportError> {
    transport
        .check_out(&Target::of(url).unwrap(), Guard::Any)
        .await
}

pub(crate) fn get(url: &Url) -> Request<Bytes> {
    Request::get(url.as_str()).body(Bytes::new()).unwrap()
}

/// Checks out, sends and waits for the head.
pub(crate) async fn head(transport: &Transport, url: &Url) -> Result<Head, TransportError> {
    let checkout = check_out(transport, url).await?;
    checkout.send(get(url)).await?.head().await
}

/// The whole body.
pub(crate) async fn fetch(transport: &Transport, url: &Url) -> Result<Bytes, TransportError> {
    head(transport, url).await?.body.collect(1 << 30).await
}

/// The kind of error that fetching ends in.
pub(crate) async fn failure(transport: &Transport, url: &Url) -> TransportErrorKind {
    match fetch(transport, url).await {
        Ok(body) => panic!("fetched {} bytes", body.len()),
        Err(error) => error.kind(),
    }
}
