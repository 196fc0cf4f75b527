//! A body as it comes over the wire.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body as _, Incoming};

use super::checkout::Home;
use super::connection::Permit;
use super::error::{Phase, TransportError, TransportErrorKind};
use super::limits::Deadline;

/// The most that is kept until it is taken, in bytes: more than the window of any content coding, so that
/// only data that decodes to nothing comes to it.
const MOST_KEPT: usize = 32 << 20;

/// Reads a body's bytes within its time, and gives the connection back once the body is whole.
///
/// Dropped before that, it takes an HTTP/1 connection with it and resets an HTTP/2 stream.
pub(super) struct Wire {
    incoming: Incoming,
    deadline: Deadline,
    /// What to give back, and where; gone with the end of the body.
    held: Option<(Home, Permit)>,
    received: u64,
    limit: u64,
    ended: bool,
    kept: Option<Kept>,
}

/// What came and has not been taken yet.
#[derive(Default)]
struct Kept {
    pieces: Vec<Bytes>,
    bytes: usize,
}

impl Wire {
    pub(super) fn new(
        incoming: Incoming,
        deadline: Deadline,
        home: Home,
        permit: Option<Permit>,
    ) -> Self {
        let mut wire = Self {
            ended: incoming.is_end_stream(),
            incoming,
            deadline,
            held: permit.map(|permit| (home, permit)),
            received: 0,
            limit: u64::MAX,
            kept: None,
        };
        if wire.ended {
            wire.give_back();
        }
        wire
    }

    /// The most bytes that may come; more is `BodyTooLarge`.
    pub(super) fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// From now on, keeps what comes until it is taken.
    pub(super) fn keep(&mut self) {
        self.kept = Some(Kept::default());
    }

    /// What came since the last call; nothing where it is not kept.
    pub(super) fn take_kept(&mut self) -> Vec<Bytes> {
        let kept = self.kept.as_mut().map(std::mem::take);
        kept.map_or_else(Vec::new, |kept| kept.pieces)
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// How much is still to come, where the server said so.
    pub(super) fn declared(&self) -> Option<u64> {
        self.incoming.size_hint().exact()
    }

    /// The next bytes, never empty; none at the end. Trailers are read away.
    pub(super) fn poll_chunk(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, TransportError>> {
        loop {
            if self.ended {
                return Poll::Ready(Ok(None));
            }
            match Pin::new(&mut self.incoming).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    self.deadline.note_piece();
                    let Ok(chunk) = frame.into_data() else {
                        continue;
                    };
                    if self.incoming.is_end_stream() {
                        self.end();
                    }
                    if chunk.is_empty() {
                        continue;
                    }
                    self.received = self.received.saturating_add(chunk.len() as u64);
                    if self.received > self.limit {
                        return Poll::Ready(Err(TransportError::new(
                            TransportErrorKind::BodyTooLarge,
                        )));
                    }
                    if let Some(kept) = &mut self.kept {
                        kept.bytes += chunk.len();
                        if kept.bytes > MOST_KEPT {
                            return Poll::Ready(Err(TransportError::new(
                                TransportErrorKind::BadEncoding,
                            )));
                        }
                        kept.pieces.push(chunk.clone());
                    }
                    return Poll::Ready(Ok(Some(chunk)));
                }
                Poll::Ready(Some(Err(error))) => {
                    return Poll::Ready(Err(TransportError::from_body(error)));
                }
                Poll::Ready(None) => self.end(),
                Poll::Pending => {
                    let Poll::Ready(phase) = self.deadline.poll(cx) else {
                        return Poll::Pending;
                    };
                    if let Some((_, permit)) = self.held.as_ref().filter(|_| phase == Phase::Body) {
                        permit.retire();
                    }
                    return Poll::Ready(Err(TransportError::new(TransportErrorKind::Timeout(
                        phase,
                    ))));
                }
            }
        }
    }

    fn end(&mut self) {
        self.ended = true;
        self.give_back();
    }

    fn give_back(&mut self) {
        if let Some((home, permit)) = self.held.take() {
            home.take_back(permit);
        }
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire")
            .field("received", &self.received)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}
