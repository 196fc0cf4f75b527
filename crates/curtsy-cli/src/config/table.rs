//! From TOML to sections of keys with their lines.

use std::cell::Cell;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::{Config, complaint};
use crate::failure::Failure;
use crate::nearest::did_you_mean;

/// The sections that may stand in a file.
const SECTIONS: [&str; 5] = ["policy", "fetch", "alerts", "scopes", "papers"];

/// One section.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// Its name: `policy`, `fetch`, or the scope as the file spells it.
    pub(crate) name: String,
    /// The line of its head, from 1.
    pub(crate) line: usize,
    /// Its keys, in the order of the file.
    pub(crate) entries: Vec<Entry>,
}

/// A key of a section.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The key.
    pub(crate) key: String,
    /// Its line, from 1.
    pub(crate) line: usize,
    /// Its value.
    pub(crate) given: Given,
    /// Whether anything asked for it: what nothing asked for is unknown.
    pub(crate) known: Cell<bool>,
}

/// A value as it was given, whatever the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Given {
    /// A text, number or switch.
    One(String),
    /// Several of them.
    Many(Vec<String>),
}

impl Table {
    /// The entry of a key, which is thereby known.
    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        entry.known.set(true);
        Some(entry)
    }
}

impl Config {
    /// Takes a file's text apart.
    ///
    /// # Errors
    /// The text is no TOML, has a section that is unknown, or a value of a kind that no key takes.
    pub(crate) fn parse(path: &Path, text: &str) -> Result<Self, Failure> {
        let reader = Reader { path, text };
        let document = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            reader.complaint(at, error.message())
        })?;
        let mut config = Self {
            path: path.to_owned(),
            policy: Table::default(),
            fetch: Table::default(),
            alerts: Table::default(),
            scopes: Vec::new(),
            papers: Table::default(),
            papers_base: Table::default(),
            stray: Table::default(),
        };
        for (key, value) in document.get_ref() {
            let (name, at) = (key.get_ref().as_ref(), key.span().start);
            match (name, value.get_ref()) {
                ("policy", DeValue::Table(table)) => {
                    config.policy = reader.table(name, at, table)?
                }
                ("fetch", DeValue::Table(table)) => config.fetch = reader.table(name, at, table)?,
                ("alerts", DeValue::Table(table)) => {
                    config.alerts = reader.table(name, at, table)?
                }
                ("scopes", DeValue::Table(scopes)) => config.scopes = reader.scopes(scopes)?,
                ("papers", DeValue::Table(table)) => reader.papers(at, table, &mut config)?,
                (name, _) if SECTIONS.contains(&name) => {
                    return Err(
                        reader.complaint(at, &format!("{name} is a section: write [{name}]"))
                    );
                }
                (name, DeValue::Table(_)) => {
                    let hint = did_you_mean(name, SECTIONS)
                        .unwrap_or_else(|| format!("the sections are {}", SECTIONS.join(", ")));
                    return Err(reader.complaint(at, &format!("unknown section [{name}]; {hint}")));
                }
                (name, value) => config.stray.entries.push(reader.entry(name, at, value)?),
            }
        }
        config.scopes.sort_by_key(|scope| scope.line);
        config.stray.entries.sort_by_key(|entry| entry.line);
        Ok(config)
    }
}

struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
}

impl Reader<'_> {
    /// `[papers]`, whose sections are sections of the file.
    fn papers(&self, at: usize, table: &DeTable<'_>, config: &mut Config) -> Result<(), Failure> {
        let mut keys = table.clone();
        if let Some((key, base)) = table.get_key_value("base") {
            let DeValue::Table(base) = base.get_ref() else {
                let why = "base is a section: write [papers.base]";
                return Err(self.complaint(key.span().start, why));
            };
            config.papers_base = self.table("papers.base", key.span().start, base)?;
            keys.remove("base");
        }
        config.papers = self.table("papers", at, &keys)?;
        Ok(())
    }

    fn scopes(&self, scopes: &DeTable<'_>) -> Result<Vec<Table>, Failure> {
        scopes
            .iter()
            .map(|(name, value)| match value.get_ref() {
                DeValue::Table(table) => self.table(name.get_ref(), name.span().start, table),
                _ => {
                    let why = format!(
                        "{name} is a section: write [scopes.\"{name}\"]",
                        name = name.get_ref()
                    );
                    Err(self.complaint(name.span().start, &why))
                }
            })
            .collect()
    }

    fn table(&self, name: &str, at: usize, table: &DeTable<'_>) -> Result<Table, Failure> {
        let mut entries = table
            .iter()
            .map(|(key, value)| self.entry(key.get_ref(), key.span().start, value.get_ref()))
            .collect::<Result<Vec<_>, _>>()?;
        entries.sort_by_key(|entry| entry.line);
        Ok(Table {
            name: name.to_owned(),
            line: self.line(at),
            entries,
        })
    }

    fn entry(&self, key: &str, at: usize, value: &DeValue<'_>) -> Result<Entry, Failure> {
        let given = match value {
            DeValue::Array(items) => self.items(key, items).map(Given::Many),
            value => scalar(value)
                .map(Given::One)
                .ok_or_else(|| self.complaint(at, &format!("{key} takes no {}", value.type_str()))),
        }?;
        Ok(Entry {
            key: key.to_owned(),
            line: self.line(at),
            given,
            known: Cell::new(false),
        })
    }

    fn items(&self, key: &str, items: &DeArray<'_>) -> Result<Vec<String>, Failure> {
        items
            .iter()
            .map(|item: &Spanned<DeValue<'_>>| {
                scalar(item.get_ref()).ok_or_else(|| {
                    let why = format!("{key} takes no list of {}s", item.get_ref().type_str());
                    self.complaint(item.span().start, &why)
                })
            })
            .collect()
    }

    fn line(&self, at: usize) -> usize {
        1 + self
            .text
            .bytes()
            .take(at)
            .filter(|byte| *byte == b'\n')
            .count()
    }

    fn complaint(&self, at: usize, why: &str) -> Failure {
        complaint(self.path, self.line(at), why)
    }
}

/// Numbers and switches as text, so that one parser reads what files, environment and options give.
fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.trim().to_owned()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .ok()
            .map(|number| number.to_string()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(switch) => Some(switch.to_string()),
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, Failure> {
        Config::parse(Path::new("curtsy.toml"), text)
    }

    #[test]
    fn keys_keep_their_lines_and_their_order() {
        let config = parse(
            "# a comment\n\n[policy]\nrate = 2\nburst = 0x10\n\n[scopes.\"b.example\"]\ndelay = '1..3'\n\
             [scopes.\"a.example\"]\npolite_mode = false\n[fetch]\nheader = [\"A: b\", \"C: d\"]\n",
        )
        .unwrap();
        let lines = |table: &Table| -> Vec<_> {
            table
                .entries
                .iter()
                .map(|entry| (entry.line, entry.key.clone(), entry.given.clone()))
                .collect()
        };
        let one = |line, key: &str, text: &str| (line, key.to_owned(), Given::One(text.to_owned()));
        assert_eq!(
            lines(&config.policy),
            [one(4, "rate", "2"), one(5, "burst", "16")]
        );
        assert_eq!(config.scopes[0].name, "b.example");
        assert_eq!((config.scopes[0].line, config.scopes[1].line), (7, 9));
        assert_eq!(lines(&config.scopes[1]), [one(10, "polite_mode", "false")]);
        let headers = Given::Many(vec!["A: b".to_owned(), "C: d".to_owned()]);
        assert_eq!(lines(&config.fetch), [(12, "header".to_owned(), headers)]);
    }

    #[test]
    fn a_file_that_cannot_be_is_refused_with_its_line() {
        for (text, expected) in [
            ("[policy]\nrate = = 2", "curtsy.toml:2: "),
            ("[policy]\nrate = 2\nrate = 3", "curtsy.toml:3: "),
            ("[policy", "curtsy.toml:1: "),
            (
                "\n[polici]",
                "curtsy.toml:2: unknown section [polici]; did you mean policy?",
            ),
            (
                "[x]",
                "curtsy.toml:1: unknown section [x]; the sections are policy, fetch, alerts, scopes, papers",
            ),
            (
                "policy = 3",
                "curtsy.toml:1: policy is a section: write [policy]",
            ),
            (
                "[scopes]\nx = 3",
                "curtsy.toml:2: x is a section: write [scopes.\"x\"]",
            ),
            ("[papers.x]", "curtsy.toml:1: x takes no table"),
            (
                "[papers]\n\nbase = 'x'",
                "curtsy.toml:3: base is a section: write [papers.base]",
            ),
            (
                "[policy.breaker]\nx = 1",
                "curtsy.toml:1: breaker takes no table",
            ),
            (
                "[policy]\nrate = 2020-01-01",
                "curtsy.toml:2: rate takes no datetime",
            ),
            (
                "[fetch]\nheader = [\n'a: b',\n[]]",
                "curtsy.toml:4: header takes no list of arrays",
            ),
        ] {
            let failure = parse(text).unwrap_err();
            assert!(
                failure.text().starts_with(expected),
                "{text:?}: {}",
                failure.text()
            );
        }
    }
}
