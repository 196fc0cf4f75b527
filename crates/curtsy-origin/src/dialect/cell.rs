//! How one value of a rate-limit field is written.

use std::time::{Duration, SystemTime};

use super::{ResetTells, Rounding};
use crate::meter::Reading;

/// What a field's value is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    Text(&'static str),
    Limit,
    Remaining,
    Used,
    /// `47/50`
    UsedOfLimit,
    DeltaSeconds,
    DeltaFloat,
    DeltaMillis,
    EpochSeconds,
    EpochFloat,
    EpochMillis,
    HttpDate,
    Iso,
    JsDate,
    GoDuration,
    /// When one more is admitted, whatever the reset tells.
    NextIso,
    /// `5s`
    WindowSeconds,
    WindowMillis,
    /// `50;w=5`
    LimitInWindow,
    /// `3;w=5`
    RemainingInWindow,
    /// `50;w=5, 1000;w=3600`
    Windows,
    /// `50, 50;w=5, 1000;w=3600`
    LimitAndWindows,
    Draft7Limit,
    Draft8Policies,
    Draft8Limits,
}

/// What the values of one answer are read from.
pub(super) struct Figures<'a> {
    pub(super) tightest: &'a Reading,
    pub(super) readings: &'a [Reading],
    pub(super) rounding: Rounding,
    pub(super) tells: ResetTells,
    pub(super) epoch: Duration,
}

impl Figures<'_> {
    pub(super) fn value(&self, cell: Cell) -> String {
        let Reading {
            limit,
            remaining,
            window,
            next,
            ..
        } = *self.tightest;
        let used = limit - remaining.min(limit);
        let reset = self.reset(self.tightest);
        let at = self.epoch + reset;
        match cell {
            Cell::Text(text) => text.to_owned(),
            Cell::Limit => limit.to_string(),
            Cell::Remaining => remaining.to_string(),
            Cell::Used => used.to_string(),
            Cell::UsedOfLimit => format!("{used}/{limit}"),
            Cell::DeltaSeconds => self.seconds(reset).to_string(),
            Cell::DeltaFloat => format!("{:.3}", reset.as_secs_f64()),
            Cell::DeltaMillis => reset.as_millis().to_string(),
            Cell::EpochSeconds => self.seconds(at).to_string(),
            Cell::EpochFloat => format!("{:.3}", at.as_secs_f64()),
            Cell::EpochMillis => at.as_millis().to_string(),
            Cell::HttpDate => http_date(self.seconds(at)),
            Cell::Iso => calendar(self.seconds(at), "%Y-%m-%dT%H:%M:%SZ"),
            Cell::JsDate => calendar(
                self.seconds(at),
                "%a %b %d %Y %H:%M:%S GMT+0000 (Coordinated Universal Time)",
            ),
            Cell::GoDuration => go_duration(reset),
            Cell::NextIso => calendar(self.seconds(self.epoch + next), "%Y-%m-%dT%H:%M:%SZ"),
            Cell::WindowSeconds => format!("{}s", whole_window(window)),
            Cell::WindowMillis => window.as_millis().to_string(),
            Cell::LimitInWindow => format!("{limit};w={}", whole_window(window)),
            Cell::RemainingInWindow => format!("{remaining};w={}", whole_window(window)),
            Cell::Windows => self.windows(),
            Cell::LimitAndWindows => format!("{limit}, {}", self.windows()),
            Cell::Draft7Limit => format!(
                "limit={limit}, remaining={remaining}, reset={}",
                self.seconds(reset)
            ),
            Cell::Draft8Policies => self.each(|reading| {
                let w = whole_window(reading.window);
                format!("\"{}\";q={};w={w}", name(reading), reading.limit)
            }),
            Cell::Draft8Limits => self.each(|reading| {
                let t = self.seconds(self.reset(reading));
                format!("\"{}\";r={};t={t}", name(reading), reading.remaining)
            }),
        }
    }

    fn reset(&self, reading: &Reading) -> Duration {
        match self.tells {
            ResetTells::Full => reading.full,
            ResetTells::Next => reading.next,
            ResetTells::Window => reading.window,
        }
    }

    fn seconds(&self, duration: Duration) -> u64 {
        let half = Duration::from_millis(500);
        match self.rounding {
            Rounding::Up => round_up(duration),
            Rounding::Down => duration.as_secs(),
            Rounding::Nearest => (duration + half).as_secs(),
        }
    }

    fn windows(&self) -> String {
        self.each(|reading| format!("{};w={}", reading.limit, whole_window(reading.window)))
    }

    fn each(&self, member: impl Fn(&Reading) -> String) -> String {
        let members: Vec<_> = self.readings.iter().map(member).collect();
        members.join(", ")
    }
}

/// Whole seconds, rounded up.
pub(crate) fn round_up(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

/// The HTTP-date (IMF-fixdate) of a Unix time; of its far end for what lies beyond the year 9999.
pub(crate) fn http_date(epoch_s: u64) -> String {
    const LAST: u64 = 253_402_300_799;
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(epoch_s.min(LAST));
    httpdate::fmt_http_date(at)
}

fn calendar(epoch_s: u64, format: &str) -> String {
    i64::try_from(epoch_s)
        .ok()
        .and_then(|seconds| jiff::Timestamp::from_second(seconds).ok())
        .unwrap_or(jiff::Timestamp::MAX)
        .strftime(format)
        .to_string()
}

/// As Go prints a duration: `547ms`, `6.5s`, `1m30s`, `1h0m2s`.
fn go_duration(duration: Duration) -> String {
    if duration < Duration::from_secs(1) {
        return format!("{}ms", duration.as_millis());
    }
    let (minutes, seconds) = (duration.as_secs() / 60, duration.as_secs() % 60);
    let mut text = match (minutes / 60, minutes % 60) {
        (0, 0) => String::new(),
        (0, minutes) => format!("{minutes}m"),
        (hours, minutes) => format!("{hours}h{minutes}m"),
    };
    text += &seconds.to_string();
    let millis = format!("{:03}", duration.subsec_millis());
    let fraction = millis.trim_end_matches('0');
    if !fraction.is_empty() {
        text += ".";
        text += fraction;
    }
    text + "s"
}

/// A window in whole seconds: rounded up, and never 0.
fn whole_window(window: Duration) -> u64 {
    round_up(window).max(1)
}

fn name(reading: &Reading) -> String {
    format!("{}-in-{}s", reading.limit, whole_window(reading.window))
}
