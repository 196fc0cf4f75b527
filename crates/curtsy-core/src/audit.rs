//! The audit record: one event of a run, as one line of JSON. Field names are public interface.
//!
//! The seed's ten fields stand on every line, null where they do not apply. `seq` counts from 1 in each
//! pipeline and `prev` is the SHA-256 of the line before, so that a line removed, added or moved shows.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use url::{Position, Url};

use crate::alert::{AlertKind, AlertState};
use crate::decision::{Bound, Permit};
use crate::observe::{Change, Observed};
use crate::outcome::{Answer, Class, Kind};
use crate::policy::PolicyValues;
use crate::{Draw, Reason, Scope, Timestamp};

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// When it was written: RFC 3339, UTC, ms.
    pub timestamp: String,
    /// Which run.
    pub pipeline_id: String,
    /// The line's number in its pipeline, from 1.
    pub seq: u64,
    /// SHA-256 of the line before, in hex; of nothing for the first.
    pub prev: String,
    /// The host that is talked to.
    pub target_domain: Option<String>,
    /// What caused the event.
    pub trigger: Option<String>,
    /// The delay before jitter or buffer.
    pub base_delay_ms: Option<f64>,
    /// The delay that applies.
    pub computed_delay_ms: Option<f64>,
    /// What randomness added.
    pub jitter_ms: Option<f64>,
    /// Whether curtsy kept every rule; `false` where the operator switched the rules off.
    pub compliance_flag: bool,
    /// The response's status.
    pub status_code: Option<u16>,
    /// The scope that is paced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// The URL, without credentials and query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Which try of the URL, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// What kind of request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// What happened, with the fields of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A run began.
    RunStarted {
        /// The version of curtsy.
        version: String,
        /// The policy in full.
        policy: Box<PolicyValues>,
        /// Where state is kept, without credentials.
        store: String,
    },
    /// A run ended.
    RunEnded {
        /// URLs by outcome.
        totals: std::collections::BTreeMap<String, u64>,
    },
    /// The last lines were torn by a crash; the chain goes on from the last whole one.
    LogRecovered {
        /// Bytes of the torn line.
        torn_bytes: u64,
    },
    /// A robots.txt was read, or could not be.
    RobotsRead {
        /// The origin that it governs.
        origin: String,
        /// How it is taken: `rules`, `allowed`, `unreachable`.
        access: String,
        /// Its Crawl-delay.
        crawl_delay_ms: Option<f64>,
    },
    /// A URL is disallowed (O4).
    RobotsDisallowed {
        /// The rule as the file has it.
        rule: Option<String>,
        /// Its line.
        line: Option<u32>,
    },
    /// The permit of one departure, written before the request leaves.
    Departure {
        /// The departure's number in its scope.
        departure: u64,
        /// The latest of the four times.
        #[serde(with = "crate::time::rfc3339")]
        not_before: Timestamp,
        /// When it was permitted.
        #[serde(with = "crate::time::rfc3339")]
        permitted_at: Timestamp,
        /// Which bound it was.
        reason: Reason,
        /// The sample for the interval after it.
        draw: Draw,
    },
    /// What came back.
    Outcome {
        /// The departure's number in its scope.
        departure: u64,
        /// When its bytes left.
        #[serde(with = "crate::time::rfc3339")]
        departed_at: Timestamp,
        /// How it was classified.
        class: Option<Class>,
        /// Why there was no response.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<String>,
        /// From the departure to the response head.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        latency_ms: Option<f64>,
        /// The wait that was read, and from which header.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait_ms: Option<f64>,
        /// The header of the wait.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait_from: Option<String>,
        /// What was left of the steering quota.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        quota_remaining: Option<u64>,
        /// Until it is full again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        quota_reset_ms: Option<f64>,
    },
    /// The dynamic delay changed.
    DynamicDelayApplied {
        /// Before.
        before_ms: f64,
        /// After.
        after_ms: f64,
        /// Until when nothing departs.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            with = "crate::time::rfc3339::optional"
        )]
        until: Option<Timestamp>,
    },
    /// The rate changed.
    RateAdjusted {
        /// Before, departures/s.
        before: Option<f64>,
        /// After, departures/s.
        after: f64,
    },
    /// The server asked for quiet.
    HoldStarted {
        /// Until when.
        #[serde(with = "crate::time::rfc3339")]
        until: Timestamp,
    },
    /// The breaker opened.
    BreakerOpened {
        /// Until when.
        #[serde(with = "crate::time::rfc3339")]
        until: Timestamp,
    },
    /// A probe departs.
    BreakerHalfOpen {},
    /// The breaker closed.
    BreakerClosed {},
    /// The scope is suppressed.
    ScopeSuppressed {
        /// Until when; null: as long as the client lives.
        #[serde(with = "crate::time::rfc3339::optional")]
        until: Option<Timestamp>,
    },
    /// The suppression ended.
    SuppressionLifted {},
    /// A URL is put off.
    Deferred {
        /// Until when.
        #[serde(with = "crate::time::rfc3339")]
        until: Timestamp,
        /// What bound it.
        reason: Reason,
    },
    /// Nothing departs to the scope, or at all where there is none, until it is resumed.
    Paused {},
    /// What was paused goes on.
    Resumed {},
    /// T4: an alert was raised or cleared.
    Alert {
        /// What it is about.
        alert: AlertKind,
        /// Which of the two.
        state: AlertState,
        /// Since when its condition holds or held.
        #[serde(with = "crate::time::rfc3339")]
        since: Timestamp,
    },
}

/// Whom an event is about.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The scope.
    pub scope: &'a Scope,
    /// The URL.
    pub url: &'a Url,
    /// What kind of request.
    pub kind: Kind,
    /// Which try, from 1.
    pub attempt: u32,
    /// Whether the rules are on.
    pub polite: bool,
}

/// An event with the seed's fields, before the log gives it time, number and chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    record: Record,
}

impl Entry {
    /// An event about the run.
    #[must_use]
    pub fn of_run(event: Event) -> Self {
        Self {
            record: Record {
                timestamp: String::new(),
                pipeline_id: String::new(),
                seq: 0,
                prev: String::new(),
                target_domain: None,
                trigger: None,
                base_delay_ms: None,
                computed_delay_ms: None,
                jitter_ms: None,
                compliance_flag: true,
                status_code: None,
                scope: None,
                url: None,
                attempt: None,
                kind: None,
                event,
            },
        }
    }

    /// An event about a scope as a whole, with what caused it.
    #[must_use]
    pub fn of_scope(scope: &Scope, event: Event, trigger: &str) -> Self {
        let mut entry = Self::of_run(event);
        entry.record.target_domain = Some(scope.host().to_owned());
        entry.record.scope = Some(scope.clone());
        entry.record.trigger = Some(trigger.to_owned());
        entry
    }

    /// The record as far as it is known before the log gives it a place.
    #[must_use]
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// An event about one request.
    #[must_use]
    pub fn of(subject: &Subject<'_>, event: Event) -> Self {
        let mut entry = Self::of_run(event);
        let record = &mut entry.record;
        record.target_domain = subject.url.host_str().map(str::to_owned);
        record.scope = Some(subject.scope.clone());
        record.url = Some(redacted(subject.url));
        record.attempt = Some(subject.attempt);
        record.kind = Some(subject.kind);
        record.compliance_flag = subject.polite;
        entry
    }

    /// The permit of a departure.
    #[must_use]
    pub fn departure(subject: &Subject<'_>, permit: &Permit) -> Self {
        let Bound { not_before, reason } = permit.bound;
        let draw = permit.state.interval_draw;
        let event = Event::Departure {
            departure: permit.seq,
            not_before,
            permitted_at: permit.at,
            reason,
            draw,
        };
        let mut entry = Self::of(subject, event);
        entry.record.trigger = Some(reason.label().to_owned());
        entry
    }

    /// What came back, and everything that it changed.
    #[must_use]
    pub fn outcome(
        subject: &Subject<'_>,
        departure: u64,
        departed_at: Timestamp,
        answer: &Answer<'_>,
        observed: &Observed,
    ) -> Vec<Self> {
        let mut status_code = None;
        let (
            mut failure,
            mut latency_ms,
            mut wait_ms,
            mut wait_from,
            mut quota_remaining,
            mut quota_reset_ms,
        ) = (None, None, None, None, None, None);
        match answer {
            Answer::Head {
                status,
                latency,
                signal,
            } => {
                status_code = Some(*status);
                latency_ms = Some(ms(*latency));
                if let Some(wait) = &signal.wait {
                    (wait_ms, wait_from) = (Some(ms(wait.after)), Some(wait.source.to_string()));
                }
                if let Some(quota) = signal.quotas.first() {
                    (quota_remaining, quota_reset_ms) =
                        (quota.remaining, quota.reset.map(|reset| ms(reset.after)));
                }
            }
            Answer::Failed(why) => failure = Some(why.label().to_owned()),
            Answer::Abandoned => failure = Some("abandoned".to_owned()),
        }
        let class = observed.class;
        let event = Event::Outcome {
            departure,
            departed_at,
            class,
            failure,
            latency_ms,
            wait_ms,
            wait_from,
            quota_remaining,
            quota_reset_ms,
        };
        let mut first = Self::of(subject, event);
        first.record.status_code = status_code;
        let mut entries = vec![first];
        entries.extend(Self::changes(subject, answer, observed));
        entries
    }

    /// What an answer changed, its outcome being on record already.
    pub fn changes(
        subject: &Subject<'_>,
        answer: &Answer<'_>,
        observed: &Observed,
    ) -> impl Iterator<Item = Self> {
        let status_code = match answer {
            Answer::Head { status, .. } => Some(*status),
            _ => None,
        };
        observed.changes.iter().map(move |change| {
            let mut entry = Self::change(subject, change);
            entry.record.status_code = status_code;
            entry
        })
    }

    fn change(subject: &Subject<'_>, change: &Change) -> Self {
        let of = |event, trigger: Option<&String>| {
            let mut entry = Self::of(subject, event);
            entry.record.trigger = trigger.cloned();
            entry
        };
        match change {
            Change::RateAdjusted {
                before,
                after,
                trigger,
            } => of(
                Event::RateAdjusted {
                    before: *before,
                    after: *after,
                },
                Some(trigger),
            ),
            Change::HoldStarted {
                told,
                buffer,
                until,
                trigger,
            } => of(Event::HoldStarted { until: *until }, Some(trigger)).with_delays(
                *told,
                told.saturating_add(*buffer),
                *buffer,
            ),
            Change::DynamicDelay {
                before,
                after,
                jitter,
                until,
                trigger,
            } => {
                let event = Event::DynamicDelayApplied {
                    before_ms: ms(*before),
                    after_ms: ms(*after),
                    until: *until,
                };
                of(event, Some(trigger)).with_delays(*after, after.saturating_add(*jitter), *jitter)
            }
            Change::BreakerOpened { until, trigger } => {
                of(Event::BreakerOpened { until: *until }, Some(trigger))
            }
            Change::BreakerClosed => of(Event::BreakerClosed {}, None),
            Change::Suppressed { until } => of(Event::ScopeSuppressed { until: *until }, None),
            Change::SuppressionLifted => of(Event::SuppressionLifted {}, None),
        }
    }

    fn with_delays(mut self, base: Duration, computed: Duration, jitter: Duration) -> Self {
        self.record.base_delay_ms = Some(ms(base));
        self.record.computed_delay_ms = Some(ms(computed));
        self.record.jitter_ms = Some(ms(jitter));
        self
    }

    /// The record with the place in its log that the log gives it.
    #[must_use]
    pub fn placed(mut self, at: Timestamp, pipeline_id: &str, seq: u64, prev: &str) -> Record {
        self.record.timestamp = at.to_rfc3339();
        self.record.pipeline_id = pipeline_id.to_owned();
        self.record.seq = seq;
        self.record.prev = prev.to_owned();
        self.record
    }
}

/// A URL as logs and messages show it: without user, password, query and fragment.
#[must_use]
pub fn redacted(url: &Url) -> String {
    let mut text = [
        &url[..Position::BeforeUsername],
        &url[Position::BeforeHost..Position::AfterPath],
    ]
    .concat();
    if url.query().is_some() {
        text.push_str("?[redacted]");
    }
    text
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t1_every_line_has_the_seeds_fields() {
        let entry = Entry::of_run(Event::BreakerClosed {});
        let line =
            serde_json::to_value(entry.placed(Timestamp::from_secs(1_716_215_521), "p-1", 1, ""))
                .unwrap();
        for field in [
            "timestamp",
            "pipeline_id",
            "target_domain",
            "event",
            "trigger",
            "base_delay_ms",
            "computed_delay_ms",
            "jitter_ms",
            "compliance_flag",
            "status_code",
        ] {
            assert!(line.get(field).is_some(), "{field} in {line}");
        }
        assert_eq!(line["timestamp"], "2024-05-20T14:32:01.000Z");
        assert_eq!(line["event"], "breaker_closed");
    }

    #[test]
    fn t1_queries_and_credentials_are_redacted() {
        let url =
            Url::parse("https://user:secret@example.org:8443/a/b?token=secret#secret").unwrap();
        assert_eq!(redacted(&url), "https://example.org:8443/a/b?[redacted]");
    }

    #[test]
    fn a_record_survives_a_round_trip() {
        let (scope, url) = (
            Scope::named("example.org"),
            Url::parse("http://example.org/x").unwrap(),
        );
        let subject = Subject {
            scope: &scope,
            url: &url,
            kind: Kind::Page,
            attempt: 1,
            polite: true,
        };
        let until = Timestamp::from_micros(1_716_215_521_123_456);
        for event in [
            Event::HoldStarted { until },
            Event::ScopeSuppressed { until: None },
            Event::DynamicDelayApplied {
                before_ms: 0.0,
                after_ms: 1000.0,
                until: Some(until),
            },
            Event::Deferred {
                until,
                reason: Reason::ServerHold,
            },
        ] {
            let record = Entry::of(&subject, event).placed(until, "p", 2, "abc");
            let line = serde_json::to_string(&record).unwrap();
            assert_eq!(
                serde_json::from_str::<Record>(&line).unwrap(),
                record,
                "{line}"
            );
        }
    }
}
