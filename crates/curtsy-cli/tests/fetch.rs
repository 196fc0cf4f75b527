//! `curtsy fetch`, `get`, `explain` and `state` against a scripted origin, by their exit codes and output.

#![allow(clippy::unwrap_used)]

mod support;

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value as Json;
use support::{curtsy, said, serve};

const FAST: [&str; 6] = [
    "--rate",
    "200",
    "--state",
    "memory:",
    "--contact",
    "ann@example.org",
];

fn fetch(dir: &Path, arguments: &[&str]) -> Output {
    curtsy(dir, &[&["fetch"], arguments, &FAST].concat())
}

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
fn get_writes_the_body_and_a_status_from_400_on_is_exit_1() {
    let (server, dir) = (
        serve(
            r#"{"robots": "User-agent: *\nDisallow: /no\n", "pages": {"/gone": {"status": 404, "body": "gone\n"}}}"#,
        ),
        tempfile::tempdir().unwrap(),
    );
    for (path, code, body) in [("/x", 0, "ok\n"), ("/gone", 1, "gone\n"), ("/no", 1, "")] {
        let output = curtsy(
            dir.path(),
            &[
                "get",
                &format!("{}{path}", server.url),
                "--state",
                "memory:",
                "--rate",
                "100",
            ],
        );
        assert_eq!(
            (
                output.status.code(),
                String::from_utf8_lossy(&output.stdout).as_ref()
            ),
            (Some(code), body),
            "{path}: {}",
            said(&output)
        );
    }
    let output = curtsy(
        dir.path(),
        &[
            "get",
            &server.url,
            "-o",
            "body",
            "--state",
            "memory:",
            "--rate",
            "100",
        ],
    );
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(std::fs::read(dir.path().join("body")).unwrap(), b"ok\n");
    assert!(!dir.path().join("body.part").exists());
}

#[test]
fn explain_names_the_bound_and_the_robots_line() {
    let (server, dir) = (
        serve(r#"{"robots": "User-agent: *\nCrawl-delay: 7\nDisallow: /no\n"}"#),
        tempfile::tempdir().unwrap(),
    );
    let output = curtsy(
        dir.path(),
        &[
            "explain",
            &format!("{}/no", server.url),
            "--state",
            "memory:",
            "--json",
        ],
    );
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let told: Json = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&told["robots"]["allowed"], &told["robots"]["line"]),
        (&false.into(), &3.into())
    );
    assert_eq!(told["binds"]["reason"], "crawl_delay");
    let times = &told["times"];
    let wait = times["crawl_delay"]["wait_ms"].as_f64().unwrap();
    assert!((6000.0..=7000.0).contains(&wait), "{wait}");
    assert_eq!(
        times["crawl_delay"]["evidence"],
        "Crawl-delay 7.0 s, line 2"
    );
}

#[test]
fn explain_names_the_setting_that_binds_and_where_it_stands() {
    let (server, dir) = (
        serve(r#"{"robots": "User-agent: *\nAllow: /\n"}"#),
        tempfile::tempdir().unwrap(),
    );
    let file = "[policy]\nburst = 2\ndelay = \"8..9\"\n";
    std::fs::write(dir.path().join("curtsy.toml"), file).unwrap();
    for (more, expected) in [
        (&[][..], "(delay 8.0 s..9.0 s by file, line 3)  <- binds"),
        (
            &["--delay", "5"],
            "(delay 5.0 s..5.0 s by flag --delay)  <- binds",
        ),
    ] {
        let url = format!("{}/x", server.url);
        let arguments = [&["explain", &url, "--state", "memory:"], more].concat();
        let output = curtsy(dir.path(), &arguments);
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(told.contains(expected), "{told}{}", said(&output));
    }
}

#[test]
fn state_shows_and_resets_what_a_run_left_behind() {
    let script =
        r#"{"robots": 404, "page": {"status": 429, "headers": [["Retry-After", "3600"]]}}"#;
    let (server, dir) = (serve(script), tempfile::tempdir().unwrap());
    let scope = server.url.strip_prefix("http://").unwrap();
    let run = |arguments: &[&str]| {
        curtsy(
            dir.path(),
            &[arguments, &["--state", "sqlite:s.db"]].concat(),
        )
    };
    assert_eq!(
        run(&["get", &server.url, "--rate", "100"]).status.code(),
        Some(3)
    );
    let shown = run(&["state", "show", scope]);
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    for expected in [
        "hold ",
        "Retry-After, set ",
        "the last ",
        " ago",
        "dynamic delay  1.0 s, raised ",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    // A server's hold is never lifted, and stands in the next process.
    assert_eq!(run(&["state", "lift", scope]).status.code(), Some(1));
    assert_eq!(
        run(&["get", &server.url, "--rate", "100"]).status.code(),
        Some(3)
    );
    assert_eq!(run(&["state", "reset", scope]).status.code(), Some(2));
    assert_eq!(
        run(&["state", "reset", scope, "--yes"]).status.code(),
        Some(0)
    );
    assert_eq!(run(&["state", "show", scope]).status.code(), Some(1));
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
fn a_plan_tells_the_pace_why_and_when_it_ends_and_leaves_no_job_behind() {
    let (server, dir) = (
        serve(r#"{"robots": "User-agent: *\nCrawl-delay: 7\nDisallow: /no\n"}"#),
        tempfile::tempdir().unwrap(),
    );
    let list = format!(
        "{0}/1\n{0}/2\n{0}/no/1\n{0}/no/2\nnonsense\n{0}/1#again\n",
        server.url
    );
    std::fs::write(dir.path().join("list"), list).unwrap();
    let run = |more: &[&str]| {
        let given = ["plan", "-i", "list", "--state", "memory:"];
        curtsy(dir.path(), &[&given, more].concat())
    };
    let output = run(&["--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("curtsy: list:5: is no URL"));
    let plan: Json = serde_json::from_slice(&output.stdout).unwrap();
    let scope = &plan["scopes"][0];
    for (told, key, expected) in [
        (&plan, "urls", Json::from(4)),
        (&plan, "duplicates", 1.into()),
        (&plan, "disallowed", 2.into()),
        (&plan, "bad_lines", 1.into()),
        (scope, "reason", "crawl_delay".into()),
        (scope, "interval_s", 7.0.into()),
    ] {
        assert_eq!(told[key], expected, "{key}: {plan}");
    }
    // The robots.txt has departed: two pages are two intervals later.
    let ends = plan["ends_in_s"].as_f64().unwrap();
    assert!((13.0..=14.0).contains(&ends), "{ends}");

    let output = run(&["-v"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for expected in [
        "every 7.0 s",
        "Crawl-delay 7.0 s",
        ": 2 disallowed by line 3: Disallow: /no",
        "4 URLs, 1 host, 1 there twice, 2 disallowed",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(!dir.path().join("curtsy-out").exists());
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
