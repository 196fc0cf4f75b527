//! Collecting what the fields of one response say, before anything is concluded from it.

mod entry;
mod figures;

use std::time::Duration;

use super::clock::Clock;
use super::dialect::{Field, Role};
use super::number::{Count, trim};
use super::rate_limit::{self, Line, Member};
use super::{Form, Ignored, LONGEST_WAIT, Reset, notation, value};
pub(super) use entry::{Entry, Origin};

/// The most quotas that are kept of one response; a server that names more is not believed.
const MAX_QUOTAS: usize = 64;
/// The most fields whose being ignored is told.
const MAX_IGNORED: usize = 32;
/// The longest part of an ignored value that is told, in bytes.
const MAX_TOLD: usize = 100;
/// The family of the fields of the IETF drafts.
pub(super) const IETF: &str = "ratelimit";

/// Why a field was not used.
type Why = &'static str;

/// What the fields of one response say.
#[derive(Debug)]
pub(super) struct Ledger<'h> {
    pub(super) clock: Clock,
    pub(super) entries: Vec<Entry<'h>>,
    /// The longest wait that a field asks for, and which field.
    pub(super) wait: Option<(Duration, &'h str)>,
    /// The longest wait that the body asks for, and which key.
    pub(super) body_wait: Option<(Duration, &'h str)>,
    /// A name that tells quotas of one family apart.
    pub(super) tag: Option<&'h str>,
    /// What this call cost.
    pub(super) cost: Option<u64>,
    pub(super) ignored: Vec<Ignored>,
    remnants: Vec<Member<'h>>,
    policies: Vec<Member<'h>>,
}

impl<'h> Ledger<'h> {
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            clock,
            entries: Vec::new(),
            wait: None,
            body_wait: None,
            tag: None,
            cost: None,
            ignored: Vec::new(),
            remnants: Vec::new(),
            policies: Vec::new(),
        }
    }

    /// Takes in one field line. What cannot be used is put on record.
    pub(super) fn take(&mut self, status: u16, name: &'h str, field: Field<'h>, text: &'h str) {
        let taken = match field.role {
            Role::Wait(scale) => value::wait(text, scale, self.clock)
                .map(|wait| self.ask_for(wait, name))
                .ok_or("no delay-seconds and no HTTP-date"),
            Role::CategoryWaits if status < 400 => {
                Err("names kinds of telemetry, not requests, on a success")
            }
            Role::CategoryWaits => notation::category_waits(text)
                .map(|wait| self.ask_for(wait, name))
                .ok_or("no wait by category"),
            Role::Tag => {
                self.tag = self.tag.or(Some(trim(text)));
                Ok(())
            }
            Role::Cost => match value::count(text) {
                Some(Count::Of(cost)) => {
                    self.cost = Some(cost);
                    Ok(())
                }
                _ => Err("no count"),
            },
            Role::Info => Ok(()),
            _ => self.take_figures(name, field, text),
        };
        if let Err(why) = taken {
            self.ignore(name, text, why);
        }
    }

    /// Takes in all lines of `RateLimit` or `RateLimit-Policy`. One malformed line voids the field.
    pub(super) fn take_structured(&mut self, role: Role, name: &str, lines: &[&'h str]) {
        let lines = lines.iter().map(|text| text.trim_ascii());
        let taken = if role == Role::Policy {
            let read: Option<Vec<_>> = lines.clone().map(rate_limit::read_policy_line).collect();
            read.map(|read| self.policies.extend(read.into_iter().flatten()))
        } else {
            let read: Option<Vec<_>> = lines.clone().map(rate_limit::read_line).collect();
            read.map(|read| read.into_iter().for_each(|line| self.take_line(line)))
        };
        if taken.is_none() {
            let text = lines.collect::<Vec<_>>().join(", ");
            self.ignore(name, &text, "malformed structured field, dropped whole");
        }
    }

    /// Joins what stands in different fields; to be called when all are in.
    pub(super) fn join(&mut self) {
        let paired = |entry: &Entry<'h>| Some((entry.family, entry.limits?, entry.uses?));
        while let Some((family, limits, uses)) = self.entries.iter().find_map(paired) {
            self.part_pair(family, limits, uses);
        }
        let policies = std::mem::take(&mut self.policies);
        let remnants = std::mem::take(&mut self.remnants);
        for remnant in &remnants {
            let mut named = policies.iter().filter(|policy| policy.name == remnant.name);
            let same = named
                .clone()
                .find(|policy| policy.partition == remnant.partition);
            self.push_member(remnant, same.or_else(|| named.next()));
        }
        for policy in policies {
            if let Some(limit) = policy.number {
                self.push_told(Entry {
                    family: IETF,
                    limit: Some(limit.unsigned_abs()),
                    window: window(policy.window),
                    name: policy.label,
                    origin: Origin::List,
                    ..Entry::default()
                });
            } else if remnants.iter().all(|remnant| remnant.name != policy.name) {
                self.push_member(&policy, Some(&policy));
            }
        }
    }

    /// Puts on record that a field was not used.
    pub(super) fn ignore(&mut self, name: &str, value: &str, why: Why) {
        if self.ignored.len() < MAX_IGNORED {
            let cut = |text: &str| text[..text.floor_char_boundary(MAX_TOLD)].to_owned();
            self.ignored.push(Ignored {
                name: cut(name),
                value: cut(value),
                why,
            });
        }
    }

    /// The entry of a family's quota, made where there is none; an error where there are too many.
    pub(super) fn entry(&mut self, family: &'h str, name: &'h str) -> Result<&mut Entry<'h>, Why> {
        let name = (!name.is_empty()).then_some(name);
        let known = self.entries.iter().position(|entry| {
            entry.family == family && entry.name.as_deref() == name && entry.is_counted()
        });
        let at = match known {
            Some(at) => at,
            None => self.push(Entry {
                family,
                name: name.map(Into::into),
                ..Entry::default()
            })?,
        };
        Ok(&mut self.entries[at])
    }

    fn push(&mut self, entry: Entry<'h>) -> Result<usize, Why> {
        if self.entries.len() == MAX_QUOTAS {
            return Err("one quota too many");
        }
        self.entries.push(entry);
        Ok(self.entries.len() - 1)
    }

    /// Pushes an entry, or puts on record that there are too many.
    fn push_told(&mut self, entry: Entry<'h>) {
        if let Err(why) = self.push(entry) {
            self.ignore(IETF, "", why);
        }
    }

    fn ask_for(&mut self, wait: Duration, field: &'h str) {
        if self.wait.is_none_or(|(longest, _)| wait > longest) {
            self.wait = Some((wait, field));
        }
    }

    fn take_line(&mut self, line: Line<'h>) {
        let counters = match line {
            Line::Members(read) => return self.remnants.extend(read),
            Line::Counters(counters) => counters,
        };
        let entry = match self.entry(IETF, "") {
            Ok(entry) => entry,
            Err(why) => return self.ignore(IETF, "", why),
        };
        if let Some(Count::Of(limit)) = counters.limit.map(Count::from) {
            entry.limit_to(limit);
        }
        if let Some(remaining) = counters.remaining {
            entry.leave(Count::from(remaining));
        }
        if let Some(reset) = reset(counters.reset) {
            entry.reset_at(reset, IETF);
        }
    }

    fn push_member(&mut self, member: &Member<'h>, policy: Option<&Member<'h>>) {
        let unit = policy.and_then(|policy| policy.unit).or(member.unit);
        let limit = policy.and_then(|policy| policy.quota).map(Count::from);
        self.push_told(Entry {
            family: IETF,
            name: member.name.clone(),
            partition: member.partition,
            unit: unit.unwrap_or_default(),
            limit: match limit {
                Some(Count::Of(limit)) => Some(limit),
                _ => None,
            },
            count: member.remaining.map(Count::from),
            reset: reset(member.reset),
            reset_field: IETF,
            window: policy.and_then(|policy| window(policy.window)),
            ..Entry::default()
        });
    }
}

fn reset(seconds: Option<i64>) -> Option<Reset> {
    let seconds = u64::try_from(seconds?).ok()?;
    Some(Reset {
        after: Duration::from_secs(seconds).min(LONGEST_WAIT),
        whole_seconds: true,
        form: Form::Delay,
        skew: Duration::ZERO,
    })
}

fn window(seconds: Option<i64>) -> Option<Duration> {
    let seconds = u64::try_from(seconds?)
        .ok()
        .filter(|seconds| *seconds > 0)?;
    Some(Duration::from_secs(seconds).min(LONGEST_WAIT))
}
