//! What the scripts are called with, written.

use curtsy_core::Timestamp;

use crate::queue::{Lease, Settlement};
use crate::redis::script::Call;

pub(super) fn of_lease<'a>(call: Call<'a>, lease: &Lease) -> Call<'a> {
    call.with(&lease.scope).with(lease.token.0.to_string())
}

pub(super) fn of_settlement<'a>(call: Call<'a>, settlement: &Settlement) -> Call<'a> {
    let id = settlement.id().0.to_string();
    match settlement {
        Settlement::Finished { outcome, line, .. } => {
            call.with("F").with(id).with(outcome).with(line).with("")
        }
        Settlement::Deferred {
            not_before,
            reason,
            line,
            ..
        } => {
            // 0 is the place of those that were never deferred.
            let not_before = (*not_before).max(Timestamp::from_micros(1));
            let call = call.with("D").with(id).with(reason).with(line);
            call.with(digits(not_before))
        }
        Settlement::Retry { attempts, .. } => {
            let call = call.with("R").with(id).with(attempts.to_string());
            call.with("").with("")
        }
    }
}

/// An instant as it is stored.
pub(super) fn digits(instant: Timestamp) -> String {
    format!("{:020}", instant.as_micros())
}

/// A number within what Redis takes for one.
pub(super) fn number(number: usize) -> String {
    number.min(1 << 40).to_string()
}

/// A text that may be missing: its first byte says whether it is there.
pub(super) fn optional(text: Option<&str>) -> String {
    text.map_or_else(String::new, |text| format!("+{text}"))
}
