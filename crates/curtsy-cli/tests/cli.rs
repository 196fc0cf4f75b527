//! The command line as a user meets it: what it prints, where, and how it ends.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Pages of `tests/cmd`. After a change that is meant, `TRYCMD=overwrite` writes them anew: read the diff.
#[test]
fn the_pages_show_what_is_printed() {
    trycmd::TestCases::new()
        .env("HOME", "/home/ann")
        .env("XDG_CONFIG_HOME", "/home/ann/.config")
        .env("XDG_STATE_HOME", "/home/ann/.local/state")
        .env("COLUMNS", "100")
        .case("tests/cmd/*.trycmd");
}

#[test]
fn wrong_usage_is_one_line_and_exit_2() {
    for (arguments, expected) in [
        (
            "fetch --raet 2",
            "curtsy: --raet: there is no such option; did you mean --rate?",
        ),
        (
            "fetch -x",
            "curtsy: -x: there is no such option; see --help",
        ),
        (
            "fecth",
            "curtsy: fecth: there is no such command; did you mean fetch?",
        ),
        (
            "config shwo",
            "curtsy: shwo: there is no such command; did you mean show?",
        ),
        (
            "fetch --timeout",
            "curtsy: --timeout: needs a value; see --help",
        ),
        ("fetch --rate fast", "curtsy: --rate: \"fast\" is no number"),
        (
            "fetch --delay 5..1",
            "curtsy: --delay: \"5..1\": the shortest delay is longer than the longest",
        ),
        (
            "fetch --preset polite",
            "curtsy: --preset: \"polite\" is none of compliant, http_client, raw",
        ),
        (
            "fetch --state dynamodb://t",
            "curtsy: --state: a table's name has 3 to 255 letters, digits, _, - and .; write dynamodb://TABLE",
        ),
        (
            "fetch --state ftp:",
            "curtsy: --state: \"ftp:\" is no state URL; write memory:, sqlite:PATH, redis://HOST or dynamodb://TABLE",
        ),
        (
            "fetch --queue redis://:secret@",
            "curtsy: --queue: empty host; write redis://",
        ),
        (
            "fetch --contact me",
            "curtsy: --contact: \"me\" is no mail address; write name@example.org",
        ),
        (
            "fetch -H Host:x",
            "curtsy: --header: the header Host is written by curtsy itself",
        ),
        (
            "fetch --resolve a:1:b",
            "curtsy: --resolve: \"a:1:b\" is no HOST:PORT:ADDR, as ",
        ),
        (
            "get",
            "curtsy: usage: the following required arguments were not provided: <URL>; see --help",
        ),
        (
            "fetch -q -v",
            "curtsy: usage: the argument '--quiet' cannot be used with '--verbose...'; see --help",
        ),
        (
            "fetch --rate 1 --rate 2",
            "curtsy: usage: the argument '--rate <R>' cannot be used multiple times; see --help",
        ),
        (
            "config show --rate 0",
            "curtsy: --rate: must be above 0 and at most 1000000 per second",
        ),
        (
            "config show --rate 20 --max-rate 10",
            "curtsy: --rate: is above max_rate; raise max_rate or lower rate",
        ),
        (
            "config show --per-host 33",
            "curtsy: --per-host: must be from 1 to 32",
        ),
        (
            "config show -c 0",
            "curtsy: --concurrency: must be from 1 to 10000",
        ),
        (
            "config show --timeout 0",
            "curtsy: --timeout: must be at least 1 ms",
        ),
        (
            "config show --config none.toml",
            "curtsy: none.toml: there is no such file",
        ),
        ("config show --config .", "curtsy: .: "),
        (
            "man fecth",
            "curtsy: fecth: there is no such command; did you mean fetch?",
        ),
        (
            "completions tcsh",
            "curtsy: <SHELL>: \"tcsh\" is none of bash, elvish, fish, powershell, zsh",
        ),
        (
            "robots --file none.txt http://a.example/",
            "curtsy: none.txt: No such file or directory",
        ),
        ("robots --file . http://a.example/", "curtsy: .: "),
        (
            "robots a.example/x",
            "curtsy: \"a.example/x\": relative URL without a base; write it whole, as https://example.org/page",
        ),
        (
            "robots ftp://a.example/ --state memory:",
            "curtsy: robots: not an http(s) URL",
        ),
        (
            "robots",
            "curtsy: usage: the following required arguments were not provided: <URL>; see --help",
        ),
        (
            "robots --jsonl x --json",
            "curtsy: usage: the argument '--jsonl [<FILE>]' cannot be used with '--json'; see --help",
        ),
        (
            "headers none.txt",
            "curtsy: none.txt: No such file or directory",
        ),
        (
            "origin none.json",
            "curtsy: none.json: No such file or directory",
        ),
        (
            "simulate none.json",
            "curtsy: none.json: No such file or directory",
        ),
        (
            "simulate --requests 0",
            "curtsy: --requests: 0 is not in 1..=100000",
        ),
        ("simulate --for 0", "curtsy: --for: must be above 0"),
        (
            "simulate --path items",
            "curtsy: --path: \"items\" is no path; write /api/items",
        ),
        (
            "simulate --scope a.example",
            "curtsy: --scope: a.example has no section in the configuration",
        ),
        (
            "origin --cert x",
            "curtsy: usage: the following required arguments were not provided: --key <FILE>; see --help",
        ),
        (
            "origin --bind 192.0.2.1",
            "curtsy: 192.0.2.1:0: cannot listen: ",
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let output = curtsy(dir.path(), arguments.split(' '), "");
        assert_eq!(output.status.code(), Some(2), "{arguments}: {output:?}");
        assert!(output.stdout.is_empty(), "{arguments}: {output:?}");
        let told = text(&output.stderr);
        assert!(
            told.starts_with(expected),
            "{arguments}\n  {told}  {expected}"
        );
        assert_eq!(told.lines().count(), 1, "{arguments}: {told}");
    }
}

#[test]
fn curtsy_alone_shows_its_help_and_ends_with_2() {
    let dir = tempfile::tempdir().unwrap();
    let output = curtsy(dir.path(), [""; 0], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("Usage: curtsy"));
}

#[test]
fn the_file_of_the_working_directory_goes_before_the_users() {
    let dir = tempfile::tempdir().unwrap();
    let users = dir.path().join(".config/curtsy");
    fs::create_dir_all(&users).unwrap();
    fs::write(users.join("curtsy.toml"), "[policy]\nburst = 7\n").unwrap();
    let burst = |arguments: &str| {
        let output = curtsy(dir.path(), arguments.split(' '), "");
        let shown: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        shown["policy"]["burst"]["value"].clone()
    };
    assert_eq!(burst("config show --json"), 7);
    fs::write(dir.path().join("curtsy.toml"), "[policy]\nburst = 8\n").unwrap();
    assert_eq!(burst("config show --json"), 8);
    fs::write(dir.path().join("other.toml"), "[policy]\nburst = 9\n").unwrap();
    assert_eq!(burst("config show --json --config other.toml"), 9);
}

#[test]
fn what_config_show_prints_is_a_file_that_means_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = "config show --rate 3.5 --delay 1..5 --max-body 10MiB --contact ann@example.org \
                     --resolve a.example:80:[::1] -H Accept:text/html --preset http_client --state memory:";
    let first = curtsy(dir.path(), arguments.split_whitespace(), "");
    fs::write(dir.path().join("curtsy.toml"), &first.stdout).unwrap();
    let second = curtsy(dir.path(), ["config", "show"], "");
    assert_eq!(second.status.code(), Some(0), "{second:?}");
    let values = |output: &Output| -> Vec<String> {
        let lines = text(&output.stdout);
        lines
            .lines()
            .skip(1)
            .map(|line| line.split("  # ").next().unwrap().trim_end().to_owned())
            .collect()
    };
    assert_eq!(values(&first), values(&second));
}

#[test]
fn secrets_are_not_shown() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = [
        "config",
        "show",
        "--proxy",
        "http://ann:secret@proxy:1",
        "-H",
        "Authorization: secret",
    ];
    let output = curtsy(dir.path(), arguments, "");
    assert_eq!(output.status.code(), Some(0));
    assert!(!text(&output.stdout).contains("secret"), "{output:?}");
}

#[test]
fn a_variable_that_looks_misspelt_is_told_unless_quiet() {
    let dir = tempfile::tempdir().unwrap();
    let told = |arguments: &[&str]| {
        let output = command(dir.path())
            .args(arguments)
            .env("CURTSY_RAET", "2")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0));
        text(&output.stderr)
    };
    assert_eq!(
        told(&["config", "show"]),
        "curtsy: CURTSY_RAET: unknown; did you mean CURTSY_RATE?\n"
    );
    assert_eq!(told(&["config", "show", "-q"]), "");
}

#[test]
fn every_shell_has_completions_and_every_command_a_page() {
    let dir = tempfile::tempdir().unwrap();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = curtsy(dir.path(), ["completions", shell], "");
        assert_eq!(output.status.code(), Some(0), "{shell}");
        assert!(text(&output.stdout).contains("max-retry-after"), "{shell}");
    }
    for (arguments, title) in [
        ("man", ".TH curtsy 1"),
        ("man fetch", ".TH curtsy-fetch 1"),
        ("man config show", ".TH curtsy-config-show 1"),
    ] {
        let output = curtsy(dir.path(), arguments.split(' '), "");
        assert!(
            text(&output.stdout).contains(title),
            "{arguments}: {output:?}"
        );
    }
}

#[test]
fn robots_answers_by_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("r"), "User-agent: *\nDisallow: /a\n").unwrap();
    for (url, code, first) in [
        ("http://x.example/b", 0, "allowed http://x.example/b"),
        ("http://x.example/a/b", 1, "disallowed http://x.example/a/b"),
    ] {
        let output = curtsy(dir.path(), ["robots", "--file", "r", url], "");
        assert_eq!(output.status.code(), Some(code), "{url}");
        assert_eq!(text(&output.stdout).lines().next(), Some(first));
    }
}

#[test]
fn lists_of_questions_are_answered_line_by_line_and_a_bad_one_is_told() {
    let dir = tempfile::tempdir().unwrap();
    for (arguments, question) in [
        (
            "robots --jsonl",
            r#"{"id": 1, "robots": "", "url": "http://x.example/"}"#,
        ),
        (
            "headers",
            r#"{"id": 1, "status": 429, "headers": [["Retry-After", "3"]], "now": 1}"#,
        ),
    ] {
        let input = format!("{question}\n\n{{\"id\": 2}}\n{question}\n");
        let output = curtsy(dir.path(), arguments.split(' '), &input);
        assert_eq!(output.status.code(), Some(1), "{arguments}");
        let answers = text(&output.stdout);
        assert_eq!(answers.lines().count(), 2, "{arguments}: {answers}");
        assert!(
            answers.lines().all(|line| line.starts_with(r#"{"id":1,"#)),
            "{answers}"
        );
        let told = text(&output.stderr);
        assert!(
            told.starts_with("curtsy: standard input:3: missing field"),
            "{told}"
        );
    }
}

#[test]
fn an_origin_tells_its_address_at_once_and_judges_at_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = ["origin", "-", "--for", "300ms", "--log", "log.csv"];
    let output = curtsy(dir.path(), arguments, r#"{"policies": []}"#);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let told = text(&output.stdout);
    assert!(told.starts_with("listening on http://127.0.0.1:"), "{told}");
    assert!(told.contains("0 requests on 0 connections"), "{told}");
    assert!(
        fs::read_to_string(dir.path().join("log.csv"))
            .unwrap()
            .starts_with("seq,")
    );

    let wrong = curtsy(dir.path(), ["origin", "-"], r#"{"policis": []}"#);
    assert_eq!(wrong.status.code(), Some(2));
    let told = text(&wrong.stderr);
    assert!(
        told.starts_with("curtsy: standard input: the script cannot be used: unknown field"),
        "{told}"
    );
    assert_eq!(told.lines().count(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_ends_with_5_and_a_reader_that_left_is_no_error() {
    let dir = tempfile::tempdir().unwrap();
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = command(dir.path())
        .args(["config", "show"])
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(5));
    assert!(text(&output.stderr).starts_with("curtsy: standard output: No space left"));

    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = command(dir.path())
        .args(["completions", "bash"])
        .stdout(writer)
        .output()
        .unwrap();
    assert_eq!(
        (output.status.code(), text(&output.stderr)),
        (Some(0), String::new())
    );
}

fn curtsy<'a>(dir: &Path, arguments: impl IntoIterator<Item = &'a str>, input: &str) -> Output {
    let mut child = command(dir)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that reads nothing may have ended.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// curtsy in a directory of its own, which is its home too, and with nothing else of this machine.
fn command(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_curtsy"));
    command.current_dir(dir).env_clear().env("HOME", dir);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
