//! Why a request could not be done.

use std::error::Error;
use std::{fmt, io};

/// A request or a connection that failed. Opaque: ask [`kind`](Self::kind), never the text.
///
/// The message names no URL, header or credential; what lies beneath is in `source()`.
pub struct TransportError {
    inner: Box<Inner>,
}

struct Inner {
    kind: TransportErrorKind,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// What kind of failure a [`TransportError`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TransportErrorKind {
    /// An option that makes no sense: a certificate file without certificates, a proxy that is no
    /// http(s) URL, a `--resolve` entry that cannot be read. Only while a transport is built.
    Configuration,
    /// The request cannot be written as HTTP, for instance since it holds an invalid `Host`.
    Request,
    /// The name has no address, or could not be looked up.
    Dns,
    /// Nothing listens at the address.
    Refused,
    /// No route to the address.
    Unreachable,
    /// The connection was reset, or closed before the answer began.
    Reset,
    /// Took longer than allowed.
    Timeout(Phase),
    /// The TLS handshake failed, the certificate does not hold, or a record was damaged.
    Tls,
    /// The proxy refused or failed to reach the server.
    Proxy,
    /// The address is not public and the guard asks for public ones.
    RefusedTarget,
    /// The response's header section is larger than allowed. HTTP/2 reports it as `Protocol`.
    HeaderTooLarge,
    /// What came back is not valid HTTP.
    Protocol,
    /// The body ended before it was whole.
    BodyCutShort,
    /// The body is larger than allowed, once decoded.
    BodyTooLarge,
    /// The body does not decode by its own `Content-Encoding`.
    BadEncoding,
    /// Nothing of the request was written: the connection had closed before. No departure took place,
    /// and the request may be sent on another connection as if for the first time.
    Unsent,
}

/// Which part of an exchange took too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Name lookup, TCP, proxy and TLS together.
    Connect,
    /// From the hand-over of the request to the whole response head.
    Head,
    /// A silence within the body.
    Body,
    /// The whole exchange, from the hand-over to the end of the body.
    Total,
}

impl TransportErrorKind {
    /// A stable name in snake_case, for manifest, audit log and metrics.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Request => "bad_request",
            Self::Dns => "dns",
            Self::Refused => "refused",
            Self::Unreachable => "unreachable",
            Self::Reset => "reset",
            Self::Timeout(Phase::Connect) => "timeout_connect",
            Self::Timeout(Phase::Head) => "timeout_head",
            Self::Timeout(Phase::Body) => "timeout_body",
            Self::Timeout(Phase::Total) => "timeout_total",
            Self::Tls => "tls",
            Self::Proxy => "proxy",
            Self::RefusedTarget => "refused_target",
            Self::HeaderTooLarge => "header_too_large",
            Self::Protocol => "protocol",
            Self::BodyCutShort => "body_cut_short",
            Self::BodyTooLarge => "body_too_large",
            Self::BadEncoding => "bad_encoding",
            Self::Unsent => "unsent",
        }
    }

    const fn message(self) -> &'static str {
        match self {
            Self::Configuration => "the transport's configuration is not valid",
            Self::Request => "the request cannot be written as http",
            Self::Dns => "the host's name could not be resolved",
            Self::Refused => "the connection was refused",
            Self::Unreachable => "the host cannot be reached",
            Self::Reset => "the connection was reset or closed before the answer",
            Self::Timeout(Phase::Connect) => "connecting took too long",
            Self::Timeout(Phase::Head) => "the answer did not begin in time",
            Self::Timeout(Phase::Body) => "the body fell silent",
            Self::Timeout(Phase::Total) => "the whole request took too long",
            Self::Tls => "tls failed",
            Self::Proxy => "the proxy failed",
            Self::RefusedTarget => "the address is not a public one",
            Self::HeaderTooLarge => "the response's header is too large",
            Self::Protocol => "the response is not valid http",
            Self::BodyCutShort => "the body ended before it was whole",
            Self::BodyTooLarge => "the body is too large",
            Self::BadEncoding => "the body does not decode",
            Self::Unsent => "the connection had closed before the request was written",
        }
    }
}

impl TransportError {
    pub(super) fn new(kind: TransportErrorKind) -> Self {
        Self {
            inner: Box::new(Inner { kind, source: None }),
        }
    }

    pub(super) fn with_source(
        kind: TransportErrorKind,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self {
            inner: Box::new(Inner {
                kind,
                source: Some(source.into()),
            }),
        }
    }

    /// What kind of failure this is.
    #[must_use]
    pub fn kind(&self) -> TransportErrorKind {
        self.inner.kind
    }

    /// A failure to connect, or of a TLS handshake.
    pub(super) fn from_connect(error: io::Error) -> Self {
        let kind = kind_of_io(&error, Phase::Connect);
        Self::with_source(kind, error)
    }

    /// A failure between the hand-over of a request and its response head.
    pub(super) fn from_head(error: hyper::Error) -> Self {
        Self::with_source(kind_of_hyper(&error, Phase::Head), error)
    }

    /// A failure within a body.
    pub(super) fn from_body(error: hyper::Error) -> Self {
        Self::with_source(kind_of_hyper(&error, Phase::Body), error)
    }
}

fn kind_of_hyper(error: &hyper::Error, phase: Phase) -> TransportErrorKind {
    // The cause is asked first: hyper's own kinds only say in which step an io or h2 error occurred.
    let mut cause = error.source();
    while let Some(current) = cause {
        if let Some(io) = current.downcast_ref::<io::Error>() {
            return kind_of_io(io, phase);
        }
        if let Some(h2) = current.downcast_ref::<h2::Error>() {
            return kind_of_h2(h2, phase);
        }
        cause = current.source();
    }
    if error.is_parse_too_large() {
        TransportErrorKind::HeaderTooLarge
    } else if error.is_parse() {
        TransportErrorKind::Protocol
    } else if error.is_incomplete_message() && phase == Phase::Body {
        TransportErrorKind::BodyCutShort
    } else if error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
        TransportErrorKind::Reset
    } else if error.is_timeout() {
        TransportErrorKind::Timeout(phase)
    } else if error.is_user() || phase == Phase::Body {
        // hyper counts a connection task that is gone, as when the runtime ends, among the user's errors.
        TransportErrorKind::Reset
    } else {
        TransportErrorKind::Protocol
    }
}

fn kind_of_h2(error: &h2::Error, phase: Phase) -> TransportErrorKind {
    if let Some(io) = error.get_io() {
        return kind_of_io(io, phase);
    }
    // What the h2 library itself objects to is the server's breach of the protocol.
    if error.is_library() {
        TransportErrorKind::Protocol
    } else {
        TransportErrorKind::Reset
    }
}

fn kind_of_io(error: &io::Error, phase: Phase) -> TransportErrorKind {
    if error
        .get_ref()
        .is_some_and(|inner| inner.is::<rustls::Error>())
    {
        return TransportErrorKind::Tls;
    }
    match error.kind() {
        io::ErrorKind::ConnectionRefused => TransportErrorKind::Refused,
        io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkUnreachable
        | io::ErrorKind::NetworkDown
        | io::ErrorKind::AddrNotAvailable => TransportErrorKind::Unreachable,
        io::ErrorKind::TimedOut => TransportErrorKind::Timeout(phase),
        // Within a body this is an end before the declared length, or TLS without its close_notify.
        io::ErrorKind::UnexpectedEof if phase == Phase::Body => TransportErrorKind::BodyCutShort,
        io::ErrorKind::UnexpectedEof if phase == Phase::Connect => TransportErrorKind::Tls,
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => TransportErrorKind::Protocol,
        _ => TransportErrorKind::Reset,
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.inner.kind.message())
    }
}

impl fmt::Debug for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransportError")
            .field("kind", &self.inner.kind)
            .field("source", &self.inner.source)
            .finish()
    }
}

impl Error for TransportError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.inner
            .source
            .as_deref()
            .map(|source| source as &(dyn Error + 'static))
    }
}
