//! A run over time: departures/s beside the bucket's rate and the server's limit.

use std::time::Duration;

use curtsy_origin::Arrival;

use super::model::{Model, Played};
use crate::columns::{BARS, Columns};

/// Lines of the plot.
const ROWS: usize = 8;
/// Left of the plot: the scale.
const MARGIN: usize = 8;
/// How many times as far as the limit, or the bucket's rate where that is higher, the scale goes at most: a
/// burst at the start is cut off.
const HEADROOM: f64 = 2.0;

/// What is plotted.
#[derive(Debug)]
pub(super) struct Picture {
    pub(super) columns: Columns,
    /// Arrivals/s in each column.
    pub(super) rates: Vec<f64>,
    /// The rate of the bucket in each column, departures/s, where there is one.
    pub(super) paces: Vec<Option<f64>>,
    /// What the server admits in the long run, requests/s.
    pub(super) limit: Option<f64>,
    /// The top of the scale, requests/s.
    pub(super) top: f64,
}

/// How many columns a terminal of this width has.
pub(super) fn columns(width: usize) -> usize {
    width.saturating_sub(MARGIN + 1).clamp(10, 160)
}

impl Picture {
    /// A picture of at most so many columns; `None` where nothing has arrived.
    pub(super) fn of(model: &Model<'_>, played: &Played, most: usize) -> Option<Self> {
        let columns = Columns::of(played.origin.arrivals(), most, Duration::ZERO)?;
        let mut paces = vec![None; columns.counts.len()];
        let first = played.run.departures.first()?.at;
        for departed in &played.run.departures {
            paces[columns.place(departed.at.since(first))] =
                departed.rate.filter(|_| model.policy.polite);
        }
        // It stays what it was while nothing departs.
        for nth in 1..paces.len() {
            paces[nth] = paces[nth].or(paces[nth - 1]);
        }
        let limit = model.limit();
        let rates = rates(played.origin.arrivals(), &columns);
        let peak = rates.iter().copied().fold(0.0, f64::max);
        let fastest = paces.iter().flatten().copied().fold(0.0, f64::max);
        let top = limit.map_or(peak, |limit| peak.min(limit.max(fastest) * HEADROOM));
        Some(Self {
            top: nice(top.max(limit.unwrap_or(0.0)).max(fastest.min(peak))),
            columns,
            rates,
            paces,
            limit,
        })
    }

    /// The picture in letters.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = (0..ROWS).rev().map(|row| self.line(row)).collect();
        let pad = " ".repeat(MARGIN);
        lines.push(format!("{:>7} {}", "0", self.columns.marks()));
        lines.push(format!("{pad}{}", self.columns.scale()));
        let mut legend = vec!["█ arrivals/s"];
        legend.extend(self.limit.map(|_| "┄ the server's limit"));
        legend.extend(
            self.paces
                .iter()
                .flatten()
                .next()
                .map(|_| "• the bucket's rate"),
        );
        legend.extend((self.rates.iter().any(|rate| *rate > self.top)).then_some("↑ more"));
        legend.extend(self.columns.legend());
        lines.push(format!("{pad}{}", legend.join("   ")));
        lines
    }

    /// A line of letters; line 0 stands on the scale.
    fn line(&self, row: usize) -> String {
        let eighths = (ROWS * BARS.len()) as f64;
        let row_of = |rate: f64| ((rate / self.top * ROWS as f64).ceil() as usize).max(1) - 1;
        let is_limit = self.limit.is_some_and(|limit| row_of(limit) == row);
        let cells = self.rates.iter().zip(&self.paces).map(|(rate, pace)| {
            let filled = (rate / self.top * eighths).ceil() as usize;
            let is_over = row + 1 == ROWS && filled > ROWS * BARS.len();
            match filled.saturating_sub(row * BARS.len()).min(BARS.len()) {
                _ if is_over => '↑',
                0 if pace.is_some_and(|pace| row_of(pace) == row) => '•',
                0 if is_limit => '┄',
                0 => ' ',
                eighths => BARS[eighths - 1],
            }
        });
        let label = if row + 1 == ROWS {
            format!("{}/s", self.top)
        } else if is_limit {
            format!("{:.1}/s", self.limit.unwrap_or_default())
        } else {
            String::new()
        };
        format!("{label:>7} {}", cells.collect::<String>().trim_end())
            .trim_end()
            .to_owned()
    }
}

/// Arrivals/s in each column: each arrival counts evenly from itself to the next one, for two columns at
/// most, so that a steady pace that fits no column shows as steady.
fn rates(arrivals: &[Arrival], columns: &Columns) -> Vec<f64> {
    let mut rates = vec![0.0; columns.counts.len()];
    let width = columns.width.as_secs_f64();
    let first = arrivals.first().map(|arrival| arrival.at);
    let mut instants = arrivals.iter().map(|arrival| {
        let after = arrival.at.saturating_sub(first.unwrap_or_default());
        after.as_secs_f64() / width
    });
    let mut at = instants.next();
    while let Some(from) = at {
        at = instants.next();
        let until = at.unwrap_or(f64::INFINITY).clamp(from + 1e-6, from + 2.0);
        let places = from as usize..(until.ceil() as usize).min(rates.len());
        for place in places {
            let part = until.min(place as f64 + 1.0) - from.max(place as f64);
            rates[place] += part / (until - from) / width;
        }
    }
    rates
}

/// The next number of one digit, or two, that people count by.
fn nice(rate: f64) -> f64 {
    let unit = 10_f64.powf(rate.max(1e-6).log10().floor());
    let step = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    let step = step.into_iter().find(|step| step * unit >= rate * 0.999);
    // Through text, so that 0.1 × 3 is no 0.30000000000000004.
    let top = step.unwrap_or(10.0) * unit;
    format!("{top:.2e}").parse().unwrap_or(top)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_ends_at_a_round_number() {
        for (rate, top) in [
            (19.2, 20.0),
            (20.0, 20.0),
            (0.29, 0.3),
            (101.0, 150.0),
            (0.0, 1e-6),
        ] {
            assert_eq!(nice(rate), top, "{rate}");
        }
    }

    #[test]
    fn bars_stand_before_the_limit_and_what_is_beyond_the_scale_is_marked() {
        let picture = Picture {
            columns: Columns {
                width: Duration::from_secs(1),
                span: Duration::from_secs(4),
                counts: vec![40, 10, 5, 0],
                refused: vec![0, 0, 1, 0],
                held: vec![false, false, false, true],
            },
            rates: vec![40.0, 10.0, 5.0, 0.0],
            paces: vec![Some(15.0), Some(15.0), None, None],
            limit: Some(10.0),
            top: 20.0,
        };
        assert_eq!(
            picture.lines(),
            [
                "   20/s ↑",
                "        █",
                "        █•",
                "        █",
                " 10.0/s ██┄┄",
                "        ██",
                "        ███",
                "        ███",
                "      0 ──!~",
                "        0 s 4.0 s",
                "        █ arrivals/s   ┄ the server's limit   • the bucket's rate   ↑ more   ! refused   ~ asked to be left alone",
            ]
        );
    }
}
