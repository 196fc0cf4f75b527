//! The requests of a scope that have departed and not been answered.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Timestamp;
use crate::policy::PER_HOST_CEILING;

/// When a departure is lost is known to the second, which keeps the stored state short.
const PRECISION: Duration = Duration::from_secs(1);
/// More than are ever in the air.
const AMONG: u64 = 2 * PER_HOST_CEILING as u64;

/// Departures without an answer yet, oldest first.
///
/// They are part of the stored state, so that another worker knows of them. One that stays unanswered
/// for longer than the policy's `timeout` is lost: its worker has timed out or crashed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<u64>", into = "Vec<u64>")]
pub struct Flights(Vec<Flight>);

#[derive(Clone, Copy, Debug, PartialEq)]
struct Flight {
    seq: u64,
    /// When it departed, rounded up, in units of [`PRECISION`].
    departed: u64,
    /// How many were in the air then, itself included; zero where that is not known any more.
    among: u8,
}

impl Flight {
    fn lost_at(self, timeout: Duration) -> Timestamp {
        let departed = self.departed.saturating_mul(PRECISION.as_micros() as u64);
        Timestamp::from_micros(departed).after(timeout)
    }
}

impl Flights {
    /// How many are in the air.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn depart(&mut self, seq: u64, at: Timestamp) {
        // Beyond the ceiling of requests in flight only lost ones can be: the state stays small.
        if self.0.len() >= PER_HOST_CEILING as usize {
            self.0.remove(0);
        }
        self.0.push(Flight {
            seq,
            departed: rounded_up(at),
            among: self.0.len() as u8 + 1,
        });
    }

    /// Moves a departure to the later instant at which it really left. Whether that changed anything.
    pub(crate) fn postpone(&mut self, seq: u64, at: Timestamp) -> bool {
        let departed = rounded_up(at);
        let flight = self.0.iter_mut().find(|flight| flight.seq == seq);
        let Some(flight) = flight.filter(|flight| flight.departed < departed) else {
            return false;
        };
        flight.departed = departed;
        true
    }

    /// Ends one; among how many it departed, itself included.
    pub(crate) fn land(&mut self, seq: u64) -> u32 {
        let place = self.0.iter().position(|flight| flight.seq == seq);
        place.map_or(0, |place| u32::from(self.0.remove(place).among))
    }

    /// When departure `seq` will have been answered or lost; `None` if it is not in the air at `now`.
    pub(crate) fn down_by(&self, seq: u64, timeout: Duration, now: Timestamp) -> Option<Timestamp> {
        let flight = self.0.iter().find(|flight| flight.seq == seq)?;
        Some(flight.lost_at(timeout)).filter(|lost| *lost > now)
    }

    /// How many departed before `seq` and are still unanswered.
    pub(crate) fn before(&self, seq: u64) -> u64 {
        self.0.iter().filter(|flight| flight.seq < seq).count() as u64
    }

    pub(crate) fn forget_lost(&mut self, timeout: Duration, now: Timestamp) {
        self.0.retain(|flight| flight.lost_at(timeout) > now);
    }

    /// When the last of those still in the air at `now` will have been answered or lost; `None` if none is.
    pub(crate) fn all_down_by(&self, timeout: Duration, now: Timestamp) -> Option<Timestamp> {
        self.0
            .iter()
            .map(|flight| flight.lost_at(timeout))
            .filter(|lost| *lost > now)
            .max()
    }

    /// When those that departed after `since` and are in the air at `now` will have been answered or lost.
    pub(crate) fn down_since(
        &self,
        since: Timestamp,
        timeout: Duration,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let later = self
            .0
            .iter()
            .filter(|flight| flight.departed > rounded_up(since));
        later
            .map(|flight| flight.lost_at(timeout))
            .filter(|lost| *lost > now)
            .max()
    }

    /// When fewer than `most` of those in the air at `now` will be left at the latest; `None`: now.
    pub(crate) fn fewer_by(
        &self,
        most: usize,
        timeout: Duration,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let flying = self.0.iter().map(|flight| flight.lost_at(timeout));
        let mut ends: Vec<Timestamp> = flying.filter(|lost| *lost > now).collect();
        let beyond = ends.len().checked_sub(most)?;
        ends.sort_unstable();
        ends.get(beyond).copied()
    }

    /// D6: what a store says departed after `now` departed now.
    pub(crate) fn clamp(&mut self, now: Timestamp) {
        let now = rounded_up(now);
        for flight in &mut self.0 {
            flight.departed = flight.departed.min(now);
        }
    }
}

fn rounded_up(at: Timestamp) -> u64 {
    at.as_micros().div_ceil(PRECISION.as_micros() as u64)
}

// In a store a flight is one number: how far ahead of the one before it is, whether it departed in another
// second, and among how many; where it did, how many seconds later follows.
impl From<Flights> for Vec<u64> {
    fn from(flights: Flights) -> Self {
        let (mut seq, mut at, mut steps) = (0, 0, Self::new());
        for flight in flights.0 {
            let (ahead, later) = (
                flight.seq.wrapping_sub(seq),
                flight.departed.wrapping_sub(at),
            );
            let is_later = u64::from(later != 0);
            steps.push(
                (ahead.wrapping_mul(2) | is_later).wrapping_mul(AMONG) | u64::from(flight.among),
            );
            steps.extend((later != 0).then_some(later));
            (seq, at) = (flight.seq, flight.departed);
        }
        steps
    }
}

impl From<Vec<u64>> for Flights {
    fn from(steps: Vec<u64>) -> Self {
        let (mut seq, mut at, mut steps) = (0_u64, 0_u64, steps.into_iter());
        let mut flights = Vec::new();
        while let Some(step) = steps.next()
            && flights.len() < PER_HOST_CEILING as usize
        {
            let ahead = step / AMONG;
            seq = seq.wrapping_add(ahead / 2);
            if ahead % 2 == 1 {
                at = at.wrapping_add(steps.next().unwrap_or(0));
            }
            flights.push(Flight {
                seq,
                departed: at,
                among: (step % AMONG) as u8,
            });
        }
        Self(flights)
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
        assert!(text.len() < 180, "{}", text.len());
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
