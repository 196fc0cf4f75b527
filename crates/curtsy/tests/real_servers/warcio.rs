//! Archives, judged by warcio, which reads what wget, Heritrix and Browsertrix write.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use curtsy::store::{MemoryQueue, Queue};
use curtsy::{Bodies, Job, JobDir, JobOptions, Line, NewEntry, Outcome};

use crate::scene::eager;

const PATHS: [&str; 9] = [
    "/gzip",
    "/deflate",
    "/brotli",
    "/stream/3",
    "/bytes/200000?seed=1",
    "/redirect/2",
    "/status/404",
    "/etag/one",
    "/cache",
];

/// What warcio says; it must be content.
fn warcio(arguments: &[&str], file: &Path) -> Vec<u8> {
    let servers = std::env::var_os("TEST_SERVERS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/servers"),
        PathBuf::from,
    );
    let (command, more) = arguments.split_first().unwrap();
    let output = Command::new(servers.join("venv/bin/warcio"))
        .arg(command)
        .args(more.iter().filter(|argument| argument.starts_with('-')))
        .arg(file)
        .args(more.iter().filter(|argument| !argument.starts_with('-')))
        .output()
        .expect("warcio is not installed: `./test` does that");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {said}{complaint}");
    output.stdout
}

#[tokio::test]
#[ignore = "needs httpbin and warcio: ./test installs them and runs this"]
async fn an_archive_is_whole_to_other_tools_and_so_is_what_is_in_it() {
    let scene = crate::httpbin::scene();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("job.warc.gz");
    let queue: Arc<dyn Queue> = Arc::new(MemoryQueue::new());
    for refresh in [false, true] {
        let options = JobOptions {
            bodies: Bodies::Warc(file.clone()),
            refresh,
            ..JobOptions::default()
        };
        let job_dir = JobDir::open(dir.path()).unwrap();
        let client = scene.client(eager());
        let job = Job::open(client, Arc::clone(&queue), job_dir, options);
        let job = job.await.unwrap();
        let entries = PATHS.iter().map(|path| NewEntry {
            url: scene.tap.url(path),
            ..NewEntry::default()
        });
        job.add(entries.collect()).await.unwrap();
        let summary = job.run().await.unwrap();
        assert_eq!(summary.count(Outcome::Fetched), 8, "{summary:?}");
    }
    let manifest = std::fs::read_to_string(dir.path().join("manifest.jsonl")).unwrap();
    let lines: Vec<Line> = manifest
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();

    // Each digest is checked, but for those of revisits.
    let checked = String::from_utf8(warcio(&["check", "-v"], &file)).unwrap();
    let passed = checked.matches("digest pass").count();
    let revisits = checked.matches("not checked (revisit)").count();
    let records = checked.matches("WARC-Record-ID").count();
    assert_eq!((passed + revisits, revisits), (records, 2), "{checked}");

    let index = warcio(&["index", "-foffset,warc-type,http:status"], &file);
    let index = String::from_utf8(index).unwrap();
    let is_status = |line: &&str, status| line.contains(&format!("\"http:status\": \"{status}\""));
    for (status, count) in [("200", 14), ("302", 4), ("404", 1), ("304", 2)] {
        let found = index.lines().filter(|line| is_status(line, status)).count();
        assert_eq!(found, count, "status {status}: {index}");
    }
    // What the manifest points at is the body, and decoded it is what the manifest says.
    // For br warcio wants a package more.
    let is_read = |line: &&Line| line.outcome == Outcome::Fetched && !line.url.ends_with("/brotli");
    for line in lines.iter().filter(is_read) {
        let offset = line.warc_offset.unwrap().to_string();
        let payload = warcio(&["extract", "--payload", &offset], &file);
        assert_eq!(Some(payload.len() as u64), line.bytes, "{line:?}");
        assert_eq!(Some(sha256(&payload)), line.sha256, "{line:?}");
    }
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
