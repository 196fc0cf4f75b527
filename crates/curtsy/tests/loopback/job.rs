//! A job from its list to its manifest.

use curtsy::transport::Limits;
use curtsy::{Line, NewEntry, Outcome};
use curtsy_origin::{judge, sized_body};

use crate::support::*;

#[tokio::test]
async fn bodies_lie_on_the_disk_as_the_manifest_tells() {
    let origin = origin(
        r#"{"robots": 404, "pages": {
            "/big": {"body_bytes": 300000, "coding": "gzip", "headers": [["Content-Type", "text/csv"]]},
            "/empty": {"body": ""},
            "/moved": {"location": "/to/here.txt"},
            "/flaky": [{"status": 500}, {"body": "at last"}]}}"#,
    )
    .await;
    let dir = tempfile::tempdir().unwrap();
    let paths = ["/big", "/empty", "/moved", "/flaky", "/a?b=c", "/dir/"];
    let urls = paths.map(|path| origin.url(path)).to_vec();
    let summary = run_job(client(|_| ()), dir.path(), urls.clone()).await;
    assert_eq!((summary.total, summary.count(Outcome::Fetched)), (6, 6));

    let lines = manifest(dir.path());
    let listed: Vec<&String> = lines.iter().map(|line| &line.url).collect();
    assert_eq!(
        listed,
        urls.iter().collect::<Vec<_>>(),
        "in the order of the input"
    );
    let big = sized_body(300_000);
    for (path, body, attempts, file) in [
        ("/big", &big[..], 1, Some("big@page")),
        ("/empty", b"", 1, Some("empty@page")),
        ("/moved", b"ok\n", 2, Some("moved@page")),
        ("/flaky", b"at last", 2, Some("flaky@page")),
        ("/a?b=c", b"ok\n", 1, None),
        ("/dir/", b"ok\n", 1, Some("dir/@index")),
    ] {
        let line = line(dir.path(), &origin.url(path));
        assert_eq!(line.outcome, Outcome::Fetched, "{line:?}");
        assert_eq!(
            (line.status, line.attempts, &line.error),
            (Some(200), attempts, &None)
        );
        let name = line.file.unwrap();
        assert!(name.starts_with(&format!("127.0.0.1@http-{}/", origin.addr().port())));
        assert!(file.is_none_or(|file| name.ends_with(file)), "{name}");
        assert!(!name.contains("b=c"), "{name}");
        assert_eq!(
            std::fs::read(dir.path().join(&name)).unwrap(),
            body,
            "{path}"
        );
        assert_eq!(line.bytes, Some(body.len() as u64));
        assert_eq!(line.sha256, Some(sha256(body)));
        assert!(line.first_departure.unwrap() <= line.finished.unwrap());
        let moved = (path == "/moved").then(|| origin.url("/to/here.txt"));
        assert_eq!(line.final_url, moved);
        let kind = (path == "/big").then(|| "text/csv".to_owned());
        assert_eq!(line.content_type.filter(|_| path == "/big"), kind);
    }
    assert_eq!(bodies(dir.path()).len(), 6);
    assert_eq!(summary.bytes, 300_000 + 3 * 3 + 7);
    let partial = dir.path().join(".curtsy/partial");
    assert_eq!(std::fs::read_dir(partial).unwrap().count(), 0);
}

#[tokio::test]
async fn each_url_is_fetched_once_however_many_there_are_and_however_often_it_is_listed() {
    let origin = origin(r#"{"robots": 404}"#).await;
    let dir = tempfile::tempdir().unwrap();
    let mut urls: Vec<String> = (0..400).map(|n| origin.url(&format!("/{n}"))).collect();
    urls.push(origin.url("/7"));
    urls.push(origin.url("/7#fragment"));
    let client = client(|p| (p.per_host, p.burst) = (8, 1000));
    let summary = run_job(client, dir.path(), urls).await;
    assert_eq!((summary.total, summary.count(Outcome::Fetched)), (400, 400));
    let expected: Vec<String> = (0..400).map(|n| format!("/{n}")).collect();
    let verdict = judge(origin.script(), &origin.arrivals(), &expected);
    assert_eq!(
        (verdict.served, verdict.duplicates, verdict.arrivals),
        (400, 0, 400)
    );
    assert_eq!(
        (manifest(dir.path()).len(), bodies(dir.path()).len()),
        (400, 400)
    );
}

#[tokio::test]
async fn each_way_to_end_has_its_outcome_and_says_why() {
    let origin = origin(
        r#"{"robots": "User-agent: *\nDisallow: /no\n", "pages": {
            "/404": {"status": 404, "body": "nothing here"}, "/500": {"status": 500},
            "/endless-404": {"status": 404, "fault": {"endless_body": {}}}}}"#,
    )
    .await;
    let shut = crate::support::origin(r#"{"robots": 404, "page": {"status": 403}}"#).await;
    let held = crate::support::origin(
        r#"{"robots": 404, "page": {"status": 429, "headers": [["Retry-After", "900"]]}}"#,
    )
    .await;
    let nobody = format!("http://{}/", nobody());
    let urls = [
        origin.url("/404"),
        origin.url("/500"),
        origin.url("/no"),
        origin.url("/endless-404"),
        shut.url("/1"),
        shut.url("/2"),
        held.url("/1"),
        held.url("/2"),
        nobody.clone(),
    ];
    let dir = tempfile::tempdir().unwrap();
    let client = client(|p| {
        (p.backoff_base, p.max_retries, p.suppress_after, p.per_host) = (ms(2), 1, Some(1), 1);
    });
    let summary = run_job(client, dir.path(), urls.to_vec()).await;
    let told = |url: &str| {
        let Line {
            outcome,
            status,
            attempts,
            error,
            ..
        } = line(dir.path(), url);
        (outcome, status, attempts, error.unwrap())
    };
    for (url, expected) in [
        (&urls[0], (Outcome::HttpError, Some(404), 1, "status 404")),
        (&urls[1], (Outcome::HttpError, Some(500), 2, "status 500")),
        (
            &urls[2],
            (
                Outcome::Disallowed,
                None,
                0,
                "robots.txt line 2: Disallow: /no",
            ),
        ),
        (&urls[3], (Outcome::HttpError, Some(404), 1, "status 404")),
        (&urls[4], (Outcome::HttpError, Some(403), 1, "status 403")),
        (
            &urls[5],
            (
                Outcome::Suppressed,
                Some(403),
                0,
                "the scope answered 403 before",
            ),
        ),
        (&urls[6], (Outcome::Deferred, None, 1, "server_hold")),
        (&urls[7], (Outcome::Deferred, None, 0, "server_hold")),
    ] {
        let (outcome, status, attempts, error) = told(url);
        assert_eq!((outcome, status, attempts, &*error), expected, "{url}");
    }
    let (outcome, _, _, error) = told(&nobody);
    assert_eq!(outcome, Outcome::Failed);
    assert!(error.starts_with("refused: "), "{error}");
    assert_eq!(bodies(dir.path()), Vec::<String>::new());
    assert_eq!(line(dir.path(), &urls[0]).bytes, Some(12));
    assert_eq!(line(dir.path(), &urls[3]).bytes, None);
    for (outcome, number) in [
        (Outcome::HttpError, 4),
        (Outcome::Disallowed, 1),
        (Outcome::Suppressed, 1),
        (Outcome::Deferred, 2),
        (Outcome::Failed, 1),
    ] {
        assert_eq!(summary.count(outcome), number, "{outcome:?}");
    }
    assert!(summary.next_due.is_some());
    assert_eq!(pages(&held).len(), 1);
}

#[tokio::test]
async fn a_body_that_goes_wrong_is_told_for_its_url_and_the_job_goes_on() {
    let origin = origin(
        r#"{"robots": 404, "pages": {
            "/cut": {"body_bytes": 1000, "fault": {"cut_body": {"after_bytes": 400}}},
            "/cut-once": [{"body_bytes": 1000, "fault": {"cut_body": {"after_bytes": 400}}}, {"body_bytes": 1000}],
            "/stalled": {"body_bytes": 1000, "fault": {"stall_body": {"after_bytes": 400}}},
            "/silent": {"fault": "no_head"},
            "/endless": {"fault": {"endless_body": {}}},
            "/large": {"body_bytes": 200001},
            "/bomb": {"body_bytes": 9000000, "coding": "gzip"},
            "/no-gzip": {"body": "plain", "headers": [["Content-Encoding", "gzip"]]}}}"#,
    )
    .await;
    let limits = Limits {
        silence: ms(150),
        body: 200_000,
        ..Limits::default()
    };
    let policy = fast(|p| (p.max_retries, p.backoff_base) = (1, ms(2)));
    let client = builder(policy)
        .transport(impatient(limits))
        .build()
        .unwrap();
    let failing = [
        ("/cut", "body_cut_short: ", 4),
        ("/stalled", "timeout_body: ", 1),
        ("/silent", "timeout_head: ", 2),
        ("/endless", "body_too_large: ", 1),
        ("/large", "body_too_large: ", 1),
        ("/bomb", "body_too_large: ", 1),
        ("/no-gzip", "bad_encoding: ", 1),
    ];
    let dir = tempfile::tempdir().unwrap();
    let paths = failing
        .iter()
        .map(|(path, ..)| *path)
        .chain(["/cut-once", "/good"]);
    let urls = paths.map(|path| origin.url(path)).collect();
    let summary = run_job(client, dir.path(), urls).await;
    assert_eq!(
        (
            summary.count(Outcome::Failed),
            summary.count(Outcome::Fetched)
        ),
        (7, 2)
    );
    for (path, error, attempts) in failing {
        let line = line(dir.path(), &origin.url(path));
        assert_eq!(
            (line.outcome, line.attempts),
            (Outcome::Failed, attempts),
            "{path}"
        );
        assert!(line.error.as_ref().unwrap().starts_with(error), "{line:?}");
        assert_eq!(
            (line.file, line.bytes, line.sha256),
            (None, None, None),
            "{path}"
        );
    }
    assert_eq!(bodies(dir.path()).len(), 2, "{:?}", bodies(dir.path()));
    let once = line(dir.path(), &origin.url("/cut-once"));
    assert_eq!((once.bytes, once.attempts), (Some(1000), 2));
    let partial = dir.path().join(".curtsy/partial");
    assert_eq!(std::fs::read_dir(partial).unwrap().count(), 0);
}

#[tokio::test]
async fn a_line_names_its_file_and_its_headers() {
    let origin = origin(r#"{"robots": 404, "pages": {"/1": {"body": "one"}}}"#).await;
    let entry = |path: &str, out: Option<&str>, headers: Option<&str>| NewEntry {
        url: origin.url(path),
        out: out.map(str::to_owned),
        headers: headers.map(str::to_owned),
    };
    let entries = vec![
        entry(
            "/1",
            Some("a/b.txt"),
            Some(r#"{"X-One": "1", "User-Agent": "own/1"}"#),
        ),
        entry("/2", Some("a/b.txt"), None),
        entry("/3", None, Some(r#"{"Bad Name": "1"}"#)),
        entry("/4", None, Some(r#"{"Bad": "line\nbreak"}"#)),
        entry("/5", None, Some("no json")),
        entry("/6", Some("../outside"), None),
        entry("/7", Some("manifest.jsonl"), None),
        entry("/8", Some("a/b.txt/below"), None),
    ];
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let client = client(|p| p.per_host = 1);
    let summary = run_entries(client, &out, entries).await.unwrap();
    assert_eq!(
        (
            summary.count(Outcome::Fetched),
            summary.count(Outcome::Failed)
        ),
        (1, 7)
    );
    assert_eq!(std::fs::read(out.join("a/b.txt")).unwrap(), b"one");
    assert_eq!(bodies(&out), ["a/b.txt"]);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    for path in ["/3", "/4", "/5", "/6", "/7"] {
        let line = line(&out, &origin.url(path));
        assert!(line.error.unwrap().starts_with("invalid_url: "), "{path}");
        assert_eq!(count(&origin, path), 0, "{path}");
    }
    for path in ["/2", "/8"] {
        let line = line(&out, &origin.url(path));
        assert!(line.error.unwrap().starts_with("file_name: "), "{path}");
    }
    let arrivals = pages(&origin);
    assert_eq!(arrivals[0].header("x-one"), Some("1"));
    assert_eq!(arrivals[0].user_agent.as_deref(), Some("own/1"));
    assert_eq!(origin.arrivals()[0].header("x-one"), None);
}
