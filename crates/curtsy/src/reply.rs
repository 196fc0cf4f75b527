//! What becomes of a request: [`Reply`].

use std::fmt;

use bytes::Bytes;
use curtsy_core::robots::Preferences;
use curtsy_core::{Bound, Timestamp};
use http::{HeaderMap, StatusCode};
use url::Url;

use crate::capture::Trail;
use crate::error::Error;
use crate::gate::Places;
use crate::metrics::ByteMeter;
use crate::transport;

/// The answer to one request: from the server, from robots.txt, or from the pace.
#[expect(
    clippy::large_enum_variant,
    reason = "one a request, and a box would cost what it saves"
)]
#[derive(Debug)]
pub enum Reply {
    /// A response, whatever its status; the last one where the tries ran out.
    Response(Response),
    /// robots.txt does not allow the URL (O4); nothing departed to it.
    Disallowed(Disallowed),
    /// It has to wait longer than the caller's patience (H10), or nothing departs at all (K2).
    Deferred(Deferred),
}

/// A response.
#[derive(Debug)]
pub struct Response {
    /// The URL that answered, after all redirects.
    pub url: Url,
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// What the server wants done with it, by its headers and, where that was asked, robots.txt. Nothing
    /// here acts on it.
    pub preferences: Preferences,
    /// R4: no request departed; the scope is suppressed after 403s, and this 403 is curtsy's own.
    pub synthetic: bool,
    /// How many requests departed for it, redirects included, robots.txt not.
    pub attempts: u32,
    /// When the first of them departed.
    pub first_departure: Option<Timestamp>,
    /// Its body, to be read or dropped.
    pub body: Body,
    /// Of a traced request: what an archive keeps of the exchanges.
    pub(crate) trail: Option<Box<Trail>>,
    /// Whether it answers a condition that curtsy set.
    pub(crate) conditional: bool,
}

/// A URL that robots.txt disallows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disallowed {
    /// The URL that is disallowed; after redirects not the one that was asked for.
    pub url: Url,
    /// The rule as the file has it; `None` where the whole file forbids.
    pub rule: Option<String>,
    /// The line of the rule.
    pub line: Option<u32>,
}

/// A request that was put off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deferred {
    /// The URL that has to wait; after redirects not the one that was asked for.
    pub url: Url,
    /// Not before then, and why.
    pub bound: Bound,
    /// How many requests departed for it so far.
    pub attempts: u32,
    /// When the first of them departed.
    pub first_departure: Option<Timestamp>,
    /// It was in nobody's way but those who wait for a place in its job.
    pub(crate) made_room: bool,
}

/// A response's body. It keeps its place among the requests in flight until it is read or dropped.
pub struct Body {
    body: Option<transport::Body>,
    meter: Option<ByteMeter>,
    _places: Option<Places>,
}

impl Body {
    pub(crate) fn new(body: transport::Body, meter: Option<ByteMeter>, places: Places) -> Self {
        Self {
            body: Some(body),
            meter,
            _places: Some(places),
        }
    }

    pub(crate) fn empty() -> Self {
        Self {
            body: None,
            meter: None,
            _places: None,
        }
    }

    /// The next piece, never empty; `None` once the body is whole.
    ///
    /// # Errors
    /// The body is cut short, too large, silent for too long, or does not decode.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        let Some(body) = &mut self.body else {
            return Ok(None);
        };
        let chunk = body.chunk().await?;
        if let (Some(chunk), Some(meter)) = (&chunk, &self.meter) {
            meter.add(chunk.len());
        }
        Ok(chunk)
    }

    /// What came over the wire since the last call, of a traced response.
    pub(crate) fn take_wire(&mut self) -> Vec<Bytes> {
        let body = self.body.as_mut();
        body.map_or_else(Vec::new, transport::Body::take_wire)
    }

    /// Whether the server has sent all of it.
    pub(crate) fn has_ended(&self) -> bool {
        self.body.as_ref().is_none_or(transport::Body::has_ended)
    }

    /// All that is left of the body, at most `limit` bytes.
    ///
    /// # Errors
    /// As [`chunk`](Self::chunk), and where the body is larger than `limit`.
    pub async fn collect(self, limit: usize) -> Result<Bytes, Error> {
        let Some(body) = self.body else {
            return Ok(Bytes::new());
        };
        let whole = body.collect(limit).await?;
        if let Some(meter) = &self.meter {
            meter.add(whole.len());
        }
        Ok(whole)
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Body(..)")
    }
}
