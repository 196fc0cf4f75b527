//! The dialects as data: which field says what. A maintainer adds a row, not a branch.
//!
//! A field is first looked up by its whole name in [`FIELDS`], which holds every name that its words
//! alone do not explain, and those that are met most; then it is taken apart by [`words`]:
//! `[vendor-]ratelimit[-quota]-role` in any of the orders in which vendors put them.

mod fields;
mod words;

use std::time::Duration;

use super::name::{Profile, Unit};
use super::value::Scale;
use fields::{FIELDS, INDEX, MAIN_NAMES, PROFILE_FIELDS};

/// Parts of which every field that says something of pace has one in its name. Five letters each.
const MARKS: [&[u8; 5]; 7] = [
    b"limit", b"retry", b"reset", b"usage", b"quota", b"remai", b"throt",
];

/// What one field is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field<'n> {
    /// The fields that belong together.
    pub(super) family: &'n str,
    /// Which of the family's quotas; empty where it has but one.
    pub(super) quota: &'n str,
    /// What the value says.
    pub(super) role: Role,
    /// What is counted.
    pub(super) unit: Unit,
    /// The window that the name tells.
    pub(super) window: Option<Duration>,
}

/// What a field's value says, and in which notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// How long to wait before the next request.
    Wait(Scale),
    /// How much the window allows; also the lists of draft 02, a period (`1m`), a rate (`20r/s`).
    Limit,
    /// What is left.
    Remaining,
    /// What is used up.
    Used,
    /// When it is full again.
    Reset(Scale),
    /// The length of the window.
    Window(Scale),
    /// How much flows in per interval (per second where there is none), perhaps a fraction.
    FillRate,
    /// IETF draft 07 (a dictionary) and 08 to 10 (a list): `RateLimit`.
    Structured,
    /// IETF drafts 03 to 10: `RateLimit-Policy`.
    Policy,
    /// A bare limit, or several figures as `key=value` (Zendesk).
    Bare,
    /// `used/limit`, perhaps named: `api-usage=18/5000`.
    UsedOfLimit,
    /// `limit:seconds` pairs (Riot).
    LimitPerSeconds,
    /// `used:seconds` pairs (Riot).
    UsedPerSeconds,
    /// Two used counts, of a quarter hour and of a day (Strava), to the family's two limits.
    UsedPair,
    /// JSON with percentages used (Meta).
    PercentJson,
    /// `seconds:categories:scope:reason` (Sentry), a wait on an error.
    CategoryWaits,
    /// Tells quotas of one name apart: a resource or bucket name.
    Tag,
    /// What this call cost, in the unit of the counters.
    Cost,
    /// Words that bear no figure.
    Info,
}

/// Whether a field name may say something of pace: a cheap test that lets only few others through.
pub(super) fn may_speak(name: &str) -> bool {
    let name = name.as_bytes();
    // A mark of five letters covers one of the pairs that begin at every fourth place.
    let has_pair = name
        .chunks(4)
        .any(|four| matches!(four, [first, second, ..] if is_pair_of_mark(*first, *second)));
    has_pair
        && name
            .windows(5)
            .any(|five| MARKS.iter().any(|mark| five == *mark))
}

/// What a field is about; `None` for one that is not known to say anything of pace.
pub(super) fn lookup(name: &str, profile: Option<Profile>) -> Option<Field<'_>> {
    if let Some(profile) = profile
        && let Some((_, row)) = PROFILE_FIELDS
            .iter()
            .find(|(of, row)| *of == profile && row.name == name)
    {
        return Some(row.field());
    }
    match INDEX.find(name) {
        Some(at) => Some(FIELDS[at].field()),
        None => words::take_apart(name),
    }
}

/// What a trio without a name is called beside the named quotas of `family`.
pub(super) fn main_name(family: &str) -> Option<&'static str> {
    MAIN_NAMES
        .iter()
        .find(|(beside, _)| *beside == family)
        .map(|(_, name)| *name)
}

/// For each first letter the second ones that follow it in a mark, as bits.
const PAIRS: [u32; 32] = {
    let mut pairs = [0; 32];
    let mut mark = 0;
    while mark < MARKS.len() {
        let mut at = 0;
        while at < 4 {
            let (first, second) = (MARKS[mark][at], MARKS[mark][at + 1]);
            pairs[(first & 31) as usize] |= 1 << (second & 31);
            at += 1;
        }
        mark += 1;
    }
    pairs
};

fn is_pair_of_mark(first: u8, second: u8) -> bool {
    PAIRS[usize::from(first & 31)] >> (second & 31) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_found_wherever_it_stands() {
        for mark in MARKS {
            for before in 0..8 {
                let name = format!("{}{}", "z".repeat(before), String::from_utf8_lossy(mark));
                assert!(may_speak(&name), "{name}");
                assert!(!may_speak(&name[..name.len() - 1]), "{name}");
            }
        }
        for name in ["content-type", "x-request-id", "date", ""] {
            assert!(!may_speak(name), "{name}");
        }
    }
}
