//! A client of the core before a modelled server, and what came of it.

use std::time::Duration;

use curtsy_core::simulate::{Client, Run, Told, simulate};
use curtsy_core::{PolicyValues, Timestamp};
use curtsy_origin::{Modelled, Script, Verdict, judge};

use crate::models::random;

/// An odd moment, so that no boundary is met by luck.
const START: Duration = Duration::from_micros(1_700_000_000_123_457);

/// Twenty windows of one model.
pub struct Outcome {
    pub seed: u64,
    pub rule: String,
    pub published: bool,
    /// From the third window on: what share of the limit was used, and how many were refused a window.
    pub used: f64,
    pub refused: f64,
    /// How many were refused in all.
    pub refused_ever: usize,
    pub in_hold: usize,
    /// The greatest rate of the client, and the greatest that it was allowed, departures/s.
    pub fastest: f64,
    pub allowed: f64,
    /// The coefficient of variation of the rate in the second half.
    pub wobble: f64,
}

/// The instant so long after all began.
pub fn stamp(after: Duration) -> Timestamp {
    Timestamp::from_micros((START + after).as_micros() as u64)
}

/// Runs `clients` against the server of `script`.
pub fn run(script: &Script, clients: &[Client], most: Duration) -> (Modelled, Vec<Run>) {
    let mut origin = Modelled::new(script.clone(), START);
    let start = stamp(Duration::ZERO);
    let mut server = |at: Timestamp| {
        let told = origin.answer("/", at.since(start));
        Told {
            after: told.after,
            status: told.status,
            headers: told.headers,
        }
    };
    let runs = simulate(clients, &mut server, start, most);
    (origin, runs)
}

/// A policy that knows nothing of the server, and lets it be found out.
pub fn policy(rate: f64) -> PolicyValues {
    let mut values = PolicyValues::compliant();
    values.rate = Some(rate);
    values.max_rate = Some(rate.max(100.0));
    values.per_host = 8;
    values.max_retries = 10;
    values
}

/// Arrivals in a hold.
pub fn in_hold(origin: &Modelled) -> usize {
    judge(origin.script(), origin.arrivals(), &["/"]).in_hold
}

pub fn middle(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Plays twenty windows of the model of this seed.
pub fn play(seed: u64) -> Outcome {
    let model = random(seed);
    let policy = policy(model.rate).build().unwrap();
    let mut client = Client::new(policy, 10_000_000);
    client.seed = seed;
    let most = model.window * 20;
    let (origin, runs) = run(&model.script, std::slice::from_ref(&client), most);
    let of = |verdict, from| {
        let arrivals = origin.arrivals().iter();
        let of = arrivals.filter(|arrival| arrival.verdict == verdict && arrival.at >= from);
        of.count()
    };
    let (third, windows) = (model.window * 2, 18.0);
    let departures = &runs[0].departures;
    let rates = departures.iter().filter_map(|departed| departed.rate);
    let later = departures
        .iter()
        .filter(|departed| departed.at > stamp(most / 2));
    let allowed = client.policy.max_rate.unwrap();
    Outcome {
        seed,
        rule: format!("{:?}", model.script.policies[0].rule),
        published: model.published,
        used: of(Verdict::Ok, third) as f64 / (model.limit * windows * model.window.as_secs_f64()),
        refused: of(Verdict::Refused, third) as f64 / windows,
        refused_ever: of(Verdict::Refused, Duration::ZERO),
        in_hold: in_hold(&origin),
        fastest: rates.fold(0.0, f64::max),
        allowed,
        wobble: wobble(later.filter_map(|departed| departed.rate).collect()),
    }
}

fn wobble(rates: Vec<f64>) -> f64 {
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let squares = rates.iter().map(|rate| (rate - mean).powi(2));
    (squares.sum::<f64>() / rates.len() as f64).sqrt() / mean
}
