//! What a client knows: the seed's inspection, and what `explain` tells.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::robots::Access;
use curtsy_core::{
    Ask, Bound, Bounds, HostState, Policy, Reason, Scope, Suppression, Timestamp, bounds,
};
use url::Url;

use super::Client;
use crate::error::{Error, ErrorKind};
use crate::hosts::{Host, SCOPE_PREFIX};
use crate::robots::Consulted;
use crate::transport::Guard;

/// What binds the next departure to a URL, and what robots.txt says about it.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The scope that is paced.
    pub scope: Scope,
    /// Its policy.
    pub policy: Arc<Policy>,
    /// Its state.
    pub state: HostState,
    /// The four times of rule P2.
    pub bounds: Bounds,
    /// What robots.txt says.
    pub robots: RobotsSay,
    /// The line of its Crawl-delay, where that is the interval that it asks for now.
    pub crawl_delay_line: Option<u32>,
    /// When this was so.
    pub now: Timestamp,
}

/// What robots.txt says about a URL.
#[derive(Clone, Debug, PartialEq)]
pub enum RobotsSay {
    /// It is not asked: the policy does not respect it.
    NotAsked,
    /// The URL may be fetched; by a rule, or since none forbids it.
    Allowed(Option<(String, u32)>),
    /// The URL may not be fetched: the rule and its line, or the whole file forbids.
    Disallowed(Option<(String, u32)>),
    /// It cannot be read for now.
    Unreachable(Bound),
    /// The scope is suppressed, so that it was not asked.
    Suppressed,
    /// The host cannot be reached.
    Failed(String),
}

/// A scope as a person watches it.
#[derive(Clone, Debug)]
pub struct ScopeView {
    /// Which.
    pub scope: Scope,
    /// Its policy.
    pub policy: Arc<Policy>,
    /// Its state as last seen; `None` before it was first needed.
    pub state: Option<HostState>,
    /// What the request whose turn it is waits for.
    pub waits_for: Option<Bound>,
    /// Whether nothing departs to it until it is [resumed](Client::resume), everything being paused or it
    /// alone.
    pub is_paused: bool,
}

impl Client {
    /// Which bound holds the next departure to `url`, and why. Its robots.txt is read where it is not known.
    ///
    /// # Errors
    /// No http(s) URL; the store or the audit log failed.
    pub async fn explain(&self, url: &str) -> Result<Explanation, Error> {
        let url = parse(url)?;
        let host = self.host_of(&url)?;
        let (robots, crawl_delay_line) = if host.policy.polite && host.policy.respect_robots {
            let said = self
                .consult(&host, &url, &self.shared.token, Guard::Any)
                .await?;
            let line = crawl_delay_line(&said, self.now());
            (robots_say(said, &url), line)
        } else {
            (RobotsSay::NotAsked, None)
        };
        let state = self.shared.gate.hosts.reload(&host).await?;
        let now = self.now();
        let ask = Ask {
            own: self.shared.gate.paused(&host).unwrap_or(Bound::FREE),
            ..Ask::page(now)
        };
        let bounds = bounds(&host.policy, &state, &ask, now);
        Ok(Explanation {
            scope: host.scope.clone(),
            policy: Arc::clone(&host.policy),
            state,
            bounds,
            robots,
            crawl_delay_line,
            now,
        })
    }

    /// O: whether robots.txt lets this client fetch `url`. The file is read where it is not known; while
    /// it cannot be read the answer is no.
    ///
    /// # Errors
    /// No http(s) URL; the host cannot be reached; the store or the audit log failed.
    pub async fn can_fetch(&self, url: &str) -> Result<bool, Error> {
        let url = parse(url)?;
        let host = self.host_of(&url)?;
        let said = self.consult(&host, &url, &self.shared.token, Guard::Any);
        match said.await? {
            Consulted::Failed(error) => Err(error),
            said => Ok(matches!(robots_say(said, &url), RobotsSay::Allowed(_))),
        }
    }

    /// The Crawl-delay that the robots.txt of `url`'s origin asks of this client, if any.
    ///
    /// # Errors
    /// As [`can_fetch`](Self::can_fetch).
    pub async fn crawl_delay(&self, url: &str) -> Result<Option<Duration>, Error> {
        let url = parse(url)?;
        let host = self.host_of(&url)?;
        let said = self.consult(&host, &url, &self.shared.token, Guard::Any);
        match said.await? {
            Consulted::Access(access, _) => Ok(self.crawl_delay_of(&access)),
            Consulted::Failed(error) => Err(error),
            Consulted::Deferred(_) | Consulted::Declined(_) => Ok(None),
        }
    }

    /// The dynamic delays in force, by scope, as this client has seen them.
    #[must_use]
    pub fn backoff_delays(&self) -> BTreeMap<Scope, Duration> {
        let states = self
            .scopes()
            .into_iter()
            .filter_map(|view| Some((view.scope, view.state?.dynamic_delay())));
        states.filter(|(_, delay)| !delay.is_zero()).collect()
    }

    /// The suppressed scopes and why, as this client has seen them.
    #[must_use]
    pub fn suppressed_scopes(&self) -> BTreeMap<Scope, String> {
        let states = self
            .scopes()
            .into_iter()
            .filter_map(|view| Some((view.scope, view.state?.suppression())));
        let reason = |suppression| match suppression {
            Suppression::Active {
                since,
                until: Some(until),
            } => Some(format!("answered 403; since {since}, until {until}")),
            Suppression::Active { since, until: None } => {
                Some(format!("answered 403; since {since}"))
            }
            Suppression::Probing { .. } => Some("answered 403; a probe is under way".to_owned()),
            Suppression::None { .. } => None,
        };
        states
            .filter_map(|(scope, suppression)| Some((scope, reason(suppression)?)))
            .collect()
    }

    /// What the store holds of a scope now.
    ///
    /// # Errors
    /// The store failed.
    pub async fn state(&self, scope: &Scope) -> Result<HostState, Error> {
        let host = self.shared.gate.hosts.host(scope);
        self.shared.gate.hosts.reload(&host).await
    }

    /// All scopes that the store knows.
    ///
    /// # Errors
    /// The store failed.
    pub async fn stored_scopes(&self) -> Result<Vec<Scope>, Error> {
        let keys = self.store().keys(SCOPE_PREFIX).await?;
        Ok(keys
            .iter()
            .filter_map(|key| key.strip_prefix(SCOPE_PREFIX))
            .map(Scope::named)
            .collect())
    }

    /// Forgets all that was learned of a scope. Whether there was anything.
    ///
    /// # Errors
    /// The store failed.
    pub async fn forget(&self, scope: &Scope) -> Result<bool, Error> {
        let host = self.shared.gate.hosts.host(scope);
        self.shared.gate.hosts.forget(&host).await
    }

    /// The scopes that this client has met, as they stand.
    #[must_use]
    pub fn scopes(&self) -> Vec<ScopeView> {
        let hosts = self.shared.gate.hosts.all();
        hosts.iter().map(|host| self.view(host)).collect()
    }

    /// Those of them that have a request in flight or in wait, the busiest first, at most `most`.
    #[must_use]
    pub fn busiest_scopes(&self, most: usize) -> Vec<ScopeView> {
        let hosts = self.shared.gate.hosts.all();
        let busy = hosts.iter().filter_map(|host| Some((host.bustle()?, host)));
        let mut busy: Vec<_> = busy.collect();
        busy.sort_by(|(a, one), (b, other)| b.cmp(a).then_with(|| one.scope.cmp(&other.scope)));
        busy.truncate(most);
        busy.into_iter().map(|(_, host)| self.view(host)).collect()
    }

    /// One of them, as it stands; `None` where this client has not met it.
    #[must_use]
    pub fn scope(&self, scope: &Scope) -> Option<ScopeView> {
        let host = self.shared.gate.hosts.find(scope)?;
        Some(self.view(&host))
    }

    fn view(&self, host: &Arc<Host>) -> ScopeView {
        ScopeView {
            scope: host.scope.clone(),
            policy: Arc::clone(&host.policy),
            state: host.seen(),
            waits_for: host.waits_for(),
            is_paused: self.shared.gate.paused(host).is_some(),
        }
    }
}

/// A Request-rate that asks for more goes before the Crawl-delay.
fn crawl_delay_line(said: &Consulted, now: Timestamp) -> Option<u32> {
    let Consulted::Access(access, _) = said else {
        return None;
    };
    match &**access {
        Access::Rules { robots, .. } if robots.delay(now) == robots.crawl_delay() => {
            robots.crawl_delay_line()
        }
        _ => None,
    }
}

pub(super) fn robots_say(said: Consulted, url: &Url) -> RobotsSay {
    match said {
        Consulted::Access(access, _) => match &*access {
            Access::Rules { robots, .. } => {
                let verdict = robots.verdict(url);
                let rule = verdict
                    .rule
                    .map(|rule| (rule.text().into_owned(), rule.line));
                if verdict.allowed {
                    RobotsSay::Allowed(rule)
                } else {
                    RobotsSay::Disallowed(rule)
                }
            }
            Access::Allowed(_) => RobotsSay::Allowed(None),
            Access::Forbidden(_) => RobotsSay::Disallowed(None),
            Access::Unreachable { retry_at, .. } => RobotsSay::Unreachable(Bound {
                not_before: *retry_at,
                reason: Reason::RobotsUnreachable,
            }),
        },
        Consulted::Deferred(bound) => RobotsSay::Unreachable(bound),
        Consulted::Declined(_) => RobotsSay::Suppressed,
        Consulted::Failed(error) => RobotsSay::Failed(error.to_string()),
    }
}

pub(super) fn parse(url: &str) -> Result<Url, Error> {
    Url::parse(url).map_err(|error| Error::new(ErrorKind::InvalidUrl, "not a URL").caused_by(error))
}
