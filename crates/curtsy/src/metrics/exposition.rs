//! The counters and the scopes as Prometheus reads them.

use std::fmt;
use std::sync::Arc;

use curtsy_core::{
    Ask, Breaker, HostState, Policy, Reason, Scope, Timestamp, bounds, pace, tokens,
};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeGaugeValue, MetricEncoder, NoLabelSet, prometheus_text,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use super::tally::{Histogram, Tally};

/// A policy and, where it was needed already, the state that goes by it.
type Standing = (Arc<Policy>, Option<HostState>);

/// What there is to tell at one moment.
#[derive(Debug)]
struct Snapshot {
    tallies: Vec<(String, Tally)>,
    gauges: Vec<(String, Gauges)>,
}

/// How a scope stands.
#[derive(Debug)]
struct Gauges {
    rate: Option<f64>,
    dynamic_delay: f64,
    tokens: Option<f64>,
    hold_remaining: f64,
    breaker: i64,
    in_flight: u64,
    quota_remaining: Option<u64>,
}

/// Writes all series.
pub(super) fn text(
    tallies: Vec<(String, Tally)>,
    met: impl Fn(&Scope) -> Option<Standing>,
    now: Timestamp,
) -> String {
    let gauges = tallies.iter().filter_map(|(name, _)| {
        let (policy, state) = met(&Scope::named(name))?;
        Some((name.clone(), Gauges::of(&policy, &state?, now)))
    });
    let snapshot = Snapshot {
        gauges: gauges.collect(),
        tallies,
    };
    let mut registry = Registry::default();
    registry.register_collector(Box::new(snapshot));
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = prometheus_text::encode(&mut text, &registry);
    text
}

impl Gauges {
    fn of(policy: &Policy, state: &HostState, now: Timestamp) -> Self {
        Self {
            rate: pace(policy, state).map(|(rate, _)| rate),
            dynamic_delay: state.dynamic_delay().as_secs_f64(),
            tokens: tokens(policy, state, now),
            hold_remaining: held_until(policy, state, now).since(now).as_secs_f64(),
            breaker: match state.breaker() {
                Breaker::Closed => 0,
                Breaker::HalfOpen { .. } => 1,
                Breaker::Open { .. } => 2,
            },
            in_flight: state.in_flight() as u64,
            quota_remaining: state.quotas().first().and_then(|quota| quota.remaining),
        }
    }
}

/// The end of what holds everything: the server's word, a used-up quota, the backoff.
fn held_until(policy: &Policy, state: &HostState, now: Timestamp) -> Timestamp {
    let ask = Ask::page(now);
    let server = bounds(policy, state, &ask, now).server;
    let exhausted = (server.reason == Reason::QuotaExhausted).then_some(server.not_before);
    let told = state.hold(now).map(|hold| hold.until);
    let backoff = state.backoff_until(now);
    told.max(exhausted).max(backoff).unwrap_or(now)
}

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let to = &mut encoder;
        self.gauge(
            to,
            "curtsy_rate_per_second",
            "Rate that the scope is paced at, departures per second",
            |g| g.rate,
        )?;
        self.gauge(
            to,
            "curtsy_dynamic_delay_seconds",
            "Dynamic delay of the scope, zero when all is well",
            |g| Some(g.dynamic_delay),
        )?;
        self.gauge(
            to,
            "curtsy_tokens",
            "Tokens in the bucket of the scope",
            |g| g.tokens,
        )?;
        self.gauge(
            to,
            "curtsy_hold_remaining_seconds",
            "Time until nothing holds the scope any more",
            |g| Some(g.hold_remaining),
        )?;
        self.gauge(
            to,
            "curtsy_breaker_state",
            "Breaker of the scope: 0 closed, 1 half-open, 2 open",
            |g| Some(g.breaker),
        )?;
        self.gauge(
            to,
            "curtsy_in_flight",
            "Requests to the scope that are not answered yet, of all workers that share its state",
            |g| Some(g.in_flight),
        )?;
        self.gauge(
            to,
            "curtsy_quota_remaining",
            "What is left of the scope's published quota",
            |g| g.quota_remaining,
        )?;

        self.counter(
            to,
            "curtsy_departures",
            "Requests that were permitted and used, by kind",
            |tally, series| {
                let mut kinds = tally.departures.by_kind();
                kinds.try_for_each(|(kind, count)| series.add(&[("kind", kind.label())], count))
            },
        )?;
        self.counter(
            to,
            "curtsy_outcomes",
            "Answers by status code; error where none came",
            |tally, series| {
                let mut statuses = tally.outcomes.by_status();
                statuses.try_for_each(|(status, count)| {
                    series.add(&[("status", status.as_str())], count)
                })
            },
        )?;
        self.counter(
            to,
            "curtsy_retries",
            "Departures that were further tries of a URL",
            |tally, series| series.add(&[], tally.retries),
        )?;
        self.counter(
            to,
            "curtsy_deferrals",
            "Requests that were put off",
            |tally, series| series.add(&[], tally.deferrals),
        )?;
        self.counter(
            to,
            "curtsy_suppressions",
            "Times that the scope was suppressed after 403s",
            |tally, series| series.add(&[], tally.suppressions),
        )?;
        self.counter(
            to,
            "curtsy_body_bytes",
            "Bytes of bodies, decoded, robots.txt and redirects not counted",
            |tally, series| series.add(&[], tally.body_bytes),
        )?;

        self.histogram(
            to,
            "curtsy_wait_seconds",
            "From when a request asks to depart until it departs",
            |tally| &tally.wait,
        )?;
        self.histogram(
            to,
            "curtsy_response_head_seconds",
            "From a departure to the head of its response",
            |tally| &tally.head,
        )
    }
}

/// Where the series of one counter and scope go.
struct Series<'a, 'b> {
    scope: &'a str,
    encoder: &'a mut MetricEncoder<'b>,
}

impl Series<'_, '_> {
    fn add(&mut self, labels: &[(&str, &str)], count: u64) -> Result<(), fmt::Error> {
        let labels: Vec<_> = [("scope", self.scope)]
            .into_iter()
            .chain(labels.iter().copied())
            .collect();
        let mut encoder = self.encoder.encode_family(&labels)?;
        encoder.encode_counter::<NoLabelSet, _, u64>(&count, None)
    }
}

impl Snapshot {
    fn gauge<T: EncodeGaugeValue>(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        name: &str,
        help: &str,
        value: impl Fn(&Gauges) -> Option<T>,
    ) -> Result<(), fmt::Error> {
        let mut encoder = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (scope, gauges) in &self.gauges {
            if let Some(value) = value(gauges) {
                let labels = [("scope", scope.as_str())];
                encoder.encode_family(&labels)?.encode_gauge(&value)?;
            }
        }
        Ok(())
    }

    fn counter(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        name: &str,
        help: &str,
        add: impl Fn(&Tally, &mut Series<'_, '_>) -> Result<(), fmt::Error>,
    ) -> Result<(), fmt::Error> {
        let mut encoder = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (scope, tally) in &self.tallies {
            let mut series = Series {
                scope,
                encoder: &mut encoder,
            };
            add(tally, &mut series)?;
        }
        Ok(())
    }

    fn histogram(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        name: &str,
        help: &str,
        of: impl Fn(&Tally) -> &Histogram,
    ) -> Result<(), fmt::Error> {
        let mut encoder = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
        for (scope, tally) in &self.tallies {
            let histogram = of(tally);
            let labels = [("scope", scope.as_str())];
            encoder
                .encode_family(&labels)?
                .encode_histogram::<NoLabelSet>(
                    histogram.sum(),
                    histogram.count(),
                    &histogram.buckets(),
                    None,
                )?;
        }
        Ok(())
    }
}
