//! An origin in virtual time: a script judged and worded as the server does it, without sockets and
//! without a clock.
//!
//! Supported are quotas, refusals, dialects, latency, workers and outages. Not supported, since they are
//! about bytes and not about pace: the script's `pages`, their faults and codings, and robots.txt.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use http::HeaderMap;

use crate::arrival::{Arrival, Protocol, Verdict, as_micros};
use crate::referee::{Referee, Ruling};
use crate::reply::{Chosen, Hold, word};
use crate::script::Script;
use crate::service::Workers;

/// One origin, and what has arrived there.
#[derive(Debug)]
pub struct Modelled {
    script: Script,
    epoch: Duration,
    referee: Referee,
    workers: Workers,
    /// When each request under way ends: its place among `arrivals`.
    under_way: BinaryHeap<Reverse<(Duration, usize)>>,
    rulings: Vec<Ruling>,
    arrivals: Vec<Arrival>,
}

/// The answer to one request.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// When it leaves, counted from the arrival.
    pub after: Duration,
    /// The status; `None`: the connection is reset.
    pub status: Option<u16>,
    /// Its header fields.
    pub headers: HeaderMap,
}

impl Modelled {
    /// An origin that has seen nothing. Instants count from the Unix time `epoch`.
    #[must_use]
    pub fn new(script: Script, epoch: Duration) -> Self {
        Self {
            referee: Referee::new(&script, epoch),
            workers: Workers::new(script.service),
            script,
            epoch,
            under_way: BinaryHeap::new(),
            rulings: Vec::new(),
            arrivals: Vec::new(),
        }
    }

    /// Takes in a request for `path` at the instant `at`; arrivals come in order.
    pub fn answer(&mut self, path: &str, at: Duration) -> Told {
        while let Some(Reverse((done, nth))) = self.under_way.peek().copied() {
            if done > at {
                break;
            }
            self.under_way.pop();
            self.referee.release(&self.rulings[nth]);
        }
        let mut ruling = self.referee.rule(path, at);
        let in_flight = self.under_way.len() as u32 + 1;
        let ready = match ruling.verdict {
            Verdict::Ok => {
                let turn = at + ruling.turn;
                self.workers.serve(None, in_flight, turn)
            }
            _ => at,
        };
        self.referee.overtake(&mut ruling, ready);
        let chosen = Chosen {
            page: self.script.page.clone(),
            rest: String::new(),
        };
        let reply = word(
            &self.script,
            Some(&ruling),
            chosen,
            self.epoch + ready,
            ready,
        );
        let status = reply.fault.is_none().then_some(reply.status.as_u16());
        let nth = self.arrivals.len();
        self.arrivals.push(Arrival {
            seq: nth as u64 + 1,
            at,
            epoch_us: as_micros(self.epoch + at),
            answered: Some(ready),
            done: Some(ready),
            whole: status.is_some(),
            connection: 1,
            protocol: Protocol::Http11,
            method: "GET".to_owned(),
            host: None,
            path: path.to_owned(),
            user_agent: None,
            verdict: ruling.verdict,
            status,
            hold_until: match reply.hold {
                Hold::None => None,
                Hold::For(hold) => Some(ready + hold),
                Hold::Until(until) => Some(until),
            },
            in_flight,
            headers: Vec::new(),
        });
        self.rulings.push(ruling);
        self.under_way.push(Reverse((ready, nth)));
        Told {
            after: ready - at,
            status,
            headers: reply.headers,
        }
    }

    /// What it does.
    #[must_use]
    pub fn script(&self) -> &Script {
        &self.script
    }

    /// All that has arrived, in order.
    #[must_use]
    pub fn arrivals(&self) -> &[Arrival] {
        &self.arrivals
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{Outage, Policy, RetryAfter, Service};

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn it_refuses_words_and_remembers_as_a_server_does() {
        let script = Script {
            policies: vec![Policy::fixed_window(1, ms(2_500))],
            service: Service {
                latency: ms(20),
                ..Service::default()
            },
            ..Script::default()
        };
        let mut origin = Modelled::new(script, Duration::from_secs(784_111_777));
        let first = origin.answer("/", ms(0));
        assert_eq!((first.after, first.status), (ms(20), Some(200)));
        assert_eq!(first.headers["date"], "Sun, 06 Nov 1994 08:49:37 GMT");
        let second = origin.answer("/", ms(100));
        assert_eq!((second.after, second.status), (ms(0), Some(429)));
        assert_eq!(second.headers["retry-after"], "3");
        assert_eq!(origin.arrivals()[1].hold_until, Some(ms(3_100)));
        assert_eq!(origin.arrivals()[1].in_flight, 1);
    }

    #[test]
    fn a_place_comes_back_when_its_answer_has_gone() {
        let script = Script {
            policies: vec![Policy::concurrency(1)],
            service: Service {
                latency: ms(20),
                ..Service::default()
            },
            ..Script::default()
        };
        let mut origin = Modelled::new(script, Duration::ZERO);
        let statuses = [0, 10, 20].map(|at| origin.answer("/", ms(at)).status);
        assert_eq!(statuses, [Some(200), Some(429), Some(200)]);
    }

    #[test]
    fn an_outage_that_resets_gives_no_status() {
        let script = Script {
            outages: vec![Outage {
                at: ms(0),
                lasts: ms(100),
                status: 503,
                reset: true,
                retry_after: RetryAfter::None,
            }],
            ..Script::default()
        };
        let mut origin = Modelled::new(script, Duration::ZERO);
        assert_eq!(origin.answer("/", ms(0)).status, None);
        assert_eq!(origin.answer("/", ms(100)).status, Some(200));
    }

    #[test]
    fn an_outage_overtakes_what_is_still_being_served() {
        let script = Script {
            service: Service {
                latency: ms(50),
                ..Service::default()
            },
            outages: vec![Outage {
                at: ms(60),
                lasts: ms(2_000),
                status: 503,
                reset: false,
                retry_after: RetryAfter::Seconds,
            }],
            ..Script::default()
        };
        let mut origin = Modelled::new(script, Duration::ZERO);
        assert_eq!(origin.answer("/", ms(0)).status, Some(200));
        let second = origin.answer("/", ms(20));
        assert_eq!((second.after, second.status), (ms(50), Some(503)));
        assert_eq!(second.headers["retry-after"], "2");
        assert_eq!(origin.arrivals()[1].verdict, Verdict::Outage);
    }
}
