//! The dialects as data: which field says what. A maintainer adds a row, not a branch.
//!
//! A field is first looked up in [`FIELDS`] by its whole name, for every name that its words alone
//! do not explain; then it is taken apart by [`words`]: `[vendor-]ratelimit[-quota]-role` in any of
//! the orders in which vendors put them.

mod fields;
mod words;

use std::time::Duration;

use super::name::{Profile, Unit};
use super::value::Scale;
use fields::{FIELDS, PROFILE_FIELDS};

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
    /// Requests per second, perhaps a fraction.
    PerSecond,
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
    name.windows(5).any(|five| {
        matches!(
            five,
            b"limit" | b"retry" | b"reset" | b"usage" | b"quota" | b"remai" | b"throt"
        )
    })
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
    match FIELDS.binary_search_by(|row| row.name.cmp(name)) {
        Ok(index) => Some(FIELDS[index].field()),
        Err(_) => words::take_apart(name),
    }
}

/// What quotas without a name are called beside named ones of the family given.
pub(super) fn main_name(beside: &str) -> Option<&'static str> {
    fields::MAIN_NAMES
        .iter()
        .find(|(family, _)| *family == beside)
        .map(|(_, name)| *name)
}
