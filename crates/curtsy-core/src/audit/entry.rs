//! [`Entry`]: an event put into the words of the record.

use std::sync::Arc;
use std::time::Duration;

use url::Url;

use super::event::{BodyRead, Cited, Departure, Event, Outcome};
use super::noted::{Noted, Turn};
use super::record::{Head, Record};
use super::redacted::redacted;
use crate::breaker::Breaker;
use crate::decision::{Bound, Permit};
use crate::observe::{Attempt, Change, Observed};
use crate::outcome::{Answer, Class, Kind};
use crate::policy::Policy;
use crate::time::millis;
use crate::{Draw, Scope, Signal, Timestamp};

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
    /// How the scope is treated.
    pub policy: &'a Arc<Policy>,
}

/// An answer as it was observed.
#[derive(Clone, Copy, Debug)]
pub struct Heard<'a> {
    /// Of which departure.
    pub attempt: &'a Attempt<'a>,
    /// The answer.
    pub answer: &'a Answer<'a>,
    /// When it was observed.
    pub at: Timestamp,
    /// The draw for the jitter of a hold.
    pub draw: Draw,
}

/// An event with the fields of all, before the log gives it time, number and chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    record: Record,
    /// Of a state: the policy that its scope is treated by, which the log tells once and gives a number.
    policy: Option<Arc<Policy>>,
}

impl Entry {
    /// An event about the run.
    #[must_use]
    pub fn of_run(event: Event) -> Self {
        let head = Head {
            compliance_flag: true,
            ..Head::default()
        };
        Self {
            record: Record { head, event },
            policy: None,
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
        record.compliance_flag = subject.policy.polite;
        entry
    }

    /// The permit of a departure, and what its robots.txt says of it.
    #[must_use]
    pub fn departure(
        subject: &Subject<'_>,
        permit: &Permit,
        robots: Option<&Cited>,
        turn: Turn,
    ) -> Vec<Self> {
        let Bound { not_before, reason } = permit.bound;
        let event = Event::Departure(Departure {
            departure: permit.seq,
            not_before,
            permitted_at: permit.at,
            reason,
            draw: permit.state.interval_draw,
            waited_ms: permit.at.since(permit.ask.since),
            own: Some(permit.ask.own).filter(|own| *own != Bound::FREE),
            robots: robots.cloned(),
        });
        let mut entry = Self::of(subject, event);
        entry.record.trigger = Some(reason.label().to_owned());
        let is_probe =
            matches!(permit.state.breaker, Breaker::HalfOpen { probe, .. } if probe == permit.seq);
        let half_open = is_probe.then(|| Self::of(subject, Event::BreakerHalfOpen {}));
        Self::at_turn(subject, turn, half_open, entry)
    }

    /// What came back, and everything that it changed.
    #[must_use]
    pub fn outcome(
        subject: &Subject<'_>,
        heard: &Heard<'_>,
        observed: &Observed,
        mut turn: Turn,
    ) -> Vec<Self> {
        let Attempt { seq, departed, .. } = *heard.attempt;
        let mut outcome = Outcome::of(seq, departed, observed.class);
        let mut status_code = None;
        match heard.answer {
            Answer::Head {
                status,
                latency,
                signal,
            } => {
                status_code = Some(*status);
                outcome.latency_ms = Some(*latency);
                outcome.read(signal);
            }
            Answer::Failed(why) => outcome.failure = Some(why.label().to_owned()),
            Answer::Abandoned => outcome.failure = Some("abandoned".to_owned()),
        }
        // That it departed then is said once.
        let own = Noted::Departed {
            departure: seq,
            at: departed,
        };
        if turn.noted == [own] {
            turn.noted.clear();
        }
        let came_at = outcome.latency_ms.map(|latency| departed.after(latency));
        outcome.noted_at = Some(heard.at).filter(|at| Some(*at) != came_at);
        outcome.draw = Some(heard.draw).filter(|_| outcome.may_hold());
        let mut first = Self::of(subject, Event::Outcome(outcome));
        first.record.status_code = status_code;
        let mut entries = Self::at_turn(subject, turn, None, first);
        entries.extend(Self::changes(subject, heard.answer, observed));
        entries
    }

    /// What only the body of an answer says beyond what its `head` did, and everything that it changed.
    #[must_use]
    pub fn body_read(
        subject: &Subject<'_>,
        heard: &Heard<'_>,
        head: &Signal,
        observed: &Observed,
        turn: Turn,
    ) -> Vec<Self> {
        let Answer::Head { status, signal, .. } = heard.answer else {
            return Vec::new();
        };
        let event = Event::BodyRead(Box::new(BodyRead {
            departure: heard.attempt.seq,
            departed_at: heard.attempt.departed,
            noted_at: heard.at,
            of_head: head.clone(),
            signal: (*signal).clone(),
            draw: heard.draw,
        }));
        let mut first = Self::of(subject, event);
        first.record.status_code = Some(*status);
        let mut entries = Self::at_turn(subject, turn, None, first);
        entries.extend(Self::changes(subject, heard.answer, observed));
        entries
    }

    /// The event of a turn, after what leads to it.
    fn at_turn(
        subject: &Subject<'_>,
        turn: Turn,
        before: Option<Self>,
        mut event: Self,
    ) -> Vec<Self> {
        event.record.turn = Some(turn.number);
        event.record.noted = turn.noted;
        let read = turn.read.map(|read| {
            let mut entry = Self::of_scope(subject.scope, Event::StateRead(read), "state_store");
            entry.record.turn = Some(turn.number);
            entry.policy = Some(Arc::clone(subject.policy));
            entry
        });
        read.into_iter().chain(before).chain([event]).collect()
    }

    /// What an answer changed.
    fn changes(
        subject: &Subject<'_>,
        answer: &Answer<'_>,
        observed: &Observed,
    ) -> impl Iterator<Item = Self> {
        let status_code = match answer {
            Answer::Head { status, .. } => Some(*status),
            _ => None,
        };
        observed.changes.iter().map(move |change| {
            let said = Said::of(change);
            let mut entry = Self::of(subject, said.event);
            let record = &mut entry.record;
            record.trigger = said.trigger;
            [
                record.base_delay_ms,
                record.computed_delay_ms,
                record.jitter_ms,
            ] = said.delays_ms;
            record.status_code = status_code;
            entry
        })
    }

    /// The policy of the scope whose state this is, where it is one.
    #[must_use]
    pub fn policy(&self) -> Option<&Arc<Policy>> {
        self.policy.as_ref()
    }

    /// The same with the number that the log has given its policy.
    #[must_use]
    pub fn citing(mut self, policy: u64) -> Self {
        if let Event::StateRead(read) = &mut self.record.event {
            read.policy = policy;
        }
        self
    }

    /// The record with the place in its log that the log gives it.
    #[must_use]
    pub fn placed(mut self, timestamp: &str, pipeline_id: &str, seq: u64, prev: String) -> Record {
        timestamp.clone_into(&mut self.record.timestamp);
        pipeline_id.clone_into(&mut self.record.pipeline_id);
        self.record.seq = seq;
        self.record.prev = prev;
        self.record
    }
}

impl Outcome {
    fn of(departure: u64, departed_at: Timestamp, class: Option<Class>) -> Self {
        Self {
            departure,
            departed_at,
            class,
            failure: None,
            latency_ms: None,
            noted_at: None,
            wait_ms: None,
            wait_from: None,
            quota_remaining: None,
            quota_reset_ms: None,
            signal: None,
            draw: None,
        }
    }

    fn read(&mut self, signal: &Signal) {
        if let Some(wait) = &signal.wait {
            self.wait_ms = Some(millis::of(wait.after));
            self.wait_from = Some(wait.source.to_string());
        }
        if let Some(quota) = signal.quotas.first() {
            self.quota_remaining = quota.remaining;
            self.quota_reset_ms = quota.reset.map(|reset| millis::of(reset.after));
        }
        self.signal = (!signal.is_silent()).then(|| Box::new(signal.clone()));
    }

    /// Whether what it says apart of the wait and the quota is what its signal says.
    pub(super) fn is_consistent(&self) -> bool {
        let mut again = Self::of(self.departure, self.departed_at, self.class);
        if let Some(signal) = &self.signal {
            again.read(signal);
        }
        let told = |of: &Self| (of.wait_ms, of.quota_remaining, of.quota_reset_ms);
        told(self) == told(&again) && self.wait_from == again.wait_from
    }

    /// Whether a hold may follow, whose jitter is drawn.
    fn may_hold(&self) -> bool {
        let is_well = matches!(self.class, Some(Class::Healthy | Class::Slow));
        !is_well || self.signal.is_some()
    }
}

/// A change as the record has it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Said {
    pub(super) event: Event,
    pub(super) trigger: Option<String>,
    /// Before jitter or buffer, with it, and the jitter or buffer.
    pub(super) delays_ms: [Option<f64>; 3],
}

impl Said {
    pub(super) fn of(change: &Change) -> Self {
        let said = |event, trigger: Option<&String>| Self {
            event,
            trigger: trigger.cloned(),
            delays_ms: [None; 3],
        };
        match change {
            Change::RateAdjusted {
                before,
                after,
                trigger,
            } => said(
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
            } => {
                let event = Event::HoldStarted { until: *until };
                said(event, Some(trigger)).with_delays(*told, *buffer)
            }
            Change::DynamicDelay {
                before,
                after,
                jitter,
                until,
                trigger,
            } => {
                let event = Event::DynamicDelayApplied {
                    before_ms: millis::of(*before),
                    after_ms: millis::of(*after),
                    until: *until,
                };
                said(event, Some(trigger)).with_delays(*after, *jitter)
            }
            Change::BreakerOpened { until, trigger } => {
                said(Event::BreakerOpened { until: *until }, Some(trigger))
            }
            Change::BreakerClosed => said(Event::BreakerClosed {}, None),
            Change::Suppressed { until } => said(Event::ScopeSuppressed { until: *until }, None),
            Change::SuppressionLifted => said(Event::SuppressionLifted {}, None),
        }
    }

    /// Whether the record says the same.
    pub(super) fn is(&self, record: &Record) -> bool {
        let told = [
            record.base_delay_ms,
            record.computed_delay_ms,
            record.jitter_ms,
        ];
        self.event == record.event && self.trigger == record.trigger && self.delays_ms == told
    }

    /// What it is, for people.
    pub(super) fn words(&self) -> String {
        let trigger = self.trigger.as_deref().unwrap_or("itself");
        format!("{:?}, caused by {trigger}", self.event)
    }

    fn with_delays(mut self, base: Duration, added: Duration) -> Self {
        let whole = base.saturating_add(added);
        self.delays_ms = [base, whole, added].map(|delay| Some(millis::of(delay)));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reason;

    #[test]
    fn t1_every_line_has_the_fields_of_all() {
        let entry = Entry::of_run(Event::BreakerClosed {});
        let line =
            serde_json::to_value(entry.placed("2024-05-20T14:32:01.000Z", "p-1", 1, String::new()))
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
        assert_eq!(line["event"], "breaker_closed");
    }

    #[test]
    fn a_record_survives_a_round_trip() {
        let (scope, url) = (
            Scope::named("example.org"),
            Url::parse("http://example.org/x").unwrap(),
        );
        let policy = Arc::default();
        let subject = Subject {
            scope: &scope,
            url: &url,
            kind: Kind::Page,
            attempt: 1,
            policy: &policy,
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
            let record = Entry::of(&subject, event).placed("", "p", 2, "abc".to_owned());
            let line = serde_json::to_string(&record).unwrap();
            assert_eq!(
                serde_json::from_str::<Record>(&line).unwrap(),
                record,
                "{line}"
            );
        }
    }
}
