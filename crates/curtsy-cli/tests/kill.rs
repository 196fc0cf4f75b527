//! S1: a job that is killed again and again loses nothing, fetches nothing twice, and keeps its manners.

#![allow(clippy::unwrap_used)]

mod support;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use curtsy_origin::{Arrival, sized_body};
use serde_json::Value as Json;
use support::{assert_proved, serve_at};

const HOSTS: usize = 50;
const PAGES: usize = 100;
const KILLS: usize = 50;
/// Half of what `--rate 10 --burst 1` permits: an arrival may have been held up on its way, and the next not.
const GAP: Duration = Duration::from_millis(50);
const HOLD: Duration = Duration::from_secs(3);

#[test]
fn fifty_kills_lose_nothing_repeat_nothing_and_end_no_hold() {
    // One page, asked for by one host alone, puts that host on hold.
    let script = r#"{"robots": 404, "page": {"body_bytes": 3000}, "pages": {
        "/held": [{"status": 429, "headers": [["Retry-After", "3"]]}, {"body_bytes": 3000}]}}"#;
    let server = serve_at(script, Ipv4Addr::UNSPECIFIED);
    let origin = &server.origin;
    let port = origin.addr().port();
    let urls: Vec<String> = (0..HOSTS * PAGES)
        .map(|n| match n {
            300 => format!("http://127.0.3.1:{port}/held"),
            n => format!("http://127.0.3.{}:{port}/{n}", 1 + n % HOSTS),
        })
        .collect();
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("list"), urls.join("\n")).unwrap();

    // What was recorded, and how many requests had arrived by then.
    let mut recorded: HashMap<String, usize> = HashMap::new();
    for _ in 0..KILLS {
        let mut job = start(dir.path());
        std::thread::sleep(Duration::from_millis(30 + random() % 270));
        job.kill().unwrap();
        job.wait().unwrap();
        // What it had sent is on its way, if anything is.
        std::thread::sleep(Duration::from_millis(20));
        let arrived = origin.arrivals().len();
        for line in manifest(dir.path()) {
            let url = line["url"].as_str().unwrap().to_owned();
            recorded.entry(url).or_insert(arrived);
        }
    }
    assert!(recorded.len() < urls.len(), "it was killed too late");
    let ended = start(dir.path()).wait().unwrap();
    assert_eq!(ended.code(), Some(0));
    assert_proved(dir.path(), &["--job", "curtsy-out"]);

    let lines = manifest(dir.path());
    let told: HashSet<&str> = lines
        .iter()
        .map(|line| line["url"].as_str().unwrap())
        .collect();
    assert_eq!((lines.len(), told.len()), (urls.len(), urls.len()));
    for line in &lines {
        assert_eq!(line["outcome"], "fetched", "{line}");
        let file = dir
            .path()
            .join("curtsy-out")
            .join(line["file"].as_str().unwrap());
        assert!(std::fs::read(file).unwrap() == sized_body(3000), "{line}");
    }
    let arrivals = origin.arrivals();
    for (at, arrival) in arrivals.iter().enumerate() {
        let url = format!(
            "http://{}{}",
            arrival.host.as_deref().unwrap(),
            arrival.path
        );
        let again = recorded.get(&url).is_some_and(|arrived| at >= *arrived);
        assert!(!again, "{url} was fetched again after it was recorded");
    }
    let mut hosts: BTreeMap<&str, Vec<&Arrival>> = BTreeMap::new();
    for arrival in &arrivals {
        hosts
            .entry(arrival.host.as_deref().unwrap())
            .or_default()
            .push(arrival);
    }
    for (host, arrivals) in &hosts {
        for pair in arrivals.windows(2) {
            let gap = pair[1].at - pair[0].at;
            assert!(gap >= GAP, "{host}: {gap:?} before {}", pair[1].path);
        }
    }
    let held = &hosts[&*format!("127.0.3.1:{port}")];
    let refusal = held
        .iter()
        .position(|arrival| arrival.path == "/held")
        .unwrap();
    let quiet = held[refusal + 1].at - held[refusal].at;
    assert!(quiet >= HOLD, "an arrival {quiet:?} into the hold");
}

fn random() -> u64 {
    RandomState::new().hash_one(())
}

fn start(dir: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_curtsy"))
        .args(["fetch", "-i", "list", "--rate", "10", "--burst", "1"])
        .args(["--timeout", "2s", "--state", "sqlite:state", "-q"])
        // Small, so that some of the kills meet a log that goes on in another file.
        .args(["--audit-size", "200k"])
        .current_dir(dir)
        .env("HOME", dir)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// The lines of the manifest, but for one that a kill has torn.
fn manifest(dir: &Path) -> Vec<Json> {
    let text = std::fs::read_to_string(dir.join("curtsy-out/manifest.jsonl")).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut lines: Vec<Json> = Vec::new();
    for line in whole.lines() {
        lines.extend(serde_json::from_str::<Json>(line).ok());
    }
    lines
}
