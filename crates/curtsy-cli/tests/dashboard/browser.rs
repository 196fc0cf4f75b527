//! The live page as people see it: in a headless Chromium.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use crate::run::Run;
use crate::support::{serve, serve_at};

/// Scopes of this machine, each an address of its own.
fn scope(n: u32, port: u16) -> String {
    format!("127.1.{}.{}:{port}", n / 250, 1 + n % 250)
}

#[test]
#[ignore = "needs Chromium, and playwright-core and axe-core from npm: ./test installs them"]
fn people_see_what_happens_and_can_act_on_it() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let modules =
        std::env::var_os("TEST_SERVERS").map_or(root.join("target/servers"), PathBuf::from);
    let server = serve_at(
        r#"{"robots": 404, "service": {"latency_ms": 30}, "page": {"body_bytes": 20000}, "pages": {
            "/held*": {"status": 429, "headers": [["Retry-After", "240"]]},
            "/shut*": {"status": 403}, "/down*": {"status": 500}, "/busy*": {"status": 503},
            "/evil*": {"headers": [
                ["RateLimit-Policy", "\"<img src=x onerror=owned()>\";q=100;w=60"],
                ["RateLimit", "\"<img src=x onerror=owned()>\";r=37;t=60"]]},
            "/told*": {"headers": [["RateLimit-Limit", "100"], ["RateLimit-Remaining", "37"], ["RateLimit-Reset", "60"]]}}}"#,
        Ipv4Addr::UNSPECIFIED,
    );
    let port = server.origin.addr().port();
    let kinds = ["held", "shut", "down", "busy", "told", "evil"];
    let mut list = Vec::new();
    for n in 0..40 {
        let kind = kinds.get(n as usize).unwrap_or(&"page");
        list.extend((0..400).map(|page| format!("http://{}/{kind}{page}", scope(n, port))));
    }
    let [small, many, locked, short] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
    // As much of markup as a host may be called.
    let hostile = format!("&lt;img+onerror='owned()'&gt;\"=`$(owned)`.example:{port}");
    list.extend((0..400).map(|page| format!("http://{hostile}/page{page}")));
    let here = format!("*:{port}:127.0.0.1");
    let calm = ["--rate", "1", "--max-wait", "1h", "--resolve", &here];
    let page = Run::start(
        small.path(),
        &list,
        &[&calm[..], &["--dashboard", "0"]].concat(),
    );
    let ten_thousand: Vec<String> = (0..10_000)
        .map(|n| format!("http://{}/", scope(n, port)))
        .flat_map(|url| [format!("{url}a"), format!("{url}b")])
        .collect();
    let slow = ["--no-robots", "--delay", "300", "--dashboard", "0"];
    let ten_thousand = Run::start(many.path(), &ten_thousand, &slow);
    let guarded = Run::start(
        locked.path(),
        &list,
        &[&calm[..], &["--dashboard", "0.0.0.0:0"]].concat(),
    );
    let ending = Run::start(
        short.path(),
        &list,
        &[&calm[..], &["--dashboard", "0"]].concat(),
    );
    let elsewhere = serve(
        r#"{"page": {"headers": [["Content-Type", "text/html"]], "body": "<body>another site"}}"#,
    );

    let locked_at = guarded.address("dashboard");
    let said = guarded.said();
    let token = said
        .split("#token=")
        .nth(1)
        .unwrap()
        .lines()
        .next()
        .unwrap();
    let url = |address: String| format!("http://{address}/");
    let run = json!({
        "page": url(page.address("dashboard")),
        "held": scope(0, port),
        "suppressed": scope(1, port),
        "broken": scope(2, port),
        "fine": scope(9, port),
        "evil": scope(5, port),
        "hostile": hostile,
        "many": url(ten_thousand.address("dashboard")),
        "locked": url(locked_at),
        "token": token,
        "ending": url(ending.address("dashboard")),
        "process": ending.id(),
        "elsewhere": elsewhere.url,
    });
    let driven = Command::new("node")
        .arg(root.join("testing/dashboard.mjs"))
        .arg(modules)
        .arg(run.to_string())
        .args(std::env::var_os("DASHBOARD_SHOTS"))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&driven.stdout);
    let failed = String::from_utf8_lossy(&driven.stderr);
    assert!(driven.status.success(), "{told}{failed}{}", page.said());
}
