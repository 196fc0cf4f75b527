//! A scripted HTTP server whose limits are known exactly and which remembers every arrival: for tests,
//! benches, the demo, and `curtsy origin`.
//!
//! A [`Script`] says what the server does: quotas of seven kinds, how refusals look and which wait they
//! tell, in which [`Dialect`] the quotas are told, how long answers take, outages, robots.txt, and what
//! each path answers, faults included. An [`Origin`] does it, over HTTP/1.1 and HTTP/2 (by prior
//! knowledge, or by ALPN under TLS), and keeps an [`Arrival`] for each request. The [`judge`](judge())
//! turns script and arrivals into figures: refusals, arrivals inside holds, gaps, what was lost, and the
//! time beside that of a client who knows it all.
//!
//! The parts that decide are pure and in virtual time ([`Meter`], [`Referee`], [`quota_headers`],
//! [`judge`](judge())); the server only lends them its clock. What this is not: a server for anything but
//! tests. It has no proxy (CONNECT gets 501), no ranges, no content of its own.
//!
//! A script in JSON, with every key; each is documented at the field of the same name:
//!
//! ```json
#![doc = include_str!("../example.json")]
//! ```
//!
//! Run it, ask it, judge it:
//!
//! ```
//! use std::net::Ipv4Addr;
//! use curtsy_origin::{EXAMPLE, Origin, Script, Verdict, judge};
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let script = Script::from_json(EXAMPLE)?;
//! let mut origin = Origin::start(script, (Ipv4Addr::LOCALHOST, 0)).await?;
//!
//! let mut client = tokio::net::TcpStream::connect(origin.addr()).await?;
//! client.write_all(b"GET /page HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await?;
//! let mut answer = String::new();
//! client.read_to_string(&mut answer).await?;
//! assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"));
//! assert!(answer.contains("ratelimit: \"50-in-5s\";r=49;t=5\r\n"));
//!
//! origin.stop().await?;
//! let arrivals = origin.arrivals();
//! assert_eq!(arrivals[0].verdict, Verdict::Ok);
//! assert!(judge(origin.script(), &arrivals, &["/page"]).is_flawless());
//! # Ok(())
//! # }
//! ```

mod arrival;
mod clock;
mod dialect;
mod error;
mod judge;
mod log;
mod meter;
mod modelled;
mod referee;
mod reply;
mod script;
mod server;
mod service;

pub use arrival::{Arrival, Protocol, Verdict};
pub use clock::Clock;
pub use dialect::{Dialect, ResetTells, Rounding, quota_headers};
pub use error::{Error, ErrorKind};
pub use judge::{
    GAP_SLACK, HOLD_GRACE, HOLD_SLACK, Judgement, Optimum, judge, lead_over_pace, most_within,
    optimum,
};
pub use log::{LogFormat, LogWriter, read_log};
pub use meter::{Admission, Meter, Reading};
pub use modelled::{Modelled, Told};
pub use referee::{Referee, Ruling};
pub use script::{
    Anchor, Coding, EmptySeries, Fault, Outage, Page, Pages, Policy, Refusal, RetryAfter, Robots,
    Rule, Script, Series, Service,
};
pub use server::{Options, Origin, Tls, sized_body};

/// A script with every key, to begin with.
pub const EXAMPLE: &str = include_str!("../example.json");
