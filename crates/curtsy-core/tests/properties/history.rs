//! Policies, servers' words and histories, made up.

use std::time::Duration;

use curtsy_core::{Failure, HostState, Interval, Policy, PolicyValues, Timestamp};
use proptest::prelude::*;

use crate::world::World;

/// What a server says to one request.
#[derive(Clone, Debug)]
pub(crate) enum Said {
    Head(u16, Vec<(&'static str, String)>),
    Failed(Failure),
    Abandoned,
}

/// One thing that happens.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Time passes, milliseconds.
    Pass(u64),
    /// A request asks, and departs if it may; else, if `patient`, when it may.
    Depart { patient: bool },
    /// One of the requests in flight is answered.
    Answer { nth: usize, said: Said },
    /// A robots.txt tells its Crawl-delay, milliseconds.
    CrawlDelay(Option<u64>),
    /// The state goes into its store and comes back.
    Restart,
}

impl Said {
    /// The same with nothing in it that could be understood, as a success.
    pub(crate) fn garbled(self) -> Self {
        let fields = match self {
            Self::Head(_, fields) => fields,
            Self::Failed(_) | Self::Abandoned => Vec::new(),
        };
        let garble = |(name, value): (&'static str, String)| match name {
            "retry-after" => (name, format!("{value}junk")),
            _ => (name, format!("<{value}>")),
        };
        Self::Head(404, fields.into_iter().map(garble).collect())
    }
}

/// A failure of the host: no connection, or a refusal with or without a wait.
pub(crate) fn failure() -> impl Strategy<Value = Said> {
    let wait = prop::option::of(0_u64..100_000);
    let status = prop::sample::select(vec![429, 503, 504]);
    prop_oneof![
        1 => connection().prop_map(Said::Failed),
        2 => (status, wait).prop_map(|(status, wait)| {
            let field = wait.map(|secs| ("retry-after", secs.to_string()));
            Said::Head(status, field.into_iter().collect())
        }),
    ]
}

fn connection() -> impl Strategy<Value = Failure> {
    prop::sample::select(vec![
        Failure::Dns,
        Failure::Refused,
        Failure::Reset,
        Failure::Timeout,
        Failure::Tls,
        Failure::Protocol,
    ])
}

pub(crate) fn said() -> impl Strategy<Value = Said> {
    let status = prop_oneof![
        8 => Just(200_u16),
        2 => prop::sample::select(vec![301, 304, 404]),
        2 => Just(403_u16),
        4 => prop::sample::select(vec![429, 503, 504]),
        2 => prop::sample::select(vec![400, 420, 500, 502, 529]),
    ];
    prop_oneof![
        12 => (status, fields()).prop_map(|(status, fields)| Said::Head(status, fields)),
        2 => connection().prop_map(Said::Failed),
        1 => Just(Said::Abandoned),
    ]
}

/// Fields about pace: none, a wait, a quota that may contradict all before, or nonsense.
fn fields() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let wait = prop_oneof![
        (0_u64..20).prop_map(|secs| secs.to_string()),
        (0_u64..100_000).prop_map(|secs| secs.to_string()),
        "[-0-9a-zA-Z.:, ]{0,12}",
    ];
    let reset = prop_oneof![
        (0_u64..70).prop_map(|secs| secs.to_string()),
        (0_u64..60_000).prop_map(|ms| format!("{}.{:03}", ms / 1_000, ms % 1_000)),
        (1_700_000_000_u64..1_700_001_000).prop_map(|epoch| epoch.to_string()),
        "[-0-9a-zA-Z.:]{0,8}",
    ];
    let quota = (0_u64..600, 1_u64..70, 0_u64..600, reset, any::<bool>());
    let quota = quota.prop_map(|(limit, window, remaining, reset, tells_window)| {
        let mut fields = vec![
            ("ratelimit-limit", limit.to_string()),
            ("ratelimit-remaining", remaining.min(limit).to_string()),
            ("ratelimit-reset", reset),
        ];
        if tells_window {
            fields.push(("ratelimit-policy", format!("{limit};w={window}")));
        }
        fields
    });
    prop_oneof![
        4 => Just(Vec::new()),
        2 => wait.prop_map(|wait| vec![("retry-after", wait)]),
        6 => quota,
        1 => "[ -~]{0,20}".prop_map(|text| vec![("ratelimit", text.clone()), ("x-ratelimit-remaining", text)]),
    ]
}

pub(crate) fn policy() -> impl Strategy<Value = Policy> {
    let rate = prop::sample::select(vec![None, Some(0.5), Some(2.0), Some(20.0)]);
    let burst = prop::sample::select(vec![1, 5, 20]);
    let delay = prop::sample::select(vec![None, Some((0, 300)), Some((1_000, 3_000))]);
    let cap = prop::sample::select(vec![None, None, Some(1.0)]);
    let per_host = prop::sample::select(vec![1, 2, 8, 32]);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    (rate, burst, delay, cap, per_host, flags).prop_map(
        |(rate, burst, delay, cap, per_host, (http_client, robots, breaker))| {
            let mut values = match http_client {
                true => PolicyValues::http_client(),
                false => PolicyValues::compliant(),
            };
            (values.rate, values.burst, values.tos_cap) = (rate, burst, cap);
            values.delay = delay.map(|(min, max)| range(min, max));
            (values.per_host, values.respect_robots) = (per_host, robots);
            if !breaker {
                values.breaker = None;
            }
            values.build().unwrap()
        },
    )
}

fn range(min: u64, max: u64) -> Interval {
    let [min, max] = [min, max].map(|ms| Some(Duration::from_millis(ms)));
    Interval::from_bounds(min, max).unwrap().unwrap()
}

pub(crate) fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0_u64..2_000).prop_map(Step::Pass),
        1 => (0_u64..600_000).prop_map(Step::Pass),
        10 => any::<bool>().prop_map(|patient| Step::Depart { patient }),
        10 => (0_usize..40, said()).prop_map(|(nth, said)| Step::Answer { nth, said }),
        1 => prop::option::of(0_u64..8_000).prop_map(Step::CrawlDelay),
        1 => Just(Step::Restart),
    ];
    prop::collection::vec(step, 1..most)
}

/// A policy, a state that came about under it, and the time; at least one request has departed.
pub(crate) fn history() -> impl Strategy<Value = (Policy, HostState, Timestamp)> {
    (policy(), steps(40)).prop_map(|(policy, steps)| {
        let mut world = World::new(policy);
        for step in std::iter::once(&Step::Depart { patient: true }).chain(&steps) {
            world.take(step);
        }
        (world.policy, world.state, world.now)
    })
}
