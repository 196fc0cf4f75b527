//! The URLs of a scope, and those of them that would not be fetched.

use curtsy_core::Bound;
use curtsy_core::robots::Access;
use url::Url;

/// Rules of one scope that are counted one by one; what others disallow is counted in all.
const MAX_RULES: usize = 16;

/// The URLs of a scope in a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// All.
    pub urls: u64,
    /// Those that robots.txt disallows.
    pub disallowed: u64,
    /// By which of its rules: the first ones met, at most 16.
    pub rules: Vec<RuleCount>,
    /// Those whose robots.txt cannot be had.
    pub obstructed: u64,
    /// Why the first of these.
    pub obstacle: Option<Obstacle>,
}

/// How many URLs a rule disallows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleCount {
    /// Its line in robots.txt, from 1.
    pub line: u32,
    /// The rule as it stands there.
    pub rule: String,
    /// So many URLs.
    pub urls: u64,
}

/// Why nothing may be fetched from an origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// Its robots.txt cannot be had for now: its URLs would be deferred.
    Deferred(Bound),
    /// It cannot be reached: its URLs would fail.
    Failed(String),
    /// R4: it is suppressed.
    Suppressed,
}

impl Tally {
    /// Those that would be fetched.
    #[must_use]
    pub fn to_fetch(&self) -> u64 {
        self.urls - self.disallowed - self.obstructed
    }

    pub(super) fn add(&mut self) {
        self.urls += 1;
    }

    /// O4.
    pub(super) fn judge(&mut self, url: &Url, access: &Access) {
        self.urls += 1;
        match access {
            Access::Allowed(_) => {}
            Access::Rules { robots, .. } => {
                let verdict = robots.verdict(url);
                if verdict.allowed {
                    return;
                }
                self.disallowed += 1;
                if let Some(rule) = verdict.rule {
                    self.count_rule(rule.line, &rule.text());
                }
            }
            Access::Forbidden(_) => self.disallowed += 1,
            Access::Unreachable { .. } => self.obstructed += 1,
        }
    }

    fn count_rule(&mut self, line: u32, rule: &str) {
        // A scope may have several origins, each with a file of its own.
        let is_it = |known: &&mut RuleCount| known.line == line && known.rule == rule;
        if let Some(known) = self.rules.iter_mut().find(is_it) {
            known.urls += 1;
        } else if self.rules.len() < MAX_RULES {
            self.rules.push(RuleCount {
                line,
                rule: rule.to_owned(),
                urls: 1,
            });
        }
    }

    pub(super) fn obstruct(&mut self, obstacle: &Obstacle) {
        self.urls += 1;
        self.obstructed += 1;
        self.obstacle.get_or_insert_with(|| obstacle.clone());
    }
}
