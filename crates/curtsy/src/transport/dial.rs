//! Opening a connection: look up, connect (happy eyeballs), proxy, TLS.

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use tokio::net::TcpStream;

use super::error::{TransportError, TransportErrorKind};
use super::guard::{Guard, Reach, reach_by_name};
use super::proxy::Proxy;
use super::resolve::Resolver;
use super::stream::Stream;
use super::target::Target;
use super::tls::{Peer, Tls, speaks_http2};
use super::tunnel;

/// How long one address is tried alone before the next joins in (RFC 8305 section 5 recommends it).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);
/// How many of a host's addresses are tried.
const ADDRESS_LIMIT: usize = 16;

/// A stream that HTTP can be spoken on.
pub(super) struct Dialed {
    pub(super) stream: Stream,
    /// The other end: the server or the proxy.
    pub(super) peer: Option<SocketAddr>,
    /// Where the target leads: by its address, by the user's word, or, where a proxy resolves it, by its
    /// name.
    pub(super) reach: Reach,
    pub(super) http2: bool,
}

/// Opens a connection to `target`, through `proxy` where there is one.
pub(super) async fn dial(
    resolver: &Resolver,
    tls: &Tls,
    target: &Target,
    proxy: Option<&Proxy>,
    guard: Guard,
) -> Result<Dialed, TransportError> {
    let (stream, peer, reach) = match proxy {
        Some(proxy) => dial_proxy(resolver, tls, target, proxy, guard).await?,
        None => dial_server(resolver, target, guard).await?,
    };
    if !target.is_https() {
        return Ok(Dialed {
            stream,
            peer,
            reach,
            http2: false,
        });
    }
    let stream = tls.connect(target.host(), stream, Peer::Server).await?;
    Ok(Dialed {
        http2: speaks_http2(&stream),
        stream: Stream::Tls(Box::new(stream)),
        peer,
        reach,
    })
}

async fn dial_server(
    resolver: &Resolver,
    target: &Target,
    guard: Guard,
) -> Result<(Stream, Option<SocketAddr>, Reach), TransportError> {
    let found = resolver
        .look_up(target.host(), target.literal(), target.port(), guard)
        .await?;
    let stream = connect(found.addresses).await?;
    let peer = stream.peer_addr().ok();
    let reach = if found.permitted {
        Reach::Public
    } else {
        peer.map_or(Reach::Private, |peer| Reach::of(peer.ip()))
    };
    Ok((Stream::Tcp(stream), peer, reach))
}

async fn dial_proxy(
    resolver: &Resolver,
    tls: &Tls,
    target: &Target,
    proxy: &Proxy,
    guard: Guard,
) -> Result<(Stream, Option<SocketAddr>, Reach), TransportError> {
    let reach = reach_by_name(target);
    if !guard.allows(reach) {
        return Err(TransportError::new(TransportErrorKind::RefusedTarget));
    }
    // The proxy is the user's choice, wherever it stands.
    let literal = proxy.host().parse().ok();
    let found = resolver
        .look_up(proxy.host(), literal, proxy.port(), Guard::Any)
        .await?;
    let stream = connect(found.addresses).await?;
    let peer = stream.peer_addr().ok();
    let mut stream = Stream::Tcp(stream);
    if proxy.is_https() {
        let secured = tls.connect(proxy.host(), stream, Peer::Proxy).await?;
        stream = Stream::Tls(Box::new(secured));
    }
    if target.is_https() {
        tunnel::open(&mut stream, proxy, target).await?;
    }
    Ok((stream, peer, reach))
}

type Attempt = Pin<Box<dyn Future<Output = io::Result<TcpStream>> + Send>>;

/// Connects to the first address that answers, in the spirit of RFC 8305: addresses in the
/// resolver's order with the families taking turns, each given a head start over the next, a failure
/// starting the next at once.
async fn connect(addresses: Vec<SocketAddr>) -> Result<TcpStream, TransportError> {
    let mut untried = taking_turns(addresses).into_iter().take(ADDRESS_LIMIT);
    let mut attempts: Vec<Attempt> = Vec::new();
    let mut failure = io::Error::from(io::ErrorKind::AddrNotAvailable);
    loop {
        if let Some(address) = untried.next() {
            attempts.push(Box::pin(connect_to(address)));
        }
        if attempts.is_empty() {
            return Err(TransportError::from_connect(failure));
        }
        tokio::select! {
            biased;
            result = first_done(&mut attempts) => match result {
                Ok(stream) => return Ok(stream),
                Err(error) => failure = error,
            },
            () = tokio::time::sleep(ATTEMPT_DELAY), if untried.len() > 0 => {}
        }
    }
}

async fn connect_to(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    // A dial to a closed port of this machine can meet itself, when the kernel happens to give the
    // same port to our own end.
    if stream.local_addr()? == address {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    stream.set_nodelay(true)?;
    Ok(stream)
}

async fn first_done(attempts: &mut Vec<Attempt>) -> io::Result<TcpStream> {
    poll_fn(|cx| {
        for index in 0..attempts.len() {
            if let Poll::Ready(result) = attempts[index].as_mut().poll(cx) {
                drop(attempts.swap_remove(index));
                return Poll::Ready(result);
            }
        }
        Poll::Pending
    })
    .await
}

fn taking_turns(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let Some(first) = addresses.first() else {
        return addresses;
    };
    let first_is_v4 = first.is_ipv4();
    let count = addresses.len();
    let (leading, other): (Vec<_>, Vec<_>) = addresses
        .into_iter()
        .partition(|address| address.is_ipv4() == first_is_v4);
    let (mut leading, mut other) = (leading.into_iter(), other.into_iter());
    let mut ordered = Vec::with_capacity(count);
    while ordered.len() < count {
        ordered.extend(leading.next());
        ordered.extend(other.next());
    }
    ordered
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn the_families_take_turns_from_the_resolvers_first() {
        let given = ["[::1]:1", "[::2]:1", "[::3]:1", "1.1.1.1:1"];
        let expected = ["[::1]:1", "1.1.1.1:1", "[::2]:1", "[::3]:1"];
        let parse = |texts: &[&str]| -> Vec<SocketAddr> {
            texts.iter().map(|text| text.parse().unwrap()).collect()
        };
        assert_eq!(taking_turns(parse(&given)), parse(&expected));
        assert_eq!(taking_turns(Vec::new()), Vec::new());
    }

    #[tokio::test]
    async fn an_address_that_refuses_makes_way_for_the_next_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let open = listener.local_addr().unwrap();
        let closed = {
            let unused = TcpListener::bind("127.0.0.2:0").await.unwrap();
            unused.local_addr().unwrap()
        };
        let started = std::time::Instant::now();
        let stream = connect(vec![closed, open]).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), open);
        assert!(started.elapsed() < ATTEMPT_DELAY);

        let error = connect(vec![closed]).await.unwrap_err();
        assert_eq!(error.kind(), TransportErrorKind::Refused);
    }
}
