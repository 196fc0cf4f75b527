//! What ends a request before it departs: a suppression, robots.txt, a wait beyond patience.

use std::time::Duration;

use curtsy_core::audit::{Cited, Entry, Event};
use curtsy_core::robots::{Access, Preferences};
use curtsy_core::{Bound, Decline, HostState, Reason, Suppression};

use super::Client;
use super::journey::{Journey, Station};
use super::request::Crowd;
use crate::error::Error;
use crate::hosts::{Host, Known};
use crate::notice::Notice;
use crate::reply::{Deferred, Disallowed, Reply};
use crate::robots::Consulted;

/// Who has longer to wait makes room for who has not.
const SHORT_WAIT: Duration = Duration::from_secs(1);

impl Client {
    /// R4 and O4: what ends a request before it departs. What robots.txt wishes for the use of the URL
    /// goes along with the journey.
    pub(super) async fn before_departure(
        &self,
        journey: &mut Journey,
        station: &Station,
    ) -> Result<Option<Reply>, Error> {
        journey.preferences = Preferences::default();
        journey.robots = None;
        let policy = &station.host.policy;
        if !policy.polite {
            return Ok(None);
        }
        if self.is_suppressed(&station.host).await? {
            return Ok(Some(journey.synthetic()));
        }
        if !policy.respect_robots {
            return Ok(None);
        }
        let (access, reading) = match self
            .consult(&station.host, &journey.url, &journey.token, journey.guard)
            .await?
        {
            Consulted::Access(access, reading) => (access, reading),
            Consulted::Deferred(bound) => {
                return self.deferred(journey, station, bound).await.map(Some);
            }
            Consulted::Declined(Decline::Suppressed { .. }) => {
                return Ok(Some(journey.synthetic()));
            }
            Consulted::Failed(error) => return Err(error),
        };
        let (rule, line) = match &*access {
            Access::Allowed(_) => {
                journey.robots = Some(Cited {
                    reading,
                    line: None,
                });
                return Ok(None);
            }
            Access::Rules { robots, .. } => {
                let verdict = robots.verdict(&journey.url);
                if verdict.allowed {
                    journey.preferences = Preferences::of_robots(robots, &journey.url);
                    journey.robots = Some(Cited {
                        reading,
                        line: verdict.rule.map(|rule| rule.line),
                    });
                    return Ok(None);
                }
                (
                    verdict.rule.map(|rule| rule.text().into_owned()),
                    verdict.rule.map(|rule| rule.line),
                )
            }
            Access::Forbidden(_) => (None, None),
            Access::Unreachable { retry_at, .. } => {
                let bound = Bound {
                    not_before: *retry_at,
                    reason: Reason::RobotsUnreachable,
                };
                return self.deferred(journey, station, bound).await.map(Some);
            }
        };
        self.disallowed(journey, station, rule, line)
            .await
            .map(Some)
    }

    /// R4. What is remembered of a suppression is looked up again: somebody may have lifted it.
    async fn is_suppressed(&self, host: &Host) -> Result<bool, Error> {
        let gate = &self.shared.gate;
        let suppressed = |state: &HostState| {
            matches!(state.suppression(), Suppression::Active { until, .. }
                if until.is_none_or(|until| self.now() < until))
        };
        let look = |known: Known<'_>| suppressed(known.state);
        if !gate.patiently(|| gate.hosts.look(host, look)).await? {
            return Ok(false);
        }
        let state = gate.patiently(|| gate.hosts.reload(host)).await?;
        Ok(suppressed(&state))
    }

    async fn disallowed(
        &self,
        journey: &Journey,
        station: &Station,
        rule: Option<String>,
        line: Option<u32>,
    ) -> Result<Reply, Error> {
        let event = Event::RobotsDisallowed {
            rule: rule.clone(),
            line,
        };
        self.shared
            .audit
            .record([Entry::of(&journey.subject(station), event)])
            .await?;
        self.shared.gate.notices.tell(Notice::Disallowed {
            url: &journey.url,
            rule: rule.as_deref().zip(line),
        });
        Ok(Reply::Disallowed(Disallowed {
            url: journey.url.clone(),
            rule,
            line,
        }))
    }

    pub(super) async fn deferred(
        &self,
        journey: &Journey,
        station: &Station,
        bound: Bound,
    ) -> Result<Reply, Error> {
        let event = Event::Deferred {
            until: bound.not_before,
            reason: bound.reason,
        };
        self.shared
            .audit
            .record([Entry::of(&journey.subject(station), event)])
            .await?;
        self.shared.gate.notices.tell(Notice::Deferred {
            url: &journey.url,
            bound,
        });
        Ok(Reply::Deferred(Deferred {
            url: journey.url.clone(),
            bound,
            attempts: journey.tally.attempts,
            first_departure: journey.tally.first_departure,
            made_room: false,
        }))
    }

    /// A job's request that has a while to wait makes room for other scopes while there are more of them
    /// than the job works on at once. Nothing has departed for it, and nothing is put on record.
    pub(super) fn makes_room(
        &self,
        journey: &Journey,
        station: &Station,
        crowd: &Crowd,
    ) -> Option<Reply> {
        if !crowd.is_crowded() || journey.tally.attempts > 0 {
            return None;
        }
        let now = self.now();
        let bound = station.host.next_departure(now)?;
        let waits = bound.not_before > now.after(SHORT_WAIT);
        waits.then(|| {
            Reply::Deferred(Deferred {
                url: journey.url.clone(),
                bound,
                attempts: 0,
                first_departure: None,
                made_room: true,
            })
        })
    }
}
