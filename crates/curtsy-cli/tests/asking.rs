//! `curtsy get`, `explain`, `plan` and `state` against a scripted origin, by their exit codes and output.

#![allow(clippy::unwrap_used)]

mod support;

use serde_json::Value as Json;
use support::{curtsy, said, serve};

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
fn what_a_job_has_done_is_planned_for_no_more_and_what_waits_is_also_without_the_list() {
    let (server, dir) = (serve("{}"), tempfile::tempdir().unwrap());
    let url = |path: &str| format!("{}/{path}", server.url);
    let given = ["--state", "memory:", "--rate", "50", "-q"];
    let run = |arguments: &[&str]| curtsy(dir.path(), &[arguments, &given].concat());
    assert_eq!(run(&["fetch", &url("1"), &url("2")]).status.code(), Some(0));
    // With a robots.txt that cannot be had for the time being the third URL is left waiting.
    let closed = serve(r#"{"robots": 503}"#);
    let waiting = format!("{}/3", closed.url);
    assert_eq!(
        run(&["fetch", &waiting, "--max-wait", "0"]).status.code(),
        Some(3)
    );
    for (list, done, urls, duplicates) in [
        (vec![], 2, 1, 0),
        (vec![url("1"), url("4"), url("4#"), waiting], 2, 2, 1),
    ] {
        let mut arguments = vec!["plan", "--json", "--no-robots"];
        arguments.extend(list.iter().map(String::as_str));
        let output = run(&arguments);
        let plan: Json = serde_json::from_slice(&output.stdout).unwrap();
        for (key, expected) in [("done", done), ("urls", urls), ("duplicates", duplicates)] {
            assert_eq!(plan[key], Json::from(expected), "{key}: {list:?} {plan}");
        }
    }
}
