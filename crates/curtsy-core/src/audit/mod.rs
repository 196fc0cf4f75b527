//! The audit record: one event of a run, as one line of JSON. Field names are public interface.
//!
//! Ten fields stand on every line, null where they do not apply. `seq` counts from 1 in each
//! pipeline and `prev` is the SHA-256 of the line before, so that a line removed, added or moved shows.
//!
//! The lines of a scope hold all that [`decide`](crate::decide) and [`observe`](crate::observe) were asked
//! and what they answered, in the order of their `turn`, so that [`verify`] can ask them again.

mod entry;
mod event;
mod noted;
mod record;
mod redacted;
pub mod verify;

pub use entry::{Entry, Heard, Subject};
pub use event::{BodyRead, Cited, Departure, Event, Outcome, RobotsRead};
pub use noted::{Because, Noted, StateRead, Turn};
pub use record::{Head, Record};
pub use redacted::redacted;
