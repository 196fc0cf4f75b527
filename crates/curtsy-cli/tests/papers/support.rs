//! `curtsy paper …` in a world on loopback.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value as Json;

use crate::world::World;

/// `curtsy paper …` with this world for its providers.
pub(crate) fn paper(world: &World, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_curtsy"));
    for (name, _) in std::env::vars() {
        if name.starts_with("CURTSY_") || name.ends_with("_API_KEY") {
            command.env_remove(name);
        }
    }
    let resolve = world.resolve();
    command
        .arg("paper")
        .args(arguments)
        .args(["--state", "memory:", "--resolve", &resolve])
        .current_dir(std::env::temp_dir())
        .env("CURTSY_CONTACT", "rae@lab.example")
        .envs(world.variables());
    command
}

pub(crate) fn run(world: &World, arguments: &[&str]) -> Output {
    paper(world, arguments).output().unwrap()
}

pub(crate) fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub(crate) fn rows(output: &Output) -> Vec<Json> {
    lines(&out(output))
}

/// JSON Lines.
pub(crate) fn lines(text: &str) -> Vec<Json> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The results of the batch in this folder.
pub(crate) fn results(folder: &Path) -> Vec<Json> {
    lines(&std::fs::read_to_string(folder.join("papers.jsonl")).unwrap())
}

/// The events of an audit log, but for a line that is torn.
pub(crate) fn events(log: &Path) -> Vec<Json> {
    let text = std::fs::read_to_string(log).unwrap();
    let events = text.lines().map(serde_json::from_str);
    events.filter_map(Result::ok).collect()
}

/// How many events of this name.
pub(crate) fn count(events: &[Json], name: &str) -> usize {
    let of_name = events.iter().filter(|event| event["event"] == name);
    of_name.count()
}

/// All files under a folder that are not hidden, relative to it, in order.
pub(crate) fn files(folder: &Path) -> Vec<String> {
    fn walk(folder: &Path, root: &Path, into: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !name.starts_with('.') {
                walk(&path, root, into);
            } else if !name.starts_with('.') {
                into.push(path.strip_prefix(root).unwrap().display().to_string());
            }
        }
    }
    let mut all = Vec::new();
    if folder.exists() {
        walk(folder, folder, &mut all);
    }
    all.sort();
    all
}

/// What each provider may be asked is kept; sites need not be waited for in most tests.
pub(crate) const QUICK: [&str; 2] = ["--delay", "0"];

/// `curtsy paper batch list …` in a folder, its papers in `PDFs`.
pub(crate) fn command(world: &World, dir: &Path, arguments: &[&str]) -> Command {
    let mut command = paper(world, &["batch", "list"]);
    command.args(arguments).current_dir(dir);
    command
}

pub(crate) fn batch(world: &World, dir: &Path, arguments: &[&str]) -> Output {
    command(world, dir, &[&QUICK, arguments].concat())
        .output()
        .unwrap()
}

pub(crate) fn list(dir: &Path, lines: &[&str]) {
    fs::write(dir.join("list"), lines.join("\n")).unwrap();
}

pub(crate) fn report(dir: &Path) -> Json {
    let text = fs::read_to_string(dir.join("PDFs/report.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The sums of a report match, and are those of the list of results.
pub(crate) fn assert_sums(dir: &Path) {
    let report = report(dir);
    let number = |name: &str| report[name].as_u64().unwrap();
    let ended = ["pdf", "had", "not_open", "failed", "deferred"];
    let all: u64 = ended.into_iter().map(number).sum();
    assert_eq!(number("unique"), all + number("left"), "{report}");
    let rows = results(&dir.join("PDFs"));
    assert_eq!(rows.len() as u64, all);
    for name in ended {
        let of_outcome = rows.iter().filter(|row| row["outcome"] == name);
        assert_eq!(of_outcome.count() as u64, number(name), "{name}");
    }
    let reasons: u64 = report["by_reason"]
        .as_object()
        .unwrap()
        .values()
        .map(|count| count.as_u64().unwrap())
        .sum();
    assert_eq!(
        reasons,
        number("not_open") + number("failed") + number("deferred")
    );
    let failures = fs::read_to_string(dir.join("PDFs/failures.csv")).unwrap();
    assert_eq!(failures.lines().count() as u64, reasons + 1);
}

/// By the log alone: every pace, hold and robots.txt was kept, to the microsecond, and no line is missing.
pub(crate) fn assert_proved(dir: &Path) {
    let mut verify = Command::new(env!("CARGO_BIN_EXE_curtsy"));
    verify.args(["audit", "verify", "--job", "PDFs"]);
    let verified = verify.current_dir(dir).output().unwrap();
    assert_eq!(
        verified.status.code(),
        Some(0),
        "{}{}",
        out(&verified),
        said(&verified)
    );
}
