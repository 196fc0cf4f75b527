//! The pace of each scope over the last minutes.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use curtsy::ScopeView;
use curtsy::core::{HostState, Scope, Timestamp, pace};
use serde::Serialize;

use crate::standing::{Does, Standing};

/// From one point to the next.
pub(super) const STEP: Duration = Duration::from_secs(5);
/// Points that are kept: ten minutes.
const POINTS: usize = 120;
/// Points of a row in the table: three minutes.
const SPARK: usize = 36;
/// Scopes of which anything is kept, so that memory has a bound.
const MOST: usize = 20_000;

/// One step of a scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct Point {
    /// What departed.
    pub(super) departed: u32,
    /// The rate that was allowed, zero while it was left alone; `None` where it was not paced.
    pub(super) rate: Option<f32>,
}

#[derive(Default)]
pub(super) struct History(HashMap<Scope, Course>);

#[derive(Default)]
struct Course {
    /// Departures ever, at the last step.
    departures: u64,
    points: VecDeque<Point>,
}

impl History {
    /// Another step is over.
    pub(super) fn note(&mut self, views: &[ScopeView], now: Timestamp) {
        for view in views {
            let Some(state) = &view.state else { continue };
            let has_room = self.0.len() < MOST;
            let departures = state.departures();
            let course = match self.0.get_mut(&view.scope) {
                Some(course) => course,
                // What it did before was not watched.
                None if has_room => self.0.entry(view.scope.clone()).or_insert(Course {
                    departures,
                    points: VecDeque::new(),
                }),
                None => continue,
            };
            course.points.push_back(Point {
                departed: departures.saturating_sub(course.departures) as u32,
                rate: allowed(view, state, now),
            });
            course.departures = departures;
            if course.points.len() > POINTS {
                course.points.pop_front();
            }
        }
        // A scope that nothing has departed to for as long as anything is kept has nothing to show.
        self.0.retain(|_, course| {
            course.points.len() < POINTS || course.points.iter().any(|point| point.departed > 0)
        });
    }

    /// What departed in the last steps.
    pub(super) fn spark(&self, scope: &Scope) -> Vec<u32> {
        let points = self.points(scope);
        let skipped = points.len().saturating_sub(SPARK);
        points
            .into_iter()
            .skip(skipped)
            .map(|point| point.departed)
            .collect()
    }

    pub(super) fn points(&self, scope: &Scope) -> Vec<Point> {
        let course = self.0.get(scope);
        course.map_or_else(Vec::new, |course| course.points.iter().copied().collect())
    }
}

fn allowed(view: &ScopeView, state: &HostState, now: Timestamp) -> Option<f32> {
    match Standing::of(view, now).does {
        Does::Waits | Does::Flows => pace(&view.policy, state).map(|(rate, _)| rate as f32),
        Does::Suppressed | Does::Broken | Does::Held | Does::BacksOff | Does::Paused => Some(0.0),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use curtsy::core::{Ask, Decision, Draw, Policy, decide};

    use super::*;

    fn view(state: &HostState) -> ScopeView {
        ScopeView {
            scope: Scope::named("a.example"),
            policy: Arc::new(Policy::default()),
            state: Some(state.clone()),
            waits_for: None,
            is_paused: false,
        }
    }

    fn departed(state: &HostState, secs: u64) -> HostState {
        let now = Timestamp::from_secs(secs);
        let ask = Ask::page(now);
        let policy = curtsy::core::PolicyValues::raw().build().unwrap();
        match decide(&policy, state, &ask, now, Draw::LEAST) {
            Decision::Depart(permit) => permit.state,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_point_is_what_departed_in_its_step_and_only_the_last_ones_are_kept() {
        let (mut history, mut state) = (History::default(), HostState::default());
        history.note(&[view(&state)], Timestamp::EPOCH);
        for step in 0..200 {
            for n in 0..step % 3 {
                state = departed(&state, 10 * step + n);
            }
            history.note(&[view(&state)], Timestamp::from_secs(10 * step));
        }
        let scope = Scope::named("a.example");
        assert_eq!(history.points(&scope).len(), POINTS);
        assert_eq!(history.spark(&scope).len(), SPARK);
        assert_eq!(history.spark(&scope).last(), Some(&1));
        for _ in 0..POINTS {
            history.note(&[view(&state)], Timestamp::from_secs(3000));
        }
        assert_eq!(history.points(&scope), []);
    }

    #[test]
    fn nothing_is_allowed_while_a_scope_is_paused() {
        let (mut history, now) = (History::default(), Timestamp::from_secs(10));
        let flowing = view(&departed(&HostState::default(), 1));
        let paused = ScopeView {
            is_paused: true,
            ..flowing.clone()
        };
        history.note(std::slice::from_ref(&flowing), now);
        history.note(&[paused], now);
        let rates: Vec<_> = history
            .points(&flowing.scope)
            .iter()
            .map(|p| p.rate)
            .collect();
        assert!(rates[0] > Some(0.0), "{rates:?}");
        assert_eq!(rates[1], Some(0.0));
    }
}
