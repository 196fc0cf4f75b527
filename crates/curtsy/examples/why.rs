//! Why a request has to wait, without any network: a server on loopback refuses the first request for
//! two seconds, and the client says what holds the next one.
//!
//! ```text
//! cargo run --example why
//! ```

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::net::Ipv4Addr;

use curtsy::{Client, Notice, Notices, Reply};
use curtsy_origin::{Origin, Script};

const SCRIPT: &str = r#"{
    "robots": "User-agent: *\nCrawl-delay: 0.5\n",
    "pages": {"/data": [{"status": 429, "headers": [["Retry-After", "2"]]}, {"status": 200}]}
}"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let origin = Origin::start(Script::from_json(SCRIPT)?, (Ipv4Addr::LOCALHOST, 0)).await?;
    let url = origin.url("/data");
    let told = Notices::to(|notice| {
        if let Notice::Throttled { status, told, .. } = notice {
            println!("refused with {status}; told: {told:?}");
        }
    });
    let client = Client::builder().notices(told).build()?;

    let fetch = tokio::spawn({
        let (client, url) = (client.clone(), url.clone());
        async move { client.get(&url).await }
    });
    while !fetch.is_finished() {
        let explained = client.explain(&url).await?;
        let bound = explained.bounds.latest();
        let wait = bound.not_before.since(explained.now);
        println!("next in {wait:.1?}: {}", bound.reason.sentence());
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    }
    if let Reply::Response(response) = fetch.await?? {
        println!("{} after {} requests", response.status, response.attempts);
    }
    Ok(())
}
