//! A client of the core in virtual time, before one of our servers.

use std::time::Duration;

use curtsy_core::simulate::{self, Told, simulate};
use curtsy_core::{Policy, PolicyValues, Timestamp};

use super::{MS, Micros, Server};

/// When all runs begin: an odd moment, so that no boundary is met by luck.
pub const START: Micros = 1_700_000_000_123_457;

/// How a client behaves.
#[derive(Clone, Debug)]
pub struct Client {
    pub policy: Policy,
    /// Half of what passes between departure and answer, and how much it varies.
    pub way: Micros,
    pub way_jitter: Micros,
}

/// What came of a run.
#[derive(Debug)]
pub struct Run {
    pub server: Server,
    /// From the first departure to the last answer.
    pub took: Duration,
    /// Requests that were given up, or not ended in time.
    pub lost: u64,
}

impl Client {
    /// The command line of a fast job: rate 20, max_rate 100, eight in flight, no robots.txt.
    pub fn fast() -> Self {
        let mut values = PolicyValues::compliant();
        values.rate = Some(20.0);
        values.max_rate = Some(100.0);
        values.per_host = 8;
        values.max_retries = 10;
        Self {
            policy: values.build().unwrap(),
            way: 2_500,
            way_jitter: 500,
        }
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
    pub fn run(&self, mut server: Server, requests: u64, most: Duration) -> Run {
        let mut client = simulate::Client::new(self.policy.clone(), requests);
        client.way = Duration::from_micros(self.way);
        client.way_jitter = Duration::from_micros(self.way_jitter);
        client.lateness = Duration::from_micros(MS);
        let mut answer = |at: Timestamp| {
            let (status, headers) = server.answer(at.as_micros());
            Told {
                after: Duration::ZERO,
                status: Some(status),
                headers,
            }
        };
        let start = Timestamp::from_micros(START);
        let runs = simulate(&[client], &mut answer, start, most);
        Run {
            server,
            took: runs[0].took,
            lost: requests - runs[0].done,
        }
    }
}
