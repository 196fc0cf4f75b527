//! Concluding from what the fields say: sanity of figures, which quota steers, which wait holds.
//!
//! A doubt is always settled on the slower side, and a figure that cannot be used is unknown, never
//! zero and never unlimited.

use std::cmp::Reverse;
use std::fmt::Write;
use std::time::Duration;

use super::ledger::{Entry, Ledger};
use super::name::{QuotaKey, Source, Unit};
use super::value::{Count, Decimal};
use super::{Figures, LONGEST_WAIT, Policy, Quota, Signal, Wait, dialect};

/// One quota after its figures were checked.
#[derive(Debug)]
struct Standing<'h> {
    entry: Entry<'h>,
    remaining: Option<u64>,
    /// The reset is the family's, not told of this quota.
    is_reset_lent: bool,
    /// From a quota list: a policy whose counters, if any, stand elsewhere.
    is_declared: bool,
    /// From a quota list that has its counters beside it, which steer.
    is_beside_counters: bool,
}

/// Concludes; `speaks_of_limits` tells whether the body of a 403 does.
pub(super) fn settle(
    mut ledger: Ledger<'_>,
    status: u16,
    speaks_of_limits: impl FnOnce() -> bool,
) -> Signal {
    let mut standings = check(&mut ledger, status);
    lend_resets(&mut standings);
    merge_families(&mut standings);
    add_declared(&mut standings, &ledger);
    let policies = list_policies(&standings);
    standings.sort_by(|a, b| rank(a).total_cmp(&rank(b)));

    let steering = standings.first().filter(|standing| standing.steers());
    let figures = steering.map(Standing::figures).unwrap_or_default();
    let wait = settle_wait(&mut ledger, &standings, status, speaks_of_limits);
    Signal {
        wait,
        figures,
        quotas: quotas(&standings, ledger.tag),
        policies,
        ignored: ledger.ignored,
    }
}

/// Makes the figures of each entry sane and drops the entries that say nothing.
fn check<'h>(ledger: &mut Ledger<'h>, status: u16) -> Vec<Standing<'h>> {
    let is_success = (200..300).contains(&status);
    let is_told_to_wait = ledger.wait.is_some();
    let cost = ledger.cost.filter(|cost| *cost > 1);
    std::mem::take(&mut ledger.entries)
        .into_iter()
        .filter_map(|mut entry| {
            if entry.is_limit_minus_one && entry.remaining == Some(Count::MinusOne) {
                // "No quota": neither zero nor without bound.
                return None;
            }
            if let Some(rate) = entry.per_second {
                (entry.limit, entry.window) = as_count(rate);
            }
            let mut remaining = match entry.remaining {
                Some(Count::Of(count)) => Some(count),
                // A gateway that lost its store says -1 and lets everything through.
                Some(Count::MinusOne)
                    if is_success && entry.reset.is_none() && !is_told_to_wait =>
                {
                    None
                }
                Some(Count::MinusOne | Count::Negative) => Some(0),
                Some(Count::Wrapped) => entry.limit,
                None => None,
            };
            match (entry.used, entry.limit, remaining) {
                (Some(used), Some(limit), None) => remaining = Some(limit.saturating_sub(used)),
                (Some(used), None, Some(left)) => entry.limit = Some(left.saturating_add(used)),
                _ => {}
            }
            if let Some(cost) = cost {
                entry.limit = entry.limit.map(|limit| limit / cost);
                remaining = remaining.map(|left| left / cost);
            }
            if let (Some(left), Some(limit)) = (remaining, entry.limit) {
                remaining = Some(left.min(limit));
            }
            // A name's window alone says nothing: its count was unusable, or of no known limit.
            let says_something = entry.limit.is_some()
                || remaining.is_some()
                || entry.reset.is_some()
                || (entry.window.is_some() && entry.name.is_none());
            says_something.then_some(Standing {
                entry,
                remaining,
                is_reset_lent: false,
                is_declared: false,
                is_beside_counters: false,
            })
        })
        .collect()
}

/// A rate per second as a count in a window of whole requests.
fn as_count(rate: Decimal) -> (Option<u64>, Option<Duration>) {
    let whole = u64::try_from(rate.whole).ok().filter(|n| *n < 1 << 53);
    match whole {
        Some(0) if rate.nanos == 0 => (Some(0), Some(Duration::from_secs(1))),
        Some(whole) if rate.nanos == 0 => (Some(whole), Some(Duration::from_secs(1))),
        Some(_) => (
            Some(1),
            Duration::try_from_secs_f64(1.0 / rate.as_f64())
                .ok()
                .map(|window| window.min(LONGEST_WAIT)),
        ),
        None => (None, None),
    }
}

/// A reset that a family tells alone (Contentful) goes to its quotas that are used up, or else to the
/// one that would steer.
fn lend_resets(standings: &mut Vec<Standing<'_>>) {
    let is_lone_reset = |standing: &Standing<'_>| {
        let entry = &standing.entry;
        entry.name.is_none()
            && entry.reset.is_some()
            && entry.limit.is_none()
            && standing.remaining.is_none()
            && entry.window.is_none()
    };
    let Some(lone) = standings.iter().position(is_lone_reset) else {
        return;
    };
    let family = standings[lone].entry.family;
    let (reset, field) = (
        standings[lone].entry.reset,
        standings[lone].entry.reset_field,
    );
    let mut takers: Vec<_> = standings
        .iter_mut()
        .filter(|standing| {
            standing.entry.family == family
                && standing.entry.name.is_some()
                && standing.entry.reset.is_none()
        })
        .collect();
    takers.sort_by(|a, b| rank(a).total_cmp(&rank(b)));
    let mut is_lent = false;
    for taker in takers {
        if !is_lent || taker.is_exhausted() {
            taker.entry.reset = reset;
            taker.entry.reset_field = field;
            taker.is_reset_lent = true;
            is_lent = true;
        }
    }
    if is_lent {
        standings.remove(lone);
    }
}

/// Families that tell the same limit in different generations of fields are one policy: the smaller
/// remainder, the longer reset. A nameless one goes into the one with a name.
fn merge_families(standings: &mut Vec<Standing<'_>>) {
    let is_request_quota = |standing: &Standing<'_>| standing.entry.unit == Unit::Requests;
    let mut at = 0;
    while at < standings.len() {
        let twin = is_nameless(&standings[at])
            .then(|| {
                (0..standings.len()).find(|other| {
                    let (one, other) = (&standings[at], &standings[*other]);
                    let is_same_limit = one.entry.limit == other.entry.limit
                        && (one.entry.limit.is_some() || is_nameless(other));
                    let is_unknown = is_nameless(other)
                        && (one.entry.limit.is_none() || other.entry.limit.is_none());
                    is_request_quota(other)
                        && (other.entry.family != one.entry.family || !is_nameless(other))
                        && (is_same_limit || is_unknown)
                })
            })
            .flatten();
        let Some(twin) = twin else {
            at += 1;
            continue;
        };
        let gone = standings.remove(at);
        let kept = &mut standings[if twin > at { twin - 1 } else { twin }];
        kept.merge(gone);
    }
}

/// Quota lists: a policy that is the trio's own gives it its window; the others stand beside it.
fn add_declared<'h>(standings: &mut Vec<Standing<'h>>, ledger: &Ledger<'h>) {
    let declared = &ledger.declared;
    for standing in standings.iter_mut().filter(|s| is_nameless(s)) {
        let entry = &mut standing.entry;
        let own = declared
            .iter()
            .find(|policy| Some(policy.limit) == entry.limit);
        // A server may lower the limit for the moment and leave its only policy as it was.
        let only = declared
            .first()
            .filter(|policy| declared.len() == 1 && policy.family == entry.family);
        if entry.window.is_none()
            && let Some(policy) = own.or(only)
        {
            entry.window = policy.window;
        }
    }
    let is_beside_counters = standings.iter().any(is_nameless);
    for policy in declared {
        standings.push(Standing {
            entry: Entry {
                family: policy.family,
                name: policy.name.clone(),
                limit: Some(policy.limit),
                window: policy.window,
                ..Entry::default()
            },
            remaining: None,
            is_reset_lent: false,
            is_declared: true,
            is_beside_counters,
        });
    }
}

/// The policies as stated. A nameless trio is one only beside others that have counters.
fn list_policies(standings: &[Standing<'_>]) -> Vec<Policy> {
    let counted = || standings.iter().filter(|standing| !standing.is_declared);
    let is_alone = counted().count() < 2;
    let nameless = counted().filter(|standing| is_nameless(standing)).count();
    let listed =
        |standing: &&Standing<'_>| standing.is_declared || !is_nameless(standing) || !is_alone;
    standings
        .iter()
        .filter(listed)
        .map(|standing| {
            let name = match &standing.entry.name {
                Some(name) => Some(QuotaKey::new(name.clone().into_owned())),
                None if standing.is_declared => None,
                None => Some(name_main(standing, standings, nameless)),
            };
            let mut figures = standing.figures();
            if standing.is_reset_lent {
                figures.reset = None;
            }
            Policy {
                name,
                unit: standing.entry.unit,
                figures,
            }
        })
        .collect()
}

/// What a nameless trio is called beside others.
fn name_main(main: &Standing<'_>, standings: &[Standing<'_>], nameless: usize) -> QuotaKey {
    if nameless > 1 {
        return QuotaKey::new(main.entry.family.to_owned());
    }
    let mut others = standings.iter().filter(|other| !is_nameless(other));
    if let Some(name) = others
        .clone()
        .find_map(|other| dialect::main_name(other.entry.family))
    {
        return QuotaKey::from(name);
    }
    let is_sibling = |other: &Standing<'_>| {
        other.entry.family == main.entry.family && other.entry.unit == Unit::Requests
    };
    QuotaKey::from(if others.any(is_sibling) {
        "default"
    } else {
        "rate"
    })
}

/// The wait, by the precedence of instructions; the longest of those that count.
fn settle_wait(
    ledger: &mut Ledger<'_>,
    standings: &[Standing<'_>],
    status: u16,
    speaks_of_limits: impl FnOnce() -> bool,
) -> Option<Wait> {
    let mut explicit = ledger.wait;
    let has_some_left = standings
        .iter()
        .any(|standing| standing.remaining.is_some_and(|left| left > 0));
    let is_any_exhausted = standings.iter().any(Standing::is_exhausted);
    let is_advisory = (200..300).contains(&status) && status != 202;
    if is_advisory
        && has_some_left
        && !is_any_exhausted
        && let Some((wait, field)) = explicit.take()
    {
        // Some print it on every answer: with requests left it would allow one of a hundred.
        ledger.ignore(
            field,
            &format!("{} s", wait.as_secs_f64()),
            "advisory on a success with quota left",
        );
    }
    let told = explicit
        .into_iter()
        .chain(ledger.body_wait)
        .max_by_key(|(wait, _)| *wait);
    let exhausted = |counts: fn(Unit) -> bool| {
        standings
            .iter()
            .filter(|standing| standing.is_exhausted() && counts(standing.entry.unit))
            .filter_map(Standing::reset_ahead)
            .max_by_key(|(wait, _)| *wait)
    };
    let mut wait = told
        .into_iter()
        .chain(exhausted(|unit| unit == Unit::Requests))
        .max_by_key(|(wait, _)| *wait);
    if told.is_none() {
        // What refills continuously counts only where nothing better is told.
        wait = wait
            .into_iter()
            .chain(exhausted(|unit| unit != Unit::Requests))
            .max_by_key(|(wait, _)| *wait);
    }
    let implied = || {
        let steering = standings.first().filter(|standing| standing.steers())?;
        let is_refusal = match status {
            429 => true,
            // No proof of throttling while quota is left.
            503 => standings
                .iter()
                .all(|standing| standing.remaining.is_none()),
            403 => speaks_of_limits(),
            _ => false,
        };
        steering.reset_ahead().filter(|_| is_refusal)
    };
    wait.or_else(implied).map(|(after, field)| Wait {
        after,
        source: Source::of_field(field),
    })
}

fn quotas(standings: &[Standing<'_>], tag: Option<&str>) -> Vec<Quota> {
    let mut quotas: Vec<Quota> = Vec::with_capacity(standings.len());
    for standing in standings {
        let entry = &standing.entry;
        let is_repeated = |quota: &Quota| {
            quota.unit == entry.unit && quota.limit == entry.limit && quota.window == entry.window
        };
        // A policy of a list that the counters before it already tell.
        if standing.is_declared && quotas.iter().any(is_repeated) {
            continue;
        }
        let mut name = standing.key(tag);
        while quotas.iter().any(|quota| quota.name == name) {
            name = QuotaKey::new(format!("{name}'"));
        }
        quotas.push(Quota {
            name,
            unit: entry.unit,
            limit: entry.limit,
            remaining: standing.remaining,
            reset: entry.reset,
            window: entry.window,
        });
    }
    quotas
}

/// Steering first: those that are used up (latest or unknown reset), then by what they leave for each
/// second, then by what they allow for each second; a known remainder before an unknown one. What
/// counts other things than requests comes last.
fn rank(standing: &Standing<'_>) -> Rank {
    Rank {
        is_idle: !standing.steers(),
        is_left: !standing.is_exhausted(),
        later_reset: Reverse(standing.is_exhausted().then(|| {
            standing
                .entry
                .reset
                .map_or(Duration::MAX, |reset| reset.after)
        })),
        rate: standing.rate().unwrap_or(f64::INFINITY),
        remaining: standing.remaining.unwrap_or(u64::MAX),
        is_declared: standing.is_declared,
    }
}

#[derive(PartialEq, PartialOrd)]
struct Rank {
    is_idle: bool,
    is_left: bool,
    later_reset: Reverse<Option<Duration>>,
    rate: f64,
    remaining: u64,
    is_declared: bool,
}

impl Rank {
    fn total_cmp(&self, other: &Self) -> std::cmp::Ordering {
        // Rates are never NaN: they divide by what is not zero.
        self.partial_cmp(other).unwrap_or(std::cmp::Ordering::Equal)
    }
}

fn is_nameless(standing: &Standing<'_>) -> bool {
    standing.entry.name.is_none() && !standing.is_declared
}

impl Standing<'_> {
    fn is_exhausted(&self) -> bool {
        self.remaining == Some(0)
    }

    fn steers(&self) -> bool {
        self.entry.unit == Unit::Requests && !self.is_beside_counters
    }

    /// What is left, or allowed, for each second.
    fn rate(&self) -> Option<f64> {
        let window = self.entry.window;
        let span = match self.entry.reset {
            Some(reset) if !reset.after.is_zero() => Some(reset.after),
            _ => window,
        };
        match (self.remaining, span) {
            (Some(left), Some(span)) => Some(left as f64 / span.as_secs_f64()),
            _ => Some(self.entry.limit? as f64 / window?.as_secs_f64()),
        }
    }

    /// The time until its reset and the field that tells it; `None` where that is now or unknown.
    fn reset_ahead(&self) -> Option<(Duration, &str)> {
        let reset = self.entry.reset.filter(|reset| !reset.after.is_zero())?;
        Some((reset.after, self.entry.reset_field))
    }

    fn figures(&self) -> Figures {
        let (limit, window) = match self.entry.per_second {
            Some(rate) => (Some(rate.as_f64()), Some(Duration::from_secs(1))),
            None => (
                self.entry.limit.map(|limit| limit as f64),
                self.entry.window,
            ),
        };
        Figures {
            limit,
            remaining: self.remaining,
            reset: self.entry.reset.map(|reset| reset.after),
            window,
        }
    }

    fn key(&self, tag: Option<&str>) -> QuotaKey {
        let entry = &self.entry;
        let mut key = String::with_capacity(32);
        match &entry.name {
            Some(name) => {
                key.push_str(name);
                if let Some(partition) = entry.partition {
                    let _ = write!(key, "#{partition:016x}");
                }
            }
            None => {
                key.push_str(entry.family);
                if let Some(limit) = entry.limit {
                    let _ = write!(key, ":{limit}");
                }
                if let Some(window) = entry.window.filter(|_| self.is_declared) {
                    let _ = write!(key, ";w={}", window.as_secs_f64());
                }
                if let Some(tag) = tag {
                    let _ = write!(key, ":{tag}");
                }
            }
        }
        QuotaKey::new(key)
    }
}

impl<'h> Standing<'h> {
    fn merge(&mut self, other: Standing<'h>) {
        let (kept, gone) = (&mut self.entry, other.entry);
        kept.limit = kept.limit.or(gone.limit);
        kept.window = kept.window.or(gone.window);
        kept.per_second = kept.per_second.or(gone.per_second);
        if let Some(reset) = gone.reset {
            kept.reset_at(reset, gone.reset_field);
        }
        self.remaining = match (self.remaining, other.remaining) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }
}
