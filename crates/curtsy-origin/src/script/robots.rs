//! The robots.txt of a script.

use std::fmt;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What /robots.txt answers: the text of the file (200), or in JSON a number, the status alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Robots {
    /// 200 and this file.
    Text(String),
    /// This status, 200 to 599, and no file.
    Status(u16),
}

impl Serialize for Robots {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Status(status) => serializer.serialize_u16(*status),
        }
    }
}

impl<'de> Deserialize<'de> for Robots {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrStatus;

        impl Visitor<'_> for TextOrStatus {
            type Value = Robots;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the text of a robots.txt, or a status")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Robots, E> {
                Ok(Robots::Text(text.to_owned()))
            }

            fn visit_u64<E: de::Error>(self, status: u64) -> Result<Robots, E> {
                u16::try_from(status)
                    .map(Robots::Status)
                    .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(status), &self))
            }
        }

        deserializer.deserialize_any(TextOrStatus)
    }
}
