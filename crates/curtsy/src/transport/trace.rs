//! An exchange as it went over the wire, for those who archive it.

use std::fmt;
use std::net::IpAddr;

use http::{HeaderMap, Method};

use super::connection::OutgoingRequest;

/// What was sent, and to which address: see [`Checkout::traced`](super::Checkout::traced).
#[non_exhaustive]
pub struct Trace {
    /// The request's method.
    pub method: Method,
    /// The path with the query, as it was sent.
    pub path: String,
    /// The request's header fields as they were sent, credentials too; over HTTP/2 without `Host`, whose
    /// place the authority takes there.
    pub headers: HeaderMap,
    /// The server's address; none where a proxy stands between.
    pub address: Option<IpAddr>,
}

impl Trace {
    pub(super) fn of(request: &OutgoingRequest, address: Option<IpAddr>) -> Self {
        Self {
            method: request.method().clone(),
            path: request
                .uri()
                .path_and_query()
                .map_or("/", |path| path.as_str())
                .to_owned(),
            headers: request.headers().clone(),
            address,
        }
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace")
            .field("method", &self.method)
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}
