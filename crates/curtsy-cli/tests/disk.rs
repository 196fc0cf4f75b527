//! A disk that is full, read-only or gone: one clear line, the right exit code, nothing recorded as done that is
//! not there, and going on once the cause is removed.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use support::{curtsy, said, serve};

const URLS: usize = 60;
const BODY: usize = 20_000;
const SCRIPT: &str = r#"{"robots": 404, "page": {"body_bytes": 20000}}"#;

/// A small file system of its own; gone with the test. Only root can make one.
struct Disk(PathBuf);

impl Disk {
    fn new(at: PathBuf, options: &str) -> Option<Self> {
        std::fs::create_dir(&at).unwrap();
        let mounted = mount(&["-t", "tmpfs", "-o", options, "tmpfs"], &at);
        if !mounted {
            eprintln!("skipped: only root can mount a file system");
        }
        mounted.then_some(Self(at))
    }

    fn remount(&self, options: &str) {
        assert!(mount(&["-o", &format!("remount,{options}")], &self.0));
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn mount(arguments: &[&str], at: &Path) -> bool {
    let status = Command::new("mount").args(arguments).arg(at).status();
    status.is_ok_and(|status| status.success())
}

fn list(dir: &Path, server: &str) {
    let urls: Vec<String> = (0..URLS).map(|n| format!("{server}/{n}")).collect();
    std::fs::write(dir.join("list"), urls.join("\n")).unwrap();
}

fn fetch(dir: &Path, out: &Path) -> Output {
    let out = out.to_str().unwrap();
    let pace = ["--rate", "1000", "--max-rate", "1000", "--burst", "100"];
    let fixed = ["fetch", "-i", "list", "-o", out, "--state", "memory:", "-q"];
    curtsy(dir, &[&fixed[..], &pace].concat())
}

/// What the manifest calls fetched is on the disk, whole; how many they are.
fn whole(out: &Path) -> usize {
    let text = std::fs::read_to_string(out.join("manifest.jsonl")).unwrap_or_default();
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Json>(line).ok());
    let files: Vec<PathBuf> = lines
        .filter(|line| line["outcome"] == "fetched")
        .map(|line| out.join(line["file"].as_str().unwrap()))
        .collect();
    for file in &files {
        assert_eq!(
            std::fs::metadata(file).unwrap().len(),
            BODY as u64,
            "{file:?}"
        );
    }
    files.len()
}

/// One line, which names what cannot be written.
fn assert_is_told(output: &Output, out: &Path) {
    assert_eq!(output.status.code(), Some(5), "{}", said(output));
    let said = said(output);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains(out.to_str().unwrap()), "{said}");
}

#[test]
fn a_full_disk_stops_the_job_and_with_room_it_goes_on() {
    let (server, dir) = (serve(SCRIPT), tempfile::tempdir().unwrap());
    let Some(disk) = Disk::new(dir.path().join("disk"), "size=900k") else {
        return;
    };
    list(dir.path(), &server.url);
    let out = disk.0.join("out");
    let output = fetch(dir.path(), &out);
    assert_is_told(&output, &disk.0);
    assert!(whole(&out) < URLS);
    disk.remount("size=20m");
    let output = fetch(dir.path(), &out);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(whole(&out), URLS);
}

#[test]
fn a_disk_that_is_read_only_is_told_before_anything_departs() {
    let (server, dir) = (serve(SCRIPT), tempfile::tempdir().unwrap());
    let Some(disk) = Disk::new(dir.path().join("disk"), "ro") else {
        return;
    };
    list(dir.path(), &server.url);
    let out = disk.0.join("out");
    assert_is_told(&fetch(dir.path(), &out), &disk.0);
    disk.remount("rw");
    assert_eq!(fetch(dir.path(), &out).status.code(), Some(0));
    assert_eq!(whole(&out), URLS);
}

#[test]
fn a_directory_that_is_deleted_in_mid_run_stops_the_job_and_is_not_made_anew() {
    let (server, dir) = (serve(SCRIPT), tempfile::tempdir().unwrap());
    list(dir.path(), &server.url);
    let out = dir.path().join("out");
    let job = Command::new(env!("CARGO_BIN_EXE_curtsy"))
        .args([
            "fetch", "-i", "list", "-o", "out", "--state", "memory:", "-q",
        ])
        .args(["--rate", "20", "--max-rate", "20"])
        .current_dir(dir.path())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while whole(&out) == 0 {
        assert!(began.elapsed() < Duration::from_secs(20), "nothing came");
        std::thread::sleep(Duration::from_millis(10));
    }
    // At once, so that nothing can be put into it meanwhile.
    std::fs::rename(&out, dir.path().join("gone")).unwrap();
    let output = job.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{}", said(&output));
    assert_eq!(said(&output).lines().count(), 1, "{}", said(&output));
    assert!(!out.exists());
    assert_eq!(fetch(dir.path(), &out).status.code(), Some(0));
    assert_eq!(whole(&out), URLS);
}
