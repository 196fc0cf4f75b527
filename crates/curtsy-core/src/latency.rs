//! A small sketch of a scope's response-head latencies, for its 95th percentile (rule D3).

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Answers that must have been seen before the percentile means anything.
const MIN_SAMPLES: u32 = 20;
/// At this many samples all counts are halved, so that the sketch follows the server.
const ROLL_AT: u32 = 200;
/// Each bucket's upper end is this much above the one before.
const GROWTH: f64 = 1.5;
/// The first bucket's upper end.
const FIRST: Duration = Duration::from_millis(1);
/// 1 ms × 1.5^27 is 57 s: beyond every timeout that matters.
const BUCKETS: usize = 28;
/// What a count is written with.
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// The most that a bucket counts: one digit.
const MOST: u8 = DIGITS.len() as u8 - 1;

/// A histogram with logarithmic buckets and fading counts; at most 30 bytes when stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub(crate) struct Latencies([u8; BUCKETS]);

impl Latencies {
    /// Whether `latency` lies above the 95th percentile of what was seen before; then notes it.
    pub(crate) fn note(&mut self, latency: Duration) -> bool {
        let slow = self.percentile_95().is_some_and(|p95| latency > p95);
        let bucket = bucket_of(latency);
        self.0[bucket] = self.0[bucket].saturating_add(1);
        if self.0[bucket] > MOST || self.samples() >= ROLL_AT {
            self.0.iter_mut().for_each(|count| *count /= 2);
        }
        slow
    }

    /// The upper end of the bucket that holds the 95th percentile; `None` with fewer than 20 samples.
    #[must_use]
    pub(crate) fn percentile_95(&self) -> Option<Duration> {
        let samples = self.samples();
        if samples < MIN_SAMPLES {
            return None;
        }
        let rank = (samples * 95).div_ceil(100);
        let mut seen = 0;
        let bucket = self.0.iter().position(|count| {
            seen += u32::from(*count);
            seen >= rank
        })?;
        Some(FIRST.mul_f64(GROWTH.powi(i32::try_from(bucket).ok()?)))
    }

    fn samples(&self) -> u32 {
        self.0.iter().map(|count| u32::from(*count)).sum()
    }
}

// In a store each count is one character, up to the last that is not zero.
impl From<Latencies> for String {
    fn from(latencies: Latencies) -> Self {
        let digits = latencies
            .0
            .iter()
            .map(|count| char::from(DIGITS[usize::from(*count).min(DIGITS.len() - 1)]));
        let text: String = digits.collect();
        text.trim_end_matches('0').to_owned()
    }
}

impl From<String> for Latencies {
    fn from(text: String) -> Self {
        let mut latencies = Self::default();
        for (count, digit) in latencies.0.iter_mut().zip(text.bytes()) {
            let value = DIGITS.iter().position(|known| *known == digit);
            *count = value.unwrap_or(0) as u8;
        }
        latencies
    }
}

fn bucket_of(latency: Duration) -> usize {
    let ratio = latency.as_secs_f64() / FIRST.as_secs_f64();
    let bucket = ratio.max(1.0).log(GROWTH).ceil();
    (bucket as usize).min(BUCKETS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d3_nothing_is_slow_before_twenty_samples() {
        let mut latencies = Latencies::default();
        for _ in 0..19 {
            assert!(!latencies.note(Duration::from_millis(10)));
        }
        assert!(!latencies.note(Duration::from_secs(9)));
        assert!(latencies.percentile_95().is_some());
    }

    #[test]
    fn d3_above_the_percentile_is_slow_and_the_sketch_follows_the_server() {
        let mut latencies = Latencies::default();
        for _ in 0..100 {
            latencies.note(Duration::from_millis(10));
        }
        assert!(latencies.note(Duration::from_millis(40)));
        assert!(!latencies.note(Duration::from_millis(10)));
        for _ in 0..400 {
            latencies.note(Duration::from_millis(40));
        }
        assert!(
            !latencies.note(Duration::from_millis(40)),
            "it got used to it"
        );
        let text = serde_json::to_string(&latencies).unwrap();
        assert!(text.len() <= 30, "{text}");
        assert_eq!(serde_json::from_str::<Latencies>(&text).unwrap(), latencies);
    }
}
