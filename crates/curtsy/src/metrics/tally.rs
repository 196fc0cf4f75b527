//! What is counted of one scope.

use std::collections::BTreeMap;
use std::time::Duration;

use curtsy_core::Kind;

/// Upper bounds of the buckets of `curtsy_wait_seconds`.
pub(super) const WAIT_BUCKETS: [f64; 13] = [
    0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0,
];
/// Upper bounds of the buckets of `curtsy_response_head_seconds`.
pub(super) const HEAD_BUCKETS: [f64; 12] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];
/// Status codes that are told apart: a server that invents them makes no more series than this.
const MOST_STATUSES: usize = 40;

#[derive(Clone, Debug)]
pub(super) struct Tally {
    pub(super) departures: Departures,
    pub(super) outcomes: Outcomes,
    pub(super) retries: u64,
    pub(super) deferrals: u64,
    pub(super) suppressions: u64,
    pub(super) body_bytes: u64,
    pub(super) wait: Histogram,
    pub(super) head: Histogram,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            departures: Departures::default(),
            outcomes: Outcomes::default(),
            retries: 0,
            deferrals: 0,
            suppressions: 0,
            body_bytes: 0,
            wait: Histogram::new(&WAIT_BUCKETS),
            head: Histogram::new(&HEAD_BUCKETS),
        }
    }
}

/// Departures by kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Departures([u64; 4]);

/// In the order of their numbers.
const KINDS: [Kind; 4] = [Kind::Page, Kind::Robots, Kind::Redirect, Kind::Retry];

impl Departures {
    pub(super) fn add(&mut self, kind: Kind) {
        if let Some(at) = KINDS.iter().position(|known| *known == kind) {
            self.0[at] += 1;
        }
    }

    pub(super) fn by_kind(&self) -> impl Iterator<Item = (Kind, u64)> + '_ {
        KINDS.into_iter().zip(self.0)
    }
}

/// Outcomes by status.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcomes {
    statuses: BTreeMap<u16, u64>,
    /// Of all codes beyond those that are told apart.
    beyond: u64,
    /// No response came.
    pub(super) failed: u64,
}

impl Outcomes {
    pub(super) fn add(&mut self, status: u16) {
        if self.statuses.len() >= MOST_STATUSES && !self.statuses.contains_key(&status) {
            self.beyond += 1;
        } else {
            *self.statuses.entry(status).or_default() += 1;
        }
    }

    /// By the value of the label `status`; without those that never came.
    pub(super) fn by_status(&self) -> impl Iterator<Item = (String, u64)> + '_ {
        let rest = [("other", self.beyond), ("error", self.failed)];
        self.statuses
            .iter()
            .map(|(status, count)| (status.to_string(), *count))
            .chain(
                rest.into_iter()
                    .map(|(name, count)| (name.to_owned(), count)),
            )
            .filter(|(_, count)| *count > 0)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Histogram {
    bounds: &'static [f64],
    /// One for each bound, and one for what lies above all.
    counts: Vec<u64>,
    sum: f64,
}

impl Histogram {
    fn new(bounds: &'static [f64]) -> Self {
        Self {
            bounds,
            counts: vec![0; bounds.len() + 1],
            sum: 0.0,
        }
    }

    pub(super) fn observe(&mut self, took: Duration) {
        let seconds = took.as_secs_f64();
        let at = self.bounds.partition_point(|bound| *bound < seconds);
        self.counts[at] += 1;
        self.sum += seconds;
    }

    pub(super) fn sum(&self) -> f64 {
        self.sum
    }

    pub(super) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Each bucket's upper bound and how many are in it, those of lower ones not counted.
    pub(super) fn buckets(&self) -> Vec<(f64, u64)> {
        let bounds = self.bounds.iter().copied().chain([f64::INFINITY]);
        bounds.zip(self.counts.iter().copied()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_on_a_bound_is_in_its_bucket() {
        let mut histogram = Histogram::new(&[1.0, 2.0]);
        for millis in [1000, 1001, 2000, 9000] {
            histogram.observe(Duration::from_millis(millis));
        }
        assert_eq!(
            histogram.buckets(),
            [(1.0, 1), (2.0, 2), (f64::INFINITY, 1)]
        );
        assert_eq!((histogram.count(), histogram.sum()), (4, 13.001));
    }

    #[test]
    fn a_server_that_invents_statuses_makes_no_more_series_for_it() {
        let mut outcomes = Outcomes::default();
        (100..1000).for_each(|status| outcomes.add(status));
        let by_status: BTreeMap<_, _> = outcomes.by_status().collect();
        assert_eq!(by_status.len(), MOST_STATUSES + 1);
        assert_eq!(by_status["other"], 900 - MOST_STATUSES as u64);
        assert_eq!(by_status.values().sum::<u64>(), 900);
    }
}
