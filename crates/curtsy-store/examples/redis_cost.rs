//! What a fleet costs its Redis: passes of the gate per second of Redis's CPU, and memory per scope.
//!
//! ```text
//! redis-server --port 7000 --save '' & cargo run --release --features redis --example redis_cost -- redis://127.0.0.1:7000
//! ```
//!
//! Eight connections, as of eight workers, change 1,000 scopes: two swaps a pass, as a departure and its
//! outcome make, and nothing else of a request. The CPU is Redis's own figure, so that it matters little what
//! else the machine does.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use curtsy_store::{HostStore, RedisStore, RedisUrl, Swap, Version};

const WORKERS: usize = 8;
const SCOPES: usize = 1_000;
/// Requests of one worker at the gate at once.
const AT_ONCE: usize = 32;
const RUN: Duration = Duration::from_secs(5);
/// As large as the state of a scope with a published quota.
const STATE: usize = 500;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let url = std::env::args().nth(1).expect("the URL of a Redis");
    let url: RedisUrl = url.parse().unwrap();
    let client = redis::Client::open(url.to_string()).unwrap();
    let mut asking = client.get_multiplexed_async_connection().await.unwrap();
    let before = info(&mut asking, "used_memory").await;
    let store = RedisStore::open(&url).await.unwrap();
    for n in 0..SCOPES {
        let scope = scope(n);
        let first = store.compare_and_swap(&scope, Version::ABSENT, vec![b'x'; STATE]);
        first.await.unwrap();
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
            let scope = scope(n);
            let mut version = store.load(&scope).await.unwrap().unwrap().version;
            // So many in a row: a worker keeps a scope, and what it knows of it.
            for _ in 0..20 {
                for _ in ["departure", "outcome"] {
                    let swap = store.compare_and_swap(&scope, version, vec![b'x'; STATE]);
                    version = match swap.await.unwrap() {
                        Swap::Stored(version) => version,
                        other => panic!("{other:?}"),
                    };
                }
                passes += 1;
            }
        }
    }
    passes
}

fn scope(n: usize) -> String {
    format!("scope:host-{n}.example.org")
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
