//! How long answers take: latency, and workers that serve first come first served.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use crate::script::Service;

/// The workers, in virtual time.
#[derive(Debug)]
pub(crate) struct Workers {
    service: Service,
    /// When each worker is free; empty where their number is not limited.
    free: BinaryHeap<Reverse<Duration>>,
}

impl Workers {
    pub(crate) fn new(service: Service) -> Self {
        Self {
            service,
            free: (0..service.workers)
                .map(|_| Reverse(Duration::ZERO))
                .collect(),
        }
    }

    /// When a request is done that is ready for service at `now`; it takes a worker until then.
    pub(crate) fn serve(
        &mut self,
        latency: Option<Duration>,
        in_flight: u32,
        now: Duration,
    ) -> Duration {
        let done = self.foresee(latency, in_flight, now);
        if let Some(mut next) = self.free.peek_mut() {
            *next = Reverse(done);
        }
        done
    }

    /// When a request would be done that is ready for service at `now`.
    pub(crate) fn foresee(
        &self,
        latency: Option<Duration>,
        in_flight: u32,
        now: Duration,
    ) -> Duration {
        let latency = latency.unwrap_or(self.service.latency)
            + self.service.per_in_flight.saturating_mul(in_flight);
        let free = self.free.peek().map_or(now, |Reverse(free)| *free);
        free.max(now) + latency
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn two_workers_serve_five_requests_in_three_rounds() {
        let mut workers = Workers::new(Service {
            latency: ms(50),
            workers: 2,
            ..Service::default()
        });
        let done: Vec<_> = (0..5).map(|_| workers.serve(None, 1, ms(0))).collect();
        assert_eq!(done, [ms(50), ms(50), ms(100), ms(100), ms(150)]);
        assert_eq!(workers.serve(None, 1, ms(500)), ms(550));
    }

    #[test]
    fn latency_rises_with_what_is_in_flight() {
        let mut workers = Workers::new(Service {
            latency: ms(10),
            per_in_flight: ms(5),
            workers: 0,
        });
        assert_eq!(workers.serve(None, 1, ms(0)), ms(15));
        assert_eq!(workers.serve(None, 4, ms(0)), ms(30));
        assert_eq!(workers.serve(Some(ms(100)), 1, ms(0)), ms(105));
    }
}
