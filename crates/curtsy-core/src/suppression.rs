//! A scope that answers 403 is left alone (rule R4).

use crate::Timestamp;
use crate::policy::Policy;

/// Whether a scope is suppressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suppression {
    /// Not suppressed; so many 403s came in a row.
    None {
        /// 403s since the last success.
        forbidden: u32,
    },
    /// Requests get a synthetic 403 without a departure.
    Active {
        /// Since when.
        since: Timestamp,
        /// Until when; `None`: as long as the client lives.
        until: Option<Timestamp>,
    },
    /// It has expired, and one probe is under way.
    Probing {
        /// The probe's departure number.
        probe: u64,
    },
}

impl Default for Suppression {
    fn default() -> Self {
        Self::None { forbidden: 0 }
    }
}

impl Suppression {
    /// One more 403 by departure `seq`.
    #[must_use]
    pub(crate) fn forbidden(self, policy: &Policy, seq: u64, now: Timestamp) -> Self {
        let Some(limit) = policy.suppress_after else {
            return self;
        };
        let suppressed = Self::Active {
            since: now,
            until: policy
                .suppression_lifetime
                .map(|lifetime| now.after(lifetime)),
        };
        match self {
            Self::None { forbidden } if forbidden < limit - 1 => Self::None {
                forbidden: forbidden + 1,
            },
            Self::None { .. } => suppressed,
            Self::Probing { probe } if probe == seq => suppressed,
            // What departed before the suppression adds nothing to it.
            Self::Active { .. } | Self::Probing { .. } => self,
        }
    }

    /// A success by departure `seq`.
    #[must_use]
    pub(crate) fn healthy(self, seq: u64) -> Self {
        match self {
            Self::None { .. } => Self::default(),
            Self::Probing { probe } if probe == seq => Self::default(),
            Self::Active { .. } | Self::Probing { .. } => self,
        }
    }

    /// D6: a stored suppression lasts no longer than the policy's.
    #[must_use]
    pub(crate) fn clamp(self, policy: &Policy, now: Timestamp) -> Self {
        match self {
            _ if policy.suppress_after.is_none() => Self::default(),
            Self::Active { since, until } => {
                let most = policy
                    .suppression_lifetime
                    .map(|lifetime| now.after(lifetime));
                Self::Active {
                    since,
                    until: until.map_or(most, |until| {
                        Some(most.map_or(until, |most| until.min(most)))
                    }),
                }
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::PolicyValues;

    #[test]
    fn r4_three_in_a_row_suppress_and_a_success_between_starts_over() {
        let (policy, now) = (Policy::default(), Timestamp::from_secs(5));
        let twice = Suppression::default()
            .forbidden(&policy, 1, now)
            .forbidden(&policy, 2, now);
        assert_eq!(twice, Suppression::None { forbidden: 2 });
        assert!(matches!(
            twice.forbidden(&policy, 3, now),
            Suppression::Active { until: Some(_), .. }
        ));
        assert_eq!(twice.healthy(3), Suppression::default());
    }

    #[test]
    fn r4_http_client_suppresses_at_the_first_for_as_long_as_it_lives() {
        let policy = PolicyValues::http_client().build().unwrap();
        let now = Timestamp::from_secs(5);
        assert_eq!(
            Suppression::default().forbidden(&policy, 1, now),
            Suppression::Active {
                since: now,
                until: None
            }
        );
    }

    #[test]
    fn r4_only_the_probe_decides_what_comes_after_it() {
        let (policy, now) = (Policy::default(), Timestamp::from_secs(5));
        let probing = Suppression::Probing { probe: 7 };
        assert_eq!(probing.healthy(6), probing);
        assert_eq!(probing.forbidden(&policy, 6, now), probing);
        assert_eq!(probing.healthy(7), Suppression::default());
        assert!(matches!(
            probing.forbidden(&policy, 7, now),
            Suppression::Active { .. }
        ));
    }
}
