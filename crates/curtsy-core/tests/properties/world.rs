//! A scope and its server, with a second, simple-minded account of what must not happen.

use std::time::Duration;

use curtsy_core::{
    Answer, Ask, Attempt, Decision, Draw, Failure, HostState, Kind, Origin, Policy, Timestamp,
    decide, observe, signal,
};
use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};
use url::Url;

use crate::history::{Said, Step};

/// What happens, and what was promised meanwhile.
pub(crate) struct World {
    pub(crate) policy: Policy,
    pub(crate) state: HostState,
    pub(crate) now: Timestamp,
    draws: u64,
    in_flight: Vec<(u64, Timestamp)>,
    departures: Vec<Departure>,
    /// Until when the server asked for quiet, by its waits alone.
    quiet_until: Timestamp,
    /// Until when a connection that failed, or a refusal without a wait, holds at least.
    backed_off_until: Timestamp,
    /// When the delay was last multiplied, for all that can be told from outside.
    overloaded_at: Timestamp,
    crawl_delay: Option<Duration>,
}

/// A departure, and what it had to wait for.
struct Departure {
    at: Timestamp,
    quiet_until: Timestamp,
    backed_off_until: Timestamp,
    interval: Duration,
}

impl World {
    pub(crate) fn new(policy: Policy) -> Self {
        Self {
            policy,
            state: HostState::default(),
            now: Timestamp::from_secs(1_700_000_000),
            draws: 0,
            in_flight: Vec::new(),
            departures: Vec::new(),
            quiet_until: Timestamp::EPOCH,
            backed_off_until: Timestamp::EPOCH,
            overloaded_at: Timestamp::EPOCH,
            crawl_delay: None,
        }
    }

    pub(crate) fn take(&mut self, step: &Step) {
        match step {
            Step::Pass(ms) => self.now = self.now.after(Duration::from_millis(*ms)),
            Step::Depart { patient } => self.depart(*patient),
            Step::Answer { nth, said } => self.answer(*nth, said),
            Step::CrawlDelay(delay) => {
                self.crawl_delay = delay.map(Duration::from_millis);
                let url = Url::parse("https://example.org/").unwrap();
                let origin = Origin::of(&url).unwrap();
                self.state.note_crawl_delay(&origin, self.crawl_delay);
            }
            Step::Restart => {
                let text = serde_json::to_string(&self.state).unwrap();
                let back: HostState = serde_json::from_str(&text).unwrap();
                self.state = back.restored(&self.policy, self.now);
            }
        }
    }

    fn depart(&mut self, patient: bool) {
        if self.in_flight.len() >= self.policy.per_host as usize {
            return;
        }
        let draw = self.draw();
        let mut decision = decide(&self.policy, &self.state, &ask(self.now), self.now, draw);
        if let (Decision::Wait(bound) | Decision::Defer(bound), true) = (&decision, patient) {
            self.now = bound.not_before;
            decision = decide(&self.policy, &self.state, &ask(self.now), self.now, draw);
        }
        if let Decision::Depart(permit) = decision {
            self.departures.push(Departure {
                at: self.now,
                quiet_until: self.quiet_until,
                backed_off_until: self.backed_off_until,
                interval: self.least_interval(),
            });
            self.in_flight.push((permit.seq, self.now));
            self.state = permit.state;
        }
    }

    fn answer(&mut self, nth: usize, said: &Said) {
        if self.in_flight.is_empty() {
            return;
        }
        let (seq, departed) = self.in_flight.remove(nth % self.in_flight.len());
        // It takes at least a millisecond.
        self.now = self.now.max(departed.after(Duration::from_millis(1)));
        let draw = self.draw();
        let now = self.now;
        observe_at(
            &self.policy,
            &mut self.state,
            now,
            said,
            draw,
            (seq, departed),
        );
        self.note(departed, said);
    }

    /// Keeps account, in the plainest way, of what the answer asks for.
    fn note(&mut self, departed: Timestamp, said: &Said) {
        let stated = match said {
            Said::Head(429 | 503 | 504, fields) => fields
                .iter()
                .find(|(name, _)| *name == "retry-after")
                .and_then(|(_, value)| value.parse::<u32>().ok())
                .map(|secs| Duration::from_secs(secs.into())),
            _ => None,
        };
        if let Some(wait) = stated {
            let wait = match self.policy.retry_after_over_cap {
                curtsy_core::policy::OverCap::Defer => wait,
                curtsy_core::policy::OverCap::Clamp => wait.min(self.policy.max_retry_after),
            };
            self.quiet_until = self.quiet_until.max(self.now.after(wait));
        }
        let is_overload = match said {
            Said::Head(status, fields) => matches!(status, 429 | 503 | 504) && fields.is_empty(),
            Said::Failed(failure) => *failure != Failure::Protocol,
            Said::Abandoned => false,
        };
        // Of a burst, one counts: it is the core's business which. What departed after the last overload that
        // could have counted is none of that burst.
        if is_overload && departed > self.overloaded_at {
            self.backed_off_until = self.now.after(self.policy.backoff_base);
        }
        if !matches!(said, Said::Abandoned) {
            self.overloaded_at = self.now;
        }
    }

    /// The shortest interval that anything allows before the next departure.
    fn least_interval(&self) -> Duration {
        let configured = self
            .policy
            .delay
            .map_or(Duration::ZERO, |delay| delay.min());
        let crawl_delay = self.crawl_delay.filter(|_| self.policy.respect_robots);
        configured.max(crawl_delay.unwrap_or_default())
    }

    fn draw(&mut self) -> Draw {
        self.draws += 1;
        Draw::new((self.draws as f64 * 0.618_034) % 1.0)
    }

    /// Holds every departure against the account.
    pub(crate) fn judge(&self) {
        for departure in &self.departures {
            assert!(
                departure.at >= departure.quiet_until,
                "in a hold that was asked for"
            );
            assert!(
                departure.at >= departure.backed_off_until,
                "before the backoff had passed"
            );
        }
        for two in self.departures.windows(2) {
            let gap = two[1].at.since(two[0].at);
            assert!(gap >= two[1].interval, "{gap:?} after the one before");
        }
        self.judge_rate();
    }

    /// P3, H8: never more than the burst and what the highest rate brings, over any span.
    fn judge_rate(&self) {
        let policy = &self.policy;
        let is_free = policy.tos_cap.is_none()
            && (!policy.bucket || policy.rate.is_none() && policy.delay.is_some());
        if is_free {
            return;
        }
        let ceiling = policy.clamp_rate(f64::INFINITY);
        let most =
            |span: Duration| f64::from(policy.burst) + ceiling * (span.as_secs_f64() + 0.006);
        for (nth, first) in self.departures.iter().enumerate() {
            for (more, last) in self.departures[nth..].iter().enumerate() {
                let span = last.at.since(first.at);
                assert!(more as f64 <= most(span), "{more} more within {span:?}");
            }
        }
    }
}

pub(crate) fn ask(now: Timestamp) -> Ask {
    Ask::page(now)
}

/// The last departure is answered now, a second after it left.
pub(crate) fn land(policy: &Policy, state: &mut HostState, now: Timestamp, said: &Said) {
    land_at(policy, state, now, said, Draw::LEAST);
}

pub(crate) fn land_at(
    policy: &Policy,
    state: &mut HostState,
    now: Timestamp,
    said: &Said,
    draw: Draw,
) {
    let departed = state.last_departure().unwrap_or(now);
    let last = (state.departures(), departed);
    observe_at(policy, state, now, said, draw, last);
}

fn observe_at(
    policy: &Policy,
    state: &mut HostState,
    now: Timestamp,
    said: &Said,
    draw: Draw,
    (seq, departed): (u64, Timestamp),
) {
    let signal;
    let answer = match said {
        Said::Head(status, fields) => {
            signal = signal::read(*status, &headers(fields), now, None, None);
            Answer::Head {
                status: *status,
                latency: now.since(departed),
                signal: &signal,
            }
        }
        Said::Failed(failure) => Answer::Failed(*failure),
        Said::Abandoned => Answer::Abandoned,
    };
    let attempt = Attempt {
        seq,
        kind: Kind::Page,
        departed,
        host: "example.org",
    };
    *state = observe(policy, state, &attempt, &answer, now, draw).state;
}

fn headers(fields: &[(&'static str, String)]) -> HeaderMap {
    let field = |(name, value): &(&'static str, String)| {
        let value = HeaderValue::try_from(value.as_str()).ok()?;
        Some((HeaderName::from_static(name), value))
    };
    fields.iter().filter_map(field).collect()
}
