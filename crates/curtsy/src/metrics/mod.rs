//! Metrics (rule T3): what a client did, counted, and how its scopes stand, in the text format of Prometheus.
//!
//! The counters are kept here and not in a global recorder, so that a program may have several clients. What
//! the audit log has a line of is counted from that line, so that the two agree number for number; a
//! departure is counted when it is used, since one whose connection turned out to be closed is taken back.
//! Gauges are read from the scopes when they are asked for.
//!
//! The label `scope` has at most [`MOST_SCOPES`] values and `other`. No series of a counter ever goes down: a
//! scope that becomes one of the busiest counts from zero, what it did before stays with `other`, and what it
//! does after it has made room for a busier one goes there too.

mod busiest;
mod exposition;
mod tally;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use curtsy_core::audit::{Event, Outcome, Record};
use curtsy_core::{Kind, Scope};

use crate::client::Client;
use crate::hosts::Host;
use busiest::Busiest;
pub(crate) use busiest::Bustle;

/// The most scopes that have series of their own.
pub const MOST_SCOPES: usize = 100;
/// The `Content-Type` of [`Metrics::text`].
pub const METRICS_CONTENT_TYPE: &str = prometheus_client::encoding::prometheus_text::CONTENT_TYPE;

/// The label of all scopes that have no series of their own.
const OTHER: &str = "other";

/// The counters of a client. Cheap to clone; the clones count together.
#[derive(Clone, Default)]
pub struct Metrics(Option<Arc<Mutex<Busiest>>>);

/// Counts the bytes of one body.
#[derive(Clone)]
pub(crate) struct ByteMeter {
    metrics: Metrics,
    scope: Scope,
}

impl Metrics {
    /// Counts, from zero.
    #[must_use]
    pub fn on() -> Self {
        Self(Some(Arc::default()))
    }

    /// Counts nothing.
    #[must_use]
    pub fn off() -> Self {
        Self(None)
    }

    /// All series, as Prometheus scrapes them; empty where nothing is counted. It takes as long as
    /// [`MOST_SCOPES`] scopes take, however many there are.
    #[must_use]
    pub fn text(&self, client: &Client) -> String {
        let Some(busiest) = &self.0 else {
            return String::new();
        };
        let tallies = busiest
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .tallies();
        let hosts = &client.shared.gate.hosts;
        exposition::text(tallies, |scope| hosts.met(scope), client.now())
    }

    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// A request left, `waited` after it had come to the gate.
    pub(crate) fn departed(&self, host: &Host, kind: Kind, attempt: u32, waited: Duration) {
        self.change(|busiest| {
            let tally = busiest.tally_of_busy(host);
            tally.departures.add(kind);
            tally.wait.observe(waited);
            if attempt > 1 {
                tally.retries += 1;
            }
        });
    }

    /// This goes on record.
    pub(crate) fn note(&self, record: &Record) {
        let Some(scope) = &record.scope else { return };
        match &record.event {
            Event::Outcome(Outcome {
                failure,
                latency_ms,
                ..
            }) => self.change(|busiest| {
                let tally = busiest.tally(scope);
                match (record.status_code, failure.as_deref()) {
                    (Some(status), _) => tally.outcomes.add(status),
                    // Nobody waited for it, or nothing left.
                    (None, Some("abandoned")) => {}
                    (None, _) => tally.outcomes.failed += 1,
                }
                if let Some(latency) = latency_ms {
                    tally.head.observe(*latency);
                }
            }),
            Event::Deferred { .. } => self.change(|busiest| busiest.tally(scope).deferrals += 1),
            Event::ScopeSuppressed { .. } => {
                self.change(|busiest| busiest.tally(scope).suppressions += 1);
            }
            _ => {}
        }
    }

    /// What counts the bytes of a body from `scope`, where anything is counted.
    pub(crate) fn byte_meter(&self, scope: &Scope) -> Option<ByteMeter> {
        self.is_on().then(|| ByteMeter {
            metrics: self.clone(),
            scope: scope.clone(),
        })
    }

    fn change(&self, change: impl FnOnce(&mut Busiest)) {
        if let Some(busiest) = &self.0 {
            change(&mut busiest.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

impl ByteMeter {
    pub(crate) fn add(&self, bytes: usize) {
        self.metrics
            .change(|busiest| busiest.tally(&self.scope).body_bytes += bytes as u64);
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_on() {
            "Metrics(on)"
        } else {
            "Metrics(off)"
        })
    }
}

#[cfg(test)]
mod tests {
    use curtsy_store::MemoryStore;

    use super::*;
    use crate::clock::Clock;
    use crate::hosts::Hosts;
    use crate::policies::Policies;

    fn hosts() -> Hosts {
        let policies = Arc::new(Policies::default());
        Hosts::new(Arc::new(MemoryStore::new()), Clock::system(), policies)
    }

    fn told(metrics: &Metrics) -> Vec<(String, u64)> {
        let busiest = metrics.0.as_ref().unwrap().lock().unwrap();
        let departures = |(scope, tally): (String, tally::Tally)| {
            (
                scope,
                tally.departures.by_kind().map(|(_, count)| count).sum(),
            )
        };
        busiest.tallies().into_iter().map(departures).collect()
    }

    #[test]
    fn a_hundred_thousand_scopes_make_no_more_series_than_the_busiest_and_none_goes_down() {
        let (hosts, metrics) = (hosts(), Metrics::on());
        let mut before: Vec<(String, u64)> = Vec::new();
        for n in 0..100_000 {
            let host = hosts.host(&Scope::named(&format!("h{n}.example")));
            // Every thousandth is busier than all before.
            for _ in 0..if n % 1000 == 0 { 3 + n / 1000 } else { 1 } {
                metrics.departed(&host, Kind::Page, 1, Duration::ZERO);
            }
            if n % 10_000 == 0 {
                let now = told(&metrics);
                for (scope, count) in &before {
                    let later = now.iter().find(|(other, _)| other == scope);
                    assert!(later.is_none_or(|(_, later)| later >= count), "{scope}");
                }
                before = now;
            }
        }
        let told = told(&metrics);
        assert_eq!(told.len(), MOST_SCOPES + 1);
        assert!(told.iter().any(|(scope, _)| scope == "h99000.example"));
        let text = exposition::text(
            metrics.0.as_ref().unwrap().lock().unwrap().tallies(),
            |scope| hosts.met(scope),
            Clock::system().now(),
        );
        assert!(text.len() < 500_000, "{}", text.len());
    }

    #[test]
    fn a_scope_whose_name_would_like_to_be_a_series_is_none() {
        let (hosts, metrics) = (hosts(), Metrics::on());
        let host = hosts.host(&Scope::named("a\"} 1\nevil{b=\"\\.example"));
        metrics.departed(&host, Kind::Page, 1, Duration::ZERO);
        let text = exposition::text(
            metrics.0.as_ref().unwrap().lock().unwrap().tallies(),
            |scope| hosts.met(scope),
            Clock::system().now(),
        );
        let series =
            r#"curtsy_departures_total{scope="a\"} 1\nevil{b=\"\\.example",kind="page"} 1"#;
        assert!(text.contains(series), "{text}");
        assert!(!text.lines().any(|line| line.starts_with("evil")), "{text}");
    }

    #[test]
    fn a_scope_that_is_called_like_the_rest_is_counted_with_it() {
        let (hosts, metrics) = (hosts(), Metrics::on());
        let host = hosts.host(&Scope::named(OTHER));
        metrics.departed(&host, Kind::Page, 1, Duration::ZERO);
        assert_eq!(told(&metrics), [(OTHER.to_owned(), 1)]);
    }
}
