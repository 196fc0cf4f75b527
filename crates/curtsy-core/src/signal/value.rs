//! Telling values apart: is it a delay, an instant, a duration, a count, a list?
//!
//! The whole value must match, with ASCII digits only; what matches nothing is unusable and never
//! zero. Milliseconds are never guessed from the size of a number: only the field name or a host
//! profile says so.

use std::time::Duration;

use super::clock::{Clock, Instant};
use super::{LONGEST_WAIT, Reset, http_date};

/// Counts from 2^53 up are not counts but wrapped negatives.
const WRAPPED: u128 = 1 << 53;
/// A number from here up is no delay (of 30 years and more) but an instant, in the unit that its
/// size tells: seconds, milliseconds, microseconds, nanoseconds.
const EPOCH_SECONDS: u128 = 1_000_000_000;
const EPOCH_MILLIS: u128 = 100_000_000_000;
const EPOCH_MICROS: u128 = 100_000_000_000_000;
const EPOCH_NANOS: u128 = 100_000_000_000_000_000;

/// What a plain number in a time field counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    /// Told by the value: seconds from now, or an epoch in the unit that its size gives.
    Told,
    /// Seconds from now, by the field's name.
    Seconds,
    /// Milliseconds from now, by the field's name or the host's profile.
    Millis,
}

/// A plain decimal number: digits, perhaps a point and more digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    /// The digits before the point; saturated.
    pub(super) whole: u128,
    /// Billionths after the point, rounded up.
    pub(super) nanos: u32,
    /// Whether there was a point.
    pub(super) has_fraction: bool,
}

/// What is left, as printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    /// A usable number, fractions cut off.
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

/// The wait that a value instructs, measured by `clock`. Of a list the longest.
pub(super) fn wait(text: &str, scale: Scale, clock: Clock) -> Option<Duration> {
    let text = trim(text);
    let one = |text: &str| {
        let seconds = match Said::read(text, scale, clock) {
            // Out of reach as an instant, it stays the delay that the standard says it is.
            Some(Said::Epoch { instant, literal }) => {
                clock.reset_at(instant).map_or(literal, |reset| reset.after)
            }
            Some(Said::Delay { after, .. }) => after,
            Some(Said::At(instant)) => clock.wait_until(instant)?,
            None => leading_seconds(text)?,
        };
        Some(seconds.min(LONGEST_WAIT))
    };
    one(text).or_else(|| members(text)?.filter_map(|member| one(trim(member))).max())
}

/// The time until a quota is full again, measured by `clock`. Of a list the longest.
pub(super) fn reset(text: &str, scale: Scale, clock: Clock) -> Option<Reset> {
    let text = trim(text);
    let one = |text: &str| match Said::read(text, scale, clock)? {
        Said::Delay {
            after,
            whole_seconds,
        } => Some(Reset {
            after: after.min(LONGEST_WAIT),
            whole_seconds,
            skew: Duration::ZERO,
        }),
        Said::At(instant) | Said::Epoch { instant, .. } => clock.reset_at(instant),
    };
    one(text).or_else(|| {
        members(text)?
            .filter_map(|member| one(trim(member)))
            .max_by_key(|reset| reset.after)
    })
}

/// The length of a window: a plain number of seconds (or milliseconds), or a duration. Never zero.
pub(super) fn window(text: &str, scale: Scale) -> Option<Duration> {
    let text = trim(text);
    let length = match Decimal::read(text) {
        Some(number) if scale == Scale::Millis => number.millis(),
        Some(number) => number.seconds(),
        None => duration(text)?.0,
    };
    (!length.is_zero()).then(|| length.min(LONGEST_WAIT))
}

/// The length that a word of a name tells, such as `10s` or `1h`; a bare number tells none.
pub(super) fn window_word(word: &str) -> Option<Duration> {
    let (length, _) = duration(word)?;
    (!length.is_zero()).then_some(length)
}

/// A count of what is left: of a list the smallest.
pub(super) fn count(text: &str) -> Option<Count> {
    let text = trim(text);
    let one = |text: &str| {
        if let Some(number) = text.strip_prefix('-') {
            return match Decimal::read(number)? {
                Decimal {
                    whole: 0, nanos: 0, ..
                } => Some(Count::Of(0)),
                Decimal {
                    whole: 1, nanos: 0, ..
                } => Some(Count::MinusOne),
                _ => Some(Count::Negative),
            };
        }
        let number = Decimal::read(text)?.whole;
        Some(match u64::try_from(number) {
            Ok(count) if number < WRAPPED => Count::Of(count),
            _ => Count::Wrapped,
        })
    };
    one(text).or_else(|| {
        members(text)?
            .filter_map(|member| one(trim(member)))
            .min_by_key(|count| count.order())
    })
}

/// The members of a comma-joined list, a date's own comma kept. A member with a leading zero means
/// that the commas separate thousands, which is no list.
pub(super) fn members(text: &str) -> Option<impl Iterator<Item = &str>> {
    let has_leading_zero = |member: &str| {
        let member = member.trim_ascii();
        member.len() > 1 && member.starts_with('0') && member.bytes().all(|b| b.is_ascii_digit())
    };
    if !text.contains(',') || text.split(',').any(has_leading_zero) {
        return None;
    }
    let mut rest = Some(text);
    Some(std::iter::from_fn(move || {
        let list = rest?;
        let comma = list.find(',').map(|first| {
            if http_date::is_weekday(list[..first].trim_ascii()) {
                let next = list[first + 1..].find(',');
                next.map_or(list.len(), |next| first + 1 + next)
            } else {
                first
            }
        });
        let end = comma.unwrap_or(list.len());
        rest = list.get(end + 1..);
        Some(&list[..end])
    }))
}

/// What a value in a time field says.
enum Said {
    Delay {
        after: Duration,
        whole_seconds: bool,
    },
    At(Instant),
    /// A number too large for a delay, with what it would be as one.
    Epoch {
        instant: Instant,
        literal: Duration,
    },
}

impl Said {
    fn read(text: &str, scale: Scale, clock: Clock) -> Option<Self> {
        if let Some(number) = Decimal::read(text) {
            return Some(number.said(scale));
        }
        if let Some((after, whole_seconds)) = duration(text) {
            return Some(Self::Delay {
                after,
                whole_seconds,
            });
        }
        http_date::parse(text, clock.now()).map(Self::At)
    }
}

impl Decimal {
    pub(super) fn read(text: &str) -> Option<Self> {
        let (whole, fraction) = match text.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (text, None),
        };
        let is_number =
            |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        if !is_number(whole) || !fraction.is_none_or(is_number) {
            return None;
        }
        Some(Self {
            whole: whole.bytes().fold(0, |sum: u128, digit| {
                sum.saturating_mul(10)
                    .saturating_add(u128::from(digit - b'0'))
            }),
            nanos: fraction.map_or(0, nanos_of_fraction),
            has_fraction: fraction.is_some(),
        })
    }

    /// As an approximate number.
    pub(super) fn as_f64(self) -> f64 {
        self.whole as f64 + f64::from(self.nanos) / 1e9
    }

    fn seconds(self) -> Duration {
        match u64::try_from(self.whole) {
            Ok(seconds) if seconds < LONGEST_WAIT.as_secs() => {
                Duration::new(seconds, 0) + Duration::from_nanos(u64::from(self.nanos))
            }
            _ => LONGEST_WAIT,
        }
    }

    fn millis(self) -> Duration {
        let fraction = Duration::from_nanos(u64::from(self.nanos.div_ceil(1_000)));
        u64::try_from(self.whole).map_or(LONGEST_WAIT, |millis| {
            Duration::from_millis(millis).saturating_add(fraction)
        })
    }

    fn said(self, scale: Scale) -> Said {
        let literal = match scale {
            Scale::Millis => self.millis(),
            Scale::Told | Scale::Seconds => self.seconds(),
        };
        match self.epoch_micros() {
            Some(micros) if scale == Scale::Told || literal >= LONGEST_WAIT => Said::Epoch {
                instant: Instant {
                    micros,
                    whole_seconds: self.whole < EPOCH_MILLIS && !self.has_fraction,
                    zoned: true,
                },
                literal,
            },
            _ => Said::Delay {
                after: literal,
                whole_seconds: scale != Scale::Millis && !self.has_fraction,
            },
        }
    }

    /// As an epoch in the unit that its size tells; `None` for what is small enough to be a delay.
    fn epoch_micros(self) -> Option<i64> {
        let (whole, nanos) = (self.whole, u128::from(self.nanos));
        let micros = match whole {
            EPOCH_SECONDS..EPOCH_MILLIS => whole * 1_000_000 + nanos.div_ceil(1_000),
            EPOCH_MILLIS..EPOCH_MICROS => whole * 1_000 + nanos.div_ceil(1_000_000),
            EPOCH_MICROS..EPOCH_NANOS => whole,
            EPOCH_NANOS.. => whole.div_ceil(1_000),
            _ => return None,
        };
        Some(i64::try_from(micros).unwrap_or(i64::MAX))
    }
}

impl Count {
    /// The order of what is left.
    pub(super) fn order(self) -> u64 {
        match self {
            Self::Negative | Self::MinusOne => 0,
            Self::Of(count) => count,
            Self::Wrapped => u64::MAX,
        }
    }
}

/// A duration in the manner of Go (`1h2m3.5s`, `547ms`, also `1d2h`) or of ISO 8601 (`PT1M30S`), and
/// whether it is printed in whole seconds.
pub(super) fn duration(text: &str) -> Option<(Duration, bool)> {
    let (mut rest, iso) = match text.strip_prefix(['P', 'p']) {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let mut total: u128 = 0;
    let mut whole_seconds = true;
    let mut in_time = !iso;
    let mut parts = 0;
    while !rest.is_empty() {
        if iso
            && !in_time
            && let Some(time) = rest.strip_prefix(['T', 't'])
        {
            (rest, in_time) = (time, true);
            continue;
        }
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let number = Decimal::read(&rest[..end])?;
        rest = &rest[end..];
        let (unit, nanos) = DURATION_UNITS.iter().find(|(unit, _)| {
            rest.get(..unit.len()).is_some_and(|head| {
                if iso {
                    head.eq_ignore_ascii_case(unit)
                } else {
                    head == *unit
                }
            })
        })?;
        // In ISO 8601 an M before the T is months, whose length is anyone's guess.
        if iso && (unit.len() > 1 || in_time == matches!(*unit, "w" | "d")) {
            return None;
        }
        whole_seconds &= !number.has_fraction && *nanos >= 1_000_000_000;
        let fraction = u128::from(number.nanos) * nanos / 1_000_000_000;
        total = total
            .saturating_add(number.whole.saturating_mul(*nanos))
            .saturating_add(fraction);
        rest = &rest[unit.len()..];
        parts += 1;
    }
    if parts == 0 {
        return None;
    }
    let length = u64::try_from(total).map_or(LONGEST_WAIT, Duration::from_nanos);
    Some((length.min(LONGEST_WAIT), whole_seconds))
}

/// Longer unit words before those that they begin with.
const DURATION_UNITS: [(&str, u128); 9] = [
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

/// A number of seconds with a tail that is known to say nothing else: `60 seconds`, a comment in
/// brackets, parameters (SIP's grammar). Ignoring the value would be the faster choice.
fn leading_seconds(text: &str) -> Option<Duration> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, tail) = text.split_at(end);
    let tail = tail.trim_ascii();
    let is_known = tail.starts_with(';')
        || (tail.starts_with('(') && tail.ends_with(')'))
        || ["s", "sec", "secs", "second", "seconds"]
            .iter()
            .any(|word| tail.eq_ignore_ascii_case(word));
    is_known.then(|| Decimal::read(number).map(Decimal::seconds))?
}

fn nanos_of_fraction(digits: &str) -> u32 {
    let nanos = digits
        .bytes()
        .chain(std::iter::repeat(b'0'))
        .take(9)
        .fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'));
    nanos + u32::from(digits.bytes().skip(9).any(|digit| digit != b'0'))
}
