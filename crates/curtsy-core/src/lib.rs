//! The pure core of curtsy: what a server said, and when the next request may depart.
//!
//! Two functions drive all else: [`decide`] before a departure and [`observe`] after one. Both take the
//! time and a random draw as arguments and return what is to be stored and put on record; neither does
//! IO, waits, locks or looks at a clock.

mod alert;
pub mod audit;
mod backoff;
mod breaker;
mod bucket;
mod concurrency;
mod day;
mod decision;
mod draw;
mod flights;
mod forecast;
mod interval;
mod latency;
mod learned;
mod observe;
mod outcome;
mod pace;
pub mod policy;
mod quota;
mod reason;
mod retry;
pub mod robots;
mod scope;

pub mod signal;
pub mod simulate;
mod state;
mod structured;
mod suppression;
mod time;

pub use alert::{
    Alert, AlertKind, AlertRules, AlertState, DEFAULT_COOL_DOWN, DEFAULT_SUSTAINED, Watched,
};
pub use breaker::Breaker;
pub use decision::{Bound, Decision, Decline, Permit};
pub use draw::Draw;
pub use forecast::{Course, Forecast, forecast};
pub use interval::{Interval, Inverted};
pub use learned::LearnedPace;
pub use observe::{Attempt, Change, Observed, observe, observe_body};
pub use outcome::{Answer, Class, Failure, Kind, classify};
pub use pace::{Ask, Bounds, allowed_rate, bounds, decide, pace, tokens};
pub use policy::{Policy, PolicyError, PolicyValues, Preset};
pub use quota::{Bracket, Quota};
pub use reason::{Reason, Time};
pub use retry::{Next, retry};
pub use scope::{Origin, Scope};
pub use signal::Signal;
pub use state::{FORMAT, Hold, HostState, LEEWAY};
pub use suppression::Suppression;
pub use time::{Timestamp, duration_from_secs};
