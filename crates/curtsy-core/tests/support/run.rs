//! A client of the core in virtual time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use curtsy_core::{
    Answer, Ask, Attempt, Bound, Decision, Draw, HostState, Kind, Next, Policy, PolicyValues,
    Timestamp, decide, observe, retry, signal,
};
use http::HeaderMap;

use super::{Dice, MS, Micros, Server};

/// When all runs begin: an odd moment, so that no boundary is met by luck.
pub const START: Micros = 1_700_000_000_123_457;

/// How a client behaves.
#[derive(Clone, Debug)]
pub struct Client {
    pub policy: Policy,
    /// Half of what passes between departure and answer, and how much it varies.
    pub way: Micros,
    pub way_jitter: Micros,
    /// How late its timers are at most.
    pub lateness: Micros,
    pub seed: u64,
    /// Whether every event is printed, for who looks into a run that failed.
    pub traced: bool,
}

/// What came of a run.
#[derive(Debug)]
pub struct Run {
    pub server: Server,
    pub departures: Vec<Micros>,
    /// From the first departure to the last answer.
    pub took: Duration,
    pub state: HostState,
    /// Requests that were given up: declined, or out of tries.
    pub lost: u64,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrives {
        seq: u64,
        departed: Micros,
        tries: u32,
    },
    Answered {
        seq: u64,
        departed: Micros,
        tries: u32,
        answer: usize,
    },
}

/// A request that waits its turn.
#[derive(Clone, Copy)]
struct Waiting {
    since: Micros,
    tries: u32,
    own: Bound,
}

impl Client {
    /// The command line of a fast job: rate 20, max_rate 100, eight in flight, no robots.txt.
    pub fn fast() -> Self {
        let mut values = PolicyValues::compliant();
        values.rate = Some(20.0);
        values.max_rate = Some(100.0);
        values.per_host = 8;
        values.max_retries = 10;
        Self::with(values)
    }

    pub fn with(values: PolicyValues) -> Self {
        Self {
            policy: values.build().unwrap(),
            way: 2_500,
            way_jitter: 500,
            lateness: MS,
            seed: 7,
            traced: false,
        }
    }

    /// The same, telling every event.
    pub fn traced(mut self) -> Self {
        self.traced = true;
        self
    }

    /// The same with some values of its policy changed.
    pub fn but(self, change: impl FnOnce(&mut PolicyValues)) -> Self {
        let mut values = self.policy.values();
        change(&mut values);
        Self {
            policy: values.build().unwrap(),
            ..self
        }
    }

    /// Sends `requests` until all are done, or `most` has passed.
    pub fn run(&self, server: Server, requests: u64, most: Duration) -> Run {
        World::new(self, server, requests).run(most)
    }
}

struct World<'a> {
    client: &'a Client,
    server: Server,
    dice: Dice,
    state: HostState,
    now: Micros,
    /// Requests that nobody has taken up yet.
    fresh: u64,
    waiting: VecDeque<Waiting>,
    events: BinaryHeap<Reverse<(Micros, u64, Event)>>,
    nth_event: u64,
    answers: Vec<(u16, HeaderMap)>,
    departures: Vec<Micros>,
    unfinished: u64,
    lost: u64,
}

impl<'a> World<'a> {
    fn new(client: &'a Client, server: Server, requests: u64) -> Self {
        let mut world = Self {
            client,
            server,
            dice: Dice::new(client.seed),
            state: HostState::default(),
            now: START,
            fresh: requests,
            waiting: VecDeque::new(),
            events: BinaryHeap::new(),
            nth_event: 0,
            answers: Vec::new(),
            departures: Vec::new(),
            unfinished: requests,
            lost: 0,
        };
        (0..client.policy.per_host).for_each(|_| world.take_up());
        world
    }

    fn run(mut self, most: Duration) -> Run {
        let end = START + most.as_micros() as Micros;
        while self.unfinished > 0 && self.now < end {
            let wake = self.try_to_depart();
            let next = self.events.peek().map(|Reverse((at, ..))| *at);
            let Some(at) = [wake, next].into_iter().flatten().min() else {
                break;
            };
            self.now = at;
            while self
                .events
                .peek()
                .is_some_and(|Reverse((at, ..))| *at <= self.now)
            {
                if let Some(Reverse((_, _, event))) = self.events.pop() {
                    self.happen(event);
                }
            }
        }
        let first = self.departures.first().copied().unwrap_or(START);
        Run {
            took: Duration::from_micros(self.now - first),
            server: self.server,
            departures: self.departures,
            state: self.state,
            lost: self.lost + self.unfinished,
        }
    }

    /// Lets go whatever may go; when to ask again.
    fn try_to_depart(&mut self) -> Option<Micros> {
        while let Some(front) = self.waiting.front().copied() {
            let ask = Ask {
                kind: if front.tries == 1 {
                    Kind::Page
                } else {
                    Kind::Retry
                },
                since: stamp(front.since),
                own: front.own,
            };
            let draw = Draw::new(self.dice.roll());
            match decide(
                &self.client.policy,
                &self.state,
                &ask,
                stamp(self.now),
                draw,
            ) {
                Decision::Depart(permit) => {
                    self.waiting.pop_front();
                    self.tell(|| {
                        format!("{} departs: {}", permit.seq, permit.bound.reason.label())
                    });
                    self.state = permit.state;
                    self.departures.push(self.now);
                    let arrives = self.now + self.way();
                    let event = Event::Arrives {
                        seq: permit.seq,
                        departed: self.now,
                        tries: front.tries,
                    };
                    self.at(arrives, event);
                }
                Decision::Wait(bound) | Decision::Defer(bound) => {
                    let late = self.dice.up_to(self.client.lateness);
                    return Some(bound.not_before.as_micros() + late);
                }
                Decision::Decline(_) => {
                    self.waiting.pop_front();
                    self.lost += 1;
                    self.finish();
                }
            }
        }
        None
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Arrives {
                seq,
                departed,
                tries,
            } => {
                self.answers.push(self.server.answer(self.now));
                self.tell(|| format!("{seq} arrives"));
                let back = self.now + self.way();
                let answer = self.answers.len() - 1;
                self.at(
                    back,
                    Event::Answered {
                        seq,
                        departed,
                        tries,
                        answer,
                    },
                );
            }
            Event::Answered {
                seq,
                departed,
                tries,
                answer,
            } => self.land(seq, departed, tries, answer),
        }
    }

    fn land(&mut self, seq: u64, departed: Micros, tries: u32, answer: usize) {
        let (status, headers) = &self.answers[answer];
        let now = stamp(self.now);
        let signal = signal::read(*status, headers, now, None, None);
        let answer = Answer::Head {
            status: *status,
            latency: Duration::from_micros(self.now - departed),
            signal: &signal,
        };
        let attempt = Attempt {
            seq,
            kind: Kind::Page,
            departed: stamp(departed),
            host: "example.org",
        };
        let policy = &self.client.policy;
        let draw = Draw::new(self.dice.roll());
        let observed = observe(policy, &self.state, &attempt, &answer, now, draw);
        let class = observed.class.unwrap();
        self.tell(|| {
            let quota = observed.state.quotas().first().map(|quota| {
                let by = quota.resets_by().map(|by| seconds(by.as_micros()));
                format!("{:?} left {} by {by:?}", quota.remaining, quota.left())
            });
            let rate = observed.state.rate();
            format!("{seq} answered {status}: {headers:?} {quota:?} rate {rate:?}")
        });
        self.state = observed.state;
        match retry(policy, true, &answer, class, tries, now, draw) {
            Next::Again(own) => self.waiting.push_back(Waiting {
                since: self.now,
                tries: tries + 1,
                own,
            }),
            Next::Stands => {
                if *status >= 400 {
                    self.lost += 1;
                }
                self.finish();
            }
        }
    }

    #[expect(
        clippy::print_stdout,
        reason = "a trace is asked for by who looks for a fault"
    )]
    fn tell(&self, what: impl FnOnce() -> String) {
        if self.client.traced {
            println!("{:9.4} {}", seconds(self.now), what());
        }
    }

    fn finish(&mut self) {
        self.unfinished -= 1;
        self.take_up();
    }

    fn take_up(&mut self) {
        if self.fresh > 0 {
            self.fresh -= 1;
            self.waiting.push_back(Waiting {
                since: self.now,
                tries: 1,
                own: Bound::FREE,
            });
        }
    }

    fn way(&mut self) -> Micros {
        self.client.way + self.dice.up_to(self.client.way_jitter)
    }

    fn at(&mut self, at: Micros, event: Event) {
        self.nth_event += 1;
        self.events.push(Reverse((at, self.nth_event, event)));
    }
}

/// Seconds since the start.
fn seconds(at: Micros) -> f64 {
    (at as f64 - START as f64) / 1e6
}

fn stamp(micros: Micros) -> Timestamp {
    Timestamp::from_micros(micros)
}
