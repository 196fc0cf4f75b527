//! One connection that HTTP is spoken on.

use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::Bytes;
use http::header::HeaderValue;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};

use super::departures::{Departures, Recorded};
use super::dial::Dialed;
use super::error::{TransportError, TransportErrorKind};
use super::guard::Reach;
use crate::clock::Clock;

/// The largest header section of a response, in bytes.
pub(super) const HEADER_BYTES: u32 = 256 * 1024;
/// The most header lines of an HTTP/1 response.
const HEADER_LINES: usize = 256;
/// The most requests at a time on one HTTP/2 connection, where the server allows as many.
const STREAM_LIMIT: usize = 100;

pub(super) type OutgoingRequest = Request<Full<Bytes>>;
pub(super) type PendingResponse =
    Pin<Box<dyn Future<Output = Result<Response<Incoming>, TransportError>> + Send>>;

/// What is known of a connection from its making.
pub(super) struct Facts {
    pub(super) peer: Option<SocketAddr>,
    /// Where the target leads: see `Dialed::reach`.
    pub(super) reach: Reach,
    /// Whether requests are written in absolute form, for a proxy to forward.
    pub(super) forwarded: bool,
    /// The proxy's credentials, for each request that it forwards.
    pub(super) proxy_authorization: Option<HeaderValue>,
}

/// An HTTP/1 connection: one request at a time.
pub(super) struct Http1 {
    sender: http1::SendRequest<Full<Bytes>>,
    departures: Arc<Departures>,
    facts: Facts,
}

/// An HTTP/2 connection, shared by its requests.
pub(super) struct Http2 {
    sender: http2::SendRequest<Full<Bytes>>,
    departures: Arc<Departures>,
    facts: Facts,
    /// Requests that hold a stream or are about to.
    streams: AtomicUsize,
    /// How many the server allows at a time.
    allowed: Arc<AtomicUsize>,
    /// No new requests: it failed one of them in a way that casts doubt on the others.
    retired: AtomicBool,
}

/// A right to send one request.
pub(super) enum Permit {
    Http1(Http1),
    Http2(Stream),
}

/// A place among the requests of an HTTP/2 connection, given up when dropped.
pub(super) struct Stream(Arc<Http2>);

/// Makes a dialed stream into a connection. Its task ends when the connection closes, or when it is
/// idle and nobody holds it any more.
pub(super) async fn open(
    dialed: Dialed,
    proxy_authorization: Option<HeaderValue>,
    forwarded: bool,
    clock: Clock,
) -> Result<Permit, TransportError> {
    let departures = Departures::new(clock);
    let facts = Facts {
        peer: dialed.peer,
        reach: dialed.reach,
        forwarded,
        proxy_authorization,
    };
    if dialed.http2 {
        let io = TokioIo::new(Recorded::http2(dialed.stream, Arc::clone(&departures)));
        let http2 = open_http2(io, departures, facts).await?;
        return Ok(Permit::Http2(Stream::first(Arc::new(http2))));
    }
    let io = TokioIo::new(Recorded::http1(dialed.stream, Arc::clone(&departures)));
    Ok(Permit::Http1(open_http1(io, departures, facts).await?))
}

async fn open_http1(
    io: TokioIo<Recorded>,
    departures: Arc<Departures>,
    facts: Facts,
) -> Result<Http1, TransportError> {
    let (sender, connection) = http1::Builder::new()
        .max_header_size(HEADER_BYTES as usize)
        .max_headers(HEADER_LINES)
        // Servers in the field break these three rules, and every browser reads them.
        .allow_spaces_after_header_name_in_responses(true)
        .allow_obsolete_multiline_headers_in_responses(true)
        .ignore_invalid_headers_in_responses(true)
        .handshake(io)
        .await
        .map_err(TransportError::from_head)?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "http/1 connection ended");
        }
    });
    Ok(Http1 {
        sender,
        departures,
        facts,
    })
}

async fn open_http2(
    io: TokioIo<Recorded>,
    departures: Arc<Departures>,
    facts: Facts,
) -> Result<Http2, TransportError> {
    let (sender, mut connection) = http2::Builder::new(TokioExecutor::new())
        .max_header_list_size(HEADER_BYTES)
        .handshake(io)
        .await
        .map_err(TransportError::from_head)?;
    let allowed = Arc::new(AtomicUsize::new(STREAM_LIMIT));
    let told = Arc::clone(&allowed);
    tokio::spawn(async move {
        let ended = poll_fn(|cx| {
            let polled = Pin::new(&mut connection).poll(cx);
            told.store(connection.current_max_send_streams(), Ordering::Relaxed);
            polled
        })
        .await;
        if let Err(error) = ended {
            tracing::debug!(%error, "http/2 connection ended");
        }
    });
    Ok(Http2 {
        sender,
        departures,
        facts,
        streams: AtomicUsize::new(0),
        allowed,
        retired: AtomicBool::new(false),
    })
}

impl Http1 {
    pub(super) fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Whether the next request can be handed over now.
    pub(super) fn is_ready(&self) -> bool {
        self.sender.is_ready()
    }

    /// Waits until the next request can be handed over: the time that the connection's task needs to
    /// finish with the last one. False where the connection closed instead.
    pub(super) async fn ready(&mut self) -> bool {
        self.sender.ready().await.is_ok()
    }

    pub(super) fn facts(&self) -> &Facts {
        &self.facts
    }
}

impl Http2 {
    /// Whether new requests may be sent on it, apart from how many there are.
    pub(super) fn is_open(&self) -> bool {
        !self.sender.is_closed() && !self.retired.load(Ordering::Relaxed)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.streams.load(Ordering::Relaxed) == 0
    }

    pub(super) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// A place for one more request; none where the server allows no more.
    pub(super) fn reserve(self: &Arc<Self>) -> Option<Stream> {
        let allowed = self.allowed.load(Ordering::Relaxed).min(STREAM_LIMIT);
        let taken = self
            .streams
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |streams| {
                (streams < allowed).then_some(streams + 1)
            });
        taken.ok().map(|_| Stream(Arc::clone(self)))
    }

    fn retire(&self) {
        self.retired.store(true, Ordering::Relaxed);
    }
}

impl Stream {
    fn first(connection: Arc<Http2>) -> Self {
        connection.streams.fetch_add(1, Ordering::Relaxed);
        Self(connection)
    }

    pub(super) fn connection(&self) -> &Arc<Http2> {
        &self.0
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.0.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Permit {
    pub(super) fn is_open(&self) -> bool {
        match self {
            Self::Http1(http1) => http1.is_open(),
            Self::Http2(stream) => stream.0.is_open(),
        }
    }

    pub(super) fn facts(&self) -> &Facts {
        match self {
            Self::Http1(http1) => &http1.facts,
            Self::Http2(stream) => &stream.0.facts,
        }
    }

    pub(super) fn is_http2(&self) -> bool {
        matches!(self, Self::Http2(_))
    }

    pub(super) fn departures(&self) -> &Arc<Departures> {
        match self {
            Self::Http1(http1) => &http1.departures,
            Self::Http2(stream) => &stream.0.departures,
        }
    }

    /// Hands a request to the connection's task.
    pub(super) fn hand_over(
        &mut self,
        request: OutgoingRequest,
    ) -> (
        PendingResponse,
        tokio::sync::oneshot::Receiver<curtsy_core::Timestamp>,
    ) {
        match self {
            Self::Http1(http1) => {
                let sender = &mut http1.sender;
                let departures = Arc::clone(&http1.departures);
                http1.departures.hand_over(|| -> PendingResponse {
                    let response = sender.try_send_request(request);
                    Box::pin(async move {
                        response.await.map_err(|error| {
                            // Where not a byte was accepted, it was not sent, whatever failed.
                            let unsent = error.message().is_some() || !departures.has_begun();
                            failure(error, unsent)
                        })
                    })
                })
            }
            Self::Http2(stream) => {
                let mut sender = stream.0.sender.clone();
                stream.0.departures.hand_over(|| -> PendingResponse {
                    let response = sender.try_send_request(request);
                    Box::pin(async move {
                        response.await.map_err(|error| {
                            let unsent = error.message().is_some();
                            failure(error, unsent)
                        })
                    })
                })
            }
        }
    }

    /// Takes no further requests on an HTTP/2 connection. An HTTP/1 connection needs no telling: it
    /// closes unless its request ends well.
    pub(super) fn retire(&self) {
        if let Self::Http2(stream) = self {
            stream.0.retire();
        }
    }
}

fn failure(error: TrySendError<OutgoingRequest>, unsent: bool) -> TransportError {
    let error = error.into_error();
    if unsent {
        TransportError::with_source(TransportErrorKind::Unsent, error)
    } else {
        TransportError::from_head(error)
    }
}
