//! What a path answers.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::fault::Fault;
use super::number::optional_millis;

/// One answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Page {
    /// Status, 200 to 599. Default 200, or 302 where there is a `location`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Header fields, in order, as `[name, value]`; a name may repeat. Default none. Content-Length
    /// and Transfer-Encoding are the server's own: a wrong one is what [`Fault`] is for. A Retry-After
    /// of whole seconds is on record as a hold, unless the status is a 2xx other than 202.
    pub headers: Vec<(String, String)>,
    /// The body as text. Default `ok` and a newline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// A body of this many bytes instead (before coding): byte `i` is the letter `a` + `i` mod 26.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_bytes: Option<u64>,
    /// The Location field of a redirect. On a path that ends in `*`, a `*` here is what the path's
    /// stood for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// `latency_ms`, milliseconds: service time in place of the script's. Default the script's.
    #[serde(
        rename = "latency_ms",
        with = "optional_millis",
        skip_serializing_if = "Option::is_none"
    )]
    pub latency: Option<Duration>,
    /// The content coding that the body really is sent in, whatever the client accepts. Default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coding: Option<Coding>,
    /// Whether quotas and outages leave this path alone. Default false. On a path with several
    /// answers the first one says.
    pub exempt: bool,
    /// What goes wrong with the answer. Default nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
}

impl Page {
    /// A page with this status and body.
    #[must_use]
    pub fn new(status: u16, body: impl Into<String>) -> Self {
        Self {
            status: Some(status),
            body: Some(body.into()),
            ..Self::default()
        }
    }

    /// A redirect, 302.
    #[must_use]
    pub fn redirect(location: impl Into<String>) -> Self {
        Self {
            location: Some(location.into()),
            ..Self::default()
        }
    }

    /// The default page with a fault.
    #[must_use]
    pub fn faulty(fault: Fault) -> Self {
        Self {
            fault: Some(fault),
            ..Self::default()
        }
    }
}

/// A content coding (RFC 9110, section 8.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coding {
    /// gzip.
    Gzip,
    /// deflate as the RFC means it: in a zlib wrapper.
    Deflate,
    /// deflate as some servers mean it: bare, under the same name.
    DeflateRaw,
    /// Brotli.
    Br,
    /// Zstandard.
    Zstd,
}
