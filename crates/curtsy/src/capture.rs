//! An exchange as an archive keeps it.

use bytes::Bytes;
use curtsy_core::Timestamp;
use http::{HeaderMap, StatusCode};
use url::Url;

use crate::transport::{Body, Trace};

/// A request and the head of its response. The body is kept apart from it, since it may be large.
#[derive(Debug)]
pub(crate) struct Capture {
    /// What was asked for, without user and password.
    pub(crate) url: Url,
    /// When the request departed.
    pub(crate) departed_at: Timestamp,
    /// The request as it was sent.
    pub(crate) trace: Box<Trace>,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// Why the body is not all there.
    pub(crate) truncated: Option<Truncated>,
}

/// The hops on the way to a response, and what else is known of its own exchange.
#[derive(Debug)]
pub(crate) struct Trail {
    pub(crate) hops: Vec<(Capture, Vec<Bytes>)>,
    pub(crate) departed_at: Timestamp,
    pub(crate) trace: Box<Trace>,
}

/// Why a body ends early; the words of WARC-Truncated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Truncated {
    /// It was not read any further.
    Length,
    /// It took too long.
    Time,
    /// The connection broke.
    Disconnect,
}

impl Truncated {
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Time => "time",
            Self::Disconnect => "disconnect",
        }
    }
}

/// Reads a body up to `limit` decoded bytes and answers with what came over the wire for it.
pub(crate) async fn collect_wire(
    body: &mut Body,
    limit: usize,
    pieces: &mut Vec<Bytes>,
) -> Option<Truncated> {
    let mut bytes = 0;
    while bytes <= limit {
        let piece = body.chunk().await;
        pieces.extend(body.take_wire());
        match piece {
            Ok(Some(piece)) => bytes += piece.len(),
            Ok(None) if body.has_ended() => return None,
            Ok(None) => return Some(Truncated::Length),
            Err(_) => return Some(Truncated::Disconnect),
        }
    }
    Some(Truncated::Length)
}
