//! The sources of a value, one above the other.

use curtsy_core::Preset;

use super::Environment;
use super::source::{Setting, Source};
use crate::config::{Config, Given, Table};
use crate::failure::Failure;
use crate::value::Value;

/// The sources that hold for one section, and a record of what came from where.
pub(super) struct Layers<'a> {
    environment: &'a Environment,
    config: Option<&'a Config>,
    /// The first that has a key wins.
    tables: Vec<&'a Table>,
    /// Where a value comes from that no layer sets.
    bottom: Source,
    record: Record,
}

/// What was read.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// Every setting.
    pub(super) settings: Vec<Setting>,
    /// Every name that was asked for, other spellings included.
    pub(super) names: Vec<&'static str>,
}

/// A key: its name, which is that of the option in snake_case or the seed's, and what else is known of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    name: &'static str,
    other_spelling: Option<&'static str>,
    flag: &'static str,
    unset: &'static str,
    also_in_fetch: bool,
}

/// One value as one layer gives it.
#[derive(Debug)]
pub(super) struct Found {
    /// The name it stands under.
    pub(super) name: &'static str,
    /// The value.
    pub(super) given: Given,
    /// The layer.
    pub(super) source: Source,
}

/// A key of this name.
pub(super) const fn key(name: &'static str) -> Key {
    Key {
        name,
        other_spelling: None,
        flag: "",
        unset: "",
        also_in_fetch: false,
    }
}

impl Key {
    /// The option that sets it.
    pub(super) const fn flag(self, flag: &'static str) -> Self {
        Self { flag, ..self }
    }

    /// The seed's name for it, which is understood too.
    pub(super) const fn or(self, other_spelling: &'static str) -> Self {
        Self {
            other_spelling: Some(other_spelling),
            ..self
        }
    }

    /// What holds where it is not set, for people.
    pub(super) const fn unset(self, unset: &'static str) -> Self {
        Self { unset, ..self }
    }

    /// A value of the policy that may stand in `[fetch]` too, since it is about connections as well.
    pub(super) const fn also_in_fetch(self) -> Self {
        Self {
            also_in_fetch: true,
            ..self
        }
    }
}

impl Given {
    /// Reads it.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(super) fn read<T: Value>(&self) -> Result<T, String> {
        match self {
            Self::One(text) => T::read(text),
            Self::Many(items) => T::read_list(items),
        }
    }
}

impl<'a> Layers<'a> {
    /// The sources of `[policy]`.
    pub(super) fn of_policy(environment: &'a Environment, config: Option<&'a Config>) -> Self {
        let tables = config.map_or_else(Vec::new, |config| vec![&config.policy]);
        Self::new(environment, config, tables)
    }

    /// The sources of `[fetch]`.
    pub(super) fn of_fetch(environment: &'a Environment, config: Option<&'a Config>) -> Self {
        let tables = config.map_or_else(Vec::new, |config| vec![&config.fetch]);
        Self::new(environment, config, tables)
    }

    /// The sources of `[alerts]`.
    pub(super) fn of_alerts(environment: &'a Environment, config: Option<&'a Config>) -> Self {
        let tables = config.map_or_else(Vec::new, |config| vec![&config.alerts]);
        Self::new(environment, config, tables)
    }

    /// The sources of `[papers]`.
    pub(super) fn of_papers(environment: &'a Environment, config: Option<&'a Config>) -> Self {
        let tables = config.map_or_else(Vec::new, |config| vec![&config.papers]);
        Self::new(environment, config, tables)
    }

    /// The sources of a scope's section.
    pub(super) fn of_scope(
        environment: &'a Environment,
        config: &'a Config,
        scope: &'a Table,
    ) -> Self {
        Self::new(environment, Some(config), vec![scope, &config.policy])
    }

    fn new(
        environment: &'a Environment,
        config: Option<&'a Config>,
        tables: Vec<&'a Table>,
    ) -> Self {
        Self {
            environment,
            config,
            tables,
            bottom: Source::Default,
            record: Record::default(),
        }
    }

    /// From here on, what no layer sets comes from this preset.
    pub(super) fn rest_on(&mut self, preset: Preset) {
        self.bottom = match preset {
            Preset::Compliant => Source::Default,
            preset => Source::Preset(preset),
        };
    }

    /// Reads a key into `target`, which holds the default.
    ///
    /// # Errors
    /// What is given for it cannot be read.
    pub(super) fn set<T: Value>(
        &mut self,
        key: Key,
        flag: Option<T>,
        target: &mut T,
    ) -> Result<(), Failure> {
        let found = self.find(key)?;
        let source = match (flag, found) {
            (Some(value), _) => {
                *target = value;
                Source::Flag(key.flag)
            }
            (None, Some(found)) => {
                *target = self.read(&found)?;
                found.source
            }
            (None, None) => self.bottom.clone(),
        };
        self.note(key, target, source);
        Ok(())
    }

    /// Reads a key that only the section itself may have.
    ///
    /// # Errors
    /// What is given for it cannot be read.
    pub(super) fn set_in_section<T: Value>(
        &mut self,
        key: Key,
        target: &mut T,
    ) -> Result<(), Failure> {
        self.record.names.push(key.name);
        let Some(found) = self
            .tables
            .first()
            .and_then(|table| find_in(table, key.name))
        else {
            return Ok(());
        };
        *target = self.read(&found)?;
        self.note(key, target, found.source);
        Ok(())
    }

    /// Reads what a layer gives.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn read<T: Value>(&self, found: &Found) -> Result<T, Failure> {
        found
            .given
            .read()
            .map_err(|why| self.complain(found.name, &found.source, &why))
    }

    /// Puts a setting on record.
    pub(super) fn note(&mut self, key: Key, value: &impl Value, source: Source) {
        self.record.settings.push(Setting {
            key: key.name,
            value: value.show(),
            unset: key.unset,
            source,
        });
    }

    /// What the highest layer below the flags gives for a key.
    ///
    /// # Errors
    /// A layer gives it in two spellings.
    pub(super) fn find(&mut self, key: Key) -> Result<Option<Found>, Failure> {
        let names: Vec<_> = [Some(key.name), key.other_spelling]
            .into_iter()
            .flatten()
            .collect();
        let mut highest = None;
        for layer in self.given(&names, key.also_in_fetch)? {
            if let [first, second, ..] = layer.as_slice() {
                let why = format!("is the same as {}, which is given too", first.name);
                return Err(self.complain(second.name, &second.source, &why));
            }
            highest = highest.or_else(|| layer.into_iter().next());
        }
        Ok(highest)
    }

    /// What each layer below the flags gives under these names, which are thereby known; the highest
    /// layer first.
    ///
    /// # Errors
    /// A variable of the environment is no UTF-8.
    pub(super) fn given(
        &mut self,
        names: &[&'static str],
        also_in_fetch: bool,
    ) -> Result<Vec<Vec<Found>>, Failure> {
        self.record.names.extend(names);
        let mut layers = vec![Vec::new()];
        for &name in names {
            if let Some(text) = self.environment.text(name)? {
                let given = Given::One(text.to_owned());
                let source = Source::Environment(Environment::variable(name));
                layers[0].push(Found {
                    name,
                    given,
                    source,
                });
            }
        }
        let fetch = self
            .config
            .filter(|_| also_in_fetch)
            .map(|config| &config.fetch);
        layers.extend(self.tables.iter().copied().chain(fetch).map(|table| {
            names
                .iter()
                .filter_map(|name| find_in(table, name))
                .collect()
        }));
        Ok(layers)
    }

    /// The complaint about a setting, by the place that set it.
    pub(super) fn complain(&self, name: &str, source: &Source, why: &str) -> Failure {
        match (source, self.config) {
            (Source::Flag(flag), _) => Failure::usage(flag, why),
            (Source::Environment(variable), _) => Failure::usage(variable, why),
            (Source::File { line, .. }, Some(config)) => {
                config.complaint(*line, &format!("{name}: {why}"))
            }
            _ => Failure::usage(format_args!("{name} ({source})"), why),
        }
    }

    /// The complaint about a setting that was read already.
    pub(super) fn complain_of(&self, name: &str, why: &str) -> Failure {
        self.complain(name, self.source(name), why)
    }

    /// Refuses a setting that was read already and is out of its bounds.
    ///
    /// # Errors
    /// It does not fit.
    pub(super) fn check(&self, name: &str, fits: bool, why: &str) -> Result<(), Failure> {
        if fits {
            Ok(())
        } else {
            Err(self.complain_of(name, why))
        }
    }

    /// Whether any layer set what was read already.
    pub(super) fn is_given(&self, name: &str) -> bool {
        !matches!(self.source(name), Source::Default | Source::Preset(_))
    }

    /// Where a value comes from that no layer sets.
    pub(super) fn bottom(&self) -> &Source {
        &self.bottom
    }

    /// Puts another value on record for a setting that was read already, since a second one moved it.
    pub(super) fn amend(&mut self, name: &str, value: &impl Value) {
        if let Some(setting) = self
            .record
            .settings
            .iter_mut()
            .find(|setting| setting.key == name)
        {
            setting.value = value.show();
        }
    }

    /// Where a setting came from that was read already.
    fn source(&self, name: &str) -> &Source {
        let setting = self
            .record
            .settings
            .iter()
            .find(|setting| setting.key == name);
        setting.map_or(&Source::Default, |setting| &setting.source)
    }

    /// What was read.
    pub(super) fn finish(self) -> Record {
        self.record
    }
}

fn find_in(table: &Table, name: &'static str) -> Option<Found> {
    let entry = table.entry(name)?;
    let source = Source::File {
        section: table.name.clone(),
        line: entry.line,
    };
    Some(Found {
        name,
        given: entry.given.clone(),
        source,
    })
}
