//! When a person ought to hear of a scope (rule T4): conditions of its state, and when each is told.
//!
//! An alert is raised once when its condition has lasted long enough, and cleared once when that has ended.
//! It is not raised again before its cool-down is over, counted from when it was raised. What is told is the
//! business of who calls this.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::breaker::Breaker;
use crate::pace::pace;
use crate::policy::Policy;
use crate::state::HostState;
use crate::suppression::Suppression;
use crate::{Reason, Timestamp};

/// How long a pace or a delay must last before it is worth an alert.
pub const DEFAULT_SUSTAINED: Duration = Duration::from_secs(10 * 60);
/// How long after it was raised an alert is not raised again.
pub const DEFAULT_COOL_DOWN: Duration = Duration::from_secs(30 * 60);

/// What an alert is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlertKind {
    /// The rate has been as low as the policy lets it go.
    RateAtFloor,
    /// The dynamic delay has not come back to zero.
    DelayAboveFloor,
    /// The circuit breaker is not closed.
    BreakerOpen,
    /// The scope is suppressed after 403s.
    ScopeSuppressed,
    /// A robots.txt of the scope cannot be read, so that nothing of its origin is fetched.
    RobotsUnreachable,
}

/// Whether an alert begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlertState {
    /// It begins.
    Raised,
    /// It is over.
    Cleared,
}

/// One alert, to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alert {
    /// What it is about.
    pub kind: AlertKind,
    /// Whether it begins or ends.
    pub state: AlertState,
    /// Since when its condition holds or held.
    pub since: Timestamp,
}

impl Alert {
    /// What a person is told.
    #[must_use]
    pub const fn sentence(&self) -> &'static str {
        match (self.state, self.kind) {
            (AlertState::Raised, kind) => kind.sentence(),
            (_, AlertKind::RateAtFloor) => "its rate is above the floor again",
            (_, AlertKind::DelayAboveFloor) => "its dynamic delay is back at zero",
            (_, AlertKind::BreakerOpen) => "its breaker is closed",
            (_, AlertKind::ScopeSuppressed) => "it is suppressed no longer",
            (_, AlertKind::RobotsUnreachable) => "its robots.txt can be read again",
        }
    }
}

/// When alerts are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlertRules {
    /// How long a rate must be at the floor, or a delay above it. Default: [`DEFAULT_SUSTAINED`].
    pub sustained: Duration,
    /// How long an alert is not raised again. Default: [`DEFAULT_COOL_DOWN`].
    pub cool_down: Duration,
}

impl Default for AlertRules {
    fn default() -> Self {
        Self {
            sustained: DEFAULT_SUSTAINED,
            cool_down: DEFAULT_COOL_DOWN,
        }
    }
}

impl AlertKind {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::RateAtFloor,
        Self::DelayAboveFloor,
        Self::BreakerOpen,
        Self::ScopeSuppressed,
        Self::RobotsUnreachable,
    ];

    /// The stable label: snake_case, public interface.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::RateAtFloor => "rate_at_floor",
            Self::DelayAboveFloor => "delay_above_floor",
            Self::BreakerOpen => "breaker_open",
            Self::ScopeSuppressed => "scope_suppressed",
            Self::RobotsUnreachable => "robots_unreachable",
        }
    }

    /// What is the matter.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::RateAtFloor => "its rate has long been as low as it goes",
            Self::DelayAboveFloor => "its dynamic delay has long not come back to zero",
            Self::BreakerOpen => "it fails too often: the breaker is open",
            Self::ScopeSuppressed => "it keeps answering 403 and is left alone",
            Self::RobotsUnreachable => "its robots.txt cannot be read",
        }
    }

    /// Whether the condition holds at a scope.
    fn holds(self, policy: &Policy, state: &HostState, robots_unreachable: bool) -> bool {
        match self {
            Self::RateAtFloor => is_at_floor(policy, state),
            Self::DelayAboveFloor => !state.dynamic_delay().is_zero(),
            Self::BreakerOpen => state.breaker() != Breaker::Closed,
            Self::ScopeSuppressed => !matches!(state.suppression(), Suppression::None { .. }),
            Self::RobotsUnreachable => robots_unreachable,
        }
    }

    /// How long it must hold.
    fn patience(self, rules: &AlertRules) -> Duration {
        match self {
            Self::RateAtFloor | Self::DelayAboveFloor => rules.sustained,
            _ => Duration::ZERO,
        }
    }
}

impl AlertState {
    /// The stable label: snake_case, public interface.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Raised => "raised",
            Self::Cleared => "cleared",
        }
    }
}

/// Whether the server has brought the rate down to the floor; a floor that the operator chose is none.
fn is_at_floor(policy: &Policy, state: &HostState) -> bool {
    let floor = policy.clamp_rate(0.0);
    let may_be_higher = policy.clamp_rate(f64::INFINITY) > floor;
    matches!(pace(policy, state), Some((rate, Reason::Quota | Reason::LearnedRate))
        if may_be_higher && rate <= floor)
}

/// The alerts of one scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watched([Alarm; AlertKind::ALL.len()]);

/// Where one alert of a scope stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Alarm {
    /// The condition does not hold. It is not raised before then.
    Quiet { cooled: Timestamp },
    /// The condition holds, and has not been told of.
    Lasting { since: Timestamp, cooled: Timestamp },
    /// It was raised and not cleared.
    Raised { since: Timestamp, at: Timestamp },
}

impl Default for Alarm {
    fn default() -> Self {
        Self::Quiet {
            cooled: Timestamp::EPOCH,
        }
    }
}

impl Watched {
    /// Looks at the scope, and answers what there is to tell.
    pub fn look(
        &mut self,
        rules: &AlertRules,
        policy: &Policy,
        state: &HostState,
        robots_unreachable: bool,
        now: Timestamp,
    ) -> Vec<Alert> {
        let alarms = AlertKind::ALL.into_iter().zip(&mut self.0);
        let told = alarms.filter_map(|(kind, alarm)| {
            let holds = kind.holds(policy, state, robots_unreachable);
            let (state, since) = alarm.step(holds, kind.patience(rules), rules.cool_down, now)?;
            Some(Alert { kind, state, since })
        });
        told.collect()
    }

    /// The alerts that are raised and not cleared, and since when each holds.
    pub fn raised(&self) -> impl Iterator<Item = (AlertKind, Timestamp)> + '_ {
        let alarms = AlertKind::ALL.into_iter().zip(&self.0);
        alarms.filter_map(|(kind, alarm)| match alarm {
            Alarm::Raised { since, .. } => Some((kind, *since)),
            _ => None,
        })
    }

    /// Whether no condition holds: it needs no look before something changes.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        let is_quiet = |alarm: &Alarm| matches!(alarm, Alarm::Quiet { .. });
        self.0.iter().all(is_quiet)
    }

    /// Whether there is nothing to remember at `now`.
    #[must_use]
    pub fn is_forgotten(&self, now: Timestamp) -> bool {
        let is_over = |alarm: &Alarm| matches!(alarm, Alarm::Quiet { cooled } if *cooled <= now);
        self.0.iter().all(is_over)
    }
}

impl Alarm {
    fn step(
        &mut self,
        holds: bool,
        patience: Duration,
        cool_down: Duration,
        now: Timestamp,
    ) -> Option<(AlertState, Timestamp)> {
        let (next, told) = match (*self, holds) {
            (Self::Quiet { .. }, false) | (Self::Raised { .. }, true) => return None,
            (Self::Quiet { cooled }, true) => Self::last(now, cooled, patience, now),
            (Self::Lasting { since, cooled }, true) => Self::last(since, cooled, patience, now),
            (Self::Lasting { cooled, .. }, false) => (Self::Quiet { cooled }, None),
            (Self::Raised { since, at }, false) => {
                let cooled = at.after(cool_down);
                let cleared = (AlertState::Cleared, since);
                (Self::Quiet { cooled }, Some(cleared))
            }
        };
        *self = next;
        told
    }

    /// A condition that holds `since`.
    fn last(
        since: Timestamp,
        cooled: Timestamp,
        patience: Duration,
        now: Timestamp,
    ) -> (Self, Option<(AlertState, Timestamp)>) {
        if now >= since.after(patience).max(cooled) {
            let raised = (AlertState::Raised, since);
            (Self::Raised { since, at: now }, Some(raised))
        } else {
            (Self::Lasting { since, cooled }, None)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backoff::Backoff;

    const RULES: AlertRules = AlertRules {
        sustained: Duration::from_secs(600),
        cool_down: Duration::from_secs(1800),
    };

    /// What is told of a scope of which `state` is known from these seconds on.
    fn told(steps: &[(u64, &HostState)]) -> Vec<(u64, AlertKind, AlertState)> {
        let (policy, mut watched) = (Policy::default(), Watched::default());
        let look = |(secs, state): &(u64, &HostState)| {
            let now = Timestamp::from_secs(*secs);
            let alerts = watched.look(&RULES, &policy, state, false, now);
            let told = alerts
                .into_iter()
                .map(|alert| (*secs, alert.kind, alert.state));
            told.collect::<Vec<_>>()
        };
        steps.iter().flat_map(look).collect()
    }

    fn broken() -> HostState {
        HostState {
            breaker: Breaker::HalfOpen {
                probe: 1,
                cool_down: Duration::from_secs(60),
            },
            ..HostState::default()
        }
    }

    fn delayed() -> HostState {
        HostState {
            backoff: Backoff {
                delay: Duration::from_secs(8),
                ..Backoff::default()
            },
            ..HostState::default()
        }
    }

    #[test]
    fn t4_an_open_breaker_is_told_at_once_and_its_end_once() {
        let (well, broken) = (HostState::default(), broken());
        assert_eq!(
            told(&[
                (1, &well),
                (2, &broken),
                (3, &broken),
                (90, &well),
                (91, &well)
            ]),
            [
                (2, AlertKind::BreakerOpen, AlertState::Raised),
                (90, AlertKind::BreakerOpen, AlertState::Cleared)
            ]
        );
    }

    #[test]
    fn t4_a_delay_is_told_only_when_it_has_lasted() {
        let (well, delayed) = (HostState::default(), delayed());
        assert_eq!(told(&[(1, &delayed), (600, &delayed), (602, &well)]), []);
        assert_eq!(
            told(&[
                (1, &delayed),
                (300, &well),
                (301, &delayed),
                (900, &delayed)
            ]),
            [],
            "what ended begins anew"
        );
        assert_eq!(
            told(&[
                (1, &delayed),
                (601, &delayed),
                (602, &delayed),
                (603, &well)
            ]),
            [
                (601, AlertKind::DelayAboveFloor, AlertState::Raised),
                (603, AlertKind::DelayAboveFloor, AlertState::Cleared)
            ]
        );
    }

    #[test]
    fn t4_what_comes_and_goes_is_told_once_in_a_cool_down() {
        let (well, broken) = (HostState::default(), broken());
        let flapping: Vec<_> = (0..3600)
            .map(|secs| (secs, if secs % 20 < 10 { &broken } else { &well }))
            .collect();
        let raised: Vec<_> = told(&flapping)
            .into_iter()
            .filter(|(_, _, state)| *state == AlertState::Raised)
            .map(|(secs, ..)| secs)
            .collect();
        assert_eq!(raised, [0, 1800]);
        let lasting = [
            (0, &broken),
            (1, &well),
            (2, &broken),
            (1799, &broken),
            (1800, &broken),
        ];
        assert_eq!(
            told(&lasting).last(),
            Some(&(1800, AlertKind::BreakerOpen, AlertState::Raised)),
            "what holds when the cool-down ends is told then"
        );
    }

    #[test]
    fn t4_a_rate_that_the_server_brought_to_the_floor_is_told_and_a_configured_one_is_not() {
        let state = HostState {
            rate: Some(0.0),
            ..HostState::default()
        };
        assert!(is_at_floor(&Policy::default(), &state));
        let faster = HostState {
            rate: Some(0.5),
            ..HostState::default()
        };
        assert!(!is_at_floor(&Policy::default(), &faster));
        let mut values = crate::PolicyValues::compliant();
        values.tos_cap = Some(0.05);
        assert!(!is_at_floor(&values.build().unwrap(), &state));
        assert!(!is_at_floor(&Policy::default(), &HostState::default()));
    }

    #[test]
    fn a_scope_is_forgotten_when_its_cool_down_is_over() {
        let (policy, mut watched) = (Policy::default(), Watched::default());
        let mut look = |state: &HostState, secs| {
            let now = Timestamp::from_secs(secs);
            watched.look(&RULES, &policy, state, false, now);
            (watched.is_quiet(), watched.is_forgotten(now))
        };
        assert_eq!(look(&broken(), 10), (false, false));
        assert_eq!(look(&HostState::default(), 20), (true, false));
        assert_eq!(look(&HostState::default(), 1810), (true, true));
    }
}
