//! Which wait holds, by the precedence of instructions. Of those that count the longest.

use std::time::Duration;

use super::super::Wait;
use super::super::ledger::{Entry, Ledger};
use super::super::name::{Source, Unit};

/// The wait that a response asks for or implies. The entries are in the order of steering.
///
/// An explicit wait and a quota of requests that is used up both hold; a quota in another unit that is
/// used up holds only where no wait is told, since such buckets refill continuously; on a refusal
/// without any of these the steering quota's reset is the wait.
pub(super) fn settle(
    ledger: &mut Ledger<'_>,
    status: u16,
    speaks_of_limits: impl FnOnce() -> bool,
) -> Option<Wait> {
    if is_advisory(&ledger.entries, status)
        && let Some((after, field)) = ledger.wait.take()
    {
        let told = format!("{} s", after.as_secs_f64());
        ledger.ignore(field, &told, "advisory on a success with quota left");
    }
    let told = longer(ledger.wait, ledger.body_wait);
    let mut held = longer(
        told,
        exhausted(&ledger.entries, |unit| unit == Unit::Requests),
    );
    if told.is_none() {
        held = longer(
            held,
            exhausted(&ledger.entries, |unit| unit != Unit::Requests),
        );
    }
    held.or_else(|| implied(&ledger.entries, status, speaks_of_limits))
        .map(wait)
}

/// The longest wait that is stated, before it is weighed.
pub(super) fn explicit(ledger: &Ledger<'_>) -> Option<Wait> {
    longer(ledger.wait, ledger.body_wait).map(wait)
}

fn wait((after, field): (Duration, &str)) -> Wait {
    Wait {
        after,
        source: Source::of_field(field),
    }
}

/// Some print Retry-After on every answer: with quota left it is no instruction, and obeying it would
/// allow one request of a hundred. On 202, or where nothing of quotas is told, it is the only sign.
fn is_advisory(entries: &[Entry<'_>], status: u16) -> bool {
    let is_left = |entry: &Entry<'_>| entry.remaining.is_some_and(|left| left > 0);
    (200..300).contains(&status)
        && status != 202
        && entries.iter().any(is_left)
        && !entries.iter().any(Entry::is_exhausted)
}

fn exhausted<'h>(entries: &[Entry<'h>], counts: fn(Unit) -> bool) -> Option<(Duration, &'h str)> {
    entries
        .iter()
        .filter(|entry| entry.is_exhausted() && counts(entry.unit))
        .filter_map(Entry::reset_ahead)
        .max_by_key(|(wait, _)| *wait)
}

fn implied<'h>(
    entries: &[Entry<'h>],
    status: u16,
    speaks_of_limits: impl FnOnce() -> bool,
) -> Option<(Duration, &'h str)> {
    let reset = entries
        .first()
        .filter(|entry| entry.steers())?
        .reset_ahead()?;
    let is_refusal = match status {
        429 => true,
        // No proof of throttling while quota is left.
        503 => entries.iter().all(|entry| entry.remaining.is_none()),
        // It may be a matter of permission.
        403 => speaks_of_limits(),
        _ => false,
    };
    is_refusal.then_some(reset)
}

fn longer<'h>(
    one: Option<(Duration, &'h str)>,
    other: Option<(Duration, &'h str)>,
) -> Option<(Duration, &'h str)> {
    match (one, other) {
        (Some(one), Some(other)) if other.0 > one.0 => Some(other),
        (one, other) => one.or(other),
    }
}
