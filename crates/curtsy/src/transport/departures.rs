//! When a request's bytes left (behaviour P10).
//!
//! hyper takes a request over in one task and writes it in another, so the moment of the call is too
//! early a departure: the next interval, measured from it, would be too short. Hence the stream that
//! hyper writes to is wrapped in a [`Recorded`], and a request's departure is the first completed
//! flush after its head was written, stamped just after the flush: by then the kernel has every byte
//! of the head, TLS included. The stamp can be late by the time between the two, and is never early.
//!
//! On HTTP/1 a connection carries one request at a time, so the first write after a hand-over is
//! that request's. On HTTP/2 many share it, with other frames between them, so the frames are
//! followed: a `HEADERS` frame that opens a stream is a request's head. New streams are opened in
//! the order in which the requests were handed over; a request that is given up before it is written
//! makes the ones behind it look later than they were, never earlier.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use curtsy_core::Timestamp;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::oneshot;

use super::frames::NewStreams;
use super::stream::Stream;
use crate::clock::Clock;

/// The departures that one connection still owes to those who handed requests over.
pub(super) struct Departures {
    clock: Clock,
    owed: Mutex<VecDeque<oneshot::Sender<Timestamp>>>,
    /// Whether a byte was written since the last hand-over. Of use on HTTP/1 only.
    begun: AtomicBool,
}

impl Departures {
    pub(super) fn new(clock: Clock) -> Arc<Self> {
        Arc::new(Self {
            clock,
            owed: Mutex::default(),
            begun: AtomicBool::new(false),
        })
    }

    /// Hands a request over by `send`, and answers with its result and with what will receive the
    /// request's departure. Requests are owed their departures in the order of these calls.
    pub(super) fn hand_over<T>(
        &self,
        send: impl FnOnce() -> T,
    ) -> (T, oneshot::Receiver<Timestamp>) {
        let (sender, receiver) = oneshot::channel();
        let mut owed = self.owed();
        owed.push_back(sender);
        self.begun.store(false, Ordering::Release);
        (send(), receiver)
    }

    /// Whether any byte of the request handed over last was written. Of use on HTTP/1 only.
    pub(super) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Acquire)
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Notes that something was written while a departure is owed.
    fn begin(&self) -> bool {
        let owes = !self.owed().is_empty();
        if owes {
            self.begun.store(true, Ordering::Release);
        }
        owes
    }

    /// Tells the next `count` requests that they departed now.
    fn settle(&self, count: usize) {
        let stamp = self.clock.stamp();
        let mut owed = self.owed();
        let count = count.min(owed.len());
        for departed in owed.drain(..count) {
            // Whoever gave the request up does not listen any more.
            let _ = departed.send(stamp);
        }
    }

    fn owed(&self) -> MutexGuard<'_, VecDeque<oneshot::Sender<Timestamp>>> {
        self.owed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stream that tells its [`Departures`] what was written to it.
pub(super) struct Recorded<S = Stream> {
    stream: S,
    departures: Arc<Departures>,
    heads: Heads,
    /// Request heads that were written and not yet flushed.
    unflushed: usize,
}

/// How request heads are told from other bytes.
enum Heads {
    Http1,
    Http2(NewStreams),
}

impl<S> Recorded<S> {
    pub(super) fn http1(stream: S, departures: Arc<Departures>) -> Self {
        Self {
            stream,
            departures,
            heads: Heads::Http1,
            unflushed: 0,
        }
    }

    pub(super) fn http2(stream: S, departures: Arc<Departures>) -> Self {
        Self {
            stream,
            departures,
            heads: Heads::Http2(NewStreams::default()),
            unflushed: 0,
        }
    }

    /// Notes that the first `count` bytes of `slices` were written.
    fn written<'a>(&mut self, slices: impl Iterator<Item = &'a [u8]>, mut count: usize) {
        match &mut self.heads {
            Heads::Http1 => {
                if self.unflushed == 0 && count > 0 && self.departures.begin() {
                    self.unflushed = 1;
                }
            }
            Heads::Http2(frames) => {
                for slice in slices {
                    let part = &slice[..slice.len().min(count)];
                    self.unflushed += frames.read(part);
                    count -= part.len();
                }
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Recorded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Recorded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let count = ready!(Pin::new(&mut self.stream).poll_write(cx, buf))?;
        self.written(std::iter::once(buf), count);
        Poll::Ready(Ok(count))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let count = ready!(Pin::new(&mut self.stream).poll_write_vectored(cx, bufs))?;
        self.written(bufs.iter().map(|slice| &**slice), count);
        Poll::Ready(Ok(count))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        let count = std::mem::take(&mut self.unflushed);
        if count > 0 {
            self.departures.settle(count);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::AsyncWriteExt;

    use super::*;
    use crate::clock::ManualClock;

    /// Takes `per_write` bytes at a time, and is flushed only while it is `open`.
    struct Slow {
        per_write: usize,
        open: Arc<AtomicBool>,
    }

    impl AsyncWrite for Slow {
        fn poll_write(
            self: Pin<&mut Self>,
            _cx: &mut Context<'_>,
            buf: &[u8],
        ) -> Poll<io::Result<usize>> {
            Poll::Ready(Ok(buf.len().min(self.per_write)))
        }

        fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            if self.open.load(Ordering::Relaxed) {
                return Poll::Ready(Ok(()));
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        }

        fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    struct Scene {
        departures: Arc<Departures>,
        hand: ManualClock,
        open: Arc<AtomicBool>,
    }

    fn scene() -> Scene {
        let (clock, hand) = Clock::manual(Timestamp::from_secs(10));
        Scene {
            departures: Departures::new(clock),
            hand,
            open: Arc::new(AtomicBool::new(true)),
        }
    }

    impl Scene {
        fn slow(&self, per_write: usize) -> Slow {
            Slow {
                per_write,
                open: Arc::clone(&self.open),
            }
        }

        fn hand_over(&self) -> oneshot::Receiver<Timestamp> {
            self.departures.hand_over(|| ()).1
        }
    }

    #[tokio::test]
    async fn a_request_departs_when_its_last_byte_is_flushed_and_not_when_it_is_handed_over() {
        let scene = scene();
        let mut stream = Recorded::http1(scene.slow(3), Arc::clone(&scene.departures));
        let mut departure = scene.hand_over();
        assert!(!scene.departures.has_begun());

        scene.hand.advance(Duration::from_secs(1));
        scene.open.store(false, Ordering::Relaxed);
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        assert!(scene.departures.has_begun());
        let flushed = tokio::time::timeout(Duration::from_millis(1), stream.flush()).await;
        assert!(flushed.is_err());
        assert!(departure.try_recv().is_err());

        scene.hand.advance(Duration::from_secs(1));
        scene.open.store(true, Ordering::Relaxed);
        stream.flush().await.unwrap();
        assert_eq!(departure.await, Ok(Timestamp::from_secs(12)));
    }

    #[tokio::test]
    async fn a_flush_before_the_write_is_no_departure() {
        let scene = scene();
        let mut stream = Recorded::http1(scene.slow(100), Arc::clone(&scene.departures));
        let mut departure = scene.hand_over();
        stream.flush().await.unwrap();
        assert!(departure.try_recv().is_err());
        assert!(!scene.departures.has_begun());
    }

    #[tokio::test]
    async fn on_http2_each_request_departs_with_its_own_head_and_not_with_other_frames() {
        const SETTINGS_ACK: [u8; 9] = [0, 0, 0, 4, 1, 0, 0, 0, 0];
        const FIRST: [u8; 10] = [0, 0, 1, 1, 5, 0, 0, 0, 1, 0x82];
        const SECOND: [u8; 10] = [0, 0, 1, 1, 5, 0, 0, 0, 3, 0x82];

        let scene = scene();
        let mut stream = Recorded::http2(scene.slow(4), Arc::clone(&scene.departures));
        stream
            .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            .await
            .unwrap();
        let first = scene.hand_over();
        let mut second = scene.hand_over();

        stream.write_all(&SETTINGS_ACK).await.unwrap();
        stream.flush().await.unwrap();
        scene.hand.advance(Duration::from_secs(1));
        stream.write_all(&FIRST).await.unwrap();
        stream.flush().await.unwrap();
        assert_eq!(first.await, Ok(Timestamp::from_secs(11)));
        assert!(second.try_recv().is_err());

        scene.hand.advance(Duration::from_secs(1));
        stream.write_all(&SECOND).await.unwrap();
        stream.flush().await.unwrap();
        assert_eq!(second.await, Ok(Timestamp::from_secs(12)));
    }

    #[tokio::test]
    async fn a_request_given_up_unwritten_makes_the_next_look_later_and_never_earlier() {
        let scene = scene();
        let mut stream = Recorded::http1(scene.slow(100), Arc::clone(&scene.departures));
        drop(scene.hand_over());
        let mut next = scene.hand_over();
        stream.write_all(b"the next one's head").await.unwrap();
        stream.flush().await.unwrap();
        assert!(next.try_recv().is_err());
    }
}
