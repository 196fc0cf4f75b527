//! One URL, and the three replies that there are:
//!
//! ```text
//! cargo run --example get -- https://example.org/
//! ```

#![allow(clippy::print_stdout)]

use curtsy::{Client, Error, Reply};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let url = std::env::args().nth(1);
    let url = url.as_deref().unwrap_or("https://example.org/");
    let client = Client::builder().contact("you@yours.org").build()?;
    match client.get(url).await? {
        Reply::Response(response) => {
            let status = response.status;
            let body = response.body.collect(1 << 20).await?;
            println!("{status}, {} bytes", body.len());
        }
        Reply::Disallowed(no) => println!("robots.txt, line {:?}: {:?}", no.line, no.rule),
        Reply::Deferred(later) => println!(
            "not before {}: {}",
            later.bound.not_before.to_rfc3339(),
            later.bound.reason.sentence()
        ),
    }
    Ok(())
}
