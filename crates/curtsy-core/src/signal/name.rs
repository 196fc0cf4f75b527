//! The names in a signal: which quota, which field, which unit, which host profile.

use std::borrow::Cow;
use std::fmt::{self, Write};

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

impl Unit {
    /// The unit that a draft's `qu` parameter names.
    pub(super) fn from_draft(name: &str) -> Self {
        match name {
            "requests" => Self::Requests,
            "concurrent-requests" => Self::ConcurrentRequests,
            "content-bytes" => Self::ContentBytes,
            "tokens" => Self::Tokens,
            "complexity" => Self::Complexity,
            "percent" => Self::Percent,
            "weight" => Self::Weight,
            _ => Self::Other,
        }
    }
}

impl QuotaKey {
    /// The longest key, in bytes.
    pub const MAX_LEN: usize = 64;

    /// A key of any text; what is longer than [`MAX_LEN`](Self::MAX_LEN) is cut and made unique by a
    /// fingerprint of the whole.
    #[must_use]
    pub fn new(mut text: String) -> Self {
        if text.len() > Self::MAX_LEN {
            let whole = fingerprint(text.as_bytes());
            let cut = text.floor_char_boundary(Self::MAX_LEN - 17);
            text.truncate(cut);
            let _ = write!(text, "#{whole:016x}");
        }
        Self(Cow::Owned(text))
    }

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
    /// A field as documentation spells it, from its name in lower case; a key in a body, which is
    /// marked by a colon, as it stands.
    pub(super) fn of_field(name: &str) -> Self {
        if name == "retry-after" {
            return Self(Cow::Borrowed("Retry-After"));
        }
        if name.contains(':') {
            return Self(Cow::Owned(name.to_owned()));
        }
        let mut spelled = String::with_capacity(name.len());
        for word in name
            .get(..name.len().min(QuotaKey::MAX_LEN))
            .unwrap_or("")
            .split('-')
        {
            if !spelled.is_empty() {
                spelled.push('-');
            }
            match word.strip_prefix("ratelimit") {
                Some(rest) => {
                    spelled.push_str("RateLimit");
                    spelled.push_str(rest);
                }
                None => {
                    let mut letters = word.chars();
                    spelled.extend(letters.next().map(|first| first.to_ascii_uppercase()));
                    spelled.push_str(letters.as_str());
                }
            }
        }
        Self(Cow::Owned(spelled))
    }

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

/// A number that tells texts apart, the same in every run and release (FNV-1a, 64 bits).
pub(super) fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_key_is_cut_and_stays_unique() {
        let (one, other) = ("é".repeat(500), format!("{}x", "é".repeat(500)));
        let (one, other) = (QuotaKey::new(one), QuotaKey::new(other));
        assert!(one.as_str().len() <= QuotaKey::MAX_LEN);
        assert_ne!(one, other);
    }

    #[test]
    fn a_source_is_spelled_as_in_documentation() {
        for (name, spelled) in [
            ("retry-after", "Retry-After"),
            ("x-ratelimit-reset", "X-RateLimit-Reset"),
            (
                "anthropic-ratelimit-tokens-reset",
                "Anthropic-RateLimit-Tokens-Reset",
            ),
        ] {
            assert_eq!(Source::of_field(name).as_str(), spelled);
        }
    }
}
