//! DUR: `1.5` (seconds), `500ms`, `2m`, `1h`.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::Value;

/// No wait that anybody means is longer, and times stay far from where they would overflow.
const LONGEST: Duration = Duration::from_secs(365 * 86_400);

/// The units, the largest first, with their milliseconds.
const UNITS: [(&str, u64); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

impl Value for Duration {
    fn read(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no duration; write 1.5 (seconds), 500ms, 2m, 1h or 1d");
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = &text[digits.len()..];
        let millis = match unit {
            "" => 1_000,
            unit => UNITS
                .iter()
                .find_map(|(name, millis)| (*name == unit).then_some(*millis))
                .ok_or_else(wrong)?,
        };
        let number = decimal(digits).ok_or_else(wrong)?;
        Self::try_from_secs_f64(number * millis as f64 / 1000.0)
            .ok()
            .filter(|duration| *duration <= LONGEST)
            .ok_or_else(|| format!("{text:?} is longer than 365d"))
    }

    fn show(&self) -> Json {
        json!(spell(*self))
    }
}

/// Digits with an optional fraction: no sign, no exponent, no `inf`.
pub(super) fn decimal(text: &str) -> Option<f64> {
    let plain = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.')
        && text.bytes().any(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

/// The duration in the largest unit that it is a whole number of.
pub(super) fn spell(duration: Duration) -> String {
    let whole_millis = duration.subsec_nanos().is_multiple_of(1_000_000);
    let millis = duration.as_millis();
    if millis == 0 || !whole_millis {
        return format!("{}s", duration.as_secs_f64());
    }
    UNITS
        .iter()
        .find(|(_, unit)| millis.is_multiple_of(u128::from(*unit)))
        .map(|(name, unit)| format!("{}{name}", millis / u128::from(*unit)))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::read;

    #[test]
    fn a_duration_has_one_number_and_one_unit() {
        for (text, millis) in [
            ("1.5", 1_500),
            ("0", 0),
            ("500ms", 500),
            ("2m", 120_000),
            ("1h", 3_600_000),
            ("0.5h", 1_800_000),
            ("1d", 86_400_000),
            ("10s", 10_000),
            (".5", 500),
            ("5.", 5_000),
            ("0.0001s", 0),
        ] {
            let read = read::<Duration>(text).unwrap();
            assert_eq!(read.as_millis(), millis, "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in [
            "",
            ".",
            "s",
            "ms",
            "-1",
            "+1",
            "1e3",
            "NaN",
            "inf",
            "1 s",
            "1m30s",
            "1.2.3",
            "1x",
            "１",
            "366d",
            "99999999999999999999999h",
        ] {
            assert!(read::<Duration>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_duration_is_shown_in_the_largest_whole_unit() {
        for (duration, shown) in [
            (Duration::ZERO, "0s"),
            (Duration::from_millis(1), "1ms"),
            (Duration::from_millis(1_500), "1500ms"),
            (Duration::from_secs(90), "90s"),
            (Duration::from_secs(300), "5m"),
            (Duration::from_secs(86_400), "1d"),
            (Duration::from_micros(1_500), "0.0015s"),
        ] {
            assert_eq!(duration.show(), shown);
            assert_eq!(read(shown), Ok(duration), "{shown}");
        }
    }
}
