//! The body of a response.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use tokio::io::AsyncReadExt;

use super::decode::{Coding, Layer, TooManyCodings};
use super::error::{TransportError, TransportErrorKind};
use super::wire::Wire;

/// How much decoded data one piece holds at most, in bytes.
const PIECE: usize = 16 * 1024;
/// How much may follow the coded data before the connection is not worth reading it for, in bytes.
const PADDING: u64 = 4 * 1024;

/// The body of a response, read piece by piece, decoded, within its limits.
///
/// Read to its end, it leaves the connection to the next request; dropped before, it closes an
/// HTTP/1 connection and resets an HTTP/2 stream.
pub struct Body {
    state: State,
    limit: u64,
    delivered: u64,
    /// Read ahead, and still to be delivered.
    ahead: VecDeque<Bytes>,
    /// What ended the reading ahead.
    fault: Option<TransportError>,
}

#[expect(
    clippy::large_enum_variant,
    reason = "most bodies are plain, and a box for each would cost an allocation"
)]
enum State {
    Plain(Wire),
    Coded(Box<Coded>),
    /// Refused by what its head says, before a byte was read.
    Refused(TransportErrorKind),
    Failed,
}

/// A body under one or more content codings.
struct Coded {
    layer: Layer,
    buffer: BytesMut,
    /// Whether the decoder has said that its data is whole.
    decoded: bool,
}

impl Body {
    /// A body to be decoded by the `Content-Encoding` of `headers`, if they are given.
    pub(super) fn new(mut wire: Wire, headers: Option<&HeaderMap>, limit: u64) -> Self {
        let state = match headers.map_or(Ok(Vec::new()), Coding::list) {
            Err(TooManyCodings) => State::Refused(TransportErrorKind::BadEncoding),
            Ok(codings) if codings.is_empty() => {
                if wire.declared().is_some_and(|length| length > limit) {
                    State::Refused(TransportErrorKind::BodyTooLarge)
                } else {
                    State::Plain(wire)
                }
            }
            Ok(codings) => {
                // Data that does not compress grows a little under every coding. Beyond that, what
                // decodes to nothing must not come without end.
                wire.set_limit(limit.saturating_add(limit / 64).saturating_add(64 * 1024));
                State::Coded(Box::new(Coded {
                    layer: Layer::new(wire, &codings),
                    buffer: BytesMut::new(),
                    decoded: false,
                }))
            }
        };
        Self {
            state,
            limit,
            delivered: 0,
            ahead: VecDeque::new(),
            fault: None,
        }
    }

    /// The next piece, never empty; none once the body is whole.
    ///
    /// # Errors
    /// `BodyCutShort`, `BodyTooLarge`, `BadEncoding`, `Timeout`, `Reset`, `Protocol`, `Tls`. After an
    /// error comes nothing but the end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, TransportError> {
        if let Some(piece) = self.ahead.pop_front() {
            return Ok(Some(piece));
        }
        match self.fault.take() {
            Some(error) => Err(error),
            None => self.next().await,
        }
    }

    /// Reads ahead until the body has ended or `limit` bytes are there. It may be dropped before that:
    /// what came stays, and [`chunk`](Self::chunk) delivers it, and an error after it, like all else.
    pub(crate) async fn read_ahead(&mut self, limit: usize) {
        while self.fault.is_none() && self.ahead.iter().map(Bytes::len).sum::<usize>() < limit {
            match self.next().await {
                Ok(Some(piece)) => self.ahead.push_back(piece),
                Ok(None) => return,
                Err(error) => self.fault = Some(error),
            }
        }
    }

    /// What has been read ahead.
    pub(crate) fn ahead(&self) -> Vec<u8> {
        self.ahead.iter().flatten().copied().collect()
    }

    async fn next(&mut self) -> Result<Option<Bytes>, TransportError> {
        let piece = self.read().await;
        if piece.is_err() {
            // Lets go of the connection at once.
            self.state = State::Failed;
        }
        piece
    }

    async fn read(&mut self) -> Result<Option<Bytes>, TransportError> {
        let piece = match &mut self.state {
            State::Plain(wire) => poll_fn(|cx| wire.poll_chunk(cx)).await?,
            State::Coded(coded) => coded.chunk().await?,
            State::Refused(kind) => return Err(TransportError::new(*kind)),
            State::Failed => None,
        };
        if let Some(piece) = &piece {
            self.delivered = self.delivered.saturating_add(piece.len() as u64);
            if self.delivered > self.limit {
                return Err(TransportError::new(TransportErrorKind::BodyTooLarge));
            }
        }
        Ok(piece)
    }

    /// All that is left of the body, if it is at most `limit` bytes.
    ///
    /// # Errors
    /// As [`chunk`](Self::chunk); `BodyTooLarge` also for what exceeds `limit`.
    pub async fn collect(mut self, limit: usize) -> Result<Bytes, TransportError> {
        let Some(first) = self.chunk().await? else {
            return Ok(Bytes::new());
        };
        let mut whole = BytesMut::new();
        let mut piece = first;
        loop {
            if whole.len() + piece.len() > limit {
                return Err(TransportError::new(TransportErrorKind::BodyTooLarge));
            }
            match self.chunk().await? {
                // Most bodies come in one piece, which needs no copy.
                None if whole.is_empty() => return Ok(piece),
                None => {
                    whole.extend_from_slice(&piece);
                    return Ok(whole.freeze());
                }
                Some(next) => {
                    whole.extend_from_slice(&piece);
                    piece = next;
                }
            }
        }
    }

    /// Whether a content coding is being taken off.
    #[must_use]
    pub fn is_decoded(&self) -> bool {
        matches!(self.state, State::Coded(_))
    }

    /// Bytes received for this body so far, as they came over the wire. None after an error.
    #[must_use]
    pub fn wire_bytes(&self) -> Option<u64> {
        self.wire().map(Wire::received)
    }

    /// How many bytes are still to come over the wire, where the server said so.
    #[must_use]
    pub fn declared_bytes(&self) -> Option<u64> {
        self.wire().and_then(Wire::declared)
    }

    /// What came over the wire since the last call, less transfer codings, content codings left on it: of
    /// a body that is [traced](super::Checkout::traced) and nothing of another. After an error what came
    /// with it is lost.
    pub fn take_wire(&mut self) -> Vec<Bytes> {
        let wire = match &mut self.state {
            State::Plain(wire) => Some(wire),
            State::Coded(coded) => coded.layer.wire_mut(),
            State::Refused(_) | State::Failed => None,
        };
        wire.map_or_else(Vec::new, Wire::take_kept)
    }

    /// Whether the server has sent all of it. Data after the end of a content coding is not waited for.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.wire().is_some_and(Wire::has_ended)
    }

    fn wire(&self) -> Option<&Wire> {
        match &self.state {
            State::Plain(wire) => Some(wire),
            State::Coded(coded) => coded.layer.wire(),
            State::Refused(_) | State::Failed => None,
        }
    }
}

impl Coded {
    async fn chunk(&mut self) -> Result<Option<Bytes>, TransportError> {
        if !self.decoded {
            // What a small body unfolds to must not keep others on this thread waiting.
            tokio::task::consume_budget().await;
            if self.buffer.capacity() < PIECE / 4 {
                self.buffer.reserve(PIECE);
            }
            let read = self
                .layer
                .read_buf(&mut self.buffer)
                .await
                .map_err(TransportError::from_decoder)?;
            if read > 0 {
                return Ok(Some(self.buffer.split().freeze()));
            }
            self.decoded = true;
        }
        self.read_away().await?;
        Ok(None)
    }

    /// Reads what follows the coded data, which should be the end of the body at once, so that the
    /// connection can be used again; a little padding is suffered.
    async fn read_away(&mut self) -> Result<(), TransportError> {
        let Some(wire) = self.layer.wire_mut() else {
            return Ok(());
        };
        let patience = wire.received() + PADDING;
        while wire.received() <= patience {
            if poll_fn(|cx| wire.poll_chunk(cx)).await?.is_none() {
                return Ok(());
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body")
            .field("is_decoded", &self.is_decoded())
            .field("delivered", &self.delivered)
            .finish_non_exhaustive()
    }
}
