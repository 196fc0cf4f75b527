//! The connection beneath hyper, with a switch that makes it misbehave.
//!
//! hyper sends well-formed answers only. What is not well formed happens here: while the switch says
//! so, what hyper writes is replaced or the connection reset, and hyper is none the wiser.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

/// What an answer does to its connection.
#[derive(Debug, Default)]
pub(super) struct Switch {
    mode: Mutex<Mode>,
    flushes: AtomicU64,
}

#[derive(Debug, Default)]
enum Mode {
    #[default]
    Honest,
    /// These bytes go out in place of what hyper writes next.
    Replace(Bytes),
    /// The replacement has gone out; the rest of what hyper writes is dropped.
    Replaced,
    /// The connection ends with RST.
    Reset,
}

impl Switch {
    pub(super) fn replace(&self, bytes: Bytes) {
        *self.mode() = Mode::Replace(bytes);
    }

    pub(super) fn reset(&self) {
        *self.mode() = Mode::Reset;
    }

    /// Waits until all that hyper holds now has been given to the socket.
    pub(super) async fn flushed(&self) {
        let before = self.flushes.load(Ordering::Relaxed);
        while self.flushes.load(Ordering::Relaxed) == before {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    fn mode(&self) -> MutexGuard<'_, Mode> {
        self.mode.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct Wire {
    stream: Stream,
    switch: Arc<Switch>,
}

pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Wire {
    pub(super) fn new(stream: Stream, switch: Arc<Switch>) -> Self {
        Self { stream, switch }
    }

    /// Writes what takes the place of hyper's bytes; ready with whether anything did.
    fn poll_sabotage(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let mut mode = self.switch.mode();
        loop {
            match &mut *mode {
                Mode::Honest => return Poll::Ready(Ok(false)),
                Mode::Replaced => return Poll::Ready(Ok(true)),
                Mode::Reset => return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
                Mode::Replace(bytes) if bytes.is_empty() => *mode = Mode::Replaced,
                Mode::Replace(bytes) => {
                    let written = ready!(self.stream.pin().poll_write(cx, bytes))?;
                    bytes.advance(written);
                }
            }
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if matches!(*self.switch.mode(), Mode::Reset) {
            // Without it the kernel would close in good order. A socket that is gone already needs none.
            let _ = self.stream.tcp().set_zero_linger();
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream.pin().poll_read(cx, buf)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if ready!(self.poll_sabotage(cx))? {
            return Poll::Ready(Ok(buf.len()));
        }
        self.stream.pin().poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if ready!(self.poll_sabotage(cx))? {
            return Poll::Ready(Ok(bufs.iter().map(|buf| buf.len()).sum()));
        }
        self.stream.pin().poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Plain(tcp) => tcp.is_write_vectored(),
            Stream::Tls(tls) => tls.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.stream.pin().poll_flush(cx))?;
        self.switch.flushes.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.pin().poll_shutdown(cx)
    }
}

trait Duplex: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Duplex for T {}

impl Stream {
    fn pin(&mut self) -> Pin<&mut dyn Duplex> {
        match self {
            Self::Plain(tcp) => Pin::new(tcp),
            Self::Tls(tls) => Pin::new(&mut **tls),
        }
    }

    fn tcp(&self) -> &TcpStream {
        match self {
            Self::Plain(tcp) => tcp,
            Self::Tls(tls) => tls.get_ref().0,
        }
    }
}
