//! Connections that cannot be held for nothing: so many at most, and each ends that stands still.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep};

/// Connections at once; who comes later waits.
const CONNECTIONS: usize = 64;
/// A connection on which nothing has moved for so long ends.
const PATIENCE: Duration = Duration::from_secs(30);
/// After a failure to accept, as when there are too many open files.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) struct Listener {
    listener: TcpListener,
    places: Arc<Semaphore>,
}

/// One connection.
pub(super) struct Patient {
    stream: TcpStream,
    deadline: Pin<Box<Sleep>>,
    _place: OwnedSemaphorePermit,
}

impl Listener {
    pub(super) fn of(listener: std::net::TcpListener) -> io::Result<Self> {
        Ok(Self {
            listener: TcpListener::from_std(listener)?,
            places: Arc::new(Semaphore::new(CONNECTIONS)),
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
                    let patient = Patient {
                        stream,
                        deadline: Box::pin(tokio::time::sleep(PATIENCE)),
                        _place: place,
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

impl Patient {
    /// The result of a poll, or the end where nothing has moved for too long.
    fn unless_late<T>(
        &mut self,
        polled: Poll<io::Result<T>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.deadline.as_mut().reset(Instant::now() + PATIENCE);
            return polled;
        }
        let late = |()| Err(io::Error::from(ErrorKind::TimedOut));
        self.deadline.as_mut().poll(cx).map(late)
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
        self.unless_late(polled, cx)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.unless_late(polled, cx)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
