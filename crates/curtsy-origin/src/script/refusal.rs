//! How an origin says no: refusals, outages, and the wait that it tells.

use std::fmt;
use std::time::Duration;

use serde::de::{self, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::number::seconds;

/// The answer to a request that a quota refuses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Refusal {
    /// Status, 200 to 599. Default 429.
    pub status: u16,
    /// What Retry-After says. Default `"seconds"`.
    pub retry_after: RetryAfter,
    /// More header fields, in order, as `[name, value]`. Default none.
    pub headers: Vec<(String, String)>,
    /// The body. Default `slow down` and a newline.
    pub body: String,
}

impl Default for Refusal {
    fn default() -> Self {
        Self {
            status: 429,
            retry_after: RetryAfter::Seconds,
            headers: Vec::new(),
            body: "slow down\n".to_owned(),
        }
    }
}

/// What a Retry-After says (RFC 9110, section 10.2.3).
///
/// In JSON: `"none"`, `"seconds"`, `"floor"`, `"date"`, a number of seconds, or `{"text": "soon"}`.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum RetryAfter {
    /// The field is absent.
    None,
    /// The true wait in whole seconds, rounded up.
    #[default]
    Seconds,
    /// The true wait in whole seconds, rounded down, as careless servers do: it may say 0.
    Floor,
    /// The instant at which the wait is over, as an HTTP-date, rounded up to the whole second.
    Date,
    /// This many seconds whatever the true wait, a fraction being written as such.
    Fixed(f64),
    /// This text, whatever it means. No hold is on record for it.
    Text(String),
}

/// A time in which no governed request gets its page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outage {
    /// `at_s`, seconds after the first governed request: when it begins.
    #[serde(rename = "at_s", with = "seconds")]
    pub at: Duration,
    /// `for_s`, seconds above 0: how long it lasts.
    #[serde(rename = "for_s", with = "seconds")]
    pub lasts: Duration,
    /// Status of the answers, 200 to 599. Default 503.
    #[serde(default = "unavailable")]
    pub status: u16,
    /// Whether the connection is reset instead of answered. Default false.
    #[serde(default)]
    pub reset: bool,
    /// What Retry-After says; the true wait is until the outage ends. Default `"none"`.
    #[serde(default = "silent")]
    pub retry_after: RetryAfter,
}

fn unavailable() -> u16 {
    503
}

fn silent() -> RetryAfter {
    RetryAfter::None
}

impl Serialize for RetryAfter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.serialize_str("none"),
            Self::Seconds => serializer.serialize_str("seconds"),
            Self::Floor => serializer.serialize_str("floor"),
            Self::Date => serializer.serialize_str("date"),
            Self::Fixed(seconds) => serializer.serialize_f64(*seconds),
            Self::Text(text) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("text", text)?;
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for RetryAfter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RetryAfterVisitor)
    }
}

struct RetryAfterVisitor;

impl<'de> Visitor<'de> for RetryAfterVisitor {
    type Value = RetryAfter;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(r#""none", "seconds", "floor", "date", a number of seconds, or {"text": …}"#)
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<RetryAfter, E> {
        match name {
            "none" => Ok(RetryAfter::None),
            "seconds" => Ok(RetryAfter::Seconds),
            "floor" => Ok(RetryAfter::Floor),
            "date" => Ok(RetryAfter::Date),
            _ => Err(E::invalid_value(de::Unexpected::Str(name), &self)),
        }
    }

    fn visit_u64<E: de::Error>(self, seconds: u64) -> Result<RetryAfter, E> {
        self.visit_f64(seconds as f64)
    }

    fn visit_i64<E: de::Error>(self, seconds: i64) -> Result<RetryAfter, E> {
        self.visit_f64(seconds as f64)
    }

    fn visit_f64<E: de::Error>(self, seconds: f64) -> Result<RetryAfter, E> {
        Ok(RetryAfter::Fixed(seconds))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RetryAfter, A::Error> {
        let Some((key, text)) = map.next_entry::<String, String>()? else {
            return Err(de::Error::missing_field("text"));
        };
        if key != "text" {
            return Err(de::Error::unknown_field(&key, &["text"]));
        }
        Ok(RetryAfter::Text(text))
    }
}
