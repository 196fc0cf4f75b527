//! What several pipelines owe a server together, by their lines alone: holds and intervals.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::violation::{Findings, Place, Rule, exact};
use crate::{Scope, Timestamp};

/// So many holds of one scope are kept, those that end last.
const MOST_HOLDS: usize = 8;

/// The scopes that pipelines share, as they share a store.
#[derive(Debug, Default)]
pub(super) struct Among {
    stores: HashMap<Arc<str>, HashMap<Scope, Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    holds: Vec<Hold>,
    last: Option<Last>,
}

#[derive(Clone, Copy, Debug)]
struct Hold {
    /// When it was on record, and so known to all.
    since: Timestamp,
    until: Timestamp,
}

#[derive(Clone, Debug)]
struct Last {
    pipeline: Arc<str>,
    permitted_at: Timestamp,
}

/// A departure, among those of all pipelines.
pub(super) struct Leaving<'a> {
    pub(super) store: &'a Arc<str>,
    pub(super) pipeline: &'a Arc<str>,
    pub(super) scope: &'a Scope,
    pub(super) permitted_at: Timestamp,
    /// What is between any two departures at least.
    pub(super) least: Duration,
}

impl Among {
    /// A server asked for quiet until then; that was on record at `since`.
    pub(super) fn hold(
        &mut self,
        store: &Arc<str>,
        scope: &Scope,
        since: Timestamp,
        until: Timestamp,
    ) {
        let holds = &mut self.shared(store, scope).holds;
        holds.retain(|hold| hold.until > since);
        holds.push(Hold { since, until });
        if holds.len() > MOST_HOLDS {
            let first = (0..holds.len()).min_by_key(|at| holds[*at].until);
            holds.remove(first.unwrap_or(0));
        }
    }

    pub(super) fn depart(&mut self, leaving: &Leaving<'_>, at: Place, findings: &mut Findings) {
        let shared = self.shared(leaving.store, leaving.scope);
        let now = leaving.permitted_at;
        let hold = shared
            .holds
            .iter()
            .find(|hold| hold.since < now && now < hold.until);
        if let Some(hold) = hold {
            let what = format!(
                "it departed at {}, and its server had asked for quiet until {}",
                exact(now),
                exact(hold.until)
            );
            findings.add(at, Rule::Hold, what);
        }
        if let Some(last) = &shared.last
            && last.pipeline != *leaving.pipeline
            && now > last.permitted_at
            && now < last.permitted_at.after(leaving.least)
        {
            let what = format!(
                "it departed at {}, less than {:?} after a departure of {:?}",
                exact(now),
                leaving.least,
                last.pipeline
            );
            findings.add(at, Rule::Bound, what);
        }
        if shared
            .last
            .as_ref()
            .is_none_or(|last| last.permitted_at < now)
        {
            shared.last = Some(Last {
                pipeline: Arc::clone(leaving.pipeline),
                permitted_at: now,
            });
        }
    }

    fn shared(&mut self, store: &Arc<str>, scope: &Scope) -> &mut Shared {
        let scopes = self.stores.entry(Arc::clone(store)).or_default();
        scopes.entry(scope.clone()).or_default()
    }
}
