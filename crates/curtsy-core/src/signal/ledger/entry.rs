//! One quota as the fields of one response tell it.

use std::borrow::Cow;
use std::time::Duration;

use super::super::Reset;
use super::super::name::Unit;
use super::super::number::{Count, Decimal};

/// One quota. What is said twice is settled on the slower side.
#[derive(Debug, Default)]
pub(in super::super) struct Entry<'h> {
    /// The fields that it is told by.
    pub(in super::super) family: &'h str,
    /// Its name; `None` for the only quota of a family.
    pub(in super::super) name: Option<Cow<'h, str>>,
    /// The partition of the server's clients, as a fingerprint.
    pub(in super::super) partition: Option<u64>,
    pub(in super::super) unit: Unit,
    pub(in super::super) limit: Option<u64>,
    /// A limit of -1: "none".
    pub(in super::super) is_limit_minus_one: bool,
    /// What is left, as printed.
    pub(in super::super) count: Option<Count>,
    /// What is left, once that was checked.
    pub(in super::super) remaining: Option<u64>,
    pub(in super::super) used: Option<u64>,
    pub(in super::super) reset: Option<Reset>,
    /// The field that gave the reset.
    pub(in super::super) reset_field: &'h str,
    /// The reset is the family's, not told of this quota.
    pub(in super::super) is_reset_lent: bool,
    pub(in super::super) window: Option<Duration>,
    /// How much flows in per window (per second where there is none), perhaps a fraction.
    pub(in super::super) fill_rate: Option<Decimal>,
    /// That rate and its interval, where it takes the place of a limit.
    pub(in super::super) stated_rate: Option<(f64, Duration)>,
    /// Two limits in one field, and what is used of them.
    pub(super) limits: Option<(u64, u64)>,
    pub(super) uses: Option<(u64, u64)>,
    pub(in super::super) origin: Origin,
}

/// Where a quota is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) enum Origin {
    /// By fields or parameters of its own.
    #[default]
    Counters,
    /// In a quota list alone: what it allows is known, not what is left.
    List,
    /// In a quota list that has its counters beside it, which steer.
    ListBesideCounters,
}

impl<'h> Entry<'h> {
    /// Of several limits the smallest counts.
    pub(in super::super) fn limit_to(&mut self, limit: u64) {
        self.limit = Some(self.limit.map_or(limit, |known| known.min(limit)));
    }

    /// Of several counts of what is left the smallest counts.
    pub(in super::super) fn leave(&mut self, count: Count) {
        if self.count.is_none_or(|known| count.order() < known.order()) {
            self.count = Some(count);
        }
    }

    /// Of several counts of what is used the largest counts.
    pub(in super::super) fn use_up(&mut self, used: u64) {
        self.used = self.used.max(Some(used));
    }

    /// Of several resets the latest counts.
    pub(in super::super) fn reset_at(&mut self, reset: Reset, field: &'h str) {
        if self.reset.is_none_or(|known| reset.after > known.after) {
            self.reset = Some(reset);
            self.reset_field = field;
        }
    }

    /// The only quota of a family that has counters.
    pub(in super::super) fn is_nameless(&self) -> bool {
        self.name.is_none() && self.is_counted()
    }

    /// Has fields or parameters of its own.
    pub(in super::super) fn is_counted(&self) -> bool {
        self.origin == Origin::Counters
    }

    /// Nothing is left.
    pub(in super::super) fn is_exhausted(&self) -> bool {
        self.remaining == Some(0)
    }

    /// Sets the pace of requests: other units count for one thing, exhaustion.
    pub(in super::super) fn steers(&self) -> bool {
        self.unit == Unit::Requests && self.origin != Origin::ListBesideCounters
    }

    /// The time until its reset and the field that tells it; `None` where that is now or unknown.
    pub(in super::super) fn reset_ahead(&self) -> Option<(Duration, &'h str)> {
        let reset = self.reset.filter(|reset| !reset.after.is_zero())?;
        Some((reset.after, self.reset_field))
    }
}
