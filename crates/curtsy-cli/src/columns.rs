//! Arrivals over time, in columns of equal width: what plots are drawn from.

use std::time::Duration;

use curtsy_origin::{Arrival, Verdict};

/// From few to many.
pub(crate) const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Widths that people can read a scale by, milliseconds; beyond them, whole hours.
const WIDTHS: [u64; 16] = [
    10, 25, 50, 100, 250, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000, 300_000,
    600_000, 1_800_000,
];
const HOUR: u64 = 3_600_000;

/// What arrived in each stretch of time since the first arrival.
#[derive(Debug, PartialEq)]
pub(crate) struct Columns {
    /// How long a column is.
    pub(crate) width: Duration,
    /// From the first arrival to the last.
    pub(crate) span: Duration,
    /// Arrivals.
    pub(crate) counts: Vec<usize>,
    /// Those of them that were refused or fell into an outage.
    pub(crate) refused: Vec<usize>,
    /// Whether the server had asked to be left alone.
    pub(crate) held: Vec<bool>,
}

impl Columns {
    /// As many columns as it takes, at most `most` and none narrower than `least`; `None` where nothing
    /// arrived.
    pub(crate) fn of(arrivals: &[Arrival], most: usize, least: Duration) -> Option<Self> {
        let instants = || arrivals.iter().map(|arrival| arrival.at);
        let (first, last) = (instants().min()?, instants().max()?);
        let span = last - first;
        let width = width(span, most).max(least);
        let at = |instant: Duration| column(instant.saturating_sub(first), width);
        let columns = at(last) + 1;
        let mut of = Self {
            width,
            span,
            counts: vec![0; columns],
            refused: vec![0; columns],
            held: vec![false; columns],
        };
        for arrival in arrivals {
            let place = at(arrival.at);
            of.counts[place] += 1;
            of.refused[place] += usize::from(matches!(
                arrival.verdict,
                Verdict::Refused | Verdict::Outage
            ));
            if let (Some(from), Some(until)) = (arrival.answered, arrival.hold_until) {
                let held = of.held.iter_mut().take(at(until)).skip(at(from) + 1);
                held.for_each(|held| *held = true);
            }
        }
        Some(of)
    }

    /// The column of an instant so long after the first arrival, where there is one.
    pub(crate) fn place(&self, after: Duration) -> usize {
        column(after, self.width).min(self.counts.len() - 1)
    }

    /// A mark for each column, as [`legend`](Self::legend) explains them.
    pub(crate) fn marks(&self) -> String {
        let marks = self.refused.iter().zip(&self.held);
        marks
            .map(|marks| match marks {
                (1.., _) => '!',
                (_, true) => '~',
                _ => '─',
            })
            .collect()
    }

    /// The scale under the columns.
    pub(crate) fn scale(&self) -> String {
        let end = format!("{:.1} s", self.span.as_secs_f64());
        format!(
            "0 s {end:>width$}",
            width = self.counts.len().saturating_sub(4)
        )
    }

    /// What the marks mean, where there are any.
    pub(crate) fn legend(&self) -> Option<&'static str> {
        let any = self.refused.iter().any(|refused| *refused > 0) || self.held.contains(&true);
        any.then_some("! refused   ~ asked to be left alone")
    }
}

fn column(after: Duration, width: Duration) -> usize {
    (after.as_nanos() / width.as_nanos()) as usize
}

/// The narrowest of the readable widths with which no more than `most` columns cover the span.
fn width(span: Duration, most: usize) -> Duration {
    let fits = |width: &Duration| column(span, *width) < most;
    let mut steps = WIDTHS.into_iter().map(Duration::from_millis);
    let hours =
        || Duration::from_millis(HOUR * ((span.as_millis() as u64) / HOUR / most as u64 + 1));
    steps.find(fits).unwrap_or_else(hours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_a_readable_time_and_there_are_never_too_many() {
        for (span_s, most, expected_ms) in [
            (0, 72, 10),
            (30, 72, 500),
            (36, 72, 1_000),
            (25 * 3600, 72, 1_800_000),
            (73 * 3600, 72, 2 * HOUR),
        ] {
            let width = width(Duration::from_secs(span_s), most);
            assert_eq!(width, Duration::from_millis(expected_ms), "{span_s} s");
            assert!(column(Duration::from_secs(span_s), width) < most);
        }
        assert_eq!(Columns::of(&[], 72, Duration::ZERO), None);
    }
}
