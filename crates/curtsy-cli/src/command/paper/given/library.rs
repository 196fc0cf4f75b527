//! What reference managers export: BibTeX, RIS, CSL-JSON.

use std::collections::VecDeque;
use std::io::{BufRead, Read};
use std::path::Path;

use serde_json::Value;

use super::{Given, read};
use crate::failure::Failure;
use crate::lines;

/// The largest export that is read, in bytes: some hundred thousand entries.
const LARGEST: u64 = 256 << 20;

/// The entries of a BibTeX file, each with the identifier that it has.
///
/// # Errors
/// The file cannot be read.
pub(super) fn bibtex(path: &Path) -> Result<VecDeque<Given>, Failure> {
    let text = text_of(path)?;
    let mut entries: Vec<(u64, String)> = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        if line.trim_start().starts_with('@') {
            entries.push((number, String::new()));
        }
        if let Some((_, entry)) = entries.last_mut() {
            entry.push_str(line);
            entry.push('\n');
        }
    }
    let no_work = ["@comment", "@string", "@preamble"];
    entries.retain(|(_, entry)| {
        let head = entry.trim_start().to_ascii_lowercase();
        !no_work.iter().any(|kind| head.starts_with(kind))
    });
    let given = |(line, entry): (u64, String)| {
        let names = ["doi", "pmid", "pmcid", "eprint", "url"];
        let known = names.iter().filter_map(|name| field(&entry, name));
        let key = entry.split_once('{').map(|(_, rest)| rest);
        let key = key
            .and_then(|rest| rest.split(',').next())
            .unwrap_or_default();
        best(known, key.trim(), line)
    };
    Ok(entries.into_iter().map(given).collect())
}

/// The value of a field of a BibTeX entry, without its braces or quotation marks.
fn field(entry: &str, name: &str) -> Option<String> {
    let lower = entry.to_ascii_lowercase();
    lower.match_indices(name).find_map(|(at, _)| {
        let is_word = !lower[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '-');
        let value = entry[at + name.len()..].trim_start();
        let value = value.strip_prefix('=').filter(|_| is_word)?.trim_start();
        Some(match value.chars().next()? {
            '{' => braced(&value[1..]).to_owned(),
            '"' => value[1..].split('"').next()?.to_owned(),
            _ => value.split([',', '}', '\n']).next()?.trim().to_owned(),
        })
    })
}

/// As far as the brace that closes.
fn braced(text: &str) -> &str {
    let mut depth = 1;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[..at];
        }
    }
    text
}

/// The records of a RIS file, each with the identifier that it has.
///
/// # Errors
/// The file cannot be read.
pub(super) fn ris(path: &Path) -> Result<VecDeque<Given>, Failure> {
    let text = text_of(path)?;
    let mut all = VecDeque::new();
    let mut record: Option<(u64, Vec<(String, String)>)> = None;
    for (line, number) in text.lines().zip(1..) {
        let Some((tag, value)) = tagged(line) else {
            continue;
        };
        match (tag, &mut record) {
            ("TY", _) => {
                all.extend(record.take().map(of_ris));
                record = Some((number, Vec::new()));
            }
            ("ER", _) => all.extend(record.take().map(of_ris)),
            (tag, Some((_, fields))) => fields.push((tag.to_owned(), value.to_owned())),
            _ => {}
        }
    }
    all.extend(record.map(of_ris));
    Ok(all)
}

/// `DO  - 10.5555/x`.
fn tagged(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start_matches('\u{feff}');
    let (tag, value) = line.split_at_checked(2)?;
    let value = value.trim_start().strip_prefix('-')?;
    Some((tag, value.trim()))
}

fn of_ris((line, fields): (u64, Vec<(String, String)>)) -> Given {
    let of = |tag: &'static str| {
        let fields = fields.iter().filter(move |(name, _)| name == tag);
        fields.map(|(_, value)| value.clone())
    };
    let known: Vec<String> = ["DO", "M3", "UR", "L1", "L2"]
        .into_iter()
        .flat_map(of)
        .collect();
    let title = of("TI").chain(of("T1")).next();
    best(
        known.into_iter(),
        title.as_deref().unwrap_or_default(),
        line,
    )
}

/// The items of a CSL-JSON file, each with the identifier that it has; the line is which of them it is.
///
/// # Errors
/// The file cannot be read, or is no list of items.
pub(super) fn csl_json(path: &Path) -> Result<VecDeque<Given>, Failure> {
    let items: Value = serde_json::from_str(&text_of(path)?)
        .map_err(|why| Failure::usage(lines::name(path), why))?;
    let Value::Array(items) = items else {
        return Err(Failure::usage(
            lines::name(path),
            "is no CSL-JSON, which is a list of items",
        ));
    };
    let given = |(item, number): (&Value, u64)| {
        let text = |name: &str| match &item[name] {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let known = ["DOI", "PMID", "PMCID", "URL"]
            .iter()
            .filter_map(|name| text(name));
        let title = text("title").or_else(|| text("id"));
        best(known, title.as_deref().unwrap_or_default(), number)
    };
    Ok(items.iter().zip(1..).map(given).collect())
}

/// The first of these that is an identifier, or else what the entry is called, which is none.
fn best(known: impl Iterator<Item = String>, called: &str, line: u64) -> Given {
    let mut known = known.map(|text| read(Ok(text), line));
    known
        .find(|given| given.id.is_ok())
        .unwrap_or_else(|| Given {
            id: Err("has no identifier".to_owned()),
            text: called.to_owned(),
            line,
        })
}

fn text_of(path: &Path) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let reader: Box<dyn BufRead + Send> = lines::open(path)?;
    let mut reader = reader.take(LARGEST + 1);
    let failed = |why: std::io::Error| Failure::usage(lines::name(path), why);
    reader.read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LARGEST {
        return Err(Failure::usage(
            lines::name(path),
            "is larger than 256 MiB: cut it in two",
        ));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
