//! The best that anybody could do: a client who knows every limit and every outage beforehand.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use crate::meter::Meter;
use crate::referee::Referee;
use crate::script::{Pages, Policy, Rule, Script};
use crate::service::Workers;

/// The schedule of the all-knowing client; instants count from its first departure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Optimum {
    /// When each request departs.
    pub departures: Vec<Duration>,
    /// When the last answer is there.
    pub end: Duration,
}

/// The optimum for these paths in this order: each departs at the first instant at which it is admitted,
/// and served before an outage begins.
///
/// For one quota, and for a robots.txt whose Crawl-delay is kept, nobody can be faster, the sliding
/// counter excepted (there it is near the best). Repeated failures of a page, content and network cost
/// nothing; a window on the clock is taken to begin with the first departure.
#[must_use]
pub fn optimum<P: AsRef<str>>(script: &Script, paths: &[P]) -> Optimum {
    let mut run = Run::new(script);
    let mut now = Duration::ZERO;
    let mut end = Duration::ZERO;
    let departures = paths
        .iter()
        .map(|path| {
            let (at, done) = run.send(path.as_ref(), now);
            now = at;
            end = end.max(done);
            at
        })
        .collect();
    Optimum { departures, end }
}

struct Run<'a> {
    pages: &'a Pages,
    quotas: Vec<(Policy, Meter)>,
    places: Vec<Places>,
    /// Knows the outages; the quotas are asked one by one here, since the future of a place is known.
    outages: Referee,
    workers: Workers,
}

/// A concurrency limit of which it is known when each place will be free.
struct Places {
    policy: Policy,
    limit: u64,
    ends: BinaryHeap<Reverse<Duration>>,
}

impl<'a> Run<'a> {
    fn new(script: &'a Script) -> Self {
        let mut quotas = Vec::new();
        let mut places = Vec::new();
        let crawl = script
            .crawl_delay()
            .filter(|delay| !delay.is_zero())
            .map(Policy::min_gap);
        for policy in script.policies.iter().cloned().chain(crawl) {
            match policy.rule {
                Rule::Concurrency { limit, .. } => places.push(Places {
                    policy,
                    limit,
                    ends: BinaryHeap::new(),
                }),
                _ => quotas.push((policy.clone(), Meter::new(&policy.rule, Duration::ZERO))),
            }
        }
        let mut outages = Referee::new(
            &Script {
                outages: script.outages.clone(),
                ..Script::default()
            },
            Duration::ZERO,
        );
        // The first request, from which outages count, departs at zero or waits for one to end.
        let _ = outages.rule("/", Duration::ZERO);
        Self {
            pages: &script.pages,
            quotas,
            places,
            outages,
            workers: Workers::new(script.service),
        }
    }

    /// Sends one request as soon as it can be from `now` on: when it departs, and when it is answered.
    fn send(&mut self, path: &str, mut now: Duration) -> (Duration, Duration) {
        let latency = self
            .pages
            .find(path)
            .and_then(|(_, series, _)| series.page(0).latency);
        loop {
            let wait = self.wait(path, now);
            if !wait.is_zero() {
                now += wait;
                continue;
            }
            let turns = self
                .quotas
                .iter()
                .filter(|(policy, _)| policy.governs(path));
            let turn = turns.map(|(_, meter)| meter.turn(now)).max();
            let ready = now + turn.unwrap_or_default();
            // What is still being served when an outage begins would be lost: it goes after that.
            let done = self.workers.foresee(latency, 1, ready);
            match self.outages.outage(done) {
                Some((_, left)) => now = done + left,
                None => break,
            }
        }
        let mut turn = Duration::ZERO;
        for (policy, meter) in &mut self.quotas {
            if policy.governs(path) {
                turn = turn.max(meter.settle(true, now));
            }
        }
        let done = self.workers.serve(latency, 1, now + turn);
        for places in &mut self.places {
            if places.policy.governs(path) {
                places.ends.push(Reverse(done));
            }
        }
        (now, done)
    }

    fn wait(&mut self, path: &str, now: Duration) -> Duration {
        let mut wait = self
            .outages
            .outage(now)
            .map_or(Duration::ZERO, |(_, left)| left);
        for (policy, meter) in &mut self.quotas {
            if policy.governs(path) {
                wait = wait.max(meter.wait(now));
            }
        }
        for places in &mut self.places {
            if places.policy.governs(path) {
                wait = wait.max(places.wait(now));
            }
        }
        wait
    }
}

impl Places {
    fn wait(&mut self, now: Duration) -> Duration {
        while let Some(Reverse(end)) = self.ends.peek()
            && *end <= now
        {
            self.ends.pop();
        }
        match self.ends.peek() {
            Some(Reverse(end)) if self.ends.len() as u64 >= self.limit => *end - now,
            _ => Duration::ZERO,
        }
    }
}
