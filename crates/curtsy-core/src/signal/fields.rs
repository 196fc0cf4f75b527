//! Finding the header fields that say something of pace, and handing them on line by line.

use http::HeaderMap;
use http::header::AGE;

use super::dialect::{self, Role};
use super::ledger::Ledger;
use super::name::Profile;
use super::value;

/// The most field lines that are read of one response.
const MAX_LINES: usize = 128;
/// The longest value that is read, in bytes.
const MAX_VALUE: usize = 4_096;

/// A field line: name and value.
pub(super) type FieldLine<'h> = (&'h str, &'h [u8]);

/// The lines of all fields that may say something of pace, [`MAX_LINES`] at most.
pub(super) fn find(headers: &HeaderMap) -> Vec<FieldLine<'_>> {
    headers
        .iter()
        .filter(|(name, _)| dialect::may_speak(name.as_str()))
        .take(MAX_LINES)
        .map(|(name, value)| (name.as_str(), value.as_bytes()))
        .collect()
}

/// Takes the lines into the ledger.
pub(super) fn take<'h>(
    ledger: &mut Ledger<'h>,
    lines: &[FieldLine<'h>],
    status: u16,
    headers: &HeaderMap,
    profile: Option<Profile>,
) {
    let is_stale = is_from_cache(headers);
    // All lines of one field come one after the other.
    for lines in lines.chunk_by(|(one, _), (other, _)| one == other) {
        let name = lines[0].0;
        let Some(field) = dialect::lookup(name, profile) else {
            continue;
        };
        if is_stale && !matches!(field.role, Role::Wait(_) | Role::Info) {
            let value = text(lines[0].1).unwrap_or("");
            ledger.ignore(name, value, "from a cache: its counters are stale");
        } else if matches!(field.role, Role::Structured | Role::Policy) {
            let texts: Vec<&str> = lines
                .iter()
                .map(|(_, value)| text(value).unwrap_or(""))
                .collect();
            ledger.take_structured(field.role, name, &texts);
        } else {
            for (_, value) in lines {
                match text(value) {
                    Ok(text) => ledger.take(status, name, field, text),
                    Err(why) => ledger.ignore(name, &String::from_utf8_lossy(cut(value)), why),
                }
            }
        }
    }
    if lines.len() == MAX_LINES {
        ledger.ignore("", "", "more lines about pace than any sane server sends");
    }
}

/// Whether a cache answered: then the counters are old (draft 10, section 5).
fn is_from_cache(headers: &HeaderMap) -> bool {
    headers
        .get(AGE)
        .and_then(|age| value::count(age.to_str().ok()?))
        .is_some_and(|age| age.order() > 0)
}

fn text(value: &[u8]) -> Result<&str, &'static str> {
    if value.len() > MAX_VALUE {
        return Err("longer than any sane value");
    }
    std::str::from_utf8(value).map_err(|_| "not text")
}

fn cut(value: &[u8]) -> &[u8] {
    &value[..value.len().min(MAX_VALUE)]
}
