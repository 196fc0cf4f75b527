//! Durations written out, in the manner of Go (`1h2m3.5s`, `547ms`, `837.5µs`, also `1d2h`) and of
//! ISO 8601 (`PT1M30S`). Not read: weeks, and the months and years of ISO 8601, whose length varies.

use std::time::Duration;

use super::LONGEST_WAIT;
use super::number::Decimal;

/// Units in nanoseconds, those of two letters before those that they begin with.
const UNITS: [(&str, u64); 9] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

/// A duration, and whether it is printed in whole seconds. The whole text must match; longer than
/// [`LONGEST_WAIT`] is cut to it.
pub(super) fn parse(text: &str) -> Option<(Duration, bool)> {
    let (nanos, whole_seconds) = match text.strip_prefix(['P', 'p']) {
        Some(iso) => parse_iso(iso)?,
        None => parse_parts(text, str::eq)?,
    };
    Some((Duration::from_nanos(nanos).min(LONGEST_WAIT), whole_seconds))
}

/// `nDTnHnMnS`: days before the `T`, the rest behind it.
fn parse_iso(text: &str) -> Option<(u64, bool)> {
    let (days, time) = match text.split_once(['T', 't']) {
        Some((days, time)) => (days, Some(time)),
        None => (text, None),
    };
    let one_letter = |is_date: bool| {
        move |head: &str, unit: &str| {
            unit.len() == 1 && is_date == (unit == "d") && head.eq_ignore_ascii_case(unit)
        }
    };
    let days = match days {
        "" => None,
        days => Some(parse_parts(days, one_letter(true))?),
    };
    let time = match time {
        None => None,
        Some(time) => Some(parse_parts(time, one_letter(false))?),
    };
    match (days, time) {
        (None, None) => None,
        (Some(only), None) | (None, Some(only)) => Some(only),
        (Some((days, _)), Some((time, is_whole))) => Some((days.saturating_add(time), is_whole)),
    }
}

/// At least one number with a unit, added up; `is_unit` tells whether a text is a unit's word.
fn parse_parts(text: &str, is_unit: impl Fn(&str, &str) -> bool) -> Option<(u64, bool)> {
    let mut rest = text;
    let (mut total, mut whole_seconds) = (0_u64, true);
    while !rest.is_empty() || rest.len() == text.len() {
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let number = Decimal::read(&rest[..end])?;
        rest = &rest[end..];
        let (unit, nanos) = UNITS.iter().find(|(unit, _)| {
            rest.get(..unit.len())
                .is_some_and(|head| is_unit(head, unit))
        })?;
        let fraction = u128::from(number.nanos) * u128::from(*nanos);
        let fraction = u64::try_from(fraction.div_ceil(1_000_000_000)).unwrap_or(u64::MAX);
        total = total
            .saturating_add(number.whole.saturating_mul(*nanos))
            .saturating_add(fraction);
        whole_seconds &= !number.has_fraction && *nanos >= 1_000_000_000;
        rest = &rest[unit.len()..];
    }
    Some((total, whole_seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_whole_or_not_at_all() {
        for (text, millis) in [
            ("1h2m3.5s", Some(3_723_500)),
            ("547ms", Some(547)),
            ("1d2h", Some(93_600_000)),
            ("1m0s", Some(60_000)),
            ("0s", Some(0)),
            ("PT1M30S", Some(90_000)),
            ("P1DT1H", Some(90_000_000)),
            ("P2D", Some(172_800_000)),
            ("pt0.5s", Some(500)),
            ("", None),
            ("P", None),
            ("PT", None),
            ("P1M", None),
            ("PT1D", None),
            ("1h30", None),
            ("1 h", None),
            ("-1s", None),
            ("s", None),
            ("1H", None),
        ] {
            let read = parse(text).map(|(length, _)| length);
            assert_eq!(read, millis.map(Duration::from_millis), "{text}");
        }
        assert_eq!(
            parse("837.5µs"),
            Some((Duration::from_nanos(837_500), false))
        );
        assert_eq!(parse("99999999999999999999d"), Some((LONGEST_WAIT, true)));
    }
}
