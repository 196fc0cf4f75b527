//! The world of the tests, to be asked by hand: a server on loopback that plays every provider and some publishers,
//! with as many invented papers as are wanted.
//!
//! ```sh
//! cargo run -p curtsy-papers --example world -- 1000 > world.env &
//! source world.env
//! curtsy paper get 10.5555/curtsy.2024.0042 $CURTSY_WORLD
//! seq 0 999 | sed 's/^/10.5555\/world./' | curtsy paper batch - $CURTSY_WORLD
//! ```

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]

#[path = "../tests/world/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "the tests use the rest of the world"
)]
mod world;

use std::collections::BTreeMap;

use curtsy_papers::Provider;
use serde_json::json;
use world::World;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let papers = std::env::args().nth(1);
    let papers = papers.map_or(100, |papers| papers.parse().unwrap());
    let world = World::with_papers(papers).await;
    for (name, value) in world.variables() {
        println!("export {name}={value}");
    }
    println!("export CURTSY_CONTACT=rae@lab.example");
    println!("export CURTSY_WORLD='--resolve {}'", world.resolve());
    eprintln!("a world of {papers} invented papers, 10.5555/world.0 and on, until Ctrl-C");
    tokio::signal::ctrl_c().await.unwrap();
    println!("{}", figures(&world));
}

/// What arrived, in JSON: of each provider how often it was asked, and by how much the fastest run of requests was ahead
/// of its published rate; PDFs, and how many of them were sent more than once.
fn figures(world: &World) -> serde_json::Value {
    let endpoints = world.endpoints();
    let mut providers = serde_json::Map::new();
    for provider in Provider::ALL {
        let arrivals = world.arrivals_at(endpoints.base(provider).host_str().unwrap());
        if let (Some(first), Some(last)) = (arrivals.first(), arrivals.last()) {
            let lead = world::lead(&arrivals, provider.endpoint().pace.interval());
            providers.insert(
                provider.name().to_owned(),
                json!({"requests": arrivals.len(), "seconds": (last.at - first.at).as_secs_f64(),
                    "rate": provider.endpoint().pace.rate(), "ahead_ms": lead.as_secs_f64() * 1e3}),
            );
        }
    }
    let all = world.arrivals();
    let mut pdfs = BTreeMap::<String, u32>::new();
    for arrival in all.iter().filter(|arrival| arrival.path.ends_with(".pdf")) {
        *pdfs
            .entry(format!("{}{}", arrival.host, arrival.path))
            .or_default() += 1;
    }
    let twice = pdfs.values().filter(|times| **times > 1).count();
    json!({"requests": all.len(), "pdfs": pdfs.len(), "pdfs_twice": twice, "providers": providers})
}
