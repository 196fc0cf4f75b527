//! A job in memory: its URLs and scopes, and the steps that keep them consistent.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use curtsy_core::Timestamp;

use crate::queue::{
    Cursor, Lease, LeaseToken, MAX_PAGE, NewUrl, QueuedUrl, Rest, ScopeCounts, Settlement, UrlId,
    UrlRecord, UrlState,
};

#[derive(Debug, Default)]
pub(super) struct Job {
    /// `UrlId(n)` is the entry `n - 1`.
    urls: Vec<Url>,
    ids: HashMap<String, u64>,
    pub(super) scopes: Vec<Scope>,
    pub(super) scopes_by_name: BTreeMap<String, usize>,
    /// The scopes that nobody has and that have something waiting, by the instant it is due.
    pub(super) ready: BTreeSet<(Timestamp, usize)>,
    pub(super) last_token: u64,
    pub(super) meta: HashMap<String, Vec<u8>>,
}

#[derive(Debug)]
struct Url {
    new: NewUrl,
    scope: usize,
    attempts: u32,
    place: Place,
    line: Option<String>,
}

#[derive(Debug)]
enum Place {
    Fresh,
    Deferred { not_before: u64, reason: String },
    Finished { outcome: String },
}

impl Place {
    /// Where the URL stands in its scope's order; 0 for those that were never deferred.
    fn due(&self) -> Option<u64> {
        match self {
            Self::Fresh => Some(0),
            Self::Deferred { not_before, .. } => Some(*not_before),
            Self::Finished { .. } => None,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Scope {
    pub(super) name: String,
    waiting: BTreeSet<(u64, u64)>,
    deferred: u64,
    finished: BTreeMap<String, u64>,
    pub(super) not_before: Timestamp,
    pub(super) parked: Option<String>,
    pub(super) held: Option<Held>,
    /// Its entry in `ready`.
    ready_at: Option<Timestamp>,
}

#[derive(Debug)]
pub(super) struct Held {
    pub(super) token: LeaseToken,
    pub(super) worker: String,
    pub(super) until: Timestamp,
}

impl Job {
    /// False where the job has the URL already.
    pub(super) fn add(&mut self, new: NewUrl) -> bool {
        let key = new.key.clone().unwrap_or_else(|| new.url.clone());
        if self.ids.contains_key(&key) {
            return false;
        }
        let scope = self.scope_named(&new.scope);
        let id = self.urls.len() as u64 + 1;
        self.ids.insert(key, id);
        self.scopes[scope].waiting.insert((0, id));
        self.urls.push(Url {
            new,
            scope,
            attempts: 0,
            place: Place::Fresh,
            line: None,
        });
        self.refresh(scope);
        true
    }

    pub(super) fn reopen(&mut self, outcomes: &[&str]) -> u64 {
        let mut reopened = 0;
        for (id, url) in (1..).zip(&mut self.urls) {
            let Place::Finished { outcome } = &url.place else {
                continue;
            };
            if !outcomes.contains(&outcome.as_str()) {
                continue;
            }
            let scope = &mut self.scopes[url.scope];
            scope.count_less(outcome);
            scope.waiting.insert((0, id));
            url.place = Place::Fresh;
            url.attempts = 0;
            reopened += 1;
        }
        for scope in 0..self.scopes.len() {
            self.refresh(scope);
        }
        reopened
    }

    fn scope_named(&mut self, name: &str) -> usize {
        if let Some(scope) = self.scopes_by_name.get(name) {
            return *scope;
        }
        let scope = self.scopes.len();
        self.scopes.push(Scope {
            name: name.to_owned(),
            ..Scope::default()
        });
        self.scopes_by_name.insert(name.to_owned(), scope);
        scope
    }

    /// Puts the scope where it belongs among those that are ready, or takes it out.
    pub(super) fn refresh(&mut self, index: usize) {
        let scope = &mut self.scopes[index];
        if let Some(ready_at) = scope.ready_at.take() {
            self.ready.remove(&(ready_at, index));
        }
        if scope.held.is_some() {
            return;
        }
        if let Some((due, _)) = scope.waiting.first() {
            let due = scope.not_before.max(Timestamp::from_micros(*due));
            scope.ready_at = Some(due);
            self.ready.insert((due, index));
        }
    }

    pub(super) fn end_leases(&mut self, ends: impl Fn(&Held) -> bool) -> u64 {
        let mut ended = 0;
        for index in 0..self.scopes.len() {
            if self.scopes[index].held.as_ref().is_some_and(&ends) {
                self.scopes[index].held = None;
                self.refresh(index);
                ended += 1;
            }
        }
        ended
    }

    pub(super) fn leased(&self, lease: &Lease) -> Option<usize> {
        let scope = *self.scopes_by_name.get(&lease.scope)?;
        let held = self.scopes[scope].held.as_ref()?;
        (held.token == lease.token).then_some(scope)
    }

    pub(super) fn release(&mut self, lease: &Lease, rest: Rest) {
        if let Some(index) = self.leased(lease) {
            let scope = &mut self.scopes[index];
            scope.held = None;
            (scope.not_before, scope.parked) = match rest {
                Rest::Due(not_before) => (not_before, None),
                Rest::Parked { until, reason } => (until, Some(reason)),
            };
            self.refresh(index);
        }
    }

    pub(super) fn page(
        &self,
        scope: usize,
        cursor: &mut Cursor,
        page: usize,
        now: Timestamp,
    ) -> Vec<QueuedUrl> {
        let page = page.clamp(1, MAX_PAGE);
        let waiting = &self.scopes[scope].waiting;
        let fresh = waiting.range((0, cursor.fresh + 1)..=(0, u64::MAX));
        let (due, id) = cursor.deferred;
        let deferred = waiting
            .range((due.max(1), id + 1)..)
            .take_while(|(due, _)| *due <= now.as_micros());
        let handed: Vec<(u64, u64)> = fresh.chain(deferred).take(page).copied().collect();
        for (due, id) in &handed {
            if *due == 0 {
                cursor.fresh = *id;
            } else {
                cursor.deferred = (*due, *id);
            }
        }
        handed.iter().map(|(_, id)| self.queued(*id)).collect()
    }

    fn queued(&self, id: u64) -> QueuedUrl {
        let url = &self.urls[id as usize - 1];
        QueuedUrl {
            id: UrlId(id),
            url: url.new.url.clone(),
            out: url.new.out.clone(),
            headers: url.new.headers.clone(),
            attempts: url.attempts,
            line: url.line.clone(),
        }
    }

    /// False where the URL has ended before or is none of this job.
    pub(super) fn settle(&mut self, settlement: Settlement) -> bool {
        let id = settlement.id().0;
        let Some(url) = (id as usize)
            .checked_sub(1)
            .and_then(|index| self.urls.get_mut(index))
        else {
            return false;
        };
        let Some(due) = url.place.due() else {
            return false;
        };
        let (place, line) = match settlement {
            Settlement::Retry { attempts, .. } => {
                url.attempts = attempts;
                return true;
            }
            Settlement::Finished { outcome, line, .. } => (Place::Finished { outcome }, line),
            Settlement::Deferred {
                not_before,
                reason,
                line,
                ..
            } => {
                // 0 is the place of those that were never deferred.
                let not_before = not_before.as_micros().max(1);
                (Place::Deferred { not_before, reason }, line)
            }
        };
        let index = url.scope;
        let scope = &mut self.scopes[index];
        scope.waiting.remove(&(due, id));
        scope.deferred -= u64::from(due > 0);
        match &place {
            Place::Finished { outcome } => {
                *scope.finished.entry(outcome.clone()).or_default() += 1;
            }
            Place::Deferred { not_before, .. } => {
                scope.waiting.insert((*not_before, id));
                scope.deferred += 1;
            }
            Place::Fresh => {}
        }
        url.place = place;
        url.line = Some(line);
        self.refresh(index);
        true
    }

    /// At most `limit` URLs after number `after`.
    pub(super) fn records(&self, after: u64, limit: usize) -> Vec<UrlRecord> {
        (after + 1..=self.urls.len() as u64)
            .take(limit)
            .map(|id| self.record(id))
            .collect()
    }

    fn record(&self, id: u64) -> UrlRecord {
        let url = &self.urls[id as usize - 1];
        let scope = &self.scopes[url.scope];
        let state = match (&url.place, &scope.parked) {
            (Place::Finished { outcome }, _) => UrlState::Finished {
                outcome: outcome.clone(),
            },
            (Place::Deferred { not_before, reason }, _) => UrlState::Deferred {
                not_before: scope.not_before.max(Timestamp::from_micros(*not_before)),
                reason: reason.clone(),
            },
            (Place::Fresh, Some(reason)) => UrlState::Deferred {
                not_before: scope.not_before,
                reason: reason.clone(),
            },
            (Place::Fresh, None) => UrlState::Pending,
        };
        UrlRecord {
            id: UrlId(id),
            scope: scope.name.clone(),
            url: url.new.url.clone(),
            out: url.new.out.clone(),
            attempts: url.attempts,
            state,
            line: url.line.clone(),
        }
    }
}

impl Scope {
    pub(super) fn counts(&self) -> ScopeCounts {
        let waiting = self.waiting.len() as u64;
        let deferred = if self.parked.is_some() {
            waiting
        } else {
            self.deferred
        };
        ScopeCounts {
            scope: self.name.clone(),
            pending: waiting - deferred,
            deferred,
            finished: self.finished.clone(),
            worker: self.held.as_ref().map(|held| held.worker.clone()),
        }
    }

    fn count_less(&mut self, outcome: &str) {
        if let Some(number) = self.finished.get_mut(outcome) {
            *number -= 1;
            if *number == 0 {
                self.finished.remove(outcome);
            }
        }
    }
}
