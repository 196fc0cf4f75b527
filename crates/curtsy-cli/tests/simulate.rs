//! `curtsy simulate`, as a program reads it.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;

/// 50 requests in 5 s, of which no header tells, and refusals that tell no wait.
const HIDDEN: &str = r#"{
  "policies": [{"kind": "fixed_window", "limit": 50, "window_s": 5, "published": false}],
  "refuse": {"retry_after": "none"},
  "service": {"latency_ms": 5}
}"#;

#[test]
fn the_same_seed_gives_the_same_answer_and_another_seed_another() {
    let dir = tempfile::tempdir().unwrap();
    let of = |seed| simulate(dir.path(), &["--rate", "20", "--seed", seed]);
    assert_eq!(of("3"), of("3"));
    assert_ne!(of("3")["runs"][0]["took_s"], of("4")["runs"][0]["took_s"]);
}

#[test]
fn a_hidden_quota_is_found_out_with_few_refusals() {
    let dir = tempfile::tempdir().unwrap();
    let told = simulate(dir.path(), &["--rate", "20", "--runs", "10"]);
    assert_eq!(told["runs"].as_array().unwrap().len(), 10);
    assert!(
        (told["optimum_s"].as_f64().unwrap() - 25.0).abs() < 0.1,
        "{told}"
    );
    let spread = &told["spread"];
    assert_eq!(spread["done"]["least"], 300.0, "{spread}");
    assert_eq!(spread["in_hold"]["most"], 0.0, "{spread}");
    assert!(spread["ratio"]["most"].as_f64().unwrap() <= 1.5, "{spread}");
    assert!(
        spread["refused"]["most"].as_f64().unwrap() <= 5.0,
        "{spread}"
    );
}

#[test]
fn a_section_of_the_configuration_holds_for_its_scope_alone() {
    let dir = tempfile::tempdir().unwrap();
    let sections = "[policy]\nrate = 20.0\n[scopes.\"slow.example\"]\nrate = 2.0\n[scopes.\"www.slow.example\"]\ngroup = \"slow.example\"\n";
    fs::write(dir.path().join("curtsy.toml"), sections).unwrap();
    let pace = |options: &[&str]| {
        let told = simulate(dir.path(), &[&["-n", "10"], options].concat());
        told["runs"][0]["pace_per_s"].as_f64().unwrap()
    };
    assert_eq!(pace(&[]), 20.0);
    assert_eq!(pace(&["--scope", "slow.example"]), 2.0);
    assert_eq!(pace(&["--scope", "www.slow.example"]), 2.0);
}

#[test]
fn a_job_that_is_broken_off_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let told = simulate(dir.path(), &["--rate", "20", "--for", "10"]);
    let run = &told["runs"][0];
    assert!(run["unfinished"].as_u64().unwrap() > 0, "{run}");
    assert_eq!(run["ratio"], Json::Null);
}

#[test]
fn the_plot_is_an_svg_that_needs_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    simulate(dir.path(), &["--rate", "20", "--plot", "plot.svg"]);
    let svg = fs::read_to_string(dir.path().join("plot.svg")).unwrap();
    assert!(svg.starts_with("<svg xmlns="), "{svg}");
    assert!(
        svg.contains("300 done in ") && svg.ends_with("</svg>\n"),
        "{svg}"
    );
    for class in ["bar", "pace", "no", "limit"] {
        assert!(svg.contains(&format!("<path class=\"{class}\"")), "{class}");
    }
    assert!(!svg.contains("href") && !svg.contains("NaN"), "{svg}");
}

/// The job against the hidden quota.
fn simulate(dir: &Path, options: &[&str]) -> Json {
    fs::write(dir.join("hidden.json"), HIDDEN).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_curtsy"))
        .current_dir(dir)
        .env_clear()
        .env("HOME", dir)
        .args(["simulate", "hidden.json", "--json"])
        .args(options)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}
