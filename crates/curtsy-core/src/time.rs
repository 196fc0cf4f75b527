//! Instants and the arithmetic that the rules need: whole microseconds, saturating, never a clock.

use std::fmt;
use std::time::Duration;

use jiff::fmt::temporal::DateTimePrinter;
use serde::{Deserialize, Serialize};

/// An instant: whole microseconds since the Unix epoch.
///
/// All arithmetic saturates, so that a server's `Retry-After: 99999999999` is merely far away. The
/// core never asks what time it is; a `Timestamp` is always handed in.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(u64);

const MILLI: u64 = 1_000;

impl Timestamp {
    /// The Unix epoch, before every instant that curtsy meets.
    pub const EPOCH: Self = Self(0);
    /// The far end of time: "not in this life".
    pub const MAX: Self = Self(u64::MAX);

    /// From whole microseconds since the Unix epoch.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// From whole seconds since the Unix epoch.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000))
    }

    /// Whole microseconds since the Unix epoch.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Whole seconds since the Unix epoch, rounded down.
    pub const fn as_secs(self) -> u64 {
        self.0 / 1_000_000
    }

    /// How long after `earlier` this is; zero where it is not after.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }

    /// This instant and `duration`, rounded up to the microsecond so that a wait is never cut short.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        let micros = u64::try_from(duration.as_nanos().div_ceil(1_000)).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(micros))
    }

    /// This instant less `duration`; the epoch where that lies before it.
    #[must_use]
    pub fn before(self, duration: Duration) -> Self {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        Self(self.0.saturating_sub(micros))
    }

    /// The next whole millisecond, if it is none already.
    pub(crate) const fn up_to_milli(self) -> Self {
        Self(self.0.div_ceil(MILLI).saturating_mul(MILLI))
    }

    /// The last whole millisecond.
    pub(crate) const fn down_to_milli(self) -> Self {
        Self(self.0 / MILLI * MILLI)
    }

    /// The instant in RFC 3339, UTC, to the millisecond (rounded down), as the audit log writes it.
    #[must_use]
    pub fn to_rfc3339(self) -> String {
        self.format::<3>()
    }

    /// An instant in RFC 3339; `None` for what is none.
    #[must_use]
    pub fn from_rfc3339(text: &str) -> Option<Self> {
        let instant: jiff::Timestamp = text.parse().ok()?;
        Some(Self(u64::try_from(instant.as_microsecond()).unwrap_or(0)))
    }

    /// The same to the microsecond.
    #[must_use]
    pub(crate) fn to_rfc3339_micros(self) -> String {
        self.format::<6>()
    }

    fn format<const DIGITS: usize>(self) -> String {
        let micros = i64::try_from(self.0).unwrap_or(i64::MAX);
        match jiff::Timestamp::from_microsecond(micros) {
            Ok(instant) => DateTimePrinter::new()
                .precision(Some(DIGITS as u8))
                .timestamp_to_string(&instant),
            Err(_) => format!("9999-12-31T23:59:59.{:9<DIGITS$}Z", ""),
        }
    }
}

/// Instants on the record: RFC 3339, UTC, to the microsecond, so that a replay loses nothing.
pub(crate) mod rfc3339 {
    use std::fmt;

    use serde::{Deserializer, Serializer, de};

    use super::Timestamp;

    pub(crate) fn serialize<S: Serializer>(
        at: &Timestamp,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&at.format::<6>())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Timestamp, D::Error> {
        struct Instant;

        impl de::Visitor<'_> for Instant {
            type Value = Timestamp;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an instant in RFC 3339")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Timestamp, E> {
                let at = Timestamp::from_rfc3339(text);
                at.ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }

        deserializer.deserialize_str(Instant)
    }

    pub(crate) mod optional {
        use serde::{Deserialize, Deserializer, Serialize, Serializer};

        use super::Timestamp;

        #[derive(Serialize, Deserialize)]
        struct Wrapped(#[serde(with = "super")] Timestamp);

        pub(crate) fn serialize<S: Serializer>(
            at: &Option<Timestamp>,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            at.map(Wrapped).serialize(serializer)
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<Option<Timestamp>, D::Error> {
            Ok(Option::<Wrapped>::deserialize(deserializer)?.map(|wrapped| wrapped.0))
        }
    }
}

/// Durations on the record: milliseconds, with as many decimals as it takes. Up to a hundred days they come
/// back to the nanosecond.
pub(crate) mod millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        duration: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(of(*duration))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        f64::deserialize(deserializer).map(from)
    }

    /// `duration` in milliseconds.
    pub(crate) fn of(duration: Duration) -> f64 {
        duration.as_nanos() as f64 / 1e6
    }

    /// The duration of so many milliseconds.
    pub(crate) fn from(millis: f64) -> Duration {
        // Whole seconds and the rest apart, since a number of nanoseconds would not fit.
        let secs = (millis / 1e3).floor();
        let nanos = ((millis - secs * 1e3) * 1e6).round();
        super::duration_from_secs(secs).saturating_add(Duration::from_nanos(nanos as u64))
    }

    pub(crate) mod optional {
        use std::time::Duration;

        use serde::{Deserialize, Deserializer, Serialize, Serializer};

        pub(crate) fn serialize<S: Serializer>(
            duration: &Option<Duration>,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            duration.map(super::of).serialize(serializer)
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<Option<Duration>, D::Error> {
            Ok(Option::<f64>::deserialize(deserializer)?.map(super::from))
        }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_rfc3339())
    }
}

/// `seconds` as a duration: zero for what is negative or not a number, the longest there is for what
/// does not fit.
#[must_use]
pub fn duration_from_secs(seconds: f64) -> Duration {
    if seconds.is_nan() || seconds <= 0.0 {
        return Duration::ZERO;
    }
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

/// `duration` in whole milliseconds, rounded up.
pub(crate) fn whole_millis(duration: Duration) -> Duration {
    let millis = duration.as_nanos().div_ceil(1_000_000);
    u64::try_from(millis).map_or(Duration::MAX, Duration::from_millis)
}

/// `duration` in whole microseconds, rounded up so that no wait is cut short.
pub(crate) fn whole_micros(duration: Duration) -> Duration {
    let micros = duration.as_nanos().div_ceil(1_000);
    u64::try_from(micros).map_or(Duration::MAX, Duration::from_micros)
}

/// A time as its distance from another: short where both are near each other.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Offset(i64);

impl Offset {
    /// In microseconds.
    pub(crate) fn of(at: Timestamp, base: Timestamp) -> Self {
        Self(at.0.wrapping_sub(base.0).cast_signed())
    }

    pub(crate) fn from(self, base: Timestamp) -> Timestamp {
        Timestamp(base.0.wrapping_add_signed(self.0))
    }

    /// In milliseconds, for a time that has no fraction of one.
    pub(crate) fn of_millis(at: Timestamp, base: Timestamp) -> Self {
        Self((at.0 / MILLI).wrapping_sub(base.0 / MILLI).cast_signed())
    }

    pub(crate) fn millis_from(self, base: Timestamp) -> Timestamp {
        Timestamp(
            (base.0 / MILLI)
                .wrapping_add_signed(self.0)
                .saturating_mul(MILLI),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        assert_eq!(Timestamp::MAX.after(Duration::MAX), Timestamp::MAX);
        assert_eq!(Timestamp::EPOCH.before(Duration::MAX), Timestamp::EPOCH);
        assert_eq!(Timestamp::EPOCH.since(Timestamp::MAX), Duration::ZERO);
    }

    #[test]
    fn a_wait_is_rounded_up_and_never_cut_short() {
        let next = Timestamp::from_secs(1).after(Duration::from_nanos(1));
        assert_eq!(next.as_micros(), 1_000_001);
    }

    #[test]
    fn rfc3339_has_milliseconds_and_utc() {
        assert_eq!(
            Timestamp::from_micros(1_716_215_521_004_999).to_rfc3339(),
            "2024-05-20T14:32:01.004Z"
        );
        assert_eq!(Timestamp::MAX.to_rfc3339(), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn any_two_times_are_an_offset_apart() {
        for (at, base) in [
            (Timestamp::EPOCH, Timestamp::MAX),
            (Timestamp::MAX, Timestamp::EPOCH),
            (Timestamp::from_secs(7), Timestamp::from_secs(9)),
        ] {
            assert_eq!(Offset::of(at, base).from(base), at, "{at} from {base}");
            let at = at.down_to_milli();
            let millis = Offset::of_millis(at, base);
            assert_eq!(millis.millis_from(base), at, "{at} from {base}");
        }
    }

    #[test]
    fn seconds_that_are_no_number_are_no_wait() {
        for (seconds, expected) in [
            (f64::NAN, Duration::ZERO),
            (-1.0, Duration::ZERO),
            (1.5, Duration::from_millis(1500)),
            (f64::INFINITY, Duration::MAX),
        ] {
            assert_eq!(duration_from_secs(seconds), expected, "{seconds}");
        }
    }
}
