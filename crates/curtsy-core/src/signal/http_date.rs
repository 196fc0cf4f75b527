//! Dates as servers print them: the three forms of RFC 9110, and what else they send in their place.
//!
//! Read: IMF-fixdate, RFC 850, asctime, RFC 5322 with its zones, RFC 3339 and ISO 8601 (extended or
//! basic, `T` or a blank, dot or comma before a fraction of any length, seconds optional) and the text
//! of a JavaScript `Date`. A wrong weekday and letter case are forgiven. Not read: impossible dates,
//! years of five digits, month names in other languages, `mm/dd/yyyy`.

use std::time::{Duration, UNIX_EPOCH};

use jiff::civil;

use super::clock::Instant;

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const WEEKDAYS: [&str; 7] = [
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
];
/// Zone words and their distance from UTC in minutes (RFC 5322, section 4.3).
const ZONES: [(&str, i64); 12] = [
    ("gmt", 0),
    ("utc", 0),
    ("ut", 0),
    ("z", 0),
    ("est", -300),
    ("edt", -240),
    ("cst", -360),
    ("cdt", -300),
    ("mst", -420),
    ("mdt", -360),
    ("pst", -480),
    ("pdt", -420),
];

/// Reads a date and time; `now` (microseconds since the Unix epoch) decides the century of a year of
/// two digits: the latest one that is not more than 50 years ahead (RFC 9110, section 5.6.7).
pub(super) fn parse(text: &str, now: i64) -> Option<Instant> {
    let text = text.trim_ascii();
    if text.len() > 100 || !text.is_ascii() {
        return None;
    }
    // The form that nearly all servers send, by the quick way.
    if text.len() == 29
        && let Ok(time) = httpdate::parse_http_date(text)
    {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        return Some(Instant {
            micros: i64::try_from(since.as_micros()).ok()?,
            whole_seconds: true,
            zoned: true,
        });
    }
    parse_iso(text).or_else(|| parse_words(text, now))
}

/// Whether `text` is an English weekday, short or long: the words that own a comma in a list.
pub(super) fn is_weekday(text: &str) -> bool {
    WEEKDAYS
        .iter()
        .any(|day| text.eq_ignore_ascii_case(day) || text.eq_ignore_ascii_case(&day[..3]))
}

/// A clock time: microseconds since midnight, and whether it was printed to the second.
#[derive(Clone, Copy)]
struct TimeOfDay {
    micros: i64,
    whole_seconds: bool,
}

fn parse_words(text: &str, now: i64) -> Option<Instant> {
    // JavaScript adds the zone's name in brackets.
    let text = match text.find('(') {
        Some(bracket) if text.ends_with(')') => &text[..bracket],
        _ => text,
    };
    let mut words = text
        .split([' ', '\t', ','])
        .filter(|word| !word.is_empty())
        .peekable();
    let has_weekday = words.peek().is_some_and(|word| is_weekday(word));
    if has_weekday {
        words.next();
    }
    let first = words.next()?;
    let (year, month, day, time, zone);
    if let Some(name) = month_of(first) {
        month = name;
        day = digits(words.next()?, 2)?;
        let next = words.next()?;
        if next.contains(':') {
            // asctime, which is in UTC by definition; Java and date(1) put a zone before the year.
            time = time_of_day(next)?;
            let last = words.next()?;
            (year, zone) = match digits(last, 4) {
                Some(_) => (last, zone_at_end(words.next())?.or(Some(0))),
                None => (words.next()?, Some(zone_of(last)?)),
            };
        } else {
            year = next;
            time = time_of_day(words.next()?)?;
            zone = zone_at_end(words.next())?;
        }
    } else {
        let mut parts = first.split('-');
        day = digits(parts.next()?, 2)?;
        (month, year) = match parts.next() {
            Some(name) => (month_of(name)?, parts.next()?),
            None => (month_of(words.next()?)?, words.next()?),
        };
        if parts.next().is_some() {
            return None;
        }
        time = time_of_day(words.next()?)?;
        zone = zone_at_end(words.next())?;
    }
    if words.next().is_some() {
        return None;
    }
    instant((year_of(year, now)?, month, day), time, zone)
}

fn parse_iso(text: &str) -> Option<Instant> {
    let extended = text.as_bytes().get(4) == Some(&b'-');
    let date_length = if extended { 10 } else { 8 };
    let (date, rest) = text.split_at_checked(date_length)?;
    let (year, rest_of_date) = date.split_at(4);
    let (month, day) = if extended {
        rest_of_date.strip_prefix('-')?.split_once('-')?
    } else {
        rest_of_date.split_at(2)
    };
    if month.len() != 2 || day.len() != 2 {
        return None;
    }
    let rest = rest.strip_prefix(['T', 't', ' '])?.trim_start();
    let end = rest
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, ':' | '.' | ',')))
        .unwrap_or(rest.len());
    let (time, zone) = rest.split_at(end);
    let zone = match zone.trim() {
        "" => None,
        zone => Some(zone_of(zone)?),
    };
    instant(
        (
            i64::from(digits(year, 4)?),
            i64::from(digits(month, 2)?),
            digits(day, 2)?,
        ),
        time_of_day(time)?,
        zone,
    )
}

fn instant(date: (i64, i64, u32), time: TimeOfDay, zone: Option<i64>) -> Option<Instant> {
    let (year, month, day) = date;
    let date = civil::Date::new(
        i16::try_from(year).ok()?,
        i8::try_from(month).ok()?,
        i8::try_from(day).ok()?,
    )
    .ok()?;
    let days = i64::from(
        date.since((jiff::Unit::Day, civil::date(1970, 1, 1)))
            .ok()?
            .get_days(),
    );
    let offset = zone.unwrap_or(0) * 60_000_000;
    Some(Instant {
        micros: days * 86_400_000_000 + time.micros - offset,
        whole_seconds: time.whole_seconds,
        zoned: zone.is_some(),
    })
}

/// `hh:mm`, `hh:mm:ss`, `hhmm` or `hhmmss`, the seconds with or without a fraction, which is rounded
/// up so that no wait is cut short. Second 60 is the next instant.
fn time_of_day(text: &str) -> Option<TimeOfDay> {
    let (clock, fraction) = match text.find(['.', ',']) {
        Some(point) => (&text[..point], Some(&text[point + 1..])),
        None => (text, None),
    };
    let (hour, minute, second) = match clock.as_bytes() {
        [h, i, b':', m, n] => ([h, i], [m, n], None),
        [h, i, b':', m, n, b':', s, t] => ([h, i], [m, n], Some([s, t])),
        [h, i, m, n] => ([h, i], [m, n], None),
        [h, i, m, n, s, t] => ([h, i], [m, n], Some([s, t])),
        // A one-digit hour, as some RFC 5322 writers print.
        [h, b':', m, n, b':', s, t] => ([&b'0', h], [m, n], Some([s, t])),
        _ => return None,
    };
    let (hour, minute) = (two_digits(hour)?, two_digits(minute)?);
    let second = second.map_or(Some(0), two_digits)?;
    if hour > 23 || minute > 59 || second > 60 || (fraction.is_some() && clock.len() < 6) {
        return None;
    }
    let fraction = match fraction {
        Some(text) => micros_of_fraction(text)?,
        None => 0,
    };
    Some(TimeOfDay {
        micros: ((hour * 60 + minute) * 60 + second) * 1_000_000 + fraction,
        whole_seconds: fraction == 0 && text.len() == clock.len(),
    })
}

fn micros_of_fraction(text: &str) -> Option<i64> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let micros = text
        .bytes()
        .chain(std::iter::repeat(b'0'))
        .take(6)
        .fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
    let rest = text.bytes().skip(6).any(|digit| digit != b'0');
    Some(micros + i64::from(rest))
}

fn two_digits([tens, ones]: [&u8; 2]) -> Option<i64> {
    (tens.is_ascii_digit() && ones.is_ascii_digit())
        .then(|| i64::from((tens - b'0') * 10 + (ones - b'0')))
}

/// One to `longest` digits (exactly four for a year) as a number.
fn digits(text: &str, longest: usize) -> Option<u32> {
    let fits = if longest == 4 {
        text.len() == 4
    } else {
        (1..=longest).contains(&text.len())
    };
    (fits && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

fn month_of(word: &str) -> Option<i64> {
    let number = MONTHS
        .iter()
        .position(|month| word.eq_ignore_ascii_case(month))?;
    i64::try_from(number + 1).ok()
}

/// Four digits, or two in the century that puts them at most 50 years ahead of `now`.
fn year_of(word: &str, now: i64) -> Option<i64> {
    if word.len() == 4 {
        return digits(word, 4).map(i64::from);
    }
    if word.len() != 2 {
        return None;
    }
    let short = i64::from(digits(word, 2)?);
    let present = jiff::Timestamp::from_microsecond(now)
        .ok()
        .map(|now| i64::from(jiff::tz::Offset::UTC.to_datetime(now).year()))?;
    let year = present - present.rem_euclid(100) + 100 + short;
    Some(match year - present {
        ahead if ahead > 150 => year - 200,
        ahead if ahead > 50 => year - 100,
        _ => year,
    })
}

/// The zone that may end a date: `Some(None)` where there is none, `None` for one that is unknown.
fn zone_at_end(word: Option<&str>) -> Option<Option<i64>> {
    match word {
        None => Some(None),
        Some(word) => zone_of(word).map(Some),
    }
}

/// Minutes east of UTC: a zone word, `+hhmm`, `+hh:mm`, `+hh`, or JavaScript's `GMT+hhmm`.
fn zone_of(word: &str) -> Option<i64> {
    if let Some((_, minutes)) = ZONES
        .iter()
        .find(|(name, _)| word.eq_ignore_ascii_case(name))
    {
        return Some(*minutes);
    }
    let offset = match word.get(..3) {
        Some(prefix)
            if prefix.eq_ignore_ascii_case("gmt") || prefix.eq_ignore_ascii_case("utc") =>
        {
            &word[3..]
        }
        _ => word,
    };
    let (sign, offset) = match offset.as_bytes().first()? {
        b'+' => (1, &offset[1..]),
        b'-' => (-1, &offset[1..]),
        _ => return None,
    };
    let (hours, minutes) = match offset.as_bytes() {
        [h, i] => ([h, i], [&b'0', &b'0']),
        [h, i, m, n] | [h, i, b':', m, n] => ([h, i], [m, n]),
        _ => return None,
    };
    let (hours, minutes) = (two_digits(hours)?, two_digits(minutes)?);
    (hours <= 23 && minutes <= 59).then_some(sign * (hours * 60 + minutes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_796_048_940_000_000;

    fn seconds(text: &str) -> Option<i64> {
        parse(text, NOW).map(|instant| instant.micros / 1_000_000)
    }

    #[test]
    fn every_form_of_one_instant_is_read() {
        for text in [
            "Mon, 30 Nov 2026 14:30:00 GMT",
            "Monday, 30-Nov-26 14:30:00 GMT",
            "Mon Nov 30 14:30:00 2026",
            "mon, 30 nov 2026 14:30:00 gmt",
            "Fri, 30 Nov 2026 14:30:00 GMT",
            "30 Nov 2026 14:30:00 UTC",
            "Mon, 30 Nov 26 14:30 GMT",
            "Mon, 30 Nov 2026 15:30:00 +0100",
            "Mon, 30 Nov 2026 09:30:00 EST",
            "Mon, 30-Nov-2026 14:30:00 GMT",
            "Mon Nov 30 2026 15:30:00 GMT+0100 (Central European Standard Time)",
            "Mon Nov 30 14:30:00 UTC 2026",
            "Mon Nov 30 14:30:00 2026 GMT",
            "2026-11-30T14:30:00Z",
            "2026-11-30t14:30z",
            "2026-11-30 14:30:00 GMT",
            "2026-11-30T15:30:00.0000000000+01:00",
            "20261130T143000Z",
            "2026-11-30T14:29:60Z",
            "2026-11-30 14:30:00",
        ] {
            assert_eq!(seconds(text), Some(1_796_049_000), "{text}");
        }
    }

    #[test]
    fn what_is_no_date_stays_unread() {
        for text in [
            "",
            "2026",
            "2026-11-30",
            "Mon, 30 Feb 2026 00:00:00 GMT",
            "Mo, 30 Dez 2026 14:30:00 GMT",
            "11/30/2026 14:30:00",
            "Mon, 30 Nov 12026 14:30:00 GMT",
            "Mon, 30 Nov 2026 24:30:00 GMT",
            "Mon, 30 Nov 2026 14:30:00 XYZ",
            "2026-11-30T14:30:00+25:00",
            "2026-11-30T14:30:00Z junk",
            "00:00:42",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn a_fraction_is_rounded_up_to_the_microsecond() {
        let read = parse("2026-11-30T14:30:00.0000001Z", NOW).map(|i| (i.micros, i.whole_seconds));
        assert_eq!(read, Some((1_796_049_000_000_001, false)));
    }

    #[test]
    fn a_year_of_two_digits_is_at_most_fifty_years_ahead() {
        for (text, year) in [
            ("Sunday, 06-Nov-94 08:49:37 GMT", 1994),
            ("Sunday, 06-Nov-76 08:49:37 GMT", 2076),
            ("Sunday, 06-Nov-77 08:49:37 GMT", 1977),
            ("Sunday, 06-Nov-26 08:49:37 GMT", 2026),
        ] {
            let read = seconds(text)
                .and_then(|s| jiff::Timestamp::from_second(s).ok())
                .map(|t| jiff::tz::Offset::UTC.to_datetime(t).year());
            assert_eq!(read, Some(year), "{text}");
        }
    }

    #[test]
    fn a_time_without_a_zone_says_so() {
        for (text, zoned) in [
            ("Mon, 30 Nov 2026 14:30:00", false),
            ("2026-11-30T14:30:00", false),
            ("Mon Nov 30 14:30:00 2026", true),
            ("2026-11-30T14:30:00Z", true),
        ] {
            assert_eq!(parse(text, NOW).map(|i| i.zoned), Some(zoned), "{text}");
        }
    }
}
