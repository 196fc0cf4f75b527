//! Collecting what the fields of one response say, before anything is concluded from it.

use std::borrow::Cow;
use std::time::Duration;

use super::clock::Clock;
use super::dialect::{Field, Role};
use super::name::Unit;
use super::rate_limit::{self, Line, Member};
use super::value::{self, Count, Decimal, Scale};
use super::{Ignored, LONGEST_WAIT, Reset, notation};

/// The most quotas that are kept of one response; a server that names more is not believed.
const MAX_QUOTAS: usize = 64;
/// The most fields whose being ignored is told.
const MAX_IGNORED: usize = 32;
/// The longest part of an ignored value that is told, in bytes.
const MAX_TOLD: usize = 100;

/// What the fields of one response say.
#[derive(Debug)]
pub(super) struct Ledger<'h> {
    pub(super) clock: Clock,
    /// The quotas that have counters.
    pub(super) entries: Vec<Entry<'h>>,
    /// The policies of a quota list: a quota and its window, without counters of their own.
    pub(super) declared: Vec<Declared<'h>>,
    /// The longest wait that a field asks for, and which field.
    pub(super) wait: Option<(Duration, &'h str)>,
    /// The longest wait that the body asks for, and which key.
    pub(super) body_wait: Option<(Duration, &'static str)>,
    /// A name that tells quotas of one family apart.
    pub(super) tag: Option<&'h str>,
    /// What this call cost.
    pub(super) cost: Option<u64>,
    pub(super) ignored: Vec<Ignored>,
    remnants: Vec<Member<'h>>,
    policies: Vec<Member<'h>>,
}

/// One quota as its fields tell it.
#[derive(Debug, Default)]
pub(super) struct Entry<'h> {
    pub(super) family: &'h str,
    /// Its name; `None` for the only quota of a family.
    pub(super) name: Option<Cow<'h, str>>,
    pub(super) partition: Option<u64>,
    pub(super) unit: Unit,
    pub(super) limit: Option<u64>,
    /// A limit of -1: "none".
    pub(super) is_limit_minus_one: bool,
    pub(super) remaining: Option<Count>,
    pub(super) used: Option<u64>,
    pub(super) reset: Option<Reset>,
    /// The field that gave the reset.
    pub(super) reset_field: &'h str,
    pub(super) window: Option<Duration>,
    /// A limit that was stated per second, perhaps a fraction.
    pub(super) per_second: Option<Decimal>,
    /// Two limits in one field, of a quarter hour and a day.
    pub(super) limits: Option<(u64, u64)>,
    /// What is used up of them.
    pub(super) uses: Option<(u64, u64)>,
}

/// One policy of a quota list.
#[derive(Clone, Debug)]
pub(super) struct Declared<'h> {
    pub(super) family: &'h str,
    pub(super) name: Option<Cow<'h, str>>,
    pub(super) limit: u64,
    pub(super) window: Option<Duration>,
}

impl<'h> Ledger<'h> {
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            clock,
            entries: Vec::new(),
            declared: Vec::new(),
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
            Role::Wait(scale) => match value::wait(text, scale, self.clock) {
                Some(wait) => {
                    self.ask_for(wait, name);
                    Ok(())
                }
                None => Err("no delay-seconds and no HTTP-date"),
            },
            Role::CategoryWaits if status < 400 => {
                Err("names kinds of telemetry, not requests, on a success")
            }
            Role::CategoryWaits => match notation::category_waits(text) {
                Some(wait) => {
                    self.ask_for(wait, name);
                    Ok(())
                }
                None => Err("no wait by category"),
            },
            Role::Tag => {
                self.tag = self.tag.or(Some(value::trim(text)));
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
    pub(super) fn take_structured(&mut self, role: Role, lines: &[(&'h str, &'h str)]) {
        let (remnants, policies) = (self.remnants.len(), self.policies.len());
        for (name, text) in lines {
            let is_read = if role == Role::Policy {
                rate_limit::read_policy_line(text.trim_ascii())
                    .map(|members| self.policies.extend(members))
            } else {
                match rate_limit::read_line(text.trim_ascii()) {
                    Some(Line::Members(members)) => {
                        self.remnants.extend(members);
                        Some(())
                    }
                    Some(Line::Counters(counters)) => self.take_counters(name, &counters),
                    None => None,
                }
            };
            if is_read.is_none() {
                self.remnants.truncate(remnants);
                self.policies.truncate(policies);
                self.ignore(name, text, "malformed structured field, dropped whole");
                return;
            }
        }
    }

    /// Joins what stands in different fields; to be called when all are in.
    pub(super) fn join(&mut self) {
        let paired = |entry: &Entry<'h>| Some((entry.family, entry.limits?, entry.uses?));
        while let Some((family, limits, uses)) = self.entries.iter().find_map(paired) {
            self.part_pair(family, limits, uses);
        }
        self.join_structured();
    }

    /// Joins what is left to the policies, by name.
    fn join_structured(&mut self) {
        let policies = std::mem::take(&mut self.policies);
        for remnant in std::mem::take(&mut self.remnants) {
            let policy = policies.iter().find(|policy| policy.name == remnant.name);
            self.push_member(&remnant, policy);
        }
        for policy in policies {
            match policy.number {
                Some(limit) => self.declare(Declared {
                    family: "ratelimit",
                    limit: limit.unsigned_abs(),
                    window: seconds(policy.window).filter(|window| !window.is_zero()),
                    name: policy.label,
                }),
                None if self.is_named(policy.name.as_deref()) => {}
                None => self.push_member(&policy, Some(&policy)),
            }
        }
    }

    /// Puts on record that a field was not used.
    pub(super) fn ignore(&mut self, name: &str, value: &str, why: &'static str) {
        if self.ignored.len() < MAX_IGNORED {
            let cut = |text: &str| text[..text.floor_char_boundary(MAX_TOLD)].to_owned();
            self.ignored.push(Ignored {
                name: cut(name),
                value: cut(value),
                why,
            });
        }
    }

    /// The entry of a family's quota, made where there is none.
    pub(super) fn entry(&mut self, family: &'h str, name: &'h str) -> Option<&mut Entry<'h>> {
        let name = (!name.is_empty()).then_some(name);
        let known = self
            .entries
            .iter()
            .position(|entry| entry.family == family && entry.name.as_deref() == name);
        let index = match known {
            Some(index) => index,
            None if self.entries.len() == MAX_QUOTAS => return None,
            None => {
                self.entries.push(Entry {
                    family,
                    name: name.map(Cow::Borrowed),
                    ..Entry::default()
                });
                self.entries.len() - 1
            }
        };
        self.entries.get_mut(index)
    }

    fn ask_for(&mut self, wait: Duration, field: &'h str) {
        if self.wait.is_none_or(|(longest, _)| wait > longest) {
            self.wait = Some((wait, field));
        }
    }

    fn take_figures(
        &mut self,
        name: &'h str,
        field: Field<'h>,
        text: &'h str,
    ) -> Result<(), &'static str> {
        match field.role {
            Role::Limit => return self.take_limit(field, text),
            Role::Remaining if text.contains(';') => return self.take_remaining_list(field, text),
            Role::UsedOfLimit => return self.take_usages(field, text),
            Role::LimitPerSeconds | Role::UsedPerSeconds => {
                return self.take_per_seconds(field, text);
            }
            Role::PercentJson => return self.take_percentages(name, field, text),
            Role::Bare if text.contains('=') => return self.take_key_values(name, field, text),
            Role::Bare if field.quota.is_empty() => return self.take_limit(field, text),
            Role::Bare => return Err("not known to say anything of pace"),
            _ => {}
        }
        let clock = self.clock;
        let Some(entry) = self.entry_of(field) else {
            return Err("too many quotas");
        };
        match field.role {
            Role::Remaining => entry.leave(value::count(text).ok_or("no count")?),
            Role::Used => match value::count(text) {
                Some(Count::Of(used)) => entry.use_up(used),
                _ => return Err("no count"),
            },
            Role::UsedPair => {
                entry.uses = Some(notation::pair(text).ok_or("no pair of counts")?);
            }
            Role::Reset(scale) => {
                let reset = value::reset(text, scale, clock).ok_or("no time near enough")?;
                entry.reset_at(reset, name);
            }
            Role::Window(scale) => {
                entry.window = Some(window_of(text, scale).ok_or("no window")?);
            }
            Role::PerSecond => {
                let rate = Decimal::read(value::trim(text)).ok_or("no rate")?;
                entry.per_second = Some(rate);
            }
            _ => {}
        }
        Ok(())
    }

    fn take_limit(&mut self, field: Field<'h>, text: &'h str) -> Result<(), &'static str> {
        let trimmed = value::trim(text);
        let Some(entry) = self.entry_of(field) else {
            return Err("too many quotas");
        };
        if let Some(number) = Decimal::read(trimmed) {
            // A wrapped -1 limits nothing.
            let limit = u64::try_from(number.whole).ok().filter(|n| *n < 1 << 53);
            entry.limit_to(limit.ok_or("too large for a count")?);
            return Ok(());
        }
        if trimmed == "-1" {
            entry.is_limit_minus_one = true;
            return Err("no number of requests");
        }
        if let Some((window, _)) = value::duration(trimmed) {
            // AspNetCoreRateLimit prints the period here.
            entry.window = Some(window).filter(|window| !window.is_zero());
            return Ok(());
        }
        if let Some((count, window)) = notation::nginx_rate(trimmed) {
            entry.limit_to(count);
            entry.window = Some(window);
            return Ok(());
        }
        entry.limits = notation::pair(text);
        let list = rate_limit::read_quota_list(text.trim_ascii()).ok_or("no count")?;
        if let Some(limit) = list.limit {
            entry.limit_to(limit);
        }
        for (limit, window, label) in list.policies {
            self.declare(Declared {
                family: field.family,
                name: label.map(Cow::Borrowed),
                limit,
                window,
            });
        }
        Ok(())
    }

    /// Docker's `76;w=21600`, or Azure's named counts.
    fn take_remaining_list(&mut self, field: Field<'h>, text: &'h str) -> Result<(), &'static str> {
        if let Some(list) = rate_limit::read_quota_list(text.trim_ascii()) {
            let window = list.policies.first().and_then(|(_, window, _)| *window);
            let entry = self.entry_of(field).ok_or("too many quotas")?;
            entry.leave(Count::Of(list.limit.ok_or("no count")?));
            entry.window = entry.window.or(window);
            return Ok(());
        }
        let mut is_read = false;
        for (name, left, window) in notation::named_counts(text) {
            let entry = self.entry(field.family, name).ok_or("too many quotas")?;
            entry.leave(Count::Of(left));
            entry.window = window;
            is_read = true;
        }
        is_read.then_some(()).ok_or("no count")
    }

    fn take_usages(&mut self, field: Field<'h>, text: &'h str) -> Result<(), &'static str> {
        let usages = notation::usages(value::trim(text));
        if usages.is_empty() {
            return Err("not used/limit");
        }
        for usage in usages {
            let name = usage.name.unwrap_or(field.quota);
            let entry = self.entry(field.family, name).ok_or("too many quotas")?;
            entry.limit_to(usage.limit);
            entry.leave(Count::Of(usage.limit.saturating_sub(usage.used)));
            entry.window = field.window;
        }
        Ok(())
    }

    fn take_per_seconds(&mut self, field: Field<'h>, text: &'h str) -> Result<(), &'static str> {
        let pairs = notation::per_seconds(value::trim(text));
        if pairs.is_empty() {
            return Err("no count:seconds");
        }
        for (count, seconds) in pairs {
            let window = Some(Duration::from_secs(seconds));
            let known = self
                .entries
                .iter()
                .position(|entry| entry.family == field.family && entry.window == window);
            let index = match known {
                Some(index) => index,
                None if self.entries.len() == MAX_QUOTAS => return Err("too many quotas"),
                None => {
                    self.entries.push(Entry {
                        family: field.family,
                        name: Some(Cow::Owned(format!("{}-{seconds}", field.family))),
                        window,
                        ..Entry::default()
                    });
                    self.entries.len() - 1
                }
            };
            let entry = &mut self.entries[index];
            match field.role {
                Role::LimitPerSeconds => entry.limit_to(count),
                _ => entry.use_up(count),
            }
        }
        Ok(())
    }

    /// Two limits and what is used of each are two quotas (Strava).
    fn part_pair(&mut self, family: &'h str, limits: (u64, u64), uses: (u64, u64)) {
        self.entries
            .retain(|entry| entry.family != family || entry.name.is_some());
        for (name, window, limit, used) in [
            ("15min", 900, limits.0, uses.0),
            ("daily", 86_400, limits.1, uses.1),
        ] {
            if let Some(entry) = self.entry(family, name) {
                entry.limit_to(limit);
                entry.use_up(used);
                entry.window = Some(Duration::from_secs(window));
            }
        }
    }

    fn take_percentages(
        &mut self,
        field_name: &'h str,
        field: Field<'h>,
        text: &'h str,
    ) -> Result<(), &'static str> {
        let usage = notation::percent_usage(text);
        if let Some(regain) = usage.regain {
            self.ask_for(regain.min(LONGEST_WAIT), field_name);
        }
        if usage.used.is_empty() && usage.regain.is_none() {
            return Err("no percentages");
        }
        for (name, used) in usage.used {
            if self.entries.len() == MAX_QUOTAS {
                return Err("too many quotas");
            }
            self.entries.push(Entry {
                family: field.family,
                name: Some(Cow::Borrowed(name)),
                unit: Unit::Percent,
                limit: Some(100),
                remaining: Some(Count::Of(100_u64.saturating_sub(used))),
                ..Entry::default()
            });
        }
        Ok(())
    }

    fn take_key_values(
        &mut self,
        name: &'h str,
        field: Field<'h>,
        text: &'h str,
    ) -> Result<(), &'static str> {
        let clock = self.clock;
        let entry = self.entry_of(field).ok_or("too many quotas")?;
        let mut is_read = false;
        for (key, figure) in notation::key_values(value::trim(text)) {
            match (key, value::count(figure)) {
                ("total" | "limit", Some(Count::Of(limit))) => entry.limit_to(limit),
                ("remaining", Some(count)) => entry.leave(count),
                ("used", Some(Count::Of(used))) => entry.use_up(used),
                ("resets" | "reset", _) => {
                    if let Some(reset) = value::reset(figure, Scale::Told, clock) {
                        entry.reset_at(reset, name);
                    }
                }
                _ => continue,
            }
            is_read = true;
        }
        is_read.then_some(()).ok_or("no figures by name")
    }

    fn take_counters(&mut self, name: &'h str, counters: &rate_limit::Counters) -> Option<()> {
        let entry = self.entry("ratelimit", "")?;
        if let Some(limit) = counters.limit.and_then(|limit| u64::try_from(limit).ok()) {
            entry.limit_to(limit);
        }
        if let Some(remaining) = counters.remaining {
            entry.leave(count_of(remaining));
        }
        if let Some(after) = seconds(counters.reset) {
            entry.reset_at(whole_seconds(after), name);
        }
        Some(())
    }

    fn push_member(&mut self, member: &Member<'h>, policy: Option<&Member<'h>>) {
        if self.entries.len() == MAX_QUOTAS {
            return;
        }
        let quota = policy.and_then(|policy| policy.quota);
        let unit = policy.and_then(|policy| policy.unit).or(member.unit);
        self.entries.push(Entry {
            family: "ratelimit",
            name: member.name.clone(),
            partition: member.partition,
            unit: unit.unwrap_or_default(),
            limit: quota.and_then(|quota| u64::try_from(quota).ok()),
            remaining: member.remaining.map(count_of),
            reset: seconds(member.reset).map(whole_seconds),
            reset_field: "ratelimit",
            window: policy
                .and_then(|policy| seconds(policy.window))
                .filter(|window| !window.is_zero()),
            ..Entry::default()
        });
    }

    fn declare(&mut self, declared: Declared<'h>) {
        if self.declared.len() < MAX_QUOTAS {
            self.declared.push(declared);
        }
    }

    fn is_named(&self, name: Option<&str>) -> bool {
        self.entries
            .iter()
            .any(|entry| entry.family == "ratelimit" && entry.name.as_deref() == name)
    }

    fn entry_of(&mut self, field: Field<'h>) -> Option<&mut Entry<'h>> {
        let entry = self.entry(field.family, field.quota)?;
        entry.unit = field.unit;
        entry.window = entry.window.or(field.window);
        Some(entry)
    }
}

impl<'h> Entry<'h> {
    /// Of several limits the smallest counts.
    pub(super) fn limit_to(&mut self, limit: u64) {
        self.limit = Some(self.limit.map_or(limit, |known| known.min(limit)));
    }

    /// Of several counts the smallest counts.
    pub(super) fn leave(&mut self, remaining: Count) {
        let known = self.remaining;
        if known.is_none_or(|known| remaining.order() < known.order()) {
            self.remaining = Some(remaining);
        }
    }

    /// Of several counts the largest counts.
    fn use_up(&mut self, used: u64) {
        self.used = self.used.max(Some(used));
    }

    /// Of several resets the latest counts.
    pub(super) fn reset_at(&mut self, reset: Reset, field: &'h str) {
        if self.reset.is_none_or(|known| reset.after > known.after) {
            self.reset = Some(reset);
            self.reset_field = field;
        }
    }
}

/// A bare interval in whole thousands is in milliseconds (PDND); any other bare number in seconds.
fn window_of(text: &str, scale: Scale) -> Option<Duration> {
    let is_thousands = Decimal::read(value::trim(text))
        .is_some_and(|number| !number.has_fraction && number.whole % 1_000 == 0);
    value::window(
        text,
        if scale == Scale::Told && is_thousands {
            Scale::Millis
        } else {
            scale
        },
    )
}

fn count_of(number: i64) -> Count {
    match u64::try_from(number) {
        Ok(count) => Count::Of(count),
        Err(_) if number == -1 => Count::MinusOne,
        Err(_) => Count::Negative,
    }
}

fn seconds(number: Option<i64>) -> Option<Duration> {
    let seconds = u64::try_from(number?).ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_WAIT))
}

fn whole_seconds(after: Duration) -> Reset {
    Reset {
        after,
        whole_seconds: true,
        skew: Duration::ZERO,
    }
}
