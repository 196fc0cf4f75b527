//! The body of an answer, with what goes wrong in it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use hyper::body::{Body, Frame, SizeHint};
use tokio::io::AsyncReadExt;
use tokio::sync::mpsc;

use super::content::{Reader, Source};
use super::ledger::Underway;
use super::stopping::Stopping;
use super::wire::Switch;
use crate::script::Fault;

const CHUNK_BYTES: usize = 16 * 1024;

/// A body; while it lives, its request is in flight.
pub(super) struct AnswerBody {
    flow: Flow,
    /// How many bytes are promised and not yet handed over; None where no length is promised.
    left: Option<u64>,
    underway: Underway,
}

enum Flow {
    Whole(Bytes),
    /// The work writes into the channel as far as it is read.
    Worked {
        work: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
        pieces: mpsc::Receiver<Result<Bytes, Cut>>,
    },
    Ended,
}

/// The body ends here, though more was promised.
#[derive(Debug, thiserror::Error)]
#[error("the body was cut short on purpose")]
pub(super) struct Cut;

impl AnswerBody {
    /// No body: that is the whole answer, as to HEAD.
    pub(super) fn none(mut underway: Underway) -> Self {
        underway.mark_whole();
        Self::broken(underway)
    }

    /// No body, in an answer that does not get out.
    pub(super) fn broken(underway: Underway) -> Self {
        Self {
            flow: Flow::Ended,
            left: Some(0),
            underway,
        }
    }

    pub(super) fn new(
        source: Source,
        fault: Option<Fault>,
        switch: Arc<Switch>,
        stopping: Stopping,
        underway: Underway,
    ) -> Self {
        let left = promised(source.length(), fault.as_ref());
        if left == Some(0) {
            return Self::none(underway);
        }
        let flow = match (source, fault) {
            (Source::Whole(bytes), None) => Flow::Whole(bytes),
            (source, fault) => {
                let source = match fault {
                    Some(Fault::EndlessBody { .. }) => Source::endless(),
                    _ => source,
                };
                let (pieces_in, pieces) = mpsc::channel(1);
                let stage = Stage {
                    reader: source.into_reader(),
                    pieces: pieces_in,
                    switch,
                };
                Flow::Worked {
                    work: Some(Box::pin(stage.play(fault, stopping))),
                    pieces,
                }
            }
        };
        Self {
            flow,
            left,
            underway,
        }
    }
}

/// The Content-Length of a body that has this many bytes.
fn promised(bytes: Option<u64>, fault: Option<&Fault>) -> Option<u64> {
    match fault {
        // More is promised than is sent, whatever there is.
        Some(Fault::CutBody { after_bytes } | Fault::StallBody { after_bytes }) => {
            bytes.map(|bytes| bytes.max(bytes.min(*after_bytes) + 1))
        }
        // Something must be left to send after the head.
        Some(Fault::ResetAfterHead) => bytes.map(|bytes| bytes.max(1)),
        Some(Fault::EndlessBody { .. }) => None,
        _ => bytes,
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        let this = &mut *self;
        let piece = match &mut this.flow {
            Flow::Whole(bytes) => {
                let bytes = std::mem::take(bytes);
                this.flow = Flow::Ended;
                this.underway.mark_whole();
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
            Flow::Ended => return Poll::Ready(None),
            Flow::Worked { work, pieces } => {
                if let Some(running) = work
                    && running.as_mut().poll(cx).is_ready()
                {
                    *work = None;
                }
                ready!(pieces.poll_recv(cx))
            }
        };
        match piece {
            Some(Ok(bytes)) => {
                // hyper asks no further once it has the promised length.
                this.left = this
                    .left
                    .map(|left| left.saturating_sub(bytes.len() as u64));
                if this.left == Some(0) {
                    this.flow = Flow::Ended;
                    this.underway.mark_whole();
                }
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Some(Err(cut)) => {
                this.flow = Flow::Ended;
                Poll::Ready(Some(Err(cut)))
            }
            None => {
                this.flow = Flow::Ended;
                this.underway.mark_whole();
                Poll::Ready(None)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.flow, Flow::Ended)
    }

    fn size_hint(&self) -> SizeHint {
        self.left
            .map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

/// Sends a body piece by piece.
struct Stage {
    reader: Reader,
    pieces: mpsc::Sender<Result<Bytes, Cut>>,
    switch: Arc<Switch>,
}

impl Stage {
    async fn play(mut self, fault: Option<Fault>, mut stopping: Stopping) {
        let whole = tokio::select! {
            whole = self.perform(fault) => whole,
            () = stopping.told() => false,
        };
        if !whole {
            self.cut().await;
        }
    }

    /// Sends what the fault lets through; true where that is all there is.
    async fn perform(&mut self, fault: Option<Fault>) -> bool {
        let at_once = Duration::ZERO;
        match fault {
            Some(Fault::CutBody { after_bytes }) => {
                self.send(after_bytes, CHUNK_BYTES, at_once).await;
                false
            }
            Some(Fault::StallBody { after_bytes }) => {
                self.send(after_bytes, CHUNK_BYTES, at_once).await;
                std::future::pending().await
            }
            Some(Fault::ResetAfterHead) => {
                self.switch.flushed().await;
                self.switch.reset();
                false
            }
            Some(Fault::EndlessBody { every }) => self.send(u64::MAX, CHUNK_BYTES, every).await,
            Some(Fault::DripBody { bytes, every }) => self.send(u64::MAX, bytes, every).await,
            _ => self.send(u64::MAX, CHUNK_BYTES, at_once).await,
        }
    }

    /// Sends up to `most` bytes, `chunk` at a time, after a pause before each; true where the reader
    /// has come to its end.
    async fn send(&mut self, mut most: u64, chunk: usize, pause: Duration) -> bool {
        while most > 0 {
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            let chunk = usize::try_from(most).map_or(chunk, |most| most.min(chunk));
            let mut piece = BytesMut::zeroed(chunk);
            match self.reader.read(&mut piece).await {
                Ok(0) => return true,
                Ok(read) => {
                    piece.truncate(read);
                    most -= read as u64;
                }
                Err(_) => return false,
            }
            if self.pieces.send(Ok(piece.freeze())).await.is_err() {
                return false;
            }
        }
        false
    }

    /// Ends the body with an error, once what was sent has left: hyper drops what it still holds.
    async fn cut(&mut self) {
        self.switch.flushed().await;
        // Nobody listens any more where the client has gone first.
        let _ = self.pieces.send(Err(Cut)).await;
    }
}
