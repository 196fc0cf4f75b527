//! A server: meters, a wording, outages, and a log of arrivals.

use http::HeaderMap;

use super::wording::{http_date, say};
use super::{Meter, Micros, RetryAfter, Rounding, SECOND, Wording};

/// A time in which it answers everything with 503.
#[derive(Clone, Copy, Debug)]
pub struct Outage {
    pub from: Micros,
    pub to: Micros,
    pub tells: RetryAfter,
}

/// One server.
#[derive(Clone, Debug)]
pub struct Server {
    pub meters: Vec<Meter>,
    pub wording: Wording,
    pub outages: Vec<Outage>,
    /// How far its wall clock is ahead of the client's.
    pub ahead: Micros,
    pub arrivals: Vec<Arrival>,
}

/// A request as the server saw it.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub at: Micros,
    pub status: u16,
    /// Until when its answer asked for quiet.
    pub quiet_until: Micros,
}

impl Server {
    pub fn new(meters: Vec<Meter>, wording: Wording) -> Self {
        Self {
            meters,
            wording,
            outages: Vec::new(),
            ahead: 0,
            arrivals: Vec::new(),
        }
    }

    /// Takes a request in and answers it.
    pub fn answer(&mut self, at: Micros) -> (u16, HeaderMap) {
        let wall = at + self.ahead;
        let mut headers = HeaderMap::new();
        say(&mut headers, "date", &http_date(wall / SECOND));
        let outage = self
            .outages
            .iter()
            .find(|outage| outage.from <= at && at < outage.to);
        let (status, quiet_until) = if let Some(outage) = outage {
            let told = Wording {
                retry_after: outage.tells,
                ..self.wording
            };
            (503, told.wait(outage.to - at, at, wall, &mut headers))
        } else {
            let mut admitted = true;
            // Each is asked, for the time of asking counts in some.
            for meter in &mut self.meters {
                admitted &= meter.admits(at);
            }
            if admitted {
                self.meters.iter_mut().for_each(|meter| meter.take(at));
            }
            self.wording.quotas(&self.meters, at, wall, &mut headers);
            if admitted {
                (200, at)
            } else {
                let wait = self.meters.iter().map(|meter| meter.admits_in(at)).max();
                let quiet = self.wording.wait(wait.unwrap_or(0), at, wall, &mut headers);
                (429, quiet)
            }
        };
        self.arrivals.push(Arrival {
            at,
            status,
            quiet_until,
        });
        (status, headers)
    }

    /// Refusals that a quota gave.
    pub fn refused(&self) -> usize {
        self.count(429)
    }

    pub fn count(&self, status: u16) -> usize {
        let of = |arrival: &&Arrival| arrival.status == status;
        self.arrivals.iter().filter(of).count()
    }

    /// Arrivals in a time of quiet that had been asked for at least `way` before: what was under way is none.
    pub fn arrivals_in_a_hold(&self, way: Micros) -> usize {
        let broken = |(nth, arrival): &(usize, &Arrival)| {
            self.arrivals[..*nth]
                .iter()
                .any(|asked| asked.at + way < arrival.at && arrival.at < asked.quiet_until)
        };
        self.arrivals.iter().enumerate().filter(broken).count()
    }

    /// What share of its limit each closed window was used for, of the first meter.
    pub fn use_of_windows(&self) -> Vec<f64> {
        let limit = self.meters[0].limit() as f64;
        let closed = self.meters[0].closed().iter();
        closed.map(|used| *used as f64 / limit).collect()
    }
}

impl Default for Wording {
    fn default() -> Self {
        Self::new(super::Fields::Draft6, super::ResetAs::Seconds(Rounding::Up))
    }
}
