//! Every default of a policy, with its unit.

use std::time::Duration;

use super::values::BreakerPolicy;
use crate::Interval;

/// P3: departures per second to a server that says nothing about pace.
pub const DEFAULT_RATE: f64 = 2.0;
/// P3: how many departures may follow each other at once after a quiet time.
pub const DEFAULT_BURST: u32 = 5;
/// P3: departures per second below which no published quota takes the pace.
pub const DEFAULT_MIN_RATE: f64 = 0.1;
/// P3: departures per second above which no published quota takes the pace, unless `rate` is higher.
pub const DEFAULT_MAX_RATE: f64 = 10.0;
/// H1: how much longer than told a hold is, drawn uniformly, as a share of the wait.
pub const DEFAULT_RETRY_AFTER_BUFFER: (f64, f64) = (0.10, 0.15);
/// H1: the longest that the safety buffer ever is.
pub const RETRY_AFTER_BUFFER_CAP: Duration = Duration::from_secs(60);
/// H10: how long a caller is kept waiting before its request is deferred.
pub const DEFAULT_MAX_RETRY_AFTER: Duration = Duration::from_secs(300);
/// H9, `http_client`: the wait on a 429 that names none.
pub const HTTP_CLIENT_DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(60);
/// D1: the first backoff delay.
pub const DEFAULT_BACKOFF_BASE: Duration = Duration::from_secs(1);
/// D1: by how much each further overload multiplies the delay.
pub const DEFAULT_BACKOFF_MULTIPLIER: f64 = 2.0;
/// D1: the longest backoff delay that curtsy invents.
pub const DEFAULT_BACKOFF_MAX: Duration = Duration::from_secs(300);
/// D4: what a healthy outcome takes off the delay.
pub const DEFAULT_BACKOFF_DECAY: Duration = Duration::from_secs(1);
/// D3: by how much a slow outcome multiplies the delay.
pub const SLOW_MULTIPLIER: f64 = 1.25;
/// D1, `adaptive`: the longest jitter of a backoff as a share of the delay; the base stays its ceiling.
pub const ADAPTIVE_JITTER: f64 = 0.1;
/// P6: the interval where nothing is known about a server's pace.
pub const DEFAULT_RATE_LIMIT: Interval =
    Interval::between(Duration::from_secs(1), Duration::from_secs(3));
/// R1: further tries of one request.
pub const DEFAULT_MAX_RETRIES: u32 = 3;
/// R1, `compliant`: the statuses that are tried again.
pub const RETRIED_STATUSES: &[u16] = &[408, 425, 429, 500, 502, 503, 504, 522, 524, 529];
/// R1, `http_client`: the seed's three.
pub const HTTP_CLIENT_RETRIED_STATUSES: &[u16] = &[429, 503, 504];
/// R4, `compliant`: 403s in a row that suppress a scope.
pub const DEFAULT_SUPPRESS_AFTER: u32 = 3;
/// R4: how long a suppression lasts before one probe is tried.
pub const SUPPRESSION_LIFETIME: Duration = Duration::from_secs(24 * 3600);
/// R4: hosts whose 403 belongs to whom they redirect to.
pub const SUPPRESSION_EXEMPT: &[&str] = &["doi.org", "dx.doi.org"];
/// P8: requests in flight at once to one scope.
pub const DEFAULT_PER_HOST: u32 = 2;
/// The most requests in flight to one scope that can be asked for; it bounds the size of a scope's state.
pub const PER_HOST_CEILING: u32 = 32;
/// The longest silence: a request unanswered for longer counts as lost, also after a crash of its worker.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest duration that a policy takes: a day.
pub const LONGEST_DURATION: Duration = Duration::from_secs(24 * 3600);
/// The breaker of `compliant`.
pub const DEFAULT_BREAKER: BreakerPolicy = BreakerPolicy {
    trip_delay: Duration::from_secs(45),
    trip_after: 3,
    failure_share: 0.5,
    min_outcomes: 10,
    cool_down: Duration::from_secs(60),
    cool_down_max: Duration::from_secs(3600),
};
