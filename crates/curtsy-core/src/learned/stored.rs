//! How what was learned is written: times as offsets from the last departure, counts from the number of
//! departures, and what says nothing left out.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Bracket, Learned, Overload, Sign};
use crate::Timestamp;
use crate::time::Offset;

/// [`Learned`] as JSON has it.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredLearned {
    #[serde(rename = "s")]
    since: Offset,
    /// Departures since then.
    #[serde(rename = "n")]
    sent: u64,
    #[serde(rename = "o", default, skip_serializing_if = "Option::is_none")]
    overload: Option<StoredOverload>,
    #[serde(rename = "x", default, skip_serializing_if = "Option::is_none")]
    exhausted_at: Option<Offset>,
    /// Milliseconds.
    #[serde(rename = "l", default, skip_serializing_if = "Option::is_none")]
    lasted: Option<u64>,
    #[serde(rename = "p", default, skip_serializing_if = "Option::is_none")]
    passed: Option<f64>,
    #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
    bracket: Option<StoredBracket>,
    /// Milliseconds.
    #[serde(rename = "w", default, skip_serializing_if = "Option::is_none")]
    window: Option<u64>,
    #[serde(rename = "d", default, skip_serializing_if = "Option::is_none")]
    doubts: Option<u8>,
    #[serde(rename = "f", default, skip_serializing_if = "Option::is_none")]
    flaky: Option<u64>,
    #[serde(rename = "e", default, skip_serializing_if = "Option::is_none")]
    eased_by: Option<u64>,
    #[serde(rename = "u", default, skip_serializing_if = "Option::is_none")]
    suspect_until: Option<i64>,
}

/// [`Overload`]: sign, admitted, met, last (from met), told (from met), waited, rate.
#[derive(Serialize, Deserialize)]
struct StoredOverload(u8, u64, Offset, Offset, Option<Offset>, u64, f64);

/// [`Bracket`]: low, high, restart, departures since, period, doubted, learned at.
#[derive(Serialize, Deserialize)]
struct StoredBracket(f64, f64, f64, i64, f64, bool, Offset);

const SIGNS: [Sign; 4] = [Sign::Limit, Sign::Unavailable, Sign::Broken, Sign::Crowded];

impl StoredLearned {
    /// What is written; `None` where a scope has never been asked.
    pub(crate) fn of(learned: &Learned, base: Timestamp, departures: u64) -> Option<Self> {
        if *learned == Learned::default() {
            return None;
        }
        let offset = |at| Offset::of_millis(at, base);
        let suspect_until = Some(learned.suspect_until).filter(|until| *until > 0);
        Some(Self {
            since: offset(learned.since),
            sent: departures.saturating_sub(learned.since_seq),
            overload: learned.overload.map(|overload| {
                StoredOverload(
                    SIGNS
                        .iter()
                        .position(|sign| *sign == overload.sign)
                        .unwrap_or(0) as u8,
                    overload.admitted,
                    offset(overload.met),
                    Offset::of_millis(overload.last, overload.met),
                    overload
                        .told
                        .map(|told| Offset::of_millis(told, overload.met)),
                    overload.waited.as_millis() as u64,
                    overload.rate,
                )
            }),
            exhausted_at: learned.exhausted_at.map(offset),
            lasted: Some(learned.lasted.as_millis() as u64).filter(|lasted| *lasted > 0),
            passed: learned.passed,
            bracket: learned.bracket.map(|bracket| {
                StoredBracket(
                    bracket.low,
                    bracket.high,
                    bracket.restart,
                    departures.cast_signed().saturating_sub(bracket.from_seq),
                    bracket.period,
                    bracket.doubted,
                    offset(bracket.learned_at),
                )
            }),
            window: learned.window.map(|window| window.as_millis() as u64),
            doubts: Some(learned.doubts).filter(|doubts| *doubts > 0),
            flaky: learned.flaky,
            eased_by: learned.eased_by.map(|seq| departures.saturating_sub(seq)),
            suspect_until: suspect_until.map(|until| until.wrapping_sub(departures).cast_signed()),
        })
    }

    pub(crate) fn restore(self, base: Timestamp, departures: u64) -> Learned {
        let at = |offset: Offset| offset.millis_from(base);
        Learned {
            since: at(self.since),
            since_seq: departures.saturating_sub(self.sent),
            overload: self.overload.map(
                |StoredOverload(sign, admitted, met, last, told, waited, rate)| {
                    let met = at(met);
                    Overload {
                        sign: SIGNS[usize::from(sign).min(SIGNS.len() - 1)],
                        told: told.map(|told| told.millis_from(met)),
                        admitted,
                        met,
                        last: last.millis_from(met),
                        waited: Duration::from_millis(waited),
                        rate,
                    }
                },
            ),
            exhausted_at: self.exhausted_at.map(at),
            lasted: Duration::from_millis(self.lasted.unwrap_or(0)),
            passed: self.passed,
            bracket: self.bracket.map(
                |StoredBracket(low, high, restart, since, period, doubted, learned_at)| Bracket {
                    low,
                    high,
                    restart,
                    from_seq: departures.cast_signed().saturating_sub(since),
                    period,
                    doubted,
                    learned_at: at(learned_at),
                },
            ),
            window: self.window.map(Duration::from_millis),
            doubts: self.doubts.unwrap_or(0),
            flaky: self.flaky,
            eased_by: self.eased_by.map(|back| departures.saturating_sub(back)),
            suspect_until: self
                .suspect_until
                .map_or(0, |ahead| departures.saturating_add_signed(ahead)),
        }
    }
}
