//! A connection that stands, and one request on it.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use curtsy_core::Timestamp;
use http::{HeaderMap, Method, Request, Response, StatusCode, Version};
use hyper::body::Incoming;

use super::body::Body;
use super::connection::{PendingResponse, Permit};
use super::error::{Phase, TransportError, TransportErrorKind};
use super::guard::Reach;
use super::limits::{Deadline, Limits};
use super::pool::{Key, Pool};
use super::request::{self, Form};
use super::trace::Trace;
use super::wire::Wire;

/// A connection on which one request may be sent at once: what is in hand when the gate is passed.
///
/// Dropped unused, it goes back to the pool.
pub struct Checkout {
    home: Home,
    /// Always there until the request is sent.
    permit: Option<Permit>,
    limits: Limits,
    reused: bool,
    decode: bool,
    traced: bool,
}

/// Where a connection goes back to.
#[derive(Clone)]
pub(super) struct Home {
    pub(super) pool: Arc<Pool>,
    pub(super) key: Key,
}

impl Home {
    /// Takes back a connection that is done with its request.
    pub(super) fn take_back(self, permit: Permit) {
        if let Permit::Http1(http1) = permit {
            self.pool.keep(self.key, http1);
        }
        // An HTTP/2 connection never left the pool; dropping its permit makes room for another.
    }
}

impl Checkout {
    pub(super) fn new(home: Home, permit: Permit, limits: Limits, reused: bool) -> Self {
        Self {
            home,
            permit: Some(permit),
            limits,
            reused,
            decode: true,
            traced: false,
        }
    }

    /// Whether the connection is, as far as is known here, still open. To be asked after every wait:
    /// servers close idle connections.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.permit.as_ref().is_some_and(Permit::is_open)
    }

    /// Whether the connection has been in the pool before, or is shared.
    #[must_use]
    pub fn is_reused(&self) -> bool {
        self.reused
    }

    /// The address at the other end: the server's or, where one is used, the proxy's.
    #[must_use]
    pub fn peer(&self) -> Option<SocketAddr> {
        self.permit.as_ref().and_then(|permit| permit.facts().peer)
    }

    /// Whether the target counts as a public one, so that what it redirects to must be public too: its
    /// address is public, or was given with `--resolve`; through a proxy, its name or literal address
    /// is not one of this machine or a private network.
    #[must_use]
    pub fn is_public(&self) -> bool {
        self.permit
            .as_ref()
            .is_some_and(|permit| permit.facts().reach == Reach::Public)
    }

    /// The body as it comes over the wire: no content coding is offered, and none is decoded.
    #[must_use]
    pub fn undecoded(mut self) -> Self {
        self.decode = false;
        self
    }

    /// Keeps what is sent and received as it is on the wire: [`Head::trace`] is given, and
    /// [`Body::take_wire`] hands out the bytes as they came. Default: neither.
    #[must_use]
    pub fn traced(mut self, traced: bool) -> Self {
        self.traced = traced;
        self
    }

    /// Sends `request` and is ready as soon as it has been written.
    ///
    /// Of the URI only path and query count; scheme, host and port are the checkout's. `Host` and
    /// `Accept-Encoding` are added where the caller has not set them; a caller's
    /// `Proxy-Authorization` gives way to the proxy's own. Nothing is ever sent again.
    ///
    /// The request is handed over when the future is first polled, and written when the connection's
    /// task runs next. The time of that write is [`Sent::departed_at`] (behaviour P10).
    ///
    /// # Errors
    /// `Unsent`: no departure took place; check out again. `Request`: none either. With any other
    /// error the request may have left, and is to be counted as a departure at the time of the error.
    pub async fn send(mut self, request: Request<Bytes>) -> Result<Sent, TransportError> {
        let method = request.method().clone();
        let Some(permit) = self.permit.as_ref().filter(|permit| permit.is_open()) else {
            return Err(TransportError::new(TransportErrorKind::Unsent));
        };
        let form = Form {
            target: &self.home.key.target,
            facts: permit.facts(),
            http2: permit.is_http2(),
            offer_codings: self.decode,
        };
        let outgoing = request::write(request, &form)?;
        let trace = self.traced.then(|| {
            let direct = !self.home.key.proxied;
            let peer = form.facts.peer.filter(|_| direct);
            Box::new(Trace::of(&outgoing, peer.map(|peer| peer.ip())))
        });
        let Some(mut permit) = self.permit.take() else {
            return Err(TransportError::new(TransportErrorKind::Unsent));
        };
        let mut deadline = Deadline::start(&self.limits);
        let departures = Arc::clone(permit.departures());
        let (response, mut departure) = permit.hand_over(outgoing);
        let mut exchange = Exchange {
            permit: Some(permit),
            response,
            doubtful: true,
        };
        let mut departure_expected = true;
        let (departed_at, early) = poll_fn(|cx| {
            if departure_expected {
                match Pin::new(&mut departure).poll(cx) {
                    Poll::Ready(Ok(departed_at)) => {
                        return Poll::Ready(Ok((departed_at, None)));
                    }
                    // The connection's task is gone; the response says why.
                    Poll::Ready(Err(_)) => departure_expected = false,
                    Poll::Pending => {}
                }
            }
            if let Poll::Ready(response) = exchange.response.as_mut().poll(cx) {
                // Answered, so written; the flush was not seen, so the time is this at the latest.
                let departed_at = departures.clock().stamp();
                return Poll::Ready(response.map(|response| (departed_at, Some(response))));
            }
            deadline.poll(cx).map(|phase| Err(timed_out(phase)))
        })
        .await?;
        exchange.doubtful = false;
        Ok(Sent {
            departed_at,
            early,
            exchange,
            deadline,
            home: self.home.clone(),
            limits: self.limits,
            decode: self.decode,
            method,
            trace,
        })
    }
}

impl Drop for Checkout {
    fn drop(&mut self) {
        if let Some(permit) = self.permit.take() {
            self.home.clone().take_back(permit);
        }
    }
}

/// A request under way. Dropped, it takes an HTTP/1 connection with it, and resets an HTTP/2 stream.
pub struct Sent {
    departed_at: Timestamp,
    early: Option<Response<Incoming>>,
    exchange: Exchange,
    deadline: Deadline,
    home: Home,
    limits: Limits,
    decode: bool,
    method: Method,
    trace: Option<Box<Trace>>,
}

/// A response's head, with the body to follow.
#[derive(Debug)]
#[non_exhaustive]
pub struct Head {
    /// The status; informational ones (1xx) are passed over.
    pub status: StatusCode,
    /// The version that the server answered in.
    pub version: Version,
    /// All header fields as they came; `Content-Encoding` and `Content-Length` are of the wire, and
    /// not of the decoded body.
    pub headers: HeaderMap,
    /// The body, to be read or dropped.
    pub body: Body,
    /// What was sent, of a [traced](Checkout::traced) checkout.
    pub trace: Option<Box<Trace>>,
}

impl Sent {
    /// When the request's last byte had been given to the kernel: never before the write itself, and
    /// later by the time it takes to read the clock (behaviour P10). Where only the answer shows that
    /// the request was written, the time of the answer.
    #[must_use]
    pub fn departed_at(&self) -> Timestamp {
        self.departed_at
    }

    /// Waits for the response's head.
    ///
    /// # Errors
    /// `Timeout`, `HeaderTooLarge`, `Protocol`, `Reset`, `Tls`. The request has departed in any case.
    pub async fn head(mut self) -> Result<Head, TransportError> {
        let response = match self.early.take() {
            Some(response) => response,
            None => {
                poll_fn(|cx| {
                    if let Poll::Ready(response) = self.exchange.response.as_mut().poll(cx) {
                        return Poll::Ready(response);
                    }
                    self.deadline.poll(cx).map(|phase| {
                        self.exchange.doubtful = true;
                        Err(timed_out(phase))
                    })
                })
                .await?
            }
        };
        let (parts, incoming) = response.into_parts();
        let permit = self.exchange.permit.take();
        self.deadline.note_head();
        let mut wire = Wire::new(incoming, self.deadline, self.home, permit);
        if self.trace.is_some() {
            wire.keep();
        }
        let decode = self.decode
            && self.method != Method::HEAD
            // Part of an encoded body cannot be decoded by itself.
            && parts.status != StatusCode::PARTIAL_CONTENT;
        let body = Body::new(wire, decode.then_some(&parts.headers), self.limits.body);
        Ok(Head {
            status: parts.status,
            version: parts.version,
            headers: parts.headers,
            body,
            trace: self.trace,
        })
    }
}

/// A request that was handed over and not yet answered.
struct Exchange {
    permit: Option<Permit>,
    response: PendingResponse,
    /// Whether an HTTP/2 connection on which it is given up now is of no further use: it may be dead,
    /// or have skipped the request, which would put the departures of those behind it in doubt.
    doubtful: bool,
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if let Some(permit) = self.permit.as_ref().filter(|_| self.doubtful) {
            permit.retire();
        }
    }
}

fn timed_out(phase: Phase) -> TransportError {
    TransportError::new(TransportErrorKind::Timeout(phase))
}
