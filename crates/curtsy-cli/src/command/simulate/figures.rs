//! What a run comes to, in numbers.

use std::collections::BTreeMap;
use std::time::Duration;

use curtsy_core::pace;
use curtsy_origin::{Verdict, judge, optimum};
use serde::Serialize;

use super::model::{Model, Played};

/// The most requests of the optimum that are counted for the share of the limit.
const MOST_COUNTED: usize = 1_000_000;

/// The figures of one run.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Figures {
    pub(super) seed: u64,
    /// From the first departure to the last answer, seconds.
    pub(super) took_s: f64,
    /// That, beside the optimum; `None` where some requests were lost or not finished.
    pub(super) ratio: Option<f64>,
    /// What was served, of what the server would have served in that time; `None` where it has no limit.
    pub(super) used: Option<f64>,
    pub(super) done: u64,
    /// Requests that were out of tries.
    pub(super) lost: u64,
    /// Requests that were neither when the job was broken off.
    pub(super) unfinished: u64,
    pub(super) refused: usize,
    pub(super) outage_hits: usize,
    pub(super) in_hold: usize,
    /// Arrivals closer to the one before than the server asks for.
    pub(super) short_gaps: usize,
    /// The rate of the bucket at the end, departures/s.
    pub(super) pace_per_s: Option<f64>,
    /// What was learned of the server's limits: departures/s, and in flight at once.
    pub(super) learned_per_s: Option<f64>,
    pub(super) learned_concurrency: Option<u32>,
    /// Departures by what bound them.
    pub(super) reasons: BTreeMap<&'static str, usize>,
}

impl Figures {
    pub(super) fn of(model: &Model<'_>, played: &Played, seed: u64) -> Self {
        let Played { origin, run } = played;
        let judgement = judge(origin.script(), origin.arrivals(), &[model.path]);
        let best = best(model).as_secs_f64();
        let took_s = run.took.as_secs_f64();
        let mut reasons = BTreeMap::new();
        for departed in &run.departures {
            *reasons.entry(departed.reason.label()).or_default() += 1;
        }
        Self {
            seed,
            took_s,
            ratio: (run.done == model.requests && best > 0.0).then(|| took_s / best),
            used: used(model, played),
            done: run.done,
            lost: run.lost,
            unfinished: model.requests - run.done - run.lost,
            refused: judgement.refused,
            outage_hits: judgement.outage_hits,
            in_hold: judgement.in_hold,
            short_gaps: judgement.short_gaps,
            pace_per_s: pace(&model.policy, &run.state)
                .map(|(rate, _)| rate)
                .filter(|_| model.policy.polite),
            learned_per_s: run.state.learned_pace().map(|pace| pace.rate),
            learned_concurrency: run.state.learned_concurrency(),
            reasons,
        }
    }
}

/// When a client would have ended that knows every limit and every outage beforehand.
pub(super) fn best(model: &Model<'_>) -> Duration {
    optimum(&model.script, &vec![model.path; model.requests as usize]).end
}

/// What was served, as a share of what the all-knowing client would have sent until the same time.
fn used(model: &Model<'_>, played: &Played) -> Option<f64> {
    let limit = model.limit()?;
    let took = played.run.took;
    let mut count = (limit * took.as_secs_f64()) as usize + 1;
    while count <= MOST_COUNTED {
        let departures = optimum(&model.script, &vec![model.path; count]).departures;
        let possible = departures.partition_point(|at| *at <= took);
        if possible < count {
            let arrivals = played.origin.arrivals().iter();
            let served = arrivals.filter(|arrival| arrival.verdict == Verdict::Ok);
            let served = served.count();
            return Some(served as f64 / possible.max(1) as f64);
        }
        count *= 2;
    }
    None
}
