//! The bounds of a script's values.

use std::time::Duration;

use http::{HeaderName, HeaderValue};

use super::{Fault, Page, Policy, RetryAfter, Robots, Rule, Script};
use crate::error::{Error, ErrorKind};

const MAX_LOG: u64 = 1_000_000;
const MAX_BURST: u64 = 1_000_000_000;
const MAX_HUGE_HEADER: usize = 64 * 1024 * 1024;
const MAX_WORKERS: usize = 10_000;
const MAX_SKEW_S: f64 = 1e9;
/// A century: longer is a mistake, and the arithmetic of the meters stays far from its ends.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 86_400);

impl Script {
    /// Checks every value against its bounds, as [`from_json`](Self::from_json) does; an origin does
    /// so before it starts.
    ///
    /// # Errors
    /// [`ErrorKind::Script`], naming the value.
    pub fn check(&self) -> Result<(), Error> {
        self.complaint().map_or(Ok(()), |complaint| {
            Err(Error::new(ErrorKind::Script, complaint))
        })
    }

    fn complaint(&self) -> Option<String> {
        let named = |name: String| move |complaint: String| format!("{name}: {complaint}");
        let refuse = &self.refuse;
        let mut complaints = Vec::new();
        for (n, policy) in self.policies.iter().enumerate() {
            complaints.extend(policy_complaint(policy).map(named(format!("policies[{n}]"))));
        }
        complaints.extend(
            status_complaint(refuse.status)
                .or_else(|| headers_complaint(&refuse.headers))
                .or_else(|| retry_after_complaint(&refuse.retry_after))
                .map(named("refuse".to_owned())),
        );
        complaints.extend(
            self.retry_after_on_ok
                .as_ref()
                .and_then(retry_after_complaint)
                .map(named("retry_after_on_ok".to_owned())),
        );
        for (n, outage) in self.outages.iter().enumerate() {
            complaints.extend(
                status_complaint(outage.status)
                    .or_else(|| retry_after_complaint(&outage.retry_after))
                    .or_else(|| positive("for_s", outage.lasts))
                    .or_else(|| bounded("at_s", outage.at))
                    .map(named(format!("outages[{n}]"))),
            );
        }
        if let Some(Robots::Status(status)) = self.robots {
            complaints.extend(status_complaint(status).map(named("robots".to_owned())));
        }
        complaints.extend(page_complaint(&self.page).map(named("page".to_owned())));
        for (key, series) in &self.pages.0 {
            if !key.starts_with('/') {
                complaints.push(format!("pages: {key:?} does not begin with /"));
            }
            for page in series.pages() {
                complaints.extend(page_complaint(page).map(named(format!("pages[{key:?}]"))));
            }
        }
        if self.service.workers > MAX_WORKERS {
            complaints.push(format!("service: workers is above {MAX_WORKERS}"));
        }
        complaints.extend(
            bounded("latency_ms", self.service.latency)
                .or_else(|| bounded("per_in_flight_ms", self.service.per_in_flight))
                .map(named("service".to_owned())),
        );
        if !(-MAX_SKEW_S..=MAX_SKEW_S).contains(&self.clock_skew_s) {
            complaints.push(format!("clock_skew_s is not within ±{MAX_SKEW_S}"));
        }
        complaints.into_iter().next()
    }
}

fn policy_complaint(policy: &Policy) -> Option<String> {
    match policy.rule {
        Rule::FixedWindow { limit, window, .. } | Rule::SlidingCounter { limit, window, .. } => {
            within("limit", limit, 1, u64::MAX).or_else(|| positive("window_s", window))
        }
        Rule::SlidingWindow { limit, window, .. } => {
            within("limit", limit, 1, MAX_LOG).or_else(|| positive("window_s", window))
        }
        Rule::TokenBucket { rate_per_s, burst } => {
            rate_complaint(rate_per_s).or_else(|| within("burst", burst, 1, MAX_BURST))
        }
        Rule::LeakyQueue { rate_per_s, queue } => {
            rate_complaint(rate_per_s).or_else(|| within("queue", queue, 0, MAX_BURST))
        }
        Rule::Concurrency { limit, retry } => {
            within("limit", limit, 1, u64::MAX).or_else(|| positive("retry_s", retry))
        }
        Rule::MinGap { gap, slack } => positive("gap_s", gap)
            .or_else(|| (slack >= gap).then(|| "slack_ms is not below gap_s".to_owned())),
    }
}

fn page_complaint(page: &Page) -> Option<String> {
    page.status
        .and_then(status_complaint)
        .or_else(|| headers_complaint(&page.headers))
        .or_else(|| value_complaint("location", page.location.as_deref().unwrap_or("")))
        .or_else(|| {
            (page.body.is_some() && page.body_bytes.is_some())
                .then(|| "body and body_bytes exclude each other".to_owned())
        })
        .or_else(|| {
            page.latency
                .and_then(|latency| bounded("latency_ms", latency))
        })
        .or_else(|| match page.fault {
            Some(Fault::HugeHeader { bytes }) => {
                within("bytes", bytes as u64, 0, MAX_HUGE_HEADER as u64)
            }
            Some(Fault::DripBody { bytes, every }) => {
                within("bytes", bytes as u64, 1, 1 << 20).or_else(|| bounded("every_ms", every))
            }
            Some(Fault::EndlessBody { every }) => bounded("every_ms", every),
            _ => None,
        })
}

fn status_complaint(status: u16) -> Option<String> {
    within("status", u64::from(status), 200, 599)
}

fn headers_complaint(headers: &[(String, String)]) -> Option<String> {
    headers.iter().find_map(|(name, value)| {
        if HeaderName::from_bytes(name.as_bytes()).is_err() {
            return Some(format!("{name:?} is no header name"));
        }
        let own = ["content-length", "transfer-encoding"];
        if own.iter().any(|own| name.eq_ignore_ascii_case(own)) {
            return Some(format!("{name} is the server's own"));
        }
        value_complaint(name, value)
    })
}

fn retry_after_complaint(retry_after: &RetryAfter) -> Option<String> {
    match retry_after {
        RetryAfter::Text(text) => value_complaint("retry_after", text),
        _ => None,
    }
}

fn value_complaint(name: &str, value: &str) -> Option<String> {
    HeaderValue::from_bytes(value.as_bytes())
        .is_err()
        .then(|| format!("the value of {name} cannot stand in a header"))
}

fn rate_complaint(rate_per_s: f64) -> Option<String> {
    (!(1e-6..=1e6).contains(&rate_per_s))
        .then(|| format!("rate_per_s {rate_per_s} is not within 0.000001 and 1000000"))
}

fn positive(name: &str, duration: Duration) -> Option<String> {
    if duration.is_zero() {
        return Some(format!("{name} is 0"));
    }
    bounded(name, duration)
}

fn bounded(name: &str, duration: Duration) -> Option<String> {
    (duration > LONGEST).then(|| format!("{name} is longer than a century"))
}

fn within(name: &str, value: u64, least: u64, greatest: u64) -> Option<String> {
    (!(least..=greatest).contains(&value))
        .then(|| format!("{name} {value} is not within {least} and {greatest}"))
}
