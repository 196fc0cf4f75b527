//! Fetch as fast as each server permits, and no faster.
//!
//! [`Client`] makes single requests; an engine over it works through whole lists. Both pass the same
//! gate: the only code that lets a request depart, by the decisions of `curtsy-core`.

mod alert;
mod audit;
mod capture;
mod client;
pub mod clock;
mod error;
mod exchange;
mod flight;
mod gate;
mod hosts;
mod job;
mod metrics;
mod notice;
mod plan;
mod policies;
mod reply;
mod robots;
mod sink;
mod telling;
pub mod transport;

pub use curtsy_core as core;
pub use curtsy_store as store;

pub use alert::{AlertOptions, AlertWatch, Alerts};
pub use audit::{Audit, DEFAULT_ROTATE_AT, KeptTail, LogLine, Logs};
pub use client::{
    Client, ClientBuilder, DEFAULT_CONCURRENCY, DEFAULT_USER_AGENT, Explanation, Request,
    RobotsReport, RobotsSay, ScopeView,
};
pub use error::{Error, ErrorKind};
pub use job::{
    Bodies, DEFAULT_LEASE, DEFAULT_SCOPES, Feed, Job, JobDir, JobOptions, Line, NewEntry, Outcome,
    Outlook, Progress, ProgressView, ReasonCount, ScopeOutlook, ScopeSummary, Stopper, Summary,
};
pub use metrics::{METRICS_CONTENT_TYPE, MOST_SCOPES, Metrics};
pub use notice::{Notice, Notices};
pub use plan::{Obstacle, Plan, Planner, RuleCount, ScopePlan, Tally};
pub use policies::{Policies, Scoping};
pub use reply::{Body, Deferred, Disallowed, Reply, Response};
