//! One scope in virtual time: what a test says happens, and nothing else does.

use std::time::Duration;

use curtsy_core::policy::Recovery;
use curtsy_core::{
    Answer, Ask, Attempt, Bound, Bounds, Change, Decision, Draw, Failure, HostState, Kind, Next,
    Observed, Permit, Policy, PolicyValues, Timestamp, bounds, decide, observe, retry, signal,
};
use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};

/// How long every answer takes, unless a test says otherwise.
pub(crate) const LATENCY: Duration = Duration::from_millis(5);

/// When all scenes begin: a whole second, so that expected times are easy to read.
pub(crate) const START: Timestamp = Timestamp::from_secs(1_700_000_000);

pub(crate) const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

pub(crate) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// The scope, its policy and the time.
pub(crate) struct Scene {
    pub(crate) policy: Policy,
    pub(crate) state: HostState,
    pub(crate) now: Timestamp,
    /// What every draw is.
    pub(crate) draw: Draw,
}

impl Scene {
    pub(crate) fn with(values: PolicyValues) -> Self {
        Self {
            policy: values.build().unwrap(),
            state: HostState::default(),
            now: START,
            draw: Draw::LEAST,
        }
    }

    /// The default preset, without the guess of P6 that most tests are not about.
    pub(crate) fn compliant() -> Self {
        let mut values = PolicyValues::compliant();
        values.respect_robots = false;
        Self::with(values)
    }

    /// The same with the linear recovery of D4.
    pub(crate) fn linear() -> Self {
        Self::compliant().but(|p| p.recovery = Recovery::Linear)
    }

    pub(crate) fn http_client() -> Self {
        Self::with(PolicyValues::http_client())
    }

    /// The same scene with some values of its policy changed.
    pub(crate) fn but(self, change: impl FnOnce(&mut PolicyValues)) -> Self {
        let mut values = self.policy.values();
        change(&mut values);
        Self {
            policy: values.build().unwrap(),
            ..self
        }
    }

    pub(crate) fn pass(&mut self, time: Duration) {
        self.now = self.now.after(time);
    }

    pub(crate) fn ask(&self) -> Ask {
        Ask::page(self.now)
    }

    pub(crate) fn decide(&self) -> Decision {
        decide(&self.policy, &self.state, &self.ask(), self.now, self.draw)
    }

    pub(crate) fn bounds(&self) -> Bounds {
        bounds(&self.policy, &self.state, &self.ask(), self.now)
    }

    pub(crate) fn bound(&self) -> Bound {
        self.bounds().latest()
    }

    /// How long the next departure has to wait.
    pub(crate) fn wait(&self) -> Duration {
        self.bound().not_before.since(self.now)
    }

    /// Takes the permit that there must be now.
    pub(crate) fn depart_now(&mut self) -> Permit {
        match self.decide() {
            Decision::Depart(permit) => {
                self.state = permit.state.clone();
                *permit
            }
            other => panic!("no permit: {other:?}"),
        }
    }

    /// Waits as long as it takes and departs; the departure's number.
    pub(crate) fn depart(&mut self) -> u64 {
        self.pass(self.wait());
        self.depart_now().seq
    }

    /// Waits as long as it takes and departs; how long that was.
    pub(crate) fn gap(&mut self) -> Duration {
        let wait = self.wait();
        self.depart();
        wait
    }

    /// An answer to departure `seq`, which left at `departed`, comes now.
    pub(crate) fn answer(
        &mut self,
        seq: u64,
        departed: Timestamp,
        status: u16,
        fields: &[(&str, &str)],
    ) -> Observed {
        let signal = signal::read(status, &headers(fields), self.now, None, None);
        let answer = Answer::Head {
            status,
            latency: self.now.since(departed),
            signal: &signal,
        };
        self.observe(seq, departed, Kind::Page, &answer)
    }

    pub(crate) fn observe(
        &mut self,
        seq: u64,
        departed: Timestamp,
        kind: Kind,
        answer: &Answer<'_>,
    ) -> Observed {
        let attempt = Attempt {
            seq,
            kind,
            departed,
            host: "example.org",
        };
        let observed = observe(
            &self.policy,
            &self.state,
            &attempt,
            answer,
            self.now,
            self.draw,
        );
        self.state = observed.state.clone();
        observed
    }

    /// One request from its departure, as soon as that may be, to its answer.
    pub(crate) fn fetch(&mut self, status: u16, fields: &[(&str, &str)]) -> Observed {
        let seq = self.depart();
        let departed = self.now;
        self.pass(LATENCY);
        self.answer(seq, departed, status, fields)
    }

    /// One request whose connection fails.
    pub(crate) fn fail(&mut self, failure: Failure) -> Observed {
        let seq = self.depart();
        let departed = self.now;
        self.pass(LATENCY);
        self.observe(seq, departed, Kind::Page, &Answer::Failed(failure))
    }

    /// What becomes of a request after `tries`, the last of which was answered so.
    pub(crate) fn retry(&self, tries: u32, status: u16, fields: &[(&str, &str)]) -> Next {
        let signal = signal::read(status, &headers(fields), self.now, None, None);
        let answer = Answer::Head {
            status,
            latency: LATENCY,
            signal: &signal,
        };
        let mut aside = Self {
            policy: self.policy.clone(),
            state: HostState::default(),
            ..*self
        };
        let class = aside.observe(0, self.now, Kind::Page, &answer).class;
        retry(
            &self.policy,
            true,
            &answer,
            class.unwrap(),
            tries,
            self.now,
            self.draw,
        )
    }
}

pub(crate) fn headers(fields: &[(&str, &str)]) -> HeaderMap {
    let field = |&(name, value): &(&str, &str)| {
        (
            HeaderName::try_from(name).unwrap(),
            HeaderValue::try_from(value).unwrap(),
        )
    };
    fields.iter().map(field).collect()
}

/// The fields of a quota of `limit` in `window`.
pub(crate) fn quota(limit: u64, window: u64, remaining: u64, reset: &str) -> [(String, String); 4] {
    [
        ("ratelimit-policy", format!("{limit};w={window}")),
        ("ratelimit-limit", limit.to_string()),
        ("ratelimit-remaining", remaining.to_string()),
        ("ratelimit-reset", reset.to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
}

/// Names and values as [`Scene::fetch`] takes them.
pub(crate) fn fields(owned: &[(String, String)]) -> Vec<(&str, &str)> {
    owned
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect()
}

/// The holds that an answer started: how long as told, and how much longer.
pub(crate) fn holds(observed: &Observed) -> Vec<(Duration, Duration)> {
    let hold = |change: &Change| match change {
        Change::HoldStarted { told, buffer, .. } => Some((*told, *buffer)),
        _ => None,
    };
    observed.changes.iter().filter_map(hold).collect()
}
