//! State in DynamoDB, as the command line has it, against dynalite and moto.
//!
//! They are ignored unless asked for, because both have to be installed: `./test` does that, and runs them.

#![allow(clippy::unwrap_used)]
#![cfg(unix)]

#[path = "../../../curtsy-store/tests/dynamodb/answers.rs"]
mod answers;
#[path = "../../../curtsy-store/tests/dynamodb/server.rs"]
mod server;
#[path = "../support/mod.rs"]
mod support;

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use curtsy_origin::lead_over_pace;

use crate::answers::{answers, refuses};
use crate::server::{DYNALITE, MOTO, environment, new_table};
use crate::support::{said, serve};

type Environment = [(&'static str, String); 4];

#[test]
#[ignore = "needs dynalite and moto: ./test installs them and runs this"]
fn p10_two_that_share_a_table_keep_one_pace() {
    const PAGES: usize = 25;
    const DELAY: Duration = Duration::from_millis(200);
    for server in [&*DYNALITE, &*MOTO] {
        let table = new_table();
        let dir = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            let init = ["state", "init", "--state", &table];
            let made = run(dir.path(), &server.environment(), &init);
            assert!(made.status.success(), "{}", said(&made));
        }
        let host = serve(r#"{"robots": "User-agent: *\nCrawl-delay: 0.2\n"}"#);
        let fetches = ["one", "other"].map(|name| {
            let urls: Vec<String> = (0..PAGES)
                .map(|n| format!("{}/{name}/{n}", host.url))
                .collect();
            let list = dir.path().join(name).with_extension("txt");
            std::fs::write(&list, urls.join("\n")).unwrap();
            let list = list.to_str().unwrap();
            let arguments = [
                "fetch",
                "-q",
                "-i",
                list,
                "-o",
                name,
                "--state",
                &table,
                "--contact",
                "a@b.org",
            ];
            let mut fetch = command(dir.path(), &server.environment(), &arguments);
            fetch.stdout(Stdio::null()).stderr(Stdio::piped());
            fetch.spawn().unwrap()
        });
        for fetch in fetches {
            let ended = fetch.wait_with_output().unwrap();
            assert!(ended.status.success(), "{}", said(&ended));
        }
        let arrivals = host.origin.arrivals().into_iter();
        let pages = arrivals.filter(|arrival| arrival.path != "/robots.txt");
        let mut instants: Vec<Duration> = pages.map(|page| page.at).collect();
        instants.sort_unstable();
        assert_eq!(instants.len(), 2 * PAGES);
        // Each as late as this machine made it.
        let lead = lead_over_pace(&instants, DELAY);
        assert!(lead < Duration::from_millis(50), "{lead:?} ahead");
        let show = ["state", "show", "--json", "--state", &table];
        let shown = run(dir.path(), &server.environment(), &show);
        let shown = String::from_utf8(shown.stdout).unwrap();
        assert!(shown.contains("127.0.0.1"), "{shown}");
    }
}

#[test]
#[ignore = "needs dynalite and moto: ./test installs them and runs this"]
fn a_table_that_cannot_be_worked_with_is_one_line_and_exit_4() {
    let nobody = || environment("http://127.0.0.1:1".to_owned());
    let mut without_region = nobody();
    without_region[1].1.clear();
    let mut without_credentials = nobody();
    without_credentials[2].1.clear();
    for (name, environment, way_out) in [
        ("no table", DYNALITE.environment(), "curtsy state init"),
        ("no table", MOTO.environment(), "curtsy state init"),
        (
            "wrong credentials",
            environment(refuses("UnrecognizedClientException")),
            "AWS_ACCESS_KEY_ID",
        ),
        (
            "a web server",
            environment(answers("404 Not Found", "<html>")),
            "AWS_ENDPOINT_URL",
        ),
        ("no region", without_region, "AWS_REGION"),
        ("no credentials", without_credentials, "AWS_ACCESS_KEY_ID"),
        ("nobody", nobody(), "AWS_ENDPOINT_URL"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let table = new_table();
        let fetch = [
            "fetch",
            "http://127.0.0.1:1/",
            "--state",
            &table,
            "--contact",
            "a@b.org",
        ];
        let output = run(dir.path(), &environment, &fetch);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(4), "{name}: {said}");
        assert_eq!(said.lines().count(), 1, "{name}: {said}");
        assert!(said.contains(way_out), "{name}: {said}");
    }
}

fn run(dir: &Path, environment: &Environment, arguments: &[&str]) -> Output {
    command(dir, environment, arguments).output().unwrap()
}

fn command(dir: &Path, environment: &Environment, arguments: &[&str]) -> Command {
    let mut curtsy = Command::new(env!("CARGO_BIN_EXE_curtsy"));
    curtsy
        .args(arguments)
        .current_dir(dir)
        .env("HOME", dir)
        .env_remove("XDG_STATE_HOME")
        .env_remove("XDG_CONFIG_HOME")
        // This machine's own role, where it has one.
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .envs(environment.clone());
    curtsy
}
