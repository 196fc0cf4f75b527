//! How many requests at once a scope bears (rule L5).
//!
//! Two signs lower it, which nothing but time raises again. A refusal of a request that departed among
//! more than any that was admitted since the last overload is about their number, not about their rate.
//! And latency that rises with load: more than half of the last 16 answers took over twice as long as
//! they do when all is quiet (D3), the sign that TCP Vegas (Brakmo and Peterson 1995) reads a full queue
//! from. One request at once is always allowed, and `per_host` is never passed.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// D3: so many times the quiet latency is slow. A tenth beyond twice, which is what an answer takes where
/// twice as many are under way as the server has workers.
const SLOW: f64 = 2.2;
/// How fast the quiet latency follows.
const FOLLOW: f64 = 0.125;
/// After so many departures one more at once is tried where refusals had shown the limit.
const PATIENCE_IF_REFUSED: u64 = 1_000;
/// The same where latency had shown it.
const PATIENCE_IF_SLOW: u64 = 32;

/// The concurrency of one scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Concurrency {
    /// The latency of a request that was alone all the time, ms: a mean that follows slowly. Zero: not known.
    #[serde(rename = "q", default)]
    quiet_ms: f64,
    /// D3: the last sixteen answers, one bit each: 1 took over twice as long.
    #[serde(rename = "s", default)]
    slow: u16,
    /// The most that a request departed among, itself included, and was admitted, since the last overload.
    #[serde(rename = "b", default)]
    borne: u32,
    #[serde(rename = "l", default, skip_serializing_if = "Option::is_none")]
    limit: Option<Limit>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "(u32, bool, u64)", into = "(u32, bool, u64)")]
struct Limit {
    most: u32,
    /// Whether a refusal showed it.
    refused: bool,
    /// The departures when it was set or raised.
    since: u64,
}

impl Concurrency {
    /// The most at once; `None` where the policy's `per_host` alone binds.
    pub(crate) fn most(&self) -> Option<u32> {
        self.limit.map(|limit| limit.most)
    }

    /// A request that departed among so many was answered well. After `departures` departures.
    pub(crate) fn bear(&mut self, among: u32, departures: u64, per_host: u32) {
        self.borne = self.borne.max(among);
        let Some(limit) = &mut self.limit else {
            return;
        };
        let patience = if limit.refused {
            PATIENCE_IF_REFUSED
        } else {
            PATIENCE_IF_SLOW
        };
        if departures.saturating_sub(limit.since) < patience {
            return;
        }
        (limit.most, limit.since) = (limit.most.saturating_add(1), departures);
        if limit.most >= per_host {
            self.limit = None;
        }
    }

    /// One that departed among so many was refused. Whether their number is the reason.
    pub(crate) fn refuse(&mut self, among: u32, departures: u64) -> bool {
        let at_limit = self
            .limit
            .is_some_and(|limit| limit.refused && among >= limit.most);
        let is_crowd = among > 1 && (among > self.borne || at_limit);
        if is_crowd {
            self.limit = Some(Limit {
                most: among - 1,
                refused: true,
                since: departures,
            });
        }
        self.borne = 0;
        is_crowd
    }

    /// D3: the answer to departure `seq`, which was under way among so many (1: alone all the time), took
    /// `latency`. Whether it is the one that shows that latency rises with load.
    pub(crate) fn feel(
        &mut self,
        seq: u64,
        latency: Duration,
        among: u32,
        departures: u64,
    ) -> bool {
        let latency = latency.as_secs_f64() * 1e3;
        if among <= 1 {
            let follow = if self.quiet_ms > 0.0 { FOLLOW } else { 1.0 };
            self.quiet_ms = tenths(self.quiet_ms + (latency - self.quiet_ms) * follow);
        }
        let is_slow = among > 1 && self.quiet_ms > 0.0 && latency > SLOW * self.quiet_ms;
        // D5: what departed before the last step down says nothing about how it is since.
        if self.limit.is_some_and(|limit| seq <= limit.since) {
            return false;
        }
        self.slow = self.slow << 1 | u16::from(is_slow);
        if !is_slow || self.slow.count_ones() <= u16::BITS / 2 {
            return false;
        }
        let most = self.limit.map_or(among, |limit| limit.most.min(among));
        self.slow = 0;
        self.limit = Some(Limit {
            most: most.saturating_sub(1).max(1),
            refused: false,
            since: departures,
        });
        true
    }

    /// D6: a stored value is bounded when it is read.
    pub(crate) fn clamp(&mut self, departures: u64) {
        if !self.quiet_ms.is_finite() || self.quiet_ms < 0.0 {
            self.quiet_ms = 0.0;
        }
        if let Some(limit) = &mut self.limit {
            limit.since = limit.since.min(departures);
        }
    }
}

fn tenths(ms: f64) -> f64 {
    (ms * 10.0).round() / 10.0
}

impl From<(u32, bool, u64)> for Limit {
    fn from((most, refused, since): (u32, bool, u64)) -> Self {
        Self {
            most: most.max(1),
            refused,
            since,
        }
    }
}

impl From<Limit> for (u32, bool, u64) {
    fn from(limit: Limit) -> Self {
        (limit.most, limit.refused, limit.since)
    }
}
