//! Connections that cannot be held for nothing: so many at most, no more than half of them by one peer, and
//! each ends that is told nothing.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep};

/// Connections at once; who comes later waits.
const CONNECTIONS: usize = 64;
/// Connections of one address that is not of this machine; more are closed. So nobody alone keeps the others
/// out.
const OF_ONE_PEER: usize = CONNECTIONS / 2;
/// A connection over which nothing could be sent for so long ends. What comes in does not count: a request
/// that trickles in is never answered, and would keep its place for ever.
const PATIENCE: Duration = Duration::from_secs(30);
/// After a failure to accept, as when there are too many open files.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) struct Listener {
    listener: TcpListener,
    places: Arc<Semaphore>,
    peers: Peers,
}

/// One connection.
pub(super) struct Patient {
    stream: TcpStream,
    deadline: Pin<Box<Sleep>>,
    _place: OwnedSemaphorePermit,
    _of_peer: OfPeer,
}

/// How many connections each peer has.
#[derive(Clone, Default)]
struct Peers(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// One connection of a peer, counted until it is dropped.
struct OfPeer {
    peers: Peers,
    peer: IpAddr,
}

impl Listener {
    pub(super) fn of(listener: std::net::TcpListener) -> io::Result<Self> {
        Ok(Self {
            listener: TcpListener::from_std(listener)?,
            places: Arc::new(Semaphore::new(CONNECTIONS)),
            peers: Peers::default(),
        })
    }
}

impl axum::serve::Listener for Listener {
    type Io = Patient;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            // It fails only where the semaphore is closed, which nobody does.
            let Ok(place) = Arc::clone(&self.places).acquire_owned().await else {
                std::future::pending::<()>().await;
                continue;
            };
            match self.listener.accept().await {
                Ok((stream, peer)) => {
                    let Some(of_peer) = self.peers.admit(peer.ip()) else {
                        continue;
                    };
                    let patient = Patient {
                        stream,
                        deadline: Box::pin(tokio::time::sleep(PATIENCE)),
                        _place: place,
                        _of_peer: of_peer,
                    };
                    return (patient, peer);
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

impl Peers {
    /// Counts another connection of this peer, where it may have one.
    fn admit(&self, peer: IpAddr) -> Option<OfPeer> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(peer).or_default();
        // A proxy of this machine comes for everybody.
        if *count >= OF_ONE_PEER && !peer.to_canonical().is_loopback() {
            return None;
        }
        *count += 1;
        Some(OfPeer {
            peers: self.clone(),
            peer,
        })
    }
}

impl Drop for OfPeer {
    fn drop(&mut self) {
        let mut counts = self.peers.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.peer) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.peer);
            }
        }
    }
}

impl Patient {
    /// The end, where nothing could be sent for too long.
    fn poll_late(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        let late = |()| io::Error::from(ErrorKind::TimedOut);
        self.deadline.as_mut().poll(cx).map(late)
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Poll::Ready(late) = self.poll_late(cx) {
            return Poll::Ready(Err(late));
        }
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, bytes);
        if polled.is_ready() {
            self.deadline.as_mut().reset(Instant::now() + PATIENCE);
            return polled;
        }
        self.poll_late(cx).map(Err)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use axum::serve::Listener as _;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[test]
    fn one_peer_has_no_more_than_half_of_the_places_and_gets_back_what_it_leaves() {
        let (peers, far) = (Peers::default(), IpAddr::from([192, 0, 2, 1]));
        let mut held: Vec<_> = (0..CONNECTIONS).filter_map(|_| peers.admit(far)).collect();
        assert_eq!(held.len(), CONNECTIONS / 2);
        let mapped = "::ffff:127.0.0.1".parse().unwrap();
        let of_here: Vec<_> = (0..CONNECTIONS)
            .filter_map(|_| peers.admit(mapped))
            .collect();
        assert_eq!(of_here.len(), CONNECTIONS);
        assert!(peers.admit(IpAddr::from([192, 0, 2, 2])).is_some());
        held.pop();
        assert!(peers.admit(far).is_some());
        drop((held, of_here));
        assert!(peers.0.lock().unwrap().is_empty());
    }

    /// The server's side and the client's of one connection.
    async fn connection() -> (Patient, TcpStream) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let mut listener = Listener::of(listener).unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap());
        let ((patient, _), client) = tokio::join!(listener.accept(), client);
        (patient, client.unwrap())
    }

    #[tokio::test]
    async fn what_trickles_in_does_not_keep_a_connection_and_what_is_told_does() {
        let (mut patient, mut client) = connection().await;
        let first = patient.deadline.deadline();
        client.write_all(b"GET").await.unwrap();
        assert_eq!(patient.read_u8().await.unwrap(), b'G');
        assert_eq!(patient.deadline.deadline(), first);
        patient.write_all(b"HTTP").await.unwrap();
        assert!(patient.deadline.deadline() > first);
        patient.deadline.as_mut().reset(Instant::now());
        tokio::time::sleep(Duration::from_millis(20)).await;
        let late = patient.read_u8().await.unwrap_err();
        assert_eq!(late.kind(), ErrorKind::TimedOut, "though there is more");
    }
}
