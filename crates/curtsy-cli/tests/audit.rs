//! What the log of a job proves, and what is told of one that was tampered with; the page that is made of it.

#![allow(clippy::unwrap_used)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use support::{assert_proved, curtsy, fetch, said, serve};

/// A server with something of everything, and a name in a header that wants to be markup.
const SCRIPT: &str = r#"{"robots": "User-agent: *\nDisallow: /no\n", "page": {"body_bytes": 500}, "pages": {
    "/429": [{"status": 429, "headers": [["Retry-After", "1"]]}, {"status": 200}],
    "/quota": {"headers": [["RateLimit", "\"<script>alert(1)</script>\";r=50;t=10"]]},
    "/gone": {"status": 404}, "/moved": {"location": "/there"}}}"#;

/// A job of some pages in `out`.
fn job(dir: &Path, more: &[&str]) {
    let server = serve(SCRIPT);
    let mut urls: Vec<String> = (0..40).map(|n| format!("{}/p/{n}", server.url)).collect();
    for path in ["/429", "/quota", "/gone", "/moved", "/no", "/a?b=<script>"] {
        urls.push(format!("{}{path}", server.url));
    }
    fs::write(dir.join("list"), urls.join("\n")).unwrap();
    let output = fetch(dir, &[&["-i", "list", "-o", "out"], more].concat());
    // A 404 among them.
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
}

fn log(dir: &Path) -> PathBuf {
    dir.join("out/.curtsy/audit.jsonl")
}

/// What is told of the logs, and how it ends.
fn verify(dir: &Path, logs: &[&str]) -> (String, Option<i32>) {
    let output = curtsy(dir, &[&["audit", "verify"], logs].concat());
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    (told + &said(&output), output.status.code())
}

#[test]
fn an_honest_log_is_proved_and_a_tail_that_was_cut_off_is_missed() {
    let dir = tempfile::tempdir().unwrap();
    job(dir.path(), &[]);
    let (told, code) = verify(dir.path(), &["--job", "out"]);
    assert_eq!(code, Some(0), "{told}");
    assert!(
        told.contains("proved: none departed against robots.txt"),
        "{told}"
    );
    assert!(told.contains("1 hold"), "{told}");
    assert!(told.contains("with a query"), "{told}");
    // Without the database it is told what is not known.
    let (told, code) = verify(dir.path(), &["out/.curtsy/audit.jsonl"]);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("--job DIR"), "{told}");

    let whole = fs::read_to_string(log(dir.path())).unwrap();
    let cut = whole.trim_end().rfind('\n').unwrap() + 1;
    fs::write(log(dir.path()), &whole[..cut]).unwrap();
    assert_proved(dir.path(), &["out/.curtsy/audit.jsonl"]);
    let (told, code) = verify(dir.path(), &["--job", "out"]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("the job's database knows of"), "{told}");
    assert!(!told.contains("proved:"), "{told}");

    // Torn in a line: what is left of it is no offence, what is missing is.
    fs::write(log(dir.path()), &whole[..whole.len() - 20]).unwrap();
    assert_proved(dir.path(), &["out/.curtsy/audit.jsonl"]);
    assert_eq!(verify(dir.path(), &["--job", "out"]).1, Some(1));

    // Run again, the job says what it found, so that it shows for ever.
    fs::write(log(dir.path()), &whole[..cut]).unwrap();
    curtsy(
        dir.path(),
        &[
            "fetch", "-i", "list", "-o", "out", "--state", "memory:", "-q",
        ],
    );
    let (told, code) = verify(dir.path(), &["--job", "out"]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("were missing when it was opened"), "{told}");
}

#[test]
fn a_violation_is_told_with_its_file_line_and_rule_to_people_and_to_programs() {
    let dir = tempfile::tempdir().unwrap();
    job(dir.path(), &[]);
    let whole = fs::read_to_string(log(dir.path())).unwrap();
    let mut lines: Vec<&str> = whole.lines().collect();
    lines.remove(9);
    fs::write(log(dir.path()), lines.join("\n") + "\n").unwrap();
    let (told, code) = verify(dir.path(), &["out/.curtsy/audit.jsonl"]);
    assert_eq!(code, Some(1));
    let expected = "out/.curtsy/audit.jsonl:10: chain: line 10 of";
    assert!(
        told.lines().any(|line| line.starts_with(expected)),
        "{told}"
    );
    let (told, code) = verify(dir.path(), &["--json", "out/.curtsy/audit.jsonl"]);
    assert_eq!(code, Some(1));
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["holds"], false);
    let violations = told["violations"].as_array().unwrap();
    let is_chain = |of: &&Value| of["rule"] == "chain";
    assert_eq!(violations.iter().find(is_chain).unwrap()["line"], 10);
    assert_eq!(told["summary"]["pipelines"], 1);
}

#[test]
fn what_cannot_be_read_is_one_line_and_exit_2() {
    let dir = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        (
            &["audit", "verify", "none.jsonl"][..],
            "none.jsonl cannot be read",
        ),
        (
            &["audit", "verify", "--job", "none"],
            "no job of its own has run in none",
        ),
        (&["audit", "verify"], "<FILE>"),
        (&["audit", "report", "none.jsonl"], "--output"),
    ] {
        let output = curtsy(dir.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let said = said(&output);
        assert!(
            said.contains(expected) && said.lines().count() == 1,
            "{said}"
        );
    }
}

#[test]
fn a_log_that_grows_goes_on_in_other_files_and_is_proved_with_all_of_them() {
    let dir = tempfile::tempdir().unwrap();
    job(dir.path(), &["--audit-size", "8k"]);
    job(dir.path(), &["--audit-size", "8k"]);
    let filled = || -> Vec<PathBuf> {
        let entries = fs::read_dir(dir.path().join("out/.curtsy")).unwrap();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        files.retain(|file| {
            let name = file.file_name().unwrap().to_str().unwrap();
            name.starts_with("audit-")
        });
        files.sort();
        files
    };
    assert!(filled().len() > 4, "{:?}", filled());
    let is_compressed = |file: &PathBuf| file.extension().unwrap() == "gz";
    assert!(filled().iter().any(is_compressed), "{:?}", filled());
    assert_proved(dir.path(), &["--job", "out"]);
    // The same as any file of them: a missing one shows.
    fs::remove_file(&filled()[1]).unwrap();
    let (told, code) = verify(dir.path(), &["--job", "out"]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("are missing"), "{told}");
}

#[test]
fn a_page_is_whole_in_itself_and_what_servers_say_is_text_in_it() {
    let dir = tempfile::tempdir().unwrap();
    job(dir.path(), &[]);
    let output = curtsy(
        dir.path(),
        &["audit", "report", "--job", "out", "-o", "report.html"],
    );
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let page = fs::read_to_string(dir.path().join("report.html")).unwrap();
    assert!(page.contains("Every rule was kept"), "{page}");
    assert!(page.contains("Was robots.txt obeyed?") && page.contains("<svg"));
    // Its own script and no other; nothing from anywhere.
    assert_eq!(page.matches("<script").count(), 1);
    for outside in ["<link", "<img", "<iframe", "@import", "url(", "src="] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("default-src 'none'"));

    let whole = fs::read_to_string(log(dir.path())).unwrap();
    fs::write(
        log(dir.path()),
        whole.replace("\"class\":\"throttled\"", "\"class\":\"healthy\""),
    )
    .unwrap();
    let output = curtsy(
        dir.path(),
        &["audit", "report", "--job", "out", "-o", "report.html"],
    );
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let page = fs::read_to_string(dir.path().join("report.html")).unwrap();
    assert!(page.contains("Not every rule was kept"), "{page}");
}
