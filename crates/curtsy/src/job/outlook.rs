//! When a running job will be done: each scope by what is left of it and by the forecast of its pace.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::{Forecast, HostState, Policy, Scope, Timestamp, forecast};

use super::Shared;
use crate::error::Error;

/// Scopes that are asked of the queue at once.
const PAGE: usize = 256;

/// When a job will be done, as far as can be told: not before this.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outlook {
    /// The scope whose last request departs last, of those that the job waits for, and when.
    pub last: Option<(Scope, Timestamp)>,
    /// URLs that are deferred.
    pub deferred: u64,
    /// What is left of the scopes that were asked about.
    pub scopes: BTreeMap<Scope, ScopeOutlook>,
}

/// What is left of one scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScopeOutlook {
    /// URLs that have not ended.
    pub left: u64,
    /// When the last of them departs; `None` where none does.
    pub end: Option<Timestamp>,
}

/// How long scopes that nobody has met yet take, by policy and by what is left of them: most of a large
/// job's are alike.
type Unmet = HashMap<(usize, u64), Option<Duration>>;

pub(super) async fn outlook(
    shared: &Shared,
    max_wait: Duration,
    asked: impl Fn(&Scope) -> bool,
) -> Result<Outlook, Error> {
    let mut outlook = Outlook::default();
    let mut unmet = Unmet::new();
    let mut after: Option<String> = None;
    loop {
        let page = shared.queue.scope_counts(after.as_deref(), PAGE).await?;
        let now = shared.client.now();
        for counts in &page {
            outlook.deferred += counts.deferred;
            let left = counts.pending + counts.deferred;
            if left == 0 {
                continue;
            }
            let scope = Scope::named(&counts.scope);
            let end = end(shared, &scope, left, max_wait, now, &mut unmet);
            if let Some(end) = end
                && outlook.last.as_ref().is_none_or(|(_, last)| end > *last)
            {
                outlook.last = Some((scope.clone(), end));
            }
            if asked(&scope) {
                outlook.scopes.insert(scope, ScopeOutlook { left, end });
            }
        }
        match page.into_iter().next_back() {
            Some(last) => after = Some(last.scope),
            None => return Ok(outlook),
        }
    }
}

/// When the last of `left` requests departs; `None` where the job does not wait for it.
fn end(
    shared: &Shared,
    scope: &Scope,
    left: u64,
    max_wait: Duration,
    now: Timestamp,
    unmet: &mut Unmet,
) -> Option<Timestamp> {
    let takes = |policy: &Policy, state: &HostState| match forecast(policy, state, left, now) {
        Forecast::Departs(course)
            if !course.is_deferred || course.first.not_before.since(now) <= max_wait =>
        {
            Some(course.end.since(now))
        }
        _ => None,
    };
    let shared = &shared.client.shared;
    let takes = match shared.gate.hosts.met(scope) {
        Some((policy, Some(state))) => takes(&policy, &state),
        _ => {
            let policy = shared.policies.policy_of(scope);
            let alike = unmet.entry((Arc::as_ptr(&policy).addr(), left));
            *alike.or_insert_with(|| takes(&policy, &HostState::default()))
        }
    };
    takes.map(|takes| now.after(takes))
}
