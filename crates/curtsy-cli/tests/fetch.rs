//! `curtsy fetch`, `get`, `explain`, `robots` and `state` against a scripted origin, by their exit codes and output.

#![allow(clippy::unwrap_used)]

use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::mpsc;

use curtsy_origin::{Origin, Script};
use serde_json::Value as Json;

/// An origin on a thread of its own; it ends with the test.
struct Server {
    url: String,
    _stop: tokio::sync::oneshot::Sender<()>,
}

fn serve(script: &str) -> Server {
    let script = Script::from_json(script).unwrap();
    let (told, url) = mpsc::channel();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let origin = Origin::start(script, (Ipv4Addr::LOCALHOST, 0))
                .await
                .unwrap();
            told.send(origin.url("")).unwrap();
            let _ = stopped.await;
        });
    });
    Server {
        url: url.recv().unwrap(),
        _stop: stop,
    }
}

fn curtsy(dir: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_curtsy"))
        .args(arguments)
        .current_dir(dir)
        .env("HOME", dir)
        .env_remove("XDG_STATE_HOME")
        .env_remove("XDG_CONFIG_HOME")
        .output()
        .unwrap()
}

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

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
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
    let wait = told["times"]["crawl_delay"]["wait_ms"].as_f64().unwrap();
    assert!((6000.0..=7000.0).contains(&wait), "{wait}");
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
    assert!(
        text.contains("hold ") && text.contains("Retry-After"),
        "{text}"
    );
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
fn robots_asks_a_site_once_and_tells_rule_line_and_how_the_file_was_come_by() {
    let script = r#"{"robots": "User-agent: *\nCrawl-delay: 7\nRequest-rate: 1/10 0200-0400\nDisallow: /no\nSitemap: /map.xml\nVisit-time: 0200-0400\nContent-Usage: /a train-ai=n\nUser-agent: MossBot\nDisallow: /\u001b[31m\n"}"#;
    let (server, dir) = (serve(script), tempfile::tempdir().unwrap());
    let ask = |path: &str, more: &[&str]| {
        let url = format!("{}{path}", server.url);
        let arguments = [&["robots", &url, "--state", "sqlite:state"], more].concat();
        let output = curtsy(dir.path(), &arguments);
        assert!(output.stderr.is_empty(), "{}", said(&output));
        let told = String::from_utf8(output.stdout).unwrap();
        (output.status.code().unwrap(), told)
    };
    let url = &server.url;
    let (code, told) = ask("/no/x", &[]);
    let expected = format!(
        "disallowed {url}/no/x\n  rule: Disallow: /no, line 4\n  group: for everyone (*)\n  Crawl-delay: 7 s\n  \
         Request-rate: one in 10 s, 02:00 to 04:00 UTC\n  sitemap: {url}/map.xml\n  \
         file: {url}/robots.txt: status 200, asked for now\n  \
         line 6: record noted, not obeyed: \"Visit-time: 0200-0400\"\n"
    );
    assert_eq!((code, told), (1, expected));

    let (code, told) = ask("/a", &[]);
    assert_eq!(code, 0, "{told}");
    assert!(told.contains("rule: none matches"), "{told}");
    assert!(told.contains("Content-Usage: train-ai=n"), "{told}");
    assert!(told.contains("status 200, known for "), "{told}");

    let (code, told) = ask("/\u{1b}[31m", &["--agent", "MossBot/2"]);
    assert_eq!(code, 1, "{told}");
    assert!(told.contains("rule: Disallow: / [31m, line 9"), "{told}");
    assert!(told.contains("group: for MossBot"), "{told}");
    assert!(!told.contains('\u{1b}'), "{told}");

    let (code, told) = ask("/no", &["--json"]);
    let told: Json = serde_json::from_str(&told).unwrap();
    assert_eq!(code, 1, "{told}");
    for (pointer, expected) in [
        ("/allowed", Json::from(false)),
        ("/rule", "Disallow: /no".into()),
        ("/line", 4.into()),
        ("/agent", "curtsy".into()),
        ("/group", "everyone".into()),
        ("/crawl_delay_s", 7.0.into()),
        ("/request_rates/0/interval_s", 10.0.into()),
        ("/request_rates/0/from", "02:00".into()),
        ("/sitemaps/0", format!("{url}/map.xml").into()),
        ("/file/outcome", "rules".into()),
        ("/file/status", 200.into()),
        ("/file/asked", false.into()),
        ("/warnings/0/kind", "not_obeyed".into()),
    ] {
        assert_eq!(told.pointer(pointer), Some(&expected), "{pointer}: {told}");
    }
}

#[test]
fn robots_tells_what_an_answer_without_rules_means() {
    for (script, code, outcome, words) in [
        (
            r#"{"robots": 404}"#,
            0,
            "unavailable",
            "status 404, so nothing is forbidden, asked for now",
        ),
        (
            r#"{"robots": 503}"#,
            1,
            "unreachable",
            "unreachable (server_error, 503), so nothing is allowed for now; asked for again not before 2",
        ),
        (
            r#"{"pages": {"/robots.txt": {"fault": "reset_before_head"}}}"#,
            1,
            "unreachable",
            "unreachable (reset), so nothing is allowed for now",
        ),
        (
            r#"{"pages": {"/robots.txt": {"location": "/robots.txt"}}}"#,
            0,
            "too_many_redirects",
            "more than five redirects, so nothing is forbidden, asked for now",
        ),
        (
            r#"{"pages": {"/robots.txt": {"status": 503, "headers": [["Retry-After", "3600"]]}}}"#,
            1,
            "unreachable",
            "unreachable (server_error, 503)",
        ),
    ] {
        let (server, dir) = (serve(script), tempfile::tempdir().unwrap());
        let url = format!("{}/x", server.url);
        let ask = [
            "robots",
            &url,
            "--state",
            "sqlite:state",
            "--rate",
            "100",
            "--max-retries",
            "0",
            "-q",
        ];
        let output = curtsy(dir.path(), &ask);
        let told = String::from_utf8(output.stdout.clone()).unwrap();
        assert_eq!(
            output.status.code(),
            Some(code),
            "{script}: {told}{}",
            said(&output)
        );
        assert!(
            told.contains(&format!("/robots.txt: {words}")),
            "{script}: {told}"
        );
        let output = curtsy(dir.path(), &[&ask[..], &["--json"]].concat());
        let told: Json = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(told["file"]["outcome"], outcome, "{script}: {told}");
        assert_eq!(told["allowed"], code == 0, "{script}: {told}");
    }
}
