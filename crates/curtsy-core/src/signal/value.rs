//! Telling values apart: is it a delay, an instant, a duration, a list?
//!
//! The whole value must match; what matches nothing is unusable and never zero. Milliseconds are never
//! guessed from the size of a number, since honest servers send large numbers of seconds: only the
//! field's name or a host profile says so.

use std::time::Duration;

use super::clock::{Clock, Instant};
use super::number::{Count, Decimal, trim};
use super::{Form, LONGEST_WAIT, Reset, duration, http_date};

/// A number from here up is no delay (of 30 years and more) but an instant, in the unit that its size
/// tells: seconds, milliseconds, microseconds, nanoseconds.
const EPOCH_SECONDS: u64 = 1_000_000_000;
const EPOCH_MILLIS: u64 = 100_000_000_000;
const EPOCH_MICROS: u64 = 100_000_000_000_000;
const EPOCH_NANOS: u64 = 100_000_000_000_000_000;

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

/// The wait that a value instructs, measured by `clock`; at most [`LONGEST_WAIT`]. Of a list the longest.
pub(super) fn wait(text: &str, scale: Scale, clock: Clock) -> Option<Duration> {
    let one = |text: &str| {
        let wait = match Said::read(text, scale, clock) {
            // Out of reach as an instant, it stays the delay that the standard says it is.
            Some(Said::Epoch { instant, literal }) => {
                clock.reset_at(instant).map_or(literal, |reset| reset.after)
            }
            Some(Said::Delay { after, .. }) => after,
            Some(Said::At(instant)) => clock.wait_until(instant)?,
            None => leading_seconds(text)?,
        };
        Some(wait.min(LONGEST_WAIT))
    };
    let text = trim(text);
    one(text).or_else(|| members(text)?.filter_map(one).max())
}

/// The time until a quota is full again, measured by `clock`; at most [`LONGEST_WAIT`]. Of a list the
/// longest.
pub(super) fn reset(text: &str, scale: Scale, clock: Clock) -> Option<Reset> {
    let one = |text: &str| match Said::read(text, scale, clock)? {
        Said::Delay {
            after,
            whole_seconds,
        } => Some(Reset {
            after: after.min(LONGEST_WAIT),
            whole_seconds,
            form: Form::Delay,
            skew: Duration::ZERO,
        }),
        Said::At(instant) | Said::Epoch { instant, .. } => clock.reset_at(instant),
    };
    let text = trim(text);
    one(text).or_else(|| {
        members(text)?
            .filter_map(one)
            .max_by_key(|reset| reset.after)
    })
}

/// The length of a window: a number of seconds (or milliseconds), or a duration. Never zero, at most
/// [`LONGEST_WAIT`]. By [`Scale::Told`] a number in whole thousands up to a minute is in milliseconds
/// (PDND's `1000`), any other in seconds (Mapbox' `60`).
pub(super) fn window(text: &str, scale: Scale) -> Option<Duration> {
    let text = trim(text);
    let length = match Decimal::read(text) {
        Some(number) if scale == Scale::Told && number.is_in_thousands() => number.millis(),
        Some(number) if scale == Scale::Millis => number.millis(),
        Some(number) => number.seconds(),
        None => duration::parse(text)?.0,
    };
    (!length.is_zero()).then(|| length.min(LONGEST_WAIT))
}

/// A count of what is left or used. Of a list the smallest.
pub(super) fn count(text: &str) -> Option<Count> {
    let text = trim(text);
    Count::read(text).or_else(|| {
        members(text)?
            .filter_map(Count::read)
            .min_by_key(|count| count.order())
    })
}

/// The members of a comma-joined list, a date's own comma kept. A member with a leading zero means
/// that the commas separate thousands, which is no list.
fn members(text: &str) -> Option<impl Iterator<Item = &str>> {
    let is_group_of_digits = |member: &str| {
        let member = member.trim_ascii();
        member.len() > 1 && member.starts_with('0') && member.bytes().all(|b| b.is_ascii_digit())
    };
    if !text.contains(',') || text.split(',').any(is_group_of_digits) {
        return None;
    }
    let mut rest = Some(text);
    Some(std::iter::from_fn(move || {
        let list = rest?;
        let end = match list.find(',') {
            Some(comma) if http_date::is_weekday(list[..comma].trim_ascii()) => list[comma + 1..]
                .find(',')
                .map_or(list.len(), |next| comma + 1 + next),
            Some(comma) => comma,
            None => list.len(),
        };
        rest = list.get(end + 1..);
        Some(trim(&list[..end]))
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
            return Some(Self::of_number(number, scale));
        }
        if let Some((after, whole_seconds)) = duration::parse(text) {
            return Some(Self::Delay {
                after,
                whole_seconds,
            });
        }
        http_date::parse(text, clock.now()).map(Self::At)
    }

    fn of_number(number: Decimal, scale: Scale) -> Self {
        let literal = match scale {
            Scale::Millis => number.millis(),
            Scale::Told | Scale::Seconds => number.seconds(),
        };
        match number.epoch_micros() {
            Some(micros) if scale != Scale::Millis || number.whole >= EPOCH_MILLIS => Self::Epoch {
                instant: Instant {
                    micros,
                    whole_seconds: number.whole < EPOCH_MILLIS && !number.has_fraction,
                    zoned: true,
                },
                literal,
            },
            _ => Self::Delay {
                after: literal,
                whole_seconds: scale != Scale::Millis && !number.has_fraction,
            },
        }
    }
}

impl Decimal {
    fn seconds(self) -> Duration {
        if self.whole >= LONGEST_WAIT.as_secs() {
            return LONGEST_WAIT;
        }
        Duration::from_secs(self.whole) + Duration::from_nanos(u64::from(self.nanos))
    }

    fn millis(self) -> Duration {
        let fraction = Duration::from_nanos(u64::from(self.nanos.div_ceil(1_000)));
        Duration::from_millis(self.whole).saturating_add(fraction)
    }

    fn is_in_thousands(self) -> bool {
        !self.has_fraction && self.whole.is_multiple_of(1_000) && self.whole <= 60_000
    }

    /// As an epoch in the unit that its size tells; `None` for what is small enough to be a delay.
    fn epoch_micros(self) -> Option<i64> {
        let (whole, nanos) = (self.whole, u64::from(self.nanos));
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

/// A number of seconds with a tail that is known to say nothing else: `60 seconds`, a comment in
/// brackets, parameters (SIP's grammar). To ignore the value would be the faster choice.
fn leading_seconds(text: &str) -> Option<Duration> {
    let (number, tail) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let tail = tail.trim_ascii();
    let is_known = tail.starts_with(';')
        || (tail.starts_with('(') && tail.ends_with(')'))
        || ["s", "sec", "secs", "second", "seconds"]
            .iter()
            .any(|word| tail.eq_ignore_ascii_case(word));
    is_known.then(|| Decimal::read(number).map(Decimal::seconds))?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;

    fn clock() -> Clock {
        Clock::new(Timestamp::from_secs(1_796_048_940), None)
    }

    #[test]
    fn a_wait_is_told_by_its_value() {
        for (text, expected) in [
            ("120", Some(120.0)),
            ("\"120\"", Some(120.0)),
            ("2.5", Some(2.5)),
            ("331775", Some(331_775.0)),
            ("1796049000", Some(60.0)),
            ("1796049000000", Some(60.0)),
            ("1796048820", Some(0.0)),
            ("1600000000", Some(1_600_000_000.0)),
            ("99999999999", Some(2_147_483_648.0)),
            ("1500ms", Some(1.5)),
            ("Mon, 30 Nov 2026 14:30:00 GMT", Some(60.0)),
            ("Mon, 30 Nov 2026 14:30:00 GMT, 5", Some(60.0)),
            ("5, Mon, 30 Nov 2026 14:30:00 GMT", Some(60.0)),
            ("60, 120", Some(120.0)),
            ("60 seconds", Some(60.0)),
            ("120 (maintenance)", Some(120.0)),
            ("18000;duration=3600", Some(18_000.0)),
            ("120junk", None),
            ("5,000", None),
            ("-1", None),
            ("None", None),
            ("", None),
        ] {
            let wait = wait(text, Scale::Told, clock()).map(|wait| wait.as_secs_f64());
            assert_eq!(wait, expected, "{text}");
        }
    }

    #[test]
    fn the_name_of_a_field_beats_the_size_of_its_value() {
        for (text, scale, expected) in [
            ("20649", Scale::Millis, 20.649),
            ("0.5", Scale::Millis, 0.000_5),
            ("1796049000000", Scale::Millis, 60.0),
            ("64.57", Scale::Seconds, 64.57),
            ("1796049000", Scale::Seconds, 60.0),
        ] {
            let reset = reset(text, scale, clock()).map(|reset| reset.after.as_secs_f64());
            assert_eq!(reset, Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_printed_to_the_second_says_so() {
        for (text, whole) in [
            ("30", true),
            ("1796049000", true),
            ("2026-11-30T14:30:00Z", true),
            ("1m30s", true),
            ("30.0", false),
            ("1796049000000", false),
            ("2026-11-30T14:30:00.0Z", false),
            ("1m30.5s", false),
        ] {
            let reset = reset(text, Scale::Told, clock());
            assert_eq!(
                reset.map(|reset| reset.whole_seconds),
                Some(whole),
                "{text}"
            );
        }
    }

    #[test]
    fn a_window_is_never_zero() {
        for (text, expected) in [
            ("60", Some(60)),
            ("1000", Some(1)),
            ("3600", Some(3_600)),
            ("2592000", Some(2_592_000)),
            ("1s", Some(1)),
            ("0", None),
            ("0s", None),
            ("-1", None),
        ] {
            assert_eq!(
                window(text, Scale::Told),
                expected.map(Duration::from_secs),
                "{text}"
            );
        }
    }
}
