//! The names in a signal: which quota, which field, which unit, which host profile.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Tells the same quota from response to response: the policy's name, or the family of fields with
/// limit and window. At most 64 bytes; a longer one is cut and made unique by a hash.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct QuotaKey(Cow<'static, str>);

/// The field that said so, spelled as its documentation spells it: stable text for logs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Source(Cow<'static, str>);

/// What a quota counts. Only requests (and concurrent requests) steer the pace of requests.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Unit {
    /// Requests in a window.
    #[default]
    Requests,
    /// Requests in flight at once.
    ConcurrentRequests,
    /// Bytes of content.
    ContentBytes,
    /// Tokens of a language model.
    Tokens,
    /// Points of query complexity.
    Complexity,
    /// Hundredths of a quota whose size is not told.
    Percent,
    /// Weighted requests.
    Weight,
    /// A unit that is not known.
    Other,
}

/// A host whose dialect only its name can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Profile {
    /// Discord's API before version 8: Retry-After in milliseconds.
    #[serde(rename = "discord-v6")]
    DiscordV6,
    /// OpenAlex: the counters are credits, a call costs several.
    #[serde(rename = "openalex")]
    OpenAlex,
    /// Prisjakt: X-Rate-Limit-Reset in milliseconds from now.
    #[serde(rename = "prisjakt")]
    Prisjakt,
}

impl QuotaKey {
    /// The longest key, in bytes.
    pub const MAX_LEN: usize = 64;

    /// The key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&'static str> for QuotaKey {
    fn from(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }
}

impl fmt::Display for QuotaKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Source {
    /// The field name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&'static str> for Source {
    fn from(field: &'static str) -> Self {
        Self(Cow::Borrowed(field))
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
