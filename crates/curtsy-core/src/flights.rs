//! The requests of a scope that have departed and not been answered.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// Departures without an answer yet, oldest first.
///
/// They are part of the stored state, so that another worker knows of them. One that stays unanswered
/// for longer than the policy's `timeout` is lost: its worker has timed out or crashed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<(u64, u64)>", into = "Vec<(u64, u64)>")]
pub struct Flights(Vec<Flight>);

#[derive(Clone, Copy, Debug, PartialEq)]
struct Flight {
    seq: u64,
    departed: Timestamp,
}

impl Flights {
    /// How many are in the air.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn depart(&mut self, seq: u64, at: Timestamp) {
        // Beyond the ceiling of requests in flight only lost ones can be: the state stays small.
        if self.0.len() >= crate::policy::PER_HOST_CEILING as usize {
            self.0.remove(0);
        }
        self.0.push(Flight { seq, departed: at });
    }

    /// Moves a departure to the later instant at which it really left.
    pub(crate) fn postpone(&mut self, seq: u64, at: Timestamp) {
        if let Some(flight) = self.0.iter_mut().find(|flight| flight.seq == seq) {
            flight.departed = flight.departed.max(at);
        }
    }

    pub(crate) fn land(&mut self, seq: u64) {
        self.0.retain(|flight| flight.seq != seq);
    }

    /// When departure `seq` will have been answered or lost; `None` if it is not in the air at `now`.
    pub(crate) fn down_by(&self, seq: u64, timeout: Duration, now: Timestamp) -> Option<Timestamp> {
        let flight = self.0.iter().find(|flight| flight.seq == seq)?;
        let lost = flight.departed.after(timeout);
        (lost > now).then_some(lost)
    }

    /// How many departed before `seq` and are still unanswered.
    pub(crate) fn before(&self, seq: u64) -> u64 {
        self.0.iter().filter(|flight| flight.seq < seq).count() as u64
    }

    pub(crate) fn forget_lost(&mut self, timeout: Duration, now: Timestamp) {
        self.0.retain(|flight| flight.departed.after(timeout) > now);
    }

    /// When the last of those still in the air at `now` will have been answered or lost; `None` if none is.
    pub(crate) fn all_down_by(&self, timeout: Duration, now: Timestamp) -> Option<Timestamp> {
        self.0
            .iter()
            .map(|flight| flight.departed.after(timeout))
            .filter(|lost| *lost > now)
            .max()
    }
}

// On the wire each departure is written as its distance from the one before, which keeps it short.
impl From<Flights> for Vec<(u64, u64)> {
    fn from(flights: Flights) -> Self {
        let (mut seq, mut at) = (0, 0);
        let step = |flight: Flight| {
            let micros = flight.departed.as_micros();
            let pair = (flight.seq.wrapping_sub(seq), micros.wrapping_sub(at));
            (seq, at) = (flight.seq, micros);
            pair
        };
        flights.0.into_iter().map(step).collect()
    }
}

impl From<Vec<(u64, u64)>> for Flights {
    fn from(pairs: Vec<(u64, u64)>) -> Self {
        let (mut seq, mut at) = (0_u64, 0_u64);
        let step = |(seq_step, at_step): (u64, u64)| {
            (seq, at) = (seq.wrapping_add(seq_step), at.wrapping_add(at_step));
            Flight {
                seq,
                departed: Timestamp::from_micros(at),
            }
        };
        Self(
            pairs
                .into_iter()
                .take(crate::policy::PER_HOST_CEILING as usize)
                .map(step)
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flights_survive_a_round_trip_and_stay_few() {
        let mut flights = Flights::default();
        for seq in 1..=100 {
            flights.depart(
                seq,
                Timestamp::from_micros(1_700_000_000_000_000 + seq * 20_000),
            );
        }
        flights.land(90);
        assert_eq!(flights.count(), 31);
        let text = serde_json::to_string(&flights).unwrap();
        assert!(text.len() < 400, "{}", text.len());
        assert_eq!(serde_json::from_str::<Flights>(&text).unwrap(), flights);
    }

    #[test]
    fn what_is_never_answered_is_lost_after_the_timeout() {
        let (timeout, mut flights) = (Duration::from_secs(30), Flights::default());
        flights.depart(1, Timestamp::from_secs(100));
        flights.depart(2, Timestamp::from_secs(110));
        assert_eq!(flights.before(2), 1);
        assert_eq!(
            flights.all_down_by(timeout, Timestamp::from_secs(120)),
            Some(Timestamp::from_secs(140))
        );
        flights.forget_lost(timeout, Timestamp::from_secs(130));
        assert_eq!((flights.count(), flights.before(2)), (1, 0));
        assert_eq!(
            flights.all_down_by(timeout, Timestamp::from_secs(140)),
            None
        );
    }
}
