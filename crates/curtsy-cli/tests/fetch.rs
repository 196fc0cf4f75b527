//! `curtsy fetch` against a scripted origin, by its exit codes and output.

#![allow(clippy::unwrap_used)]

mod support;

use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;
use support::{curtsy, fetch, said, serve};

fn manifest(dir: &Path) -> Vec<Json> {
    let text = std::fs::read_to_string(dir.join("curtsy-out/manifest.jsonl")).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn all_fetched_is_exit_0_and_a_second_run_fetches_nothing_twice() {
    let (server, dir) = (serve(r#"{"robots": 404}"#), tempfile::tempdir().unwrap());
    let (a, b) = (format!("{}/a", server.url), format!("{}/b", server.url));
    for _ in 0..2 {
        let output = fetch(dir.path(), &[&a, &b, &a]);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let lines = manifest(dir.path());
        assert_eq!(lines.len(), 2);
        for line in lines {
            assert_eq!(
                (&line["outcome"], &line["attempts"]),
                (&"fetched".into(), &1.into()),
                "{line}"
            );
            let body = std::fs::read(
                dir.path()
                    .join("curtsy-out")
                    .join(line["file"].as_str().unwrap()),
            )
            .unwrap();
            assert_eq!(body, b"ok\n");
        }
    }
}

#[test]
fn the_summary_as_json_is_alone_on_standard_output() {
    let (server, dir) = (serve(r#"{"robots": 404}"#), tempfile::tempdir().unwrap());
    let output = fetch(dir.path(), &["--json", &server.url]);
    let summary: Json = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(summary["outcomes"]["fetched"], 1, "{summary}");
}

#[test]
fn failed_urls_and_bad_lines_are_exit_1_and_the_job_goes_on() {
    let (server, dir) = (
        serve(r#"{"robots": 404, "pages": {"/gone": {"status": 404}}}"#),
        tempfile::tempdir().unwrap(),
    );
    let list = format!(
        "{}/x\nnonsense\n# a comment\n\n{}/gone\n",
        server.url, server.url
    );
    std::fs::write(dir.path().join("list"), list).unwrap();
    let output = fetch(dir.path(), &["-i", "list"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said(&output).contains("curtsy: list:2: is no URL"),
        "{}",
        said(&output)
    );
    let outcomes: Vec<Json> = manifest(dir.path())
        .into_iter()
        .map(|line| line["outcome"].clone())
        .collect();
    assert_eq!(outcomes, ["fetched", "http_error"]);
}

#[test]
fn an_empty_list_is_exit_0_with_a_notice() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("list"), "# nothing\n").unwrap();
    let output = fetch(dir.path(), &["-i", "list"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        said(&output).contains("the list is empty"),
        "{}",
        said(&output)
    );
}

#[test]
fn a_list_that_cannot_be_read_is_exit_2_and_makes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let output = fetch(dir.path(), &["-i", "missing"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(said(&output).lines().count(), 1, "{}", said(&output));
    assert!(!dir.path().join("curtsy-out").exists());
}

#[test]
fn a_wait_beyond_patience_is_exit_3_and_says_when_to_come_back() {
    let script =
        r#"{"robots": 404, "page": {"status": 429, "headers": [["Retry-After", "3600"]]}}"#;
    let (server, dir) = (serve(script), tempfile::tempdir().unwrap());
    let output = fetch(dir.path(), &[&server.url]);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("run it again after 2"));
    let lines = manifest(dir.path());
    assert_eq!(
        (&lines[0]["outcome"], &lines[0]["error"]),
        (&"deferred".into(), &"server_hold".into())
    );
}

#[test]
fn a_damaged_or_foreign_state_is_exit_4_and_left_untouched() {
    let (server, dir) = (serve(r#"{"robots": 404}"#), tempfile::tempdir().unwrap());
    let state = dir.path().join("state");
    std::fs::write(
        &state,
        "this is no database at all, but long enough to be looked at by one",
    )
    .unwrap();
    let before = std::fs::read(&state).unwrap();
    let output = curtsy(
        dir.path(),
        &["fetch", &server.url, "--state", "sqlite:state"],
    );
    assert_eq!(output.status.code(), Some(4), "{}", said(&output));
    assert_eq!(
        said(&output)
            .lines()
            .filter(|line| line.contains("state store"))
            .count(),
        1
    );
    assert_eq!(std::fs::read(&state).unwrap(), before);
}

#[test]
fn an_output_that_cannot_be_made_is_exit_5() {
    let (server, dir) = (serve(r#"{"robots": 404}"#), tempfile::tempdir().unwrap());
    std::fs::write(dir.path().join("file"), "").unwrap();
    let output = fetch(dir.path(), &[&server.url, "-o", "file/out"]);
    assert_eq!(output.status.code(), Some(5), "{}", said(&output));
}

#[cfg(unix)]
#[test]
fn ctrl_c_is_exit_130_and_the_next_run_goes_on() {
    let (server, dir) = (
        serve(r#"{"robots": 404, "service": {"latency_ms": 20}}"#),
        tempfile::tempdir().unwrap(),
    );
    let list: String = (0..60).map(|n| format!("{}/{n}\n", server.url)).collect();
    std::fs::write(dir.path().join("list"), list).unwrap();
    let slow = [
        "fetch", "-i", "list", "--rate", "30", "--burst", "1", "--state", "memory:", "-q",
    ];
    let mut child = Command::new(env!("CARGO_BIN_EXE_curtsy"))
        .args(slow)
        .current_dir(dir.path())
        .env("HOME", dir.path())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(700));
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(kill.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let output = fetch(dir.path(), &["-i", "list"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let lines = manifest(dir.path());
    assert_eq!(lines.len(), 60);
    assert!(
        lines
            .iter()
            .all(|line| line["outcome"] == "fetched" && line["attempts"] == 1)
    );
}

#[test]
fn warc_records_all_in_one_file_in_the_current_directory_and_says_what_is_not_done() {
    let (server, dir) = (serve(r#"{"robots": 404}"#), tempfile::tempdir().unwrap());
    let list = format!("{{\"url\": \"{}/a\", \"out\": \"mine\"}}\n", server.url);
    std::fs::write(dir.path().join("list"), list).unwrap();
    let output = fetch(dir.path(), &["-i", "list", "--warc", "all.warc.gz"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let notice = "\"out\" in the list has no effect";
    assert!(said(&output).contains(notice), "{}", said(&output));
    let archive = dir.path().join("all.warc.gz").canonicalize().unwrap();
    let lines = manifest(dir.path());
    assert_eq!(lines[0]["file"], archive.to_str().unwrap());
    assert!(
        lines[0]["warc_offset"].as_u64().unwrap() > 0,
        "{}",
        lines[0]
    );
    let begin = std::fs::read(&archive).unwrap();
    assert_eq!(begin[..2], [0x1f, 0x8b], "gzip");
}

#[test]
fn a_warc_that_is_another_jobs_is_exit_2_with_a_way_out() {
    let (server, dir) = (serve(r#"{"robots": 404}"#), tempfile::tempdir().unwrap());
    std::fs::write(dir.path().join("mine.warc.gz"), "mine").unwrap();
    let output = fetch(dir.path(), &[&server.url, "--warc", "mine.warc.gz"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("move it away"), "{}", said(&output));
    let kept = std::fs::read_to_string(dir.path().join("mine.warc.gz")).unwrap();
    assert_eq!(kept, "mine");
}

#[test]
fn no_body_leaves_the_manifest_alone_in_the_directory() {
    let (server, dir) = (serve(r#"{"robots": 404}"#), tempfile::tempdir().unwrap());
    let output = fetch(dir.path(), &[&server.url, "--no-body"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let line = &manifest(dir.path())[0];
    assert_eq!((&line["file"], &line["bytes"]), (&Json::Null, &3.into()));
    let names = std::fs::read_dir(dir.path().join("curtsy-out")).unwrap();
    assert_eq!(names.count(), 2, "the manifest and .curtsy");
}

#[test]
fn refresh_asks_with_what_the_first_run_was_told() {
    let script = r#"{"robots": 404, "pages": {"/a": [
        {"body": "x", "headers": [["ETag", "\"1\""]]}, {"status": 304}]}}"#;
    let (server, dir) = (serve(script), tempfile::tempdir().unwrap());
    let url = format!("{}/a", server.url);
    for (arguments, modified) in [(&[&*url][..], true), (&[&*url, "--refresh"], false)] {
        let output = fetch(dir.path(), arguments);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let line = &manifest(dir.path())[0];
        assert_eq!(line["not_modified"].is_null(), modified, "{line}");
        let file = line["file"].as_str().unwrap();
        let body = std::fs::read(dir.path().join("curtsy-out").join(file)).unwrap();
        assert_eq!(body, b"x");
    }
}

#[test]
fn the_summary_has_a_row_for_each_host_and_a_line_for_each_reason() {
    let script =
        r#"{"robots": "User-agent: *\nDisallow: /no\n", "pages": {"/gone": {"status": 404}}}"#;
    let (server, dir) = (serve(script), tempfile::tempdir().unwrap());
    let urls =
        ["/a", "/no/1?key=secret", "/no/2", "/gone"].map(|path| format!("{}{path}", server.url));
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let output = fetch(dir.path(), &urls);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = server.url.strip_prefix("http://").unwrap();
    let row: Vec<&str> = text.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row[..4], [host, "1", "1", "2"], "{text}");
    for expected in [
        format!(
            "2 disallowed: robots.txt line 2: Disallow: /no, as {}/no/1",
            server.url
        ),
        format!("1 http error: status 404, as {}/gone", server.url),
    ] {
        assert!(text.contains(&expected), "{expected}: {text}");
    }
    assert!(!text.contains("secret"), "{text}");
    let again = fetch(dir.path(), &["--json"]);
    let summary: Json = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(
        summary["scopes"][0]["outcomes"]["disallowed"], 2,
        "{summary}"
    );
    assert_eq!(summary["reasons"][0]["count"], 2, "{summary}");
}
