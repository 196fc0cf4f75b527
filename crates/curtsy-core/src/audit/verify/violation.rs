//! What a log shows that must not be.

use std::fmt;

use serde::Serialize;

use crate::{Reason, Timestamp};

/// A line of one of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The file, by its number among those that are read.
    pub file: u32,
    /// The line, from 1.
    pub line: u64,
}

/// A rule that was not kept, at one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Where.
    pub at: Place,
    /// Which.
    pub rule: Rule,
    /// What is wrong, for people.
    pub what: String,
}

/// The rules that a log proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// T1: each line follows the one whose hash it holds.
    Chain,
    /// T2: everything is on record, and a replay comes to the same.
    Record,
    /// P10: nothing departs before its bound.
    Bound,
    /// H1, H6: nothing departs in a hold.
    Hold,
    /// D1: nothing departs while curtsy backs off.
    Backoff,
    /// O4: nothing departs against robots.txt.
    Robots,
    /// R4: nothing departs to a suppressed scope.
    Suppression,
    /// K2: nothing departs while the breaker is open.
    Breaker,
    /// H11: every change of rate, delay and hold follows from what it cites.
    Change,
}

impl Rule {
    /// Every rule, in the order in which a summary tells them.
    pub const ALL: [Self; 9] = [
        Self::Chain,
        Self::Record,
        Self::Bound,
        Self::Hold,
        Self::Backoff,
        Self::Robots,
        Self::Suppression,
        Self::Breaker,
        Self::Change,
    ];

    /// The stable label: snake_case, public interface.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Chain => "chain",
            Self::Record => "record",
            Self::Bound => "bound",
            Self::Hold => "hold",
            Self::Backoff => "backoff",
            Self::Robots => "robots",
            Self::Suppression => "suppression",
            Self::Breaker => "breaker",
            Self::Change => "change",
        }
    }

    /// What it says, where it was kept.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Chain => "no line was removed, changed, moved or added",
            Self::Record => "every decision comes to the same when it is made again",
            Self::Bound => "no request departed before its bound",
            Self::Hold => "none departed while its server had asked for quiet",
            Self::Backoff => "none departed while its server was given time to recover",
            Self::Robots => "none departed against robots.txt",
            Self::Suppression => "none departed to a server that had forbidden it",
            Self::Breaker => "none departed to a server that was out of order",
            Self::Change => "every change of pace follows from what the server answered",
        }
    }

    /// The rule that a departure breaks which this reason should have kept.
    pub(super) const fn of(reason: Reason) -> Self {
        match reason {
            Reason::ServerHold | Reason::QuotaExhausted => Self::Hold,
            Reason::DynamicDelay | Reason::RetryBackoff | Reason::Probe => Self::Backoff,
            Reason::BreakerOpen => Self::Breaker,
            Reason::RobotsUnreachable => Self::Robots,
            _ => Self::Bound,
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

/// What was found so far.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) violations: Vec<Violation>,
    /// Those that are more than are kept.
    pub(super) more: u64,
}

/// So many are kept; a log that was cut to pieces has no end of them.
const MOST: usize = 1_000;

impl Findings {
    pub(super) fn add(&mut self, at: Place, rule: Rule, what: impl Into<String>) {
        if self.violations.len() == MOST {
            self.more += 1;
            return;
        }
        let what = what.into();
        self.violations.push(Violation { at, rule, what });
    }
}

/// An instant to the microsecond, for people.
pub(super) fn exact(at: Timestamp) -> String {
    at.to_rfc3339_micros()
}
