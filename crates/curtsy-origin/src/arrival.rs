//! What an origin remembers of each request.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// One request, from the moment its head had been read.
///
/// Instants are durations since the base of the origin's [clock](crate::Clock); in the log they are
/// whole microseconds, `…_us`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arrival {
    /// Its number, from 1, in the order of arrival.
    pub seq: u64,
    /// `at_us`: when its head had been read.
    #[serde(rename = "at_us", with = "micros")]
    pub at: Duration,
    /// The same in microseconds since the Unix epoch, by the machine's clock without the script's skew.
    pub epoch_us: u64,
    /// `answered_us`: when the head of the answer was handed to the connection. None while there is
    /// no answer.
    #[serde(rename = "answered_us", with = "optional_micros")]
    pub answered: Option<Duration>,
    /// `done_us`: when the last byte was handed over, or the request was given up. None while it is
    /// under way.
    #[serde(rename = "done_us", with = "optional_micros")]
    pub done: Option<Duration>,
    /// Whether the whole answer was handed over.
    pub whole: bool,
    /// The connection, numbered from 1 in the order of acceptance.
    pub connection: u64,
    /// The version of HTTP.
    pub protocol: Protocol,
    /// The method.
    pub method: String,
    /// The authority of the request: Host, or `:authority`.
    pub host: Option<String>,
    /// The path with its query.
    pub path: String,
    /// User-Agent.
    pub user_agent: Option<String>,
    /// What became of it.
    pub verdict: Verdict,
    /// The status. None without an answer; for raw bytes too.
    pub status: Option<u16>,
    /// `hold_until_us`: the end of the time in which its answer told the client to stay away.
    #[serde(rename = "hold_until_us", with = "optional_micros")]
    pub hold_until: Option<Duration>,
    /// How many requests were under way when it came, itself included.
    pub in_flight: u32,
    /// All its header fields, names in lower case, in order. Kept of the first arrivals only
    /// ([`Options::keep_headers`](crate::Options)), and not logged.
    #[serde(skip)]
    pub headers: Vec<(String, String)>,
}

impl Arrival {
    /// The path without its query.
    #[must_use]
    pub fn bare_path(&self) -> &str {
        self.path.split('?').next().unwrap_or(&self.path)
    }

    /// The first value of a header field, named in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find_map(|(key, value)| (key == name).then_some(value.as_str()))
    }
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Admitted: it got its page, with that page's faults.
    Ok,
    /// A quota refused it.
    Refused,
    /// It fell into an outage.
    Outage,
    /// No quota governs it: /robots.txt, pages that say so.
    Exempt,
}

impl Verdict {
    /// As it stands in a log.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Refused => "refused",
            Self::Outage => "outage",
            Self::Exempt => "exempt",
        }
    }
}

/// The version of HTTP that a request came by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1.
    Http11,
    /// HTTP/2.
    Http2,
}

impl Protocol {
    /// As it stands in a log.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Http10 => "http10",
            Self::Http11 => "http11",
            Self::Http2 => "http2",
        }
    }
}

/// Whole microseconds, rounded down.
pub(crate) fn as_micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

mod micros {
    use super::*;
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        at: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(as_micros(*at))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_micros)
    }
}

mod optional_micros {
    use super::*;
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        at: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        at.map(as_micros).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map(Duration::from_micros))
    }
}
