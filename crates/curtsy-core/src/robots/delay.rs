//! Crawl-delay and Request-rate: how far apart a file wants requests to be.

use std::time::Duration;

use crate::time::{Timestamp, duration_from_secs};

/// The longest delay that a file can impose: a day, for as long as a copy of the file is used at all.
/// A greater one is cut to it, never dropped, and reported.
pub const MAX_DELAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The most times of day that are told apart in the Request-rate records of one crawler.
const MAX_RATES: usize = 16;

/// The delays that apply to one crawler.
#[derive(Clone, Debug, Default)]
pub(super) struct Delays {
    /// Seconds as told, and the line; of several the largest.
    told: Option<(f64, u32)>,
    rates: Vec<RequestRate>,
}

impl Delays {
    pub(super) fn add_crawl_delay(&mut self, line: u32, secs: f64) {
        if self.told.is_none_or(|(told, _)| told < secs) {
            self.told = Some((secs, line));
        }
    }

    pub(super) fn add_request_rate(&mut self, mut rate: RequestRate) {
        rate.interval = rate.interval.min(MAX_DELAY);
        if self.rates.len() >= MAX_RATES {
            // Too many times of day to keep: from here on a rate applies at all of them.
            rate.minutes = None;
        }
        match self
            .rates
            .iter_mut()
            .find(|known| known.minutes == rate.minutes)
        {
            Some(known) => known.interval = known.interval.max(rate.interval),
            None => self.rates.push(rate),
        }
    }

    pub(super) fn told_secs(&self) -> Option<f64> {
        self.told.map(|(secs, _)| secs)
    }

    pub(super) fn crawl_delay_line(&self) -> Option<u32> {
        self.told.map(|(_, line)| line)
    }

    pub(super) fn crawl_delay(&self) -> Option<Duration> {
        self.told_secs()
            .map(|secs| duration_from_secs(secs).min(MAX_DELAY))
    }

    pub(super) fn request_rates(&self) -> &[RequestRate] {
        &self.rates
    }

    pub(super) fn at(&self, now: Timestamp) -> Option<Duration> {
        let rates = self.rates.iter().filter(|rate| rate.applies(now));
        rates
            .map(|rate| rate.interval)
            .chain(self.crawl_delay())
            .max()
    }
}

/// One Request-rate record, `n/t[s|m|h|d] [HHMM-HHMM]`, as the interval that it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestRate {
    /// From departure to departure; at most [`MAX_DELAY`] where a file has been read.
    pub interval: Duration,
    /// Minutes of the day in UTC, from the first to the last inclusive, in which the rate applies; it may
    /// run over midnight. `None`: always.
    pub minutes: Option<(u16, u16)>,
}

impl RequestRate {
    fn applies(&self, now: Timestamp) -> bool {
        let Some((first, last)) = self.minutes else {
            return true;
        };
        let minute = now.as_secs() / 60 % (24 * 60);
        let (first, last) = (u64::from(first), u64::from(last));
        if first <= last {
            (first..=last).contains(&minute)
        } else {
            minute >= first || minute <= last
        }
    }
}

/// Seconds of a Crawl-delay: digits with an optional fraction. Signs, exponents, units, commas and
/// names of non-numbers are malformed, and so is a number that overflows a double.
pub(super) fn read_crawl_delay(value: &[u8]) -> Option<f64> {
    let text = str::from_utf8(value).ok()?;
    let mut parts = text.splitn(2, '.');
    let digits = |part: &str| part.bytes().all(|octet| octet.is_ascii_digit());
    // `.5` and `5.` are taken: to ignore them would be faster than what was told.
    if !parts.all(digits) {
        return None;
    }
    text.parse().ok().filter(|secs: &f64| secs.is_finite())
}

/// Reads a Request-rate. A rate of no requests or over no time says nothing and is malformed; a time of
/// day that cannot be understood leaves a rate that always applies, which is the more patient side.
pub(super) fn read_request_rate(value: &[u8]) -> Option<RequestRate> {
    let text = str::from_utf8(value).ok()?;
    let (requests, rest) = text.split_once('/')?;
    let requests = read_whole(requests.trim_end())?;
    let rest = rest.trim_start();
    let (span, hours) = rest.split_once([' ', '\t']).unwrap_or((rest, ""));
    let (count, unit_secs) = match span.as_bytes().last()?.to_ascii_lowercase() {
        b's' => (&span[..span.len() - 1], 1),
        b'm' => (&span[..span.len() - 1], 60),
        b'h' => (&span[..span.len() - 1], 60 * 60),
        b'd' => (&span[..span.len() - 1], 24 * 60 * 60),
        _ => (span, 1),
    };
    let secs = read_whole(count)?.checked_mul(unit_secs)?;
    if requests == 0 || secs == 0 {
        return None;
    }
    Some(RequestRate {
        interval: duration_from_secs(secs as f64 / requests as f64),
        minutes: read_hours(hours.trim()),
    })
}

fn read_whole(digits: &str) -> Option<u64> {
    let whole = !digits.is_empty() && digits.bytes().all(|octet| octet.is_ascii_digit());
    if whole { digits.parse().ok() } else { None }
}

/// `HHMM-HHMM`, or with a blank for the dash.
fn read_hours(text: &str) -> Option<(u16, u16)> {
    let (first, last) = text.split_once(['-', ' ', '\t'])?;
    Some((read_minute(first.trim())?, read_minute(last.trim())?))
}

fn read_minute(digits: &str) -> Option<u16> {
    if digits.len() != 4 {
        return None;
    }
    let number = u16::try_from(read_whole(digits)?).ok()?;
    let (hour, minute) = (number / 100, number % 100);
    (hour < 24 && minute < 60).then_some(hour * 60 + minute)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_digits_with_an_optional_fraction() {
        for (value, expected) in [
            ("10", Some(10.0)),
            ("0", Some(0.0)),
            ("0.5", Some(0.5)),
            ("007", Some(7.0)),
            (".5", Some(0.5)),
            ("5.", Some(5.0)),
            ("", None),
            (".", None),
            ("-1", None),
            ("+1", None),
            ("1e3", None),
            ("1,5", None),
            ("1.2.1", None),
            ("10s", None),
            ("10 seconds", None),
            ("nan", None),
            ("inf", None),
            ("Infinity", None),
            ("0x10", None),
            ("1_000", None),
            ("٥", None),
        ] {
            assert_eq!(read_crawl_delay(value.as_bytes()), expected, "{value:?}");
        }
        assert_eq!(read_crawl_delay(&[b'9'; 400]), None, "overflows a double");
    }

    #[test]
    fn a_huge_delay_is_cut_and_never_dropped() {
        let mut delays = Delays::default();
        delays.add_crawl_delay(1, 1e60);
        delays.add_crawl_delay(2, 2.0);
        assert_eq!(delays.told_secs(), Some(1e60));
        assert_eq!(delays.crawl_delay_line(), Some(1));
        assert_eq!(delays.crawl_delay(), Some(MAX_DELAY));
    }

    #[test]
    fn a_request_rate_is_an_interval() {
        let always = |secs| {
            Some(RequestRate {
                interval: duration_from_secs(secs),
                minutes: None,
            })
        };
        for (value, expected) in [
            ("1/10", always(10.0)),
            ("4/1", always(0.25)),
            ("1/10s", always(10.0)),
            ("2/1M", always(30.0)),
            ("1/1h", always(3600.0)),
            ("1/9d", always(9.0 * 86400.0)),
            ("1 / 10", always(10.0)),
            ("1/10 noon", always(10.0)),
            ("1/10 2500-2600", always(10.0)),
            (
                "1/5m 0130-2359",
                Some(RequestRate {
                    interval: Duration::from_secs(300),
                    minutes: Some((90, 1439)),
                }),
            ),
            (
                "1/60 2200 0600",
                Some(RequestRate {
                    interval: Duration::from_secs(60),
                    minutes: Some((1320, 360)),
                }),
            ),
            ("1/0", None),
            ("0/1", None),
            ("/", None),
            ("1", None),
            ("1/", None),
            ("1/s", None),
            ("-1/5", None),
            ("1/99999999999999999999", None),
            ("99999999999999999d/1", None),
        ] {
            assert_eq!(read_request_rate(value.as_bytes()), expected, "{value:?}");
        }
    }

    #[test]
    fn a_rate_with_hours_applies_in_them_only() {
        let at = |hour: u64, minute: u64| Timestamp::from_secs(86_400 + hour * 3600 + minute * 60);
        let rate = |minutes| RequestRate {
            interval: Duration::from_secs(1),
            minutes,
        };
        for (minutes, now, applies) in [
            (None, at(3, 0), true),
            (Some((60, 120)), at(1, 0), true),
            (Some((60, 120)), at(2, 0), true),
            (Some((60, 120)), at(2, 1), false),
            (Some((1320, 360)), at(23, 0), true),
            (Some((1320, 360)), at(5, 59), true),
            (Some((1320, 360)), at(12, 0), false),
        ] {
            assert_eq!(rate(minutes).applies(now), applies, "{minutes:?} {now}");
        }
    }

    #[test]
    fn rates_without_end_are_kept_in_bounded_memory() {
        let mut delays = Delays::default();
        for minute in 0..1000 {
            delays.add_request_rate(RequestRate {
                interval: Duration::from_secs(u64::from(minute)),
                minutes: Some((minute, minute)),
            });
        }
        assert_eq!(delays.request_rates().len(), MAX_RATES + 1);
        assert_eq!(delays.at(Timestamp::EPOCH), Some(Duration::from_secs(999)));
    }

    #[test]
    fn delay_and_rates_combine_by_the_larger() {
        let mut delays = Delays::default();
        assert_eq!(delays.at(Timestamp::EPOCH), None);
        delays.add_crawl_delay(1, 3.0);
        for (secs, minutes) in [(2, None), (60, Some((60, 120)))] {
            delays.add_request_rate(RequestRate {
                interval: Duration::from_secs(secs),
                minutes,
            });
        }
        assert_eq!(delays.at(Timestamp::EPOCH), Some(Duration::from_secs(3)));
        assert_eq!(
            delays.at(Timestamp::from_secs(3600)),
            Some(Duration::from_secs(60))
        );
    }
}
