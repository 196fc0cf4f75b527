//! A simulation for people: the plot, the figures, and what bound the departures.

use std::collections::BTreeMap;

use super::Spread;
use super::figures::{Figures, best};
use super::model::Model;
use super::picture::Picture;
use crate::failure::Failure;
use crate::output::Results;
use crate::table::{Align, Table};

/// A figure that runs may differ in.
pub(super) struct Row {
    /// Its name for programs.
    pub(super) key: &'static str,
    name: &'static str,
    pub(super) value: fn(&Figures) -> Option<f64>,
    decimals: usize,
    unit: &'static str,
    /// It is told where it is not zero.
    is_rare: bool,
}

const fn row(
    key: &'static str,
    name: &'static str,
    unit: &'static str,
    decimals: usize,
    value: fn(&Figures) -> Option<f64>,
) -> Row {
    Row {
        key,
        name,
        value,
        decimals,
        unit,
        is_rare: false,
    }
}

impl Row {
    const fn rare(self) -> Self {
        Self {
            is_rare: true,
            ..self
        }
    }

    fn show(&self, value: f64) -> String {
        format!("{value:.*}{}", self.decimals, self.unit)
    }
}

/// All of them, in the order in which they are told.
pub(super) const SPREADS: [Row; 13] = [
    row("took_s", "time", " s", 1, |of| Some(of.took_s)),
    row("ratio", "time / optimum", "", 2, |of| of.ratio),
    row("used", "share of the limit that was used", "", 2, |of| {
        of.used
    }),
    row("done", "done", "", 0, |of| Some(of.done as f64)),
    row("lost", "lost", "", 0, |of| Some(of.lost as f64)),
    row("unfinished", "not finished", "", 0, |of| {
        Some(of.unfinished as f64)
    })
    .rare(),
    row("refused", "refused by a quota", "", 0, |of| {
        Some(of.refused as f64)
    }),
    row("outage_hits", "met an outage", "", 0, |of| {
        Some(of.outage_hits as f64)
    })
    .rare(),
    row("in_hold", "arrived in a hold", "", 0, |of| {
        Some(of.in_hold as f64)
    }),
    row("short_gaps", "too close to the one before", "", 0, |of| {
        Some(of.short_gaps as f64)
    })
    .rare(),
    row(
        "pace_per_s",
        "rate of the bucket at the end",
        "/s",
        1,
        |of| of.pace_per_s,
    ),
    row("learned_per_s", "limit that was learned", "/s", 1, |of| {
        of.learned_per_s
    }),
    row(
        "learned_concurrency",
        "limit in flight that was learned",
        "",
        0,
        |of| of.learned_concurrency.map(f64::from),
    ),
];

pub(super) fn write(
    out: &mut Results,
    model: &Model<'_>,
    figures: &[Figures],
    picture: Option<&Picture>,
    width: usize,
) -> Result<(), Failure> {
    if let Some(picture) = picture {
        for line in picture.lines() {
            out.line(&line)?;
        }
        out.line("")?;
    }
    let best = best(model);
    let most = match model.limit() {
        Some(limit) => format!("at most {limit:.1}/s in the long run"),
        None => "no limit of its rate".to_owned(),
    };
    out.line(&format!(
        "{} requests to a server with {most}; the optimum is {:.1} s",
        model.requests,
        best.as_secs_f64()
    ))?;
    out.line("")?;
    for line in spreads(figures).lines(width) {
        out.line(&line)?;
    }
    out.line("")?;
    for line in reasons(figures).lines(width) {
        out.line(&line)?;
    }
    Ok(())
}

fn spreads(figures: &[Figures]) -> Table {
    let several = figures.len() > 1;
    let runs = format!("{} runs", figures.len());
    let head: &[(&str, Align)] = if several {
        &[
            (&runs, Align::Left),
            ("median", Align::Right),
            ("least", Align::Right),
            ("most", Align::Right),
        ]
    } else {
        &[("one run", Align::Left), ("", Align::Right)]
    };
    let mut table = Table::new(head);
    for row in &SPREADS {
        let Some(spread) = Spread::of(figures.iter().map(row.value)) else {
            continue;
        };
        if row.is_rare && spread.most == 0.0 {
            continue;
        }
        let shown = [spread.median, spread.least, spread.most].map(|value| row.show(value));
        let shown = shown.into_iter().take(if several { 3 } else { 1 });
        table.row(std::iter::once(row.name.to_owned()).chain(shown).collect());
    }
    table
}

/// What bound the departures of all runs, the most frequent first.
fn reasons(figures: &[Figures]) -> Table {
    let mut all: BTreeMap<&str, usize> = BTreeMap::new();
    for (label, count) in figures.iter().flat_map(|of| &of.reasons) {
        *all.entry(label).or_default() += count;
    }
    let total = all.values().sum::<usize>().max(1) as f64;
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort_by_key(|(label, count)| (std::cmp::Reverse(*count), *label));
    let mut table = Table::new(&[
        ("departures were bound by", Align::Left),
        ("", Align::Right),
        ("share", Align::Right),
    ]);
    for (label, count) in all {
        let share = format!("{:.1}%", count as f64 / total * 100.0);
        table.row(vec![label.to_owned(), count.to_string(), share]);
    }
    table
}
