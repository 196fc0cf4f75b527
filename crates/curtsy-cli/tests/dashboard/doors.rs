//! Who is let in, and what they may do.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::run::{Answer, Run, ask, eventually, open};
use crate::support::serve;

const PAUSE: &str = r#"{"act":"pause","scope":null}"#;
const RESUME: &str = r#"{"act":"resume","scope":null}"#;

fn pages(url: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{url}/{n}")).collect()
}

/// A request by the page itself.
fn act(address: &str, body: &str) -> Answer {
    let origin = format!("http://{address}");
    ask(
        address,
        "POST /act",
        &[("Host", address), ("Origin", &origin)],
        body,
    )
}

#[test]
fn a_foreign_host_another_site_and_a_post_of_nobody_are_refused() {
    let (server, dir) = (serve(r#"{"robots": 404}"#), tempfile::tempdir().unwrap());
    let list = pages(&server.url, 1000);
    let run = Run::start(
        dir.path(),
        &list,
        &["--rate", "5", "--dashboard", "0", "--metrics", "0"],
    );
    let (page, metrics) = (run.address("dashboard"), run.address("metrics"));
    let own = format!("http://{page}");
    let port = page.rsplit(':').next().unwrap();
    let (evil, other) = (
        format!("evil.example:{port}"),
        format!("http://127.0.0.1:{}", 1),
    );
    for (request, fields, status) in [
        ("GET /", &[("Host", &*page)][..], 200),
        ("GET /", &[("Host", "localhost")], 200),
        ("GET /", &[("Host", &evil)], 403),
        ("GET /", &[], 400),
        ("GET /dashboard.js", &[("Host", &evil)], 403),
        ("GET /events", &[("Host", &evil)], 403),
        (
            "GET /events",
            &[("Host", &page), ("Origin", "http://evil.example")],
            403,
        ),
        ("GET /events", &[("Host", &page), ("Origin", &other)], 403),
        (
            "GET /events",
            &[("Host", &page), ("Sec-Fetch-Site", "cross-site")],
            403,
        ),
        ("POST /act", &[("Host", &page)], 403),
        ("POST /act", &[("Host", &page), ("Origin", "null")], 403),
        (
            "POST /act",
            &[("Host", &page), ("Origin", "http://evil.example")],
            403,
        ),
        (
            "POST /act",
            &[("Host", &evil), ("Origin", "http://evil.example")],
            403,
        ),
        ("GET /act", &[("Host", &page)], 405),
        ("GET /etc/passwd", &[("Host", &page)], 404),
        ("GET /nothing", &[("Host", &page)], 404),
    ] {
        let answer = ask(&page, request, fields, PAUSE);
        // What has no Host at all is no request: whoever refuses it may.
        let refused = fields.is_empty() && matches!(answer.status, 400 | 403);
        assert!(
            refused || answer.status == status,
            "{request} {fields:?}: {answer:?}"
        );
        if !fields.is_empty() {
            let policy = &answer.fields["content-security-policy"];
            assert!(
                policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'")
            );
            assert_eq!(answer.fields["x-content-type-options"], "nosniff");
        }
    }
    assert!(!run.said().contains("paused"), "{}", run.said());
    let text = ask(&metrics, "GET /metrics", &[("Host", &metrics)], "");
    assert!(
        text.body.contains("curtsy_departures_total{scope="),
        "{text:?}"
    );
    assert_eq!(
        ask(&metrics, "GET /metrics", &[("Host", &evil)], "").status,
        403
    );
    assert_eq!(
        ask(&metrics, "GET /healthz", &[("Host", &evil)], "").body,
        "ok\n"
    );
    assert_eq!(
        ask(
            &page,
            "POST /act",
            &[("Host", &page), ("Origin", &own)],
            RESUME
        )
        .status,
        204
    );
}

#[test]
fn beyond_this_machine_nobody_is_let_in_without_the_token_which_stands_in_no_file() {
    let (server, dir) = (serve(r#"{"robots": 404}"#), tempfile::tempdir().unwrap());
    let list = pages(&server.url, 1000);
    let run = Run::start(
        dir.path(),
        &list,
        &["--rate", "5", "--dashboard", "0.0.0.0:0"],
    );
    let address = run.address("dashboard");
    let said = run.said();
    let token = said
        .split("#token=")
        .nth(1)
        .unwrap()
        .lines()
        .next()
        .unwrap();
    assert!(token.len() >= 32, "{said}");
    let origin = format!("http://{address}");
    let status = |request: &str, fields: &[(&str, &str)], body: &str| {
        let fields = [&[("Host", &*address), ("Origin", &origin)], fields].concat();
        ask(&address, request, &fields, body)
    };
    for (request, body) in [("GET /", ""), ("GET /events", ""), ("POST /act", PAUSE)] {
        assert_eq!(status(request, &[], body).status, 401, "{request}");
        let wrong = [("Authorization", "Bearer 0123456789abcdef0123456789abcdef")];
        assert_eq!(status(request, &wrong, body).status, 401, "{request}");
        let wrong = [("Cookie", "curtsy_0=1")];
        assert_eq!(status(request, &wrong, body).status, 401, "{request}");
    }
    assert!(!status("GET /", &[], "").body.contains(list[0].as_str()));
    let bearer = format!("Bearer {token}");
    assert_eq!(
        status("POST /act", &[("Authorization", &bearer)], PAUSE).status,
        204
    );
    assert_eq!(status("POST /login", &[], "wrong").status, 403);
    let session = status("POST /login", &[], token);
    assert_eq!(session.status, 204);
    let cookie = &session.fields["set-cookie"];
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"),
        "{cookie}"
    );
    let cookie = cookie.split(';').next().unwrap();
    assert_eq!(
        status("POST /act", &[("Cookie", cookie)], RESUME).status,
        204
    );
    let foreign = [
        ("Host", &*address),
        ("Origin", "http://evil.example"),
        ("Cookie", cookie),
    ];
    assert_eq!(ask(&address, "POST /act", &foreign, PAUSE).status, 403);
    for file in ["audit.jsonl", "queue.sqlite"] {
        let path = dir.path().join("curtsy-out/.curtsy").join(file);
        let bytes = std::fs::read(path).unwrap_or_default();
        assert!(
            !bytes
                .windows(token.len())
                .any(|part| part == token.as_bytes()),
            "{file}"
        );
    }
}

#[test]
fn a_paused_job_departs_nothing_goes_on_when_resumed_and_its_servers_holds_stand() {
    let server = serve(
        r#"{"robots": 404, "pages": {"/held": {"status": 429, "headers": [["Retry-After", "60"]]}}}"#,
    );
    let held =
        serve(r#"{"robots": 404, "page": {"status": 429, "headers": [["Retry-After", "60"]]}}"#);
    let dir = tempfile::tempdir().unwrap();
    let mut list = pages(&server.url, 1000);
    list.push(format!("{}/", held.url));
    let run = Run::start(dir.path(), &list, &["--rate", "20", "--dashboard", "0"]);
    let address = run.address("dashboard");
    let arrived = || server.origin.arrivals().len();
    eventually(
        || arrived() > 3 && held.origin.arrivals().len() == 2,
        || run.said(),
    );
    assert_eq!(act(&address, PAUSE).status, 204);
    eventually(
        || run.said().contains("everything is paused"),
        || run.said(),
    );
    std::thread::sleep(Duration::from_millis(300));
    let before = arrived();
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(arrived(), before);
    assert_eq!(act(&address, RESUME).status, 204);
    eventually(|| arrived() > before + 3, || run.said());

    let asked = held.origin.arrivals().len();
    let scope = held.url.trim_start_matches("http://");
    let lift = format!(r#"{{"act":"lift","scope":"{scope}"}}"#);
    let refused = act(&address, &lift);
    assert_eq!(refused.status, 409, "{refused:?}");
    assert_eq!(held.origin.arrivals().len(), asked);
    for (body, status) in [
        (r#"{"act":"lift","scope":null}"#, 400),
        (r#"{"act":"forget","scope":null}"#, 400),
        (r#"{"act":"pause","scope":"nobody.example"}"#, 404),
        ("", 400),
    ] {
        assert_eq!(act(&address, body).status, status, "{body}");
    }
    assert_eq!(act(&address, &" ".repeat(10_000)).status, 413);
    let log = std::fs::read_to_string(dir.path().join("curtsy-out/.curtsy/audit.jsonl")).unwrap();
    for event in ["paused", "resumed"] {
        assert!(log.contains(&format!(r#""event":"{event}""#)), "{event}");
    }
}

#[test]
fn only_so_many_browsers_are_kept_up_to_date_and_none_is_shown_a_secret() {
    let (server, dir) = (
        serve(r#"{"robots": 404, "page": {"status": 503}}"#),
        tempfile::tempdir().unwrap(),
    );
    let list: Vec<String> = (0..100)
        .map(|n| {
            format!(
                "{}/{n}?key=secret",
                server.url.replace("http://", "http://ann:secret@")
            )
        })
        .collect();
    let run = Run::start(dir.path(), &list, &["--dashboard", "0"]);
    let address = run.address("dashboard");
    let mut streams: Vec<_> = (0..16)
        .map(|_| open(&address, "GET /events?count=50", &[("Host", &address)], ""))
        .collect();
    let mut first = String::new();
    let begun = std::time::Instant::now();
    while !first.contains("backing off until") {
        let mut bytes = [0; 4096];
        let read = streams[0].read(&mut bytes).unwrap();
        first += &String::from_utf8_lossy(&bytes[..read]);
        assert!(
            read > 0 && begun.elapsed() < Duration::from_secs(20),
            "{first}"
        );
    }
    assert!(
        first.contains(r#""does":"#) && !first.contains("secret"),
        "{first}"
    );
    for stream in &mut streams[1..] {
        let mut bytes = [0; 15];
        stream.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"HTTP/1.1 200 OK");
    }
    let refused = ask(&address, "GET /events", &[("Host", &address)], "");
    assert_eq!(refused.status, 503);
    drop(streams);
    let is_free = || ask(&address, "GET /", &[("Host", &address)], "").status == 200;
    eventually(is_free, || run.said());
}

/// The status that these bytes are answered with; `None` where the connection is just closed.
fn status_of(address: &str, request: &[u8]) -> Option<u16> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    // Who does not want to hear the rest may close before it is sent.
    let _ = stream.write_all(request);
    let mut head = [0; 12];
    stream.read_exact(&mut head).ok()?;
    std::str::from_utf8(&head[9..]).unwrap().parse().ok()
}

#[test]
fn what_makes_no_sense_is_refused_and_the_page_goes_on() {
    let (server, dir) = (serve(r#"{"robots": 404}"#), tempfile::tempdir().unwrap());
    let list = pages(&server.url, 1000);
    let run = Run::start(dir.path(), &list, &["--rate", "5", "--dashboard", "0"]);
    let address = run.address("dashboard");
    let own = format!("Host: {address}\r\nOrigin: http://{address}\r\n");
    let get = |target: &[u8]| [b"GET ", target, b" HTTP/1.1\r\n", own.as_bytes(), b"\r\n"].concat();
    let post = |target: &str, body: &[u8]| {
        let head = format!(
            "POST {target} HTTP/1.1\r\n{own}Content-Length: {}\r\n\r\n",
            body.len()
        );
        [head.as_bytes(), body].concat()
    };
    let long = "x".repeat(60_000);
    let longer = "x".repeat(1_000_000);
    for (what, request, expected) in [
        (
            "a byte that is no UTF-8",
            get(b"/events?q=%ff&count=1"),
            &[Some(200)][..],
        ),
        (
            "the same, raw",
            get(b"/events?q=\xff"),
            &[Some(400), Some(200), None],
        ),
        ("a path of it", get(b"/%ff"), &[Some(400)]),
        ("a path upwards", get(b"/../Cargo.toml"), &[Some(404)]),
        (
            "a long question",
            get(format!("/events?q={long}").as_bytes()),
            &[Some(200), Some(414)],
        ),
        (
            "a longer one",
            get(format!("/events?q={longer}").as_bytes()),
            &[Some(414), Some(431), None],
        ),
        (
            "a number too many",
            get(b"/events?count=18446744073709551616"),
            &[Some(400)],
        ),
        ("a number below zero", get(b"/events?from=-1"), &[Some(400)]),
        (
            "the last row",
            get(b"/events?from=18446744073709551615&count=18446744073709551615"),
            &[Some(200)],
        ),
        (
            "a state that there is not",
            get(b"/events?does=nothing"),
            &[Some(400)],
        ),
        (
            "an act of no UTF-8",
            post("/act", b"\xff\xfe"),
            &[Some(400)],
        ),
        (
            "an act of a million brackets",
            post("/act", "[".repeat(4000).as_bytes()),
            &[Some(400)],
        ),
        (
            "a token of no UTF-8",
            post("/login", b"\xff\xfe"),
            &[Some(400)],
        ),
        (
            "a token where none is asked for",
            post("/login", b"a"),
            &[Some(403)],
        ),
        (
            "two lengths",
            format!(
                "POST /act HTTP/1.1\r\n{own}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"
            )
            .into_bytes(),
            &[Some(400), None],
        ),
        (
            "a name of no UTF-8",
            b"GET / HTTP/1.1\r\nHost: \xff\r\n\r\n".to_vec(),
            &[Some(400), Some(403)],
        ),
        (
            "a foreign name in the first line",
            b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_vec(),
            &[Some(403)],
        ),
        (
            "no HTTP",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc".to_vec(),
            &[Some(400), None],
        ),
    ] {
        let status = status_of(&address, &request);
        assert!(expected.contains(&status), "{what}: {status:?}");
    }
    assert_eq!(
        ask(&address, "GET /", &[("Host", &address)], "").status,
        200
    );
    assert!(!run.said().contains("paused"), "{}", run.said());
}

#[test]
fn who_says_nothing_keeps_nobody_out() {
    let (server, dir) = (serve(r#"{"robots": 404}"#), tempfile::tempdir().unwrap());
    let list = pages(&server.url, 1000);
    let run = Run::start(dir.path(), &list, &["--rate", "5", "--dashboard", "0"]);
    let address = run.address("dashboard");
    let silent: Vec<_> = (0..40)
        .map(|_| {
            let mut stream = TcpStream::connect(&*address).unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\nHo").unwrap();
            stream
        })
        .collect();
    assert_eq!(
        ask(&address, "GET /", &[("Host", &address)], "").status,
        200
    );
    drop(silent);
}

#[test]
fn who_watches_is_told_the_end_and_the_run_waits_for_nobody_who_does_not_listen() {
    let (server, dir) = (serve(r#"{"robots": 404}"#), tempfile::tempdir().unwrap());
    let list = pages(&server.url, 12);
    let run = Run::start(dir.path(), &list, &["--rate", "3", "--dashboard", "0"]);
    let address = run.address("dashboard");
    let host = [("Host", &*address)];
    let deaf = open(&address, "GET /events", &host, "");
    let mut whole = String::new();
    open(&address, "GET /events?count=5", &host, "")
        .read_to_string(&mut whole)
        .unwrap();
    let last = whole
        .lines()
        .rfind(|line| line.starts_with("data:"))
        .unwrap();
    let last: serde_json::Value = serde_json::from_str(&last["data:".len()..]).unwrap();
    let job = &last["job"];
    assert_eq!(job["has_ended"], true, "{last}");
    assert_eq!((&job["ended"], &job["total"]), (&12.into(), &12.into()));
    eventually(|| TcpStream::connect(&*address).is_err(), || run.said());
    drop(deaf);
}
