//! Whole jobs in virtual time: a client that drives [`decide`], [`observe`] and [`retry`] as a real one
//! does, against a modelled server. Nothing sleeps: a minute of traffic takes milliseconds.
//!
//! Supported are pace, holds, backoff, retries and concurrency of one scope, for one or several clients
//! that know nothing of each other. Not supported: robots.txt, redirects, bodies.

mod dice;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use http::HeaderMap;

use crate::outcome::{Answer, Failure, Kind};
use crate::pace::Ask;
use crate::{
    Attempt, Bound, Change, Decision, HostState, Next, Policy, Reason, Timestamp, decide, observe,
    pace, retry, signal,
};
use dice::Dice;

/// The answer to one request.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// When it leaves the server, counted from the arrival.
    pub after: Duration,
    /// The status; `None`: the connection is reset.
    pub status: Option<u16>,
    /// Its header fields.
    pub headers: HeaderMap,
}

/// One client, and how far it is from the server.
#[derive(Clone, Debug)]
pub struct Client {
    /// Its policy; of its requests as many wait at once as `per_host` allows in flight.
    pub policy: Policy,
    /// How many requests it sends, each until it is answered well or given up.
    pub requests: u64,
    /// When it begins, counted from the start of all.
    pub begins: Duration,
    /// What passes on the way to the server, and as much on the way back. Default 2.5 ms.
    pub way: Duration,
    /// By how much that varies. Default 0.5 ms.
    pub way_jitter: Duration,
    /// How late its timers are at most. Default 1 ms.
    pub lateness: Duration,
    /// What its random draws come from: the same seed, the same run.
    pub seed: u64,
    /// What it remembers of the server when it begins, its Crawl-delay among it. Default nothing.
    pub state: HostState,
}

impl Client {
    /// A client of a near server that sends `requests`.
    #[must_use]
    pub fn new(policy: Policy, requests: u64) -> Self {
        Self {
            policy,
            requests,
            begins: Duration::ZERO,
            way: Duration::from_micros(2_500),
            way_jitter: Duration::from_micros(500),
            lateness: Duration::from_millis(1),
            seed: 7,
            state: HostState::default(),
        }
    }
}

/// A request on its way out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Departed {
    /// When.
    pub at: Timestamp,
    /// What had bound it.
    pub reason: Reason,
    /// The rate of the bucket then, departures/s, where there is one.
    pub rate: Option<f64>,
}

/// What came of one client's job.
#[derive(Clone, Debug)]
pub struct Run {
    /// Every departure, in order.
    pub departures: Vec<Departed>,
    /// Everything that goes on record beside them, with its time.
    pub changes: Vec<(Timestamp, Change)>,
    /// From the first departure to the last answer.
    pub took: Duration,
    /// Requests that were answered well.
    pub done: u64,
    /// Requests that were declined, or out of tries.
    pub lost: u64,
    /// What is remembered of the scope at the end.
    pub state: HostState,
}

/// Sends all requests of `clients` to `server`, which answers what arrives at a time, in order: from `start` on, until all have ended or `most` has passed.
#[must_use]
pub fn simulate(
    clients: &[Client],
    server: &mut dyn FnMut(Timestamp) -> Told,
    start: Timestamp,
    most: Duration,
) -> Vec<Run> {
    let mut world = World {
        jobs: clients
            .iter()
            .map(|client| Job::new(client, start))
            .collect(),
        now: start,
        events: BinaryHeap::new(),
        foreseen: 0,
        answers: Vec::new(),
    };
    world.run(server, start.after(most));
    let now = world.now;
    world.jobs.into_iter().map(|job| job.ended(now)).collect()
}

/// All clients and what is under way.
struct World<'a> {
    jobs: Vec<Job<'a>>,
    now: Timestamp,
    /// What is to come, by time and then by the order in which it was foreseen.
    events: BinaryHeap<Reverse<(Timestamp, u64, Event)>>,
    foreseen: u64,
    /// What has been answered, by the number that an event carries.
    answers: Vec<Told>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrives(Flight),
    Answered(Flight, usize),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Flight {
    job: usize,
    seq: u64,
    departed: Timestamp,
    tries: u32,
}

impl World<'_> {
    fn run(&mut self, server: &mut dyn FnMut(Timestamp) -> Told, end: Timestamp) {
        while self.now < end {
            let mut wake: Option<Timestamp> = None;
            for nth in 0..self.jobs.len() {
                let next = self.let_go(nth);
                wake = [wake, next].into_iter().flatten().min();
            }
            let next = self.events.peek().map(|Reverse((at, ..))| *at);
            let Some(at) = [wake, next].into_iter().flatten().min() else {
                return;
            };
            self.now = at.max(self.now);
            while let Some(Reverse((at, ..))) = self.events.peek()
                && *at <= self.now
            {
                if let Some(Reverse((_, _, event))) = self.events.pop() {
                    self.happen(event, server);
                }
            }
        }
    }

    /// Lets go whatever of one job may go; when to ask again.
    fn let_go(&mut self, nth: usize) -> Option<Timestamp> {
        let (job, now) = (&mut self.jobs[nth], self.now);
        if now < job.begins {
            return Some(job.begins);
        }
        // A timer that is set is waited for, unless the state has changed since.
        if let Some(timer) = job.timer
            && timer > now
        {
            return Some(timer);
        }
        job.timer = None;
        while let Some(waiting) = job.waiting.front().copied() {
            let ask = Ask {
                kind: if waiting.tries == 1 {
                    Kind::Page
                } else {
                    Kind::Retry
                },
                since: waiting.since,
                own: waiting.own,
            };
            let rate = pace(&job.client.policy, &job.state).map(|(rate, _)| rate);
            match decide(&job.client.policy, &job.state, &ask, now, job.dice.draw()) {
                Decision::Depart(permit) => {
                    job.waiting.pop_front();
                    job.departures.push(Departed {
                        at: now,
                        reason: permit.bound.reason,
                        rate,
                    });
                    job.state = permit.state;
                    let flight = Flight {
                        job: nth,
                        seq: permit.seq,
                        departed: now,
                        tries: waiting.tries,
                    };
                    let arrives = now.after(job.way());
                    self.foreseen += 1;
                    let event = Event::Arrives(flight);
                    self.events.push(Reverse((arrives, self.foreseen, event)));
                }
                Decision::Wait(bound) | Decision::Defer(bound) => {
                    let late = job.dice.up_to(job.client.lateness);
                    job.timer = Some(bound.not_before.after(late));
                    return job.timer;
                }
                Decision::Decline(_) => {
                    job.waiting.pop_front();
                    job.lost += 1;
                    job.take_up(now);
                }
            }
        }
        None
    }

    fn happen(&mut self, event: Event, server: &mut dyn FnMut(Timestamp) -> Told) {
        match event {
            Event::Arrives(flight) => {
                let told = server(self.now);
                let back = self
                    .now
                    .after(told.after)
                    .after(self.jobs[flight.job].way());
                self.answers.push(told);
                let event = Event::Answered(flight, self.answers.len() - 1);
                self.foreseen += 1;
                self.events.push(Reverse((back, self.foreseen, event)));
            }
            Event::Answered(flight, nth) => {
                self.jobs[flight.job].land(flight, &self.answers[nth], self.now);
            }
        }
    }
}

/// One client on its way through its requests.
struct Job<'a> {
    client: &'a Client,
    begins: Timestamp,
    dice: Dice,
    state: HostState,
    /// Requests that nobody has taken up yet.
    fresh: u64,
    waiting: VecDeque<Waiting>,
    timer: Option<Timestamp>,
    departures: Vec<Departed>,
    changes: Vec<(Timestamp, Change)>,
    done: u64,
    lost: u64,
    /// When its last request ended.
    ended_at: Option<Timestamp>,
}

/// A request that waits its turn.
#[derive(Clone, Copy)]
struct Waiting {
    since: Timestamp,
    tries: u32,
    own: Bound,
}

impl<'a> Job<'a> {
    fn new(client: &'a Client, start: Timestamp) -> Self {
        let begins = start.after(client.begins);
        let mut job = Self {
            client,
            begins,
            dice: Dice::new(client.seed),
            state: client.state.clone(),
            fresh: client.requests,
            waiting: VecDeque::new(),
            timer: None,
            departures: Vec::new(),
            changes: Vec::new(),
            done: 0,
            lost: 0,
            ended_at: None,
        };
        (0..client.policy.per_host).for_each(|_| job.take_up(begins));
        job
    }

    fn ended(self, now: Timestamp) -> Run {
        let first = self.departures.first().map_or(now, |departed| departed.at);
        Run {
            took: self.ended_at.unwrap_or(now).since(first),
            departures: self.departures,
            changes: self.changes,
            done: self.done,
            lost: self.lost,
            state: self.state,
        }
    }

    fn land(&mut self, flight: Flight, told: &Told, now: Timestamp) {
        let policy = &self.client.policy;
        let signal = match told.status {
            Some(status) => signal::read(status, &told.headers, now, None, None),
            None => signal::Signal::default(),
        };
        let answer = told
            .status
            .map_or(Answer::Failed(Failure::Reset), |status| Answer::Head {
                status,
                latency: now.since(flight.departed),
                signal: &signal,
            });
        let attempt = Attempt {
            seq: flight.seq,
            kind: Kind::Page,
            departed: flight.departed,
            host: "example.org",
        };
        let draw = self.dice.draw();
        let observed = observe(policy, &self.state, &attempt, &answer, now, draw);
        self.state = observed.state;
        self.timer = None;
        self.changes
            .extend(observed.changes.into_iter().map(|change| (now, change)));
        let next = observed
            .class
            .map(|class| retry(policy, true, &answer, class, flight.tries, now, draw));
        if let Some(Next::Again(own)) = next {
            self.waiting.push_back(Waiting {
                since: now,
                tries: flight.tries + 1,
                own,
            });
            return;
        }
        if told.status.is_some_and(|status| status < 400) {
            self.done += 1;
        } else {
            self.lost += 1;
        }
        self.take_up(now);
    }

    /// The place of a request that has ended goes to the next.
    fn take_up(&mut self, now: Timestamp) {
        if self.done + self.lost == self.client.requests {
            self.ended_at = Some(now);
        }
        if self.fresh > 0 {
            self.fresh -= 1;
            self.waiting.push_back(Waiting {
                since: now,
                tries: 1,
                own: Bound::FREE,
            });
        }
    }

    fn way(&mut self) -> Duration {
        self.client.way + self.dice.up_to(self.client.way_jitter)
    }
}
