//! What a fleet costs its Redis: passes of the gate per second of Redis's CPU, and memory per scope.
//!
//! ```text
//! redis-server --port 7000 --save '' & cargo run --release --features redis --example redis_cost -- redis://127.0.0.1:7000
//! ```
//!
//! Eight connections, as of eight workers, let requests to 1,000 scopes pass: each pass decides, swaps in the
//! departure, and settles, which swaps in what a healthy answer with a quota changes; nothing is fetched. Each
//! scope has a time of its own that goes on by a second a pass, so that nothing waits. The CPU is Redis's own
//! figure, so that it matters little what else the machine does.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use curtsy_core::signal::{self, Signal};
use curtsy_core::{
    Answer, Ask, Attempt, Decision, Draw, HostState, Kind, Policy, PolicyValues, Timestamp, decide,
    observe,
};
use curtsy_store::{HostStore, RedisStore, RedisUrl, Swap, Version};
use http::HeaderMap;

const WORKERS: usize = 8;
const SCOPES: usize = 1_000;
/// Requests of one worker at the gate at once.
const AT_ONCE: usize = 32;
const RUN: Duration = Duration::from_secs(5);

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let url = std::env::args().nth(1).expect("the URL of a Redis");
    let url: RedisUrl = url.parse().unwrap();
    let client = redis::Client::open(url.to_string()).unwrap();
    let mut asking = client.get_multiplexed_async_connection().await.unwrap();
    let before = info(&mut asking, "used_memory").await;
    let store = RedisStore::open(&url).await.unwrap();
    for n in 0..SCOPES {
        let mut scope = Scope::new(n);
        scope.pass(&store).await;
    }
    let memory = (info(&mut asking, "used_memory").await - before) / SCOPES as f64;
    let (cpu, started) = (cpu(&mut asking).await, Instant::now());
    let mut tasks = Vec::new();
    for worker in 0..WORKERS {
        let store = Arc::new(RedisStore::open(&url).await.unwrap());
        for place in 0..AT_ONCE {
            let store = Arc::clone(&store);
            // Each has scopes of its own, as leases see to it.
            let first = worker * AT_ONCE + place;
            tasks.push(tokio::spawn(pass(store, first, started)));
        }
    }
    let mut passes = 0;
    for task in tasks {
        passes += task.await.unwrap();
    }
    let wall = started.elapsed().as_secs_f64();
    let cpu = self::cpu(&mut asking).await - cpu;
    println!(
        "{passes} passes in {wall:.1} s: {:.0}/s",
        f64::from(passes) / wall
    );
    println!(
        "Redis's CPU: {:.1} µs a pass, so {:.0} passes/s on one core",
        cpu * 1e6 / f64::from(passes),
        f64::from(passes) / cpu
    );
    println!("{memory:.0} bytes a scope");
}

async fn pass(store: Arc<RedisStore>, first: usize, started: Instant) -> u32 {
    let mut passes = 0;
    while started.elapsed() < RUN {
        for n in (first..SCOPES).step_by(WORKERS * AT_ONCE) {
            let mut scope = Scope::new(n);
            scope.load(&store).await;
            // So many in a row: a worker keeps a scope, and what it knows of it.
            for _ in 0..20 {
                scope.pass(&store).await;
                passes += 1;
            }
        }
    }
    passes
}

/// A scope as its worker knows it.
struct Scope {
    key: String,
    policy: Policy,
    version: Version,
    state: HostState,
}

impl Scope {
    fn new(n: usize) -> Self {
        Self {
            key: format!("scope:host-{n}.example.org"),
            policy: PolicyValues::compliant().build().unwrap(),
            version: Version::ABSENT,
            state: HostState::default(),
        }
    }

    async fn load(&mut self, store: &RedisStore) {
        let there = store.load(&self.key).await.unwrap().unwrap();
        self.version = there.version;
        self.state = serde_json::from_slice(&there.value).unwrap();
    }

    async fn pass(&mut self, store: &RedisStore) {
        let passes = self.state.departures();
        let now = Timestamp::from_secs(1_800_000_000 + passes);
        let ask = Ask::page(now);
        let Decision::Depart(permit) = decide(&self.policy, &self.state, &ask, now, Draw::LEAST)
        else {
            panic!("it has to wait");
        };
        self.swap(store, permit.state).await;
        let attempt = Attempt {
            seq: permit.seq,
            kind: Kind::Page,
            departed: now,
            host: "example.org",
        };
        let answer = Answer::Head {
            status: 200,
            latency: Duration::from_millis(50),
            signal: &quota(49 - passes % 20, now),
        };
        let settled = now.after(Duration::from_millis(50));
        let observed = observe(
            &self.policy,
            &self.state,
            &attempt,
            &answer,
            settled,
            Draw::LEAST,
        );
        self.swap(store, observed.state).await;
    }

    async fn swap(&mut self, store: &RedisStore, state: HostState) {
        let value = serde_json::to_vec(&state).unwrap();
        let swap = store.compare_and_swap(&self.key, self.version, value);
        self.version = match swap.await.unwrap() {
            Swap::Stored(version) => version,
            other => panic!("{other:?}"),
        };
        self.state = state;
    }
}

/// What a server says that permits ten a second.
fn quota(remaining: u64, now: Timestamp) -> Signal {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("ratelimit-policy", "50;w=5".to_owned()),
        ("ratelimit-remaining", remaining.to_string()),
        ("ratelimit-reset", "5".to_owned()),
    ] {
        headers.insert(name, value.parse().unwrap());
    }
    signal::read(200, &headers, now, None, None)
}

async fn cpu(asking: &mut redis::aio::MultiplexedConnection) -> f64 {
    info(asking, "used_cpu_user").await + info(asking, "used_cpu_sys").await
}

async fn info(asking: &mut redis::aio::MultiplexedConnection, name: &str) -> f64 {
    let info: String = redis::cmd("INFO").query_async(asking).await.unwrap();
    let prefix = format!("{name}:");
    let line = info.lines().find_map(|line| line.strip_prefix(&prefix));
    line.unwrap().trim().parse().unwrap()
}
