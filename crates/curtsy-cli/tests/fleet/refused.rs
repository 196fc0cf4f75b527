//! A Redis that is not to be worked with: one line that says what to do, and exit 4.

use crate::server::Server;
use crate::support::{curtsy, said};

#[test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
fn a_redis_that_cannot_be_worked_with_is_one_line_and_exit_4() {
    let guarded = Server::start(&["--requirepass", "right"]);
    let replica = Server::start(&["--replicaof", "127.0.0.1", "1"]);
    let dir = tempfile::tempdir().unwrap();
    for (name, url, way_out) in [
        ("no password", guarded.url(), "redis://:password@host"),
        (
            "a wrong one",
            guarded.url_of("redis://:wrong@127.0.0.1", ""),
            "redis://:password@host",
        ),
        (
            "TLS where there is none",
            guarded.url_of("rediss://127.0.0.1", ""),
            "is it redis://",
        ),
        ("a replica", replica.url(), "take the address of its master"),
        (
            "nobody",
            "redis://127.0.0.1:1".to_owned(),
            "is not available",
        ),
    ] {
        for option in ["--state", "--queue"] {
            let arguments = [
                "fetch",
                "http://127.0.0.1:1/",
                option,
                &url,
                "--contact",
                "a@b.org",
            ];
            let output = curtsy(dir.path(), &arguments);
            let said = said(&output);
            assert_eq!(output.status.code(), Some(4), "{name}: {said}");
            assert_eq!(said.lines().count(), 1, "{name}: {said}");
            assert!(said.contains(way_out), "{name}: {said}");
            assert!(!said.contains("wrong"), "{name}: {said}");
        }
    }
}

#[test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
fn workers_of_one_job_do_not_keep_its_state_for_themselves() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = [
        "work",
        "--queue",
        "redis://127.0.0.1:1",
        "--state",
        "memory:",
    ];
    let output = curtsy(dir.path(), &arguments);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said(&output).contains("must share their state"),
        "{}",
        said(&output)
    );
}

#[test]
#[ignore = "needs redis-server: ./test installs it and runs this"]
fn a_job_is_listed_shown_and_cancelled() {
    let redis = Server::start(&[]);
    let dir = tempfile::tempdir().unwrap();
    let queue = ["--queue", &*redis.url()];
    let job = |arguments: &[&str]| curtsy(dir.path(), &[&["job"], arguments, &queue].concat());
    // A host that cannot be reached: the job is there all the same.
    let url = "http://127.0.0.1:1/";
    let pace = ["--job", "j", "--max-retries", "0", "--contact", "a@b.org"];
    let ended = curtsy(dir.path(), &[&["fetch", url], &pace[..], &queue].concat());
    assert_eq!(ended.status.code(), Some(1), "{}", said(&ended));
    let stdout = |output: &std::process::Output| String::from_utf8(output.stdout.clone()).unwrap();
    let listed = stdout(&job(&["list", "--json"]));
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(
        (&listed["job"], &listed["total"]),
        (&"j".into(), &1.into()),
        "{listed}"
    );
    let shown = stdout(&job(&["show", "j"]));
    assert!(
        shown.contains("127.0.0.1:1") && shown.contains("1 failed"),
        "{shown}"
    );
    assert_eq!(job(&["cancel", "j"]).status.code(), Some(0));
    for arguments in [&["cancel", "j"], &["show", "j"], &["export", "j"]] {
        let output = job(arguments);
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    }
    assert_eq!(stdout(&job(&["list", "--json"])), "");
}
