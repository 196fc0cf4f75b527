//! What can go wrong with an answer.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::number::millis;

/// A way to misbehave. Over HTTP/2 a cut ends the stream with an error, a reset the whole connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// The connection closes after `after_bytes` of the body, though Content-Length promises more.
    CutBody {
        /// Bytes of body that are sent. Where the body is no longer than that, one byte more than it
        /// has is promised.
        after_bytes: u64,
    },
    /// After `after_bytes` of the body nothing follows, and the connection stays open.
    StallBody {
        /// Bytes of body that are sent. Where the body is no longer, one more byte is promised.
        after_bytes: u64,
    },
    /// The body never ends; its length is not told. The page's own body is not used.
    EndlessBody {
        /// `every_ms`, milliseconds between chunks of 16 KiB. Default 0: as fast as the client reads.
        #[serde(rename = "every_ms", with = "millis", default)]
        every: Duration,
    },
    /// The body comes in small pieces, with a pause before each.
    DripBody {
        /// Bytes a piece, from 1. Default 1.
        #[serde(default = "one_byte")]
        bytes: usize,
        /// `every_ms`, milliseconds: the pause.
        #[serde(rename = "every_ms", with = "millis")]
        every: Duration,
    },
    /// No answer comes, and the connection stays open.
    NoHead,
    /// The head has a field `x-huge` of this many bytes.
    HugeHeader {
        /// Bytes of its value, up to 64 MiB.
        bytes: usize,
    },
    /// The connection is reset (RST) in place of an answer.
    ResetBeforeHead,
    /// The connection is reset once the head has left.
    ResetAfterHead,
    /// These bytes go out in place of an answer, then the connection closes. No bytes at all is what
    /// a client sees that reuses a connection too late.
    Raw(String),
}

fn one_byte() -> usize {
    1
}
