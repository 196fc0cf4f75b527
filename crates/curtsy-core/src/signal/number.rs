//! Plain numbers as servers print them: ASCII digits, perhaps a point and more digits. No sign, no
//! exponent, no hexadecimal, no separators.

/// Counts from 2^53 up are not counts but wrapped negatives.
const WRAPPED: u64 = 1 << 53;

/// A plain decimal number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    /// The digits before the point; `u64::MAX` for more.
    pub(super) whole: u64,
    /// Billionths after the point, rounded up so that no wait is cut short; 10^9 at most.
    pub(super) nanos: u32,
    /// Whether there was a point.
    pub(super) has_fraction: bool,
}

/// What is left, or used, as printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    /// A usable number, its fraction cut off.
    Of(u64),
    /// Exactly -1: overdrawn, or a sentinel for "unknown".
    MinusOne,
    /// Any other negative number.
    Negative,
    /// 2^53 and more: a wrapped negative.
    Wrapped,
}

/// Blanks and one pair of double quotes do not belong to a value.
pub(super) fn trim(text: &str) -> &str {
    let text = text.trim_ascii();
    text.strip_prefix('"')
        .and_then(|inner| inner.strip_suffix('"'))
        .map_or(text, str::trim_ascii)
}

impl Decimal {
    /// Reads a number; the whole text must match.
    pub(super) fn read(text: &str) -> Option<Self> {
        let text = text.as_bytes();
        let digits = |text: &[u8]| text.iter().take_while(|b| b.is_ascii_digit()).count();
        let (whole, rest) = text.split_at(digits(text));
        if whole.is_empty() {
            return None;
        }
        let nanos = match rest {
            [] => None,
            [b'.', fraction @ ..] if !fraction.is_empty() && digits(fraction) == fraction.len() => {
                Some(nanos_of(fraction))
            }
            _ => return None,
        };
        Some(Self {
            whole: whole.iter().fold(0, |sum: u64, digit| {
                sum.saturating_mul(10)
                    .saturating_add(u64::from(digit - b'0'))
            }),
            nanos: nanos.unwrap_or(0),
            has_fraction: nanos.is_some(),
        })
    }

    /// As a count, its fraction cut off; `None` for one that is a wrapped negative.
    pub(super) fn count(self) -> Option<u64> {
        (self.whole < WRAPPED).then_some(self.whole)
    }

    /// As an approximate number.
    pub(super) fn as_f64(self) -> f64 {
        self.whole as f64 + f64::from(self.nanos) / 1e9
    }
}

impl Count {
    /// Reads a number that may be negative.
    pub(super) fn read(text: &str) -> Option<Self> {
        let Some(number) = text.strip_prefix('-') else {
            return Some(Decimal::read(text)?.count().map_or(Self::Wrapped, Self::Of));
        };
        let number = Decimal::read(number)?;
        Some(match (number.whole, number.nanos) {
            (0, 0) => Self::Of(0),
            (1, 0) => Self::MinusOne,
            _ => Self::Negative,
        })
    }

    /// The order of what is left: a negative is nothing, a wrapped one says nothing.
    pub(super) fn order(self) -> u64 {
        match self {
            Self::Negative | Self::MinusOne => 0,
            Self::Of(count) => count,
            Self::Wrapped => u64::MAX,
        }
    }
}

impl From<i64> for Count {
    fn from(number: i64) -> Self {
        match u64::try_from(number) {
            Ok(count) if count < WRAPPED => Self::Of(count),
            Ok(_) => Self::Wrapped,
            Err(_) if number == -1 => Self::MinusOne,
            Err(_) => Self::Negative,
        }
    }
}

fn nanos_of(fraction: &[u8]) -> u32 {
    let nanos = fraction
        .iter()
        .chain(std::iter::repeat(&b'0'))
        .take(9)
        .fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'));
    nanos + u32::from(fraction.iter().skip(9).any(|digit| *digit != b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_numbers_are_numbers() {
        for (text, expected) in [
            ("0", Some((0, 0))),
            ("0120", Some((120, 0))),
            ("2.0", Some((2, 0))),
            ("64.57", Some((64, 570_000_000))),
            ("0.0000000001", Some((0, 1))),
            ("0.9999999999", Some((0, 1_000_000_000))),
            ("99999999999999999999999999", Some((u64::MAX, 0))),
            ("", None),
            (".5", None),
            ("5.", None),
            ("+3", None),
            ("-1", None),
            ("1e3", None),
            ("0x10", None),
            ("1_000", None),
            ("NaN", None),
            ("inf", None),
            ("١٢", None),
        ] {
            let read = Decimal::read(text).map(|number| (number.whole, number.nanos));
            assert_eq!(read, expected, "{text}");
        }
    }

    #[test]
    fn negative_and_wrapped_counts_are_told_apart() {
        for (text, expected) in [
            ("57.9", Some(Count::Of(57))),
            ("-0", Some(Count::Of(0))),
            ("-1", Some(Count::MinusOne)),
            ("-1.5", Some(Count::Negative)),
            ("-3", Some(Count::Negative)),
            ("9007199254740991", Some(Count::Of((1 << 53) - 1))),
            ("18446744073709551615", Some(Count::Wrapped)),
            ("--1", None),
            ("unlimited", None),
        ] {
            assert_eq!(Count::read(text), expected, "{text}");
        }
    }
}
