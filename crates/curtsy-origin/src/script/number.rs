//! How a duration stands in a script: a number of seconds (`…_s`) or milliseconds (`…_ms`).

use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// `…_s`: seconds, a finite number from zero, fractions allowed.
pub(super) mod seconds {
    use super::*;

    pub(in crate::script) fn serialize<S: Serializer>(
        duration: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        duration.as_secs_f64().serialize(serializer)
    }

    pub(in crate::script) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        Duration::try_from_secs_f64(seconds)
            .map_err(|_| D::Error::custom(format!("{seconds} is no number of seconds from zero")))
    }
}

/// `…_ms`: milliseconds, a finite number from zero, fractions allowed.
pub(super) mod millis {
    use super::*;

    pub(in crate::script) fn serialize<S: Serializer>(
        duration: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        (duration.as_secs_f64() * 1e3).serialize(serializer)
    }

    pub(in crate::script) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        let millis = f64::deserialize(deserializer)?;
        Duration::try_from_secs_f64(millis / 1e3).map_err(|_| {
            D::Error::custom(format!("{millis} is no number of milliseconds from zero"))
        })
    }
}

/// `…_ms` that may be absent.
pub(super) mod optional_millis {
    use super::*;

    pub(in crate::script) fn serialize<S: Serializer>(
        duration: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match duration {
            Some(duration) => millis::serialize(duration, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(in crate::script) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        millis::deserialize(deserializer).map(Some)
    }
}
