//! `curtsy paper …` in a world on loopback.

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
