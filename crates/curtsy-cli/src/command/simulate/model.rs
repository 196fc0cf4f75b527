//! A client of the core before a modelled server.

use std::time::Duration;

use curtsy_core::simulate::{Client, Run, Told, simulate};
use curtsy_core::{HostState, Origin, Policy, Timestamp};
use curtsy_origin::{Modelled, Script};
use url::Url;

/// When all begins, as Unix time: an odd moment, so that no boundary is met by luck.
const START: Duration = Duration::from_micros(1_700_000_000_123_457);

/// A job: who sends what to whom.
pub(super) struct Model<'a> {
    pub(super) script: Script,
    pub(super) path: &'a str,
    pub(super) policy: Policy,
    pub(super) requests: u64,
    /// Virtual time after which it is broken off.
    pub(super) most: Duration,
}

/// What came of one run.
pub(super) struct Played {
    pub(super) origin: Modelled,
    pub(super) run: Run,
}

impl Model<'_> {
    /// Runs the job: the same seed, the same run.
    pub(super) fn play(&self, seed: u64) -> Played {
        let mut client = Client::new(self.policy.clone(), self.requests);
        client.seed = seed;
        client.state = self.remembered();
        let mut origin = Modelled::new(self.script.clone(), START);
        let start = Timestamp::EPOCH.after(START);
        let mut server = |at: Timestamp| {
            let told = origin.answer(self.path, at.since(start));
            Told {
                after: told.after,
                status: told.status,
                headers: told.headers,
            }
        };
        let mut runs = simulate(&[client], &mut server, start, self.most);
        Played {
            run: runs.remove(0),
            origin,
        }
    }

    /// Requests/s that the server admits in the long run, and that its Crawl-delay asks for; `None` where
    /// there is no such limit.
    pub(super) fn limit(&self) -> Option<f64> {
        let crawl_delay = self.script.crawl_delay().filter(|delay| !delay.is_zero());
        let policies = self.script.policies.iter();
        let governing = policies.filter(|policy| policy.governs(self.path));
        governing
            .filter_map(|policy| policy.rule.per_second())
            .chain(crawl_delay.map(|delay| 1.0 / delay.as_secs_f64()))
            .min_by(f64::total_cmp)
    }

    /// What a client knows that has read robots.txt.
    fn remembered(&self) -> HostState {
        let mut state = HostState::default();
        let origin = Url::parse("http://example.org/").ok();
        if let Some(origin) = origin.as_ref().and_then(Origin::of) {
            state.note_crawl_delay(&origin, self.script.crawl_delay());
        }
        state
    }
}
