//! What is stored of an origin's robots.txt.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// All that is remembered of an origin's robots.txt; a store keeps this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fetched {
    /// The last fetch gave an answer.
    Answered(StoredCopy),
    /// The last fetch failed: the origin's robots.txt is unreachable in the sense of RFC 9309, 2.3.1.4.
    Failing {
        /// The last answer before, if there was one.
        copy: Option<StoredCopy>,
        /// The failures since.
        failing: Failing,
    },
}

/// An answer that can be used again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredCopy {
    /// The status; `None` where redirects went on past the fifth.
    pub status: Option<u16>,
    /// The file, cut by [`cut_to_limit`](super::cut_to_limit); empty for an answer that is no file.
    #[serde(with = "octets")]
    pub body: Vec<u8>,
    /// When it came.
    pub fetched_at: Timestamp,
    /// When it was last known to be current: then, or at the last 304 since.
    pub validated_at: Timestamp,
    /// What a conditional request asks with.
    pub validators: Validators,
}

/// The header fields with which a copy is revalidated, as the server sent them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validators {
    /// ETag, for If-None-Match.
    pub etag: Option<String>,
    /// Last-Modified, for If-Modified-Since.
    pub last_modified: Option<String>,
}

/// A row of failed fetches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failing {
    /// Why the last one failed.
    pub why: Unreachable,
    /// When the first of the row failed.
    pub since: Timestamp,
    /// When the last one failed.
    pub last_at: Timestamp,
    /// How many there are, at least 1.
    pub in_a_row: u32,
}

/// Why a robots.txt is unreachable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Unreachable {
    /// 5xx.
    ServerError(u16),
    /// 429: by the letter a 4xx, but it says "not now" and not "there is none".
    TooManyRequests,
    /// A status that answers nothing: 1xx, 206 or 304 unasked for, a redirect that leads nowhere, or
    /// one outside 100–599.
    UnexpectedStatus(u16),
    /// A web page or JSON instead of the file, where the reading is strict.
    OtherDocument,
    /// The name could not be resolved.
    Dns,
    /// The connection was refused, or no route led there.
    Refused,
    /// The connection broke.
    Reset,
    /// TLS failed.
    Tls,
    /// It took too long.
    Timeout,
    /// The body ended early or could not be decoded.
    BrokenBody,
    /// A redirect to no URL or to another scheme than HTTP.
    BadRedirect,
    /// The response was not HTTP, or another failure of the protocol.
    Protocol,
}

impl Unreachable {
    /// The stable name, for logs and JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ServerError(_) => "server_error",
            Self::TooManyRequests => "too_many_requests",
            Self::UnexpectedStatus(_) => "unexpected_status",
            Self::OtherDocument => "other_document",
            Self::Dns => "dns",
            Self::Refused => "refused",
            Self::Reset => "reset",
            Self::Tls => "tls",
            Self::Timeout => "timeout",
            Self::BrokenBody => "broken_body",
            Self::BadRedirect => "bad_redirect",
            Self::Protocol => "protocol",
        }
    }

    /// The status, where there was a response.
    #[must_use]
    pub fn status(self) -> Option<u16> {
        match self {
            Self::ServerError(status) | Self::UnexpectedStatus(status) => Some(status),
            Self::TooManyRequests => Some(429),
            _ => None,
        }
    }

    /// Whether the host itself gave no response, so that its URLs cannot be had either.
    #[must_use]
    pub fn is_of_transport(self) -> bool {
        matches!(
            self,
            Self::Dns | Self::Refused | Self::Reset | Self::Tls | Self::Timeout
        )
    }
}

impl Fetched {
    /// The last answer, however old.
    #[must_use]
    pub fn copy(&self) -> Option<&StoredCopy> {
        match self {
            Self::Answered(copy) => Some(copy),
            Self::Failing { copy, .. } => copy.as_ref(),
        }
    }

    /// What to send with the next fetch, where there is a file to revalidate.
    #[must_use]
    pub fn validators(&self) -> Option<&Validators> {
        let copy = self.copy().filter(|copy| copy.is_file())?;
        (copy.validators != Validators::default()).then_some(&copy.validators)
    }
}

impl StoredCopy {
    /// Whether it holds a file, and not the news that there is none.
    #[must_use]
    pub fn is_file(&self) -> bool {
        self.status
            .is_some_and(|status| (200..300).contains(&status))
    }
}

/// Octets as text, each as the character of its number: an ASCII file is stored as it reads, and any
/// other comes back octet by octet.
mod octets {
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    pub(super) fn serialize<S: Serializer>(octets: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(
            &octets
                .iter()
                .map(|&octet| char::from(octet))
                .collect::<String>(),
        )
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(from)?;
        let octets: Result<Vec<u8>, _> = text.chars().map(u8::try_from).collect();
        octets.map_err(|_| D::Error::custom("a body holds a character over U+00FF"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_comes_back_octet_by_octet() {
        let now = Timestamp::from_secs(1);
        let copy = |body: &[u8]| StoredCopy {
            status: Some(200),
            body: body.to_vec(),
            fetched_at: now,
            validated_at: now,
            validators: Validators {
                etag: Some("W/\"x\"".to_owned()),
                last_modified: None,
            },
        };
        let every_octet = copy(&(0..=255).collect::<Vec<u8>>());
        let why = Unreachable::ServerError(502);
        let failing = Failing {
            why,
            since: now,
            last_at: now,
            in_a_row: 1,
        };
        for fetched in [
            Fetched::Answered(every_octet.clone()),
            Fetched::Failing {
                copy: Some(every_octet),
                failing,
            },
            Fetched::Failing {
                copy: None,
                failing,
            },
        ] {
            let text = serde_json::to_string(&fetched).unwrap();
            let back: Fetched = serde_json::from_str(&text).unwrap();
            assert_eq!(back, fetched, "{text}");
        }
        let text = serde_json::to_string(&copy(b"Disallow: /")).unwrap();
        assert!(text.contains(r#""body":"Disallow: /""#), "{text}");
        let wide = text.replace("Disallow", "ツ");
        assert!(serde_json::from_str::<StoredCopy>(&wide).is_err(), "{wide}");
    }
}
