//! The judge: from a script and the arrivals it saw, how well the client behaved. Pure.

mod optimum;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use serde::Serialize;

pub use optimum::{Optimum, optimum};

use crate::arrival::{Arrival, Verdict};
use crate::script::{Rule, Script};

/// What arrives so soon after a hold was announced was on its way already.
pub const HOLD_GRACE: Duration = Duration::from_millis(50);
/// A hold that ends within this is over: the slack of timers.
pub const HOLD_SLACK: Duration = Duration::from_millis(5);
/// Two requests that departed a gap apart may arrive this much closer, or a tenth of the gap, whichever
/// is less: the first was held up on its way.
pub const GAP_SLACK: Duration = Duration::from_millis(20);

/// How a client behaved.
///
/// Arrivals that no quota governs (robots.txt) count in `exempt`, and where they break a hold; in
/// nothing else. Times are seconds from the first governed arrival.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// How many paths were expected.
    pub expected: usize,
    /// How many of them were served: admitted, answered in whole, with a status under 500 but 429.
    pub served: usize,
    /// Those that were not, in the order given.
    pub lost: Vec<String>,
    /// Governed arrivals.
    pub arrivals: usize,
    /// Arrivals that no quota governs.
    pub exempt: usize,
    /// Governed arrivals to paths that were not expected.
    pub stray: usize,
    /// Arrivals to a path that had been served.
    pub duplicates: usize,
    /// Arrivals that a quota refused.
    pub refused: usize,
    /// Arrivals that fell into an outage.
    pub outage_hits: usize,
    /// Arrivals inside a hold: later than [`HOLD_GRACE`] after it was announced, earlier than
    /// [`HOLD_SLACK`] before its end.
    pub in_hold: usize,
    /// Of those, arrivals inside the hold that the same path was told, for which there is no grace: a
    /// client waits for an answer before it repeats.
    pub in_own_hold: usize,
    /// Gaps between neighbours that are shorter than the Crawl-delay or the longest minimum gap that
    /// governs all paths, by more than [`GAP_SLACK`].
    pub short_gaps: usize,
    /// The shortest gap between neighbours.
    pub least_gap_s: Option<f64>,
    /// The most arrivals in any 100 ms.
    pub most_in_100ms: usize,
    /// The most arrivals in any second.
    pub most_in_1s: usize,
    /// The most requests under way at once.
    pub peak_in_flight: u32,
    /// Whether robots.txt was asked for before anything else. None where it never was.
    pub robots_first: Option<bool>,
    /// When the last of the served paths was served.
    pub took_s: f64,
    /// When the [optimum] would have served all.
    pub optimum_s: f64,
    /// The one by the other, the optimum taken as 50 ms at least.
    pub ratio: f64,
}

impl Judgement {
    /// Whether all was served, and nothing refused, repeated, in a hold or too close.
    #[must_use]
    pub fn is_flawless(&self) -> bool {
        self.lost.is_empty()
            && [
                self.refused,
                self.outage_hits,
                self.duplicates,
                self.in_hold,
                self.in_own_hold,
                self.short_gaps,
            ] == [0; 6]
    }
}

/// Judges arrivals in any order against the paths (with their query) that were to be fetched.
#[must_use]
pub fn judge<P: AsRef<str>>(script: &Script, arrivals: &[Arrival], paths: &[P]) -> Judgement {
    let mut all: Vec<&Arrival> = arrivals.iter().collect();
    all.sort_by_key(|arrival| (arrival.at, arrival.seq));
    let governed: Vec<&Arrival> = all
        .iter()
        .filter(|arrival| arrival.verdict != Verdict::Exempt)
        .copied()
        .collect();
    let instants: Vec<Duration> = governed.iter().map(|arrival| arrival.at).collect();
    let first = instants.first().copied().unwrap_or_default();

    let mut wanted = HashSet::new();
    let paths: Vec<&str> = paths
        .iter()
        .map(AsRef::as_ref)
        .filter(|path| wanted.insert(*path))
        .collect();
    let mut served_at: HashMap<&str, Duration> = HashMap::new();
    let mut duplicates = 0;
    for arrival in &governed {
        if served_at.contains_key(arrival.path.as_str()) {
            duplicates += 1;
        } else if is_served(arrival) {
            served_at.insert(&arrival.path, arrival.done.unwrap_or(arrival.at));
        }
    }
    let lost: Vec<String> = paths
        .iter()
        .filter(|path| !served_at.contains_key(*path))
        .map(|path| (*path).to_owned())
        .collect();
    let end = served_at
        .iter()
        .filter_map(|(path, at)| wanted.contains(path).then_some(*at))
        .max()
        .unwrap_or(first);
    let took = end.saturating_sub(first);
    let best = optimum(script, &paths).end;

    let count = |verdict| {
        governed
            .iter()
            .filter(|arrival| arrival.verdict == verdict)
            .count()
    };
    let (in_hold, in_own_hold) = holds_broken(&all);
    let gaps = || instants.windows(2).map(|pair| pair[1] - pair[0]);
    let required = required_gap(script);
    let robots = all
        .iter()
        .position(|arrival| arrival.bare_path() == "/robots.txt");
    Judgement {
        expected: paths.len(),
        served: paths.len() - lost.len(),
        lost,
        arrivals: governed.len(),
        exempt: all.len() - governed.len(),
        stray: governed
            .iter()
            .filter(|arrival| !wanted.contains(arrival.path.as_str()))
            .count(),
        duplicates,
        refused: count(Verdict::Refused),
        outage_hits: count(Verdict::Outage),
        in_hold,
        in_own_hold,
        short_gaps: required.map_or(0, |gap| {
            let least = gap - GAP_SLACK.min(gap / 10);
            gaps().filter(|gap| *gap < least).count()
        }),
        least_gap_s: gaps().min().map(|gap| gap.as_secs_f64()),
        most_in_100ms: most_within(&instants, Duration::from_millis(100)),
        most_in_1s: most_within(&instants, Duration::from_secs(1)),
        peak_in_flight: governed
            .iter()
            .map(|arrival| arrival.in_flight)
            .max()
            .unwrap_or(0),
        robots_first: robots.map(|n| n == 0),
        took_s: took.as_secs_f64(),
        optimum_s: best.as_secs_f64(),
        ratio: took.as_secs_f64() / best.max(Duration::from_millis(50)).as_secs_f64(),
    }
}

/// The most of these instants, which are in order, that lie within any span shorter than `window`.
#[must_use]
pub fn most_within(instants: &[Duration], window: Duration) -> usize {
    let mut first = 0;
    let mut most = 0;
    for (last, at) in instants.iter().enumerate() {
        while *at - instants[first] >= window {
            first += 1;
        }
        most = most.max(last - first + 1);
    }
    most
}

/// By how much an arrival was ahead, at most, of a steady pace from the first one on: the `k`-th after
/// it is due `k` intervals later. Zero where none was. The instants are in order.
#[must_use]
pub fn lead_over_pace(instants: &[Duration], interval: Duration) -> Duration {
    let Some(first) = instants.first() else {
        return Duration::ZERO;
    };
    let mut due = *first;
    let mut lead = Duration::ZERO;
    for at in instants {
        lead = lead.max(due.saturating_sub(*at));
        due = due.saturating_add(interval);
    }
    lead
}

fn is_served(arrival: &Arrival) -> bool {
    arrival.verdict == Verdict::Ok
        && arrival.whole
        && arrival
            .status
            .is_some_and(|status| status < 500 && status != 429)
}

/// Arrivals inside any hold, and inside the hold that their own path was told.
fn holds_broken(all: &[&Arrival]) -> (usize, usize) {
    let mut holds: Vec<(Duration, Duration)> = all
        .iter()
        .filter_map(|arrival| Some((arrival.answered? + HOLD_GRACE, arrival.hold_until?)))
        .collect();
    holds.sort_unstable();
    let mut holds = holds.into_iter().peekable();
    let mut until = Duration::ZERO;
    let mut own: HashMap<&str, Duration> = HashMap::new();
    let (mut in_hold, mut in_own_hold) = (0, 0);
    for arrival in all {
        while let Some((_, end)) = holds.next_if(|(from, _)| *from <= arrival.at) {
            until = until.max(end);
        }
        let inside = |end: Duration| arrival.at + HOLD_SLACK < end;
        in_hold += usize::from(inside(until));
        let own = own.entry(arrival.path.as_str()).or_default();
        in_own_hold += usize::from(inside(*own));
        *own = (*own).max(arrival.hold_until.unwrap_or_default());
    }
    (in_hold, in_own_hold)
}

fn required_gap(script: &Script) -> Option<Duration> {
    let gaps = script
        .policies
        .iter()
        .filter_map(|policy| match policy.rule {
            Rule::MinGap { gap, .. } if policy.prefix == "/" => Some(gap),
            _ => None,
        });
    gaps.chain(script.crawl_delay())
        .filter(|gap| !gap.is_zero())
        .max()
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::hand_made;
