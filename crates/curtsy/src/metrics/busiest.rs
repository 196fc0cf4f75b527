//! Which scopes have series of their own: those to which most departed lately.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use curtsy_core::Scope;
use tokio::time::Instant;

use super::tally::Tally;
use super::{MOST_SCOPES, OTHER};
use crate::hosts::Host;

/// After so long a departure counts half.
const HALF_LIFE: Duration = Duration::from_secs(300);
/// So many times as busy as the least busy one a scope must be to take its place, so that they do not
/// change places for ever.
const LEAD: f64 = 2.0;
/// After so long the least busy one is looked for anew.
const REVIEW_AFTER: Duration = Duration::from_secs(10);

/// How much departed to a scope lately.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bustle {
    weight: f64,
    at: Instant,
}

/// The tallies of the busiest scopes, and one of all others.
#[derive(Debug)]
pub(super) struct Busiest {
    own: HashMap<Scope, Own>,
    other: Tally,
    /// A scope as busy as this may take the place of another; until when that holds.
    threshold: f64,
    review_at: Instant,
}

#[derive(Debug, Default)]
struct Own {
    tally: Tally,
    bustle: Bustle,
}

impl Default for Busiest {
    fn default() -> Self {
        Self {
            own: HashMap::new(),
            other: Tally::default(),
            threshold: 0.0,
            review_at: Instant::now(),
        }
    }
}

impl Default for Bustle {
    fn default() -> Self {
        Self {
            weight: 0.0,
            at: Instant::now(),
        }
    }
}

impl Bustle {
    fn add_one(&mut self, now: Instant) {
        *self = Self {
            weight: self.weight(now) + 1.0,
            at: now,
        };
    }

    fn weight(&self, now: Instant) -> f64 {
        let age = now.duration_since(self.at).as_secs_f64() / HALF_LIFE.as_secs_f64();
        self.weight * (-age).exp2()
    }
}

impl Busiest {
    /// The tally of a scope.
    pub(super) fn tally(&mut self, scope: &Scope) -> &mut Tally {
        match self.own.get_mut(scope) {
            Some(own) => &mut own.tally,
            None => &mut self.other,
        }
    }

    /// The same when something departs to it, which may make it one of the busiest.
    pub(super) fn tally_of_busy(&mut self, host: &Host) -> &mut Tally {
        let now = Instant::now();
        let bustle = bump(&host.bustle_here, now);
        // No scope's series can be told from those of the others by this name.
        let may_have_own = host.scope.as_str() != OTHER;
        if may_have_own && !self.own.contains_key(&host.scope) && self.makes_room_for(bustle, now) {
            self.own.insert(host.scope.clone(), Own::default());
        }
        match self.own.get_mut(&host.scope) {
            Some(own) => {
                own.bustle = bustle;
                &mut own.tally
            }
            None => &mut self.other,
        }
    }

    /// Whether there is room for a scope as busy as this; the least busy one may have to go.
    fn makes_room_for(&mut self, bustle: Bustle, now: Instant) -> bool {
        if self.own.len() < MOST_SCOPES {
            return true;
        }
        let weight = bustle.weight(now);
        if weight < self.threshold && now < self.review_at {
            return false;
        }
        let weights = self
            .own
            .iter()
            .map(|(scope, own)| (scope, own.bustle.weight(now)));
        let least = weights.min_by(|(_, a), (_, b)| a.total_cmp(b));
        let Some((scope, least)) = least.map(|(scope, weight)| (scope.clone(), weight)) else {
            return false;
        };
        (self.threshold, self.review_at) = (LEAD * least, now + REVIEW_AFTER);
        let goes = weight >= self.threshold;
        if goes {
            // Its series end there; added to those of the others, they would be counted twice.
            self.own.remove(&scope);
        }
        goes
    }

    /// All of them by their label, `other` last.
    pub(super) fn tallies(&self) -> Vec<(String, Tally)> {
        let mut tallies: Vec<_> = self
            .own
            .iter()
            .map(|(scope, own)| (scope.as_str().to_owned(), own.tally.clone()))
            .collect();
        tallies.sort_by(|(a, _), (b, _)| a.cmp(b));
        tallies.push((OTHER.to_owned(), self.other.clone()));
        tallies
    }
}

fn bump(bustle: &Mutex<Bustle>, now: Instant) -> Bustle {
    let mut bustle = bustle.lock().unwrap_or_else(PoisonError::into_inner);
    bustle.add_one(now);
    *bustle
}
