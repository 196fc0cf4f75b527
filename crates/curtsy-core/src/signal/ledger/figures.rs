//! Taking in the figures of a quota, in each notation.

use std::borrow::Cow;
use std::time::Duration;

use super::super::dialect::{Field, Role};
use super::super::name::Unit;
use super::super::number::{Count, Decimal, trim};
use super::super::value::Scale;
use super::super::{LONGEST_WAIT, duration, notation, rate_limit, value};
use super::{Entry, Ledger, Origin, Why};

impl<'h> Ledger<'h> {
    pub(super) fn take_figures(
        &mut self,
        name: &'h str,
        field: Field<'h>,
        text: &'h str,
    ) -> Result<(), Why> {
        let clock = self.clock;
        match field.role {
            Role::Limit => self.take_limit(field, text),
            Role::Bare if text.contains('=') => self.take_key_values(name, field, text),
            Role::Bare if field.quota.is_empty() => self.take_limit(field, text),
            Role::Remaining if text.contains(';') => self.take_remaining_list(field, text),
            Role::Remaining => {
                let count = value::count(text).ok_or("no count")?;
                self.entry_of(field)?.leave(count);
                Ok(())
            }
            Role::Used => {
                let used = used(text).ok_or("no count")?;
                self.entry_of(field)?.use_up(used);
                Ok(())
            }
            Role::UsedPair => {
                let uses = notation::pair(text).ok_or("no pair of counts")?;
                self.entry_of(field)?.uses = Some(uses);
                Ok(())
            }
            Role::Reset(scale) => {
                let reset = value::reset(text, scale, clock).ok_or("no time near enough")?;
                self.entry_of(field)?.reset_at(reset, name);
                Ok(())
            }
            Role::Window(scale) => {
                let window = value::window(text, scale).ok_or("no length of a window")?;
                self.entry_of(field)?.window = Some(window);
                Ok(())
            }
            Role::FillRate => {
                let rate = Decimal::read(trim(text)).ok_or("no rate")?;
                self.entry_of(field)?.fill_rate = Some(rate);
                Ok(())
            }
            Role::UsedOfLimit => self.take_usages(field, text),
            Role::LimitPerSeconds | Role::UsedPerSeconds => self.take_per_seconds(field, text),
            Role::PercentJson => self.take_percentages(name, field, text),
            _ => Err("not known to say anything of pace"),
        }
    }

    /// Two limits and what is used of each are two quotas (Strava).
    pub(super) fn part_pair(&mut self, family: &'h str, limits: (u64, u64), uses: (u64, u64)) {
        self.entries
            .retain(|entry| entry.family != family || entry.name.is_some());
        let names = match family {
            "x-readratelimit" => ["read-15min", "read-daily"],
            _ => ["15min", "daily"],
        };
        for (name, window, limit, used) in [
            (names[0], 900, limits.0, uses.0),
            (names[1], 86_400, limits.1, uses.1),
        ] {
            if let Ok(entry) = self.entry(family, name) {
                entry.limit_to(limit);
                entry.use_up(used);
                entry.window = Some(Duration::from_secs(window));
            }
        }
    }

    fn take_limit(&mut self, field: Field<'h>, text: &'h str) -> Result<(), Why> {
        let trimmed = trim(text);
        if let Some(number) = Decimal::read(trimmed) {
            let limit = number.count().ok_or("too large for a count")?;
            self.entry_of(field)?.limit_to(limit);
            return Ok(());
        }
        if trimmed == "-1" {
            self.entry_of(field)?.is_limit_minus_one = true;
            return Err("no limit");
        }
        if let Some((period, _)) = duration::parse(trimmed) {
            // AspNetCoreRateLimit prints the period here.
            self.entry_of(field)?.window = Some(period).filter(|period| !period.is_zero());
            return Ok(());
        }
        if let Some((limit, window)) = notation::nginx_rate(trimmed) {
            let entry = self.entry_of(field)?;
            entry.limit_to(limit);
            entry.window = Some(window);
            return Ok(());
        }
        let list = rate_limit::read_quota_list(text.trim_ascii()).ok_or("no count")?;
        let entry = self.entry_of(field)?;
        entry.limits = notation::pair(text);
        entry.limit_to(list.limit);
        for policy in list.policies {
            self.push(Entry {
                family: field.family,
                name: policy.label.map(Cow::Borrowed),
                limit: Some(policy.limit),
                window: policy.window,
                origin: Origin::List,
                ..Entry::default()
            })?;
        }
        Ok(())
    }

    /// Docker's `76;w=21600`, or Azure's named counts.
    fn take_remaining_list(&mut self, field: Field<'h>, text: &'h str) -> Result<(), Why> {
        if let Some(list) = rate_limit::read_quota_list(text.trim_ascii()) {
            let entry = self.entry_of(field)?;
            entry.leave(Count::Of(list.limit));
            let window = list.policies.first().and_then(|policy| policy.window);
            entry.window = entry.window.or(window);
            return Ok(());
        }
        let mut taken = Err("no count");
        for (name, left, window) in notation::named_counts(text) {
            let entry = self.entry(field.family, name)?;
            entry.leave(Count::Of(left));
            entry.window = window;
            taken = Ok(());
        }
        taken
    }

    fn take_usages(&mut self, field: Field<'h>, text: &'h str) -> Result<(), Why> {
        let mut taken = Err("not used/limit");
        for usage in notation::usages(trim(text)) {
            let entry = self.entry(field.family, usage.name.unwrap_or(field.quota))?;
            entry.limit_to(usage.limit);
            entry.use_up(usage.used);
            entry.window = field.window;
            taken = Ok(());
        }
        taken
    }

    fn take_per_seconds(&mut self, field: Field<'h>, text: &'h str) -> Result<(), Why> {
        let mut taken = Err("no count:seconds");
        for (count, seconds) in notation::per_seconds(trim(text)) {
            let window = Some(Duration::from_secs(seconds).min(LONGEST_WAIT));
            let known = self
                .entries
                .iter()
                .position(|entry| entry.family == field.family && entry.window == window);
            let at = match known {
                Some(at) => at,
                None => self.push(Entry {
                    family: field.family,
                    name: Some(Cow::Owned(format!("{}-{seconds}", field.family))),
                    window,
                    ..Entry::default()
                })?,
            };
            match field.role {
                Role::LimitPerSeconds => self.entries[at].limit_to(count),
                _ => self.entries[at].use_up(count),
            }
            taken = Ok(());
        }
        taken
    }

    fn take_percentages(
        &mut self,
        name: &'h str,
        field: Field<'h>,
        text: &'h str,
    ) -> Result<(), Why> {
        let usage = notation::percent_usage(text);
        if let Some(regain) = usage.regain {
            self.ask_for(regain.min(LONGEST_WAIT), name);
        }
        for (key, used) in &usage.used {
            self.push(Entry {
                family: field.family,
                name: Some(Cow::Borrowed(key)),
                unit: Unit::Percent,
                limit: Some(100),
                used: Some(*used),
                ..Entry::default()
            })?;
        }
        if usage.used.is_empty() && usage.regain.is_none() {
            return Err("no percentages");
        }
        Ok(())
    }

    fn take_key_values(
        &mut self,
        name: &'h str,
        field: Field<'h>,
        text: &'h str,
    ) -> Result<(), Why> {
        let clock = self.clock;
        let entry = self.entry_of(field)?;
        let mut taken = Err("no figures by name");
        for (key, figure) in notation::key_values(trim(text)) {
            match (key, value::count(figure)) {
                ("total" | "limit", Some(Count::Of(limit))) => entry.limit_to(limit),
                ("remaining", Some(count)) => entry.leave(count),
                ("used", Some(Count::Of(used))) => entry.use_up(used),
                ("resets" | "reset", _) => match value::reset(figure, Scale::Told, clock) {
                    Some(reset) => entry.reset_at(reset, name),
                    None => continue,
                },
                _ => continue,
            }
            taken = Ok(());
        }
        taken
    }

    fn entry_of(&mut self, field: Field<'h>) -> Result<&mut Entry<'h>, Why> {
        let entry = self.entry(field.family, field.quota)?;
        entry.unit = field.unit;
        entry.window = entry.window.or(field.window);
        Ok(entry)
    }
}

fn used(text: &str) -> Option<u64> {
    match value::count(text)? {
        Count::Of(used) => Some(used),
        _ => None,
    }
}
