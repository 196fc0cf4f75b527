//! `curtsy robots` of a site, against a scripted origin.

#![allow(clippy::unwrap_used)]

mod support;

use serde_json::Value as Json;
use support::{curtsy, said, serve};

#[test]
fn robots_asks_a_site_once_and_tells_rule_line_and_how_the_file_was_come_by() {
    let script = r#"{"robots": "User-agent: *\nCrawl-delay: 7\nRequest-rate: 1/10 0200-0400\nDisallow: /no\nSitemap: /map.xml\nVisit-time: 0200-0400\nContent-Usage: /a train-ai=n\nUser-agent: MossBot\nDisallow: /\u001b[31m\n"}"#;
    let (server, dir) = (serve(script), tempfile::tempdir().unwrap());
    let ask = |path: &str, more: &[&str]| {
        let url = format!("{}{path}", server.url);
        let arguments = [&["robots", &url, "--state", "sqlite:state"], more].concat();
        let output = curtsy(dir.path(), &arguments);
        assert!(output.stderr.is_empty(), "{}", said(&output));
        let told = String::from_utf8(output.stdout).unwrap();
        (output.status.code().unwrap(), told)
    };
    let url = &server.url;
    let (code, told) = ask("/no/x", &[]);
    let expected = format!(
        "disallowed {url}/no/x\n  rule: Disallow: /no, line 4\n  group: for everyone (*)\n  Crawl-delay: 7 s\n  \
         Request-rate: one in 10 s, 02:00 to 04:00 UTC\n  sitemap: {url}/map.xml\n  \
         file: {url}/robots.txt: status 200, asked for now\n  \
         line 6: record noted, not obeyed: \"Visit-time: 0200-0400\"\n"
    );
    assert_eq!((code, told), (1, expected));

    let (code, told) = ask("/a", &[]);
    assert_eq!(code, 0, "{told}");
    assert!(told.contains("rule: none matches"), "{told}");
    assert!(told.contains("Content-Usage: train-ai=n"), "{told}");
    assert!(told.contains("status 200, known for "), "{told}");

    let (code, told) = ask("/\u{1b}[31m", &["--agent", "MossBot/2"]);
    assert_eq!(code, 1, "{told}");
    assert!(told.contains("rule: Disallow: / [31m, line 9"), "{told}");
    assert!(told.contains("group: for MossBot"), "{told}");
    assert!(!told.contains('\u{1b}'), "{told}");

    let (code, told) = ask("/no", &["--json"]);
    let told: Json = serde_json::from_str(&told).unwrap();
    assert_eq!(code, 1, "{told}");
    for (pointer, expected) in [
        ("/allowed", Json::from(false)),
        ("/rule", "Disallow: /no".into()),
        ("/line", 4.into()),
        ("/agent", "curtsy".into()),
        ("/group", "everyone".into()),
        ("/crawl_delay_s", 7.0.into()),
        ("/request_rates/0/interval_s", 10.0.into()),
        ("/request_rates/0/from", "02:00".into()),
        ("/sitemaps/0", format!("{url}/map.xml").into()),
        ("/file/outcome", "rules".into()),
        ("/file/status", 200.into()),
        ("/file/asked", false.into()),
        ("/warnings/0/kind", "not_obeyed".into()),
    ] {
        assert_eq!(told.pointer(pointer), Some(&expected), "{pointer}: {told}");
    }
}

#[test]
fn robots_tells_what_an_answer_without_rules_means() {
    for (script, code, outcome, words) in [
        (
            r#"{"robots": 404}"#,
            0,
            "unavailable",
            "status 404, so nothing is forbidden, asked for now",
        ),
        (
            r#"{"robots": 503}"#,
            1,
            "unreachable",
            "unreachable (server_error, 503), so nothing is allowed for now; asked for again not before 2",
        ),
        (
            r#"{"pages": {"/robots.txt": {"fault": "reset_before_head"}}}"#,
            1,
            "unreachable",
            "unreachable (reset), so nothing is allowed for now",
        ),
        (
            r#"{"pages": {"/robots.txt": {"location": "/robots.txt"}}}"#,
            0,
            "too_many_redirects",
            "more than five redirects, so nothing is forbidden, asked for now",
        ),
        (
            r#"{"pages": {"/robots.txt": {"status": 503, "headers": [["Retry-After", "3600"]]}}}"#,
            1,
            "unreachable",
            "unreachable (server_error, 503)",
        ),
    ] {
        let (server, dir) = (serve(script), tempfile::tempdir().unwrap());
        let url = format!("{}/x", server.url);
        let ask = [
            "robots",
            &url,
            "--state",
            "sqlite:state",
            "--rate",
            "100",
            "--max-retries",
            "0",
            "-q",
        ];
        let output = curtsy(dir.path(), &ask);
        let told = String::from_utf8(output.stdout.clone()).unwrap();
        assert_eq!(
            output.status.code(),
            Some(code),
            "{script}: {told}{}",
            said(&output)
        );
        assert!(
            told.contains(&format!("/robots.txt: {words}")),
            "{script}: {told}"
        );
        let output = curtsy(dir.path(), &[&ask[..], &["--json"]].concat());
        let told: Json = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(told["file"]["outcome"], outcome, "{script}: {told}");
        assert_eq!(told["allowed"], code == 0, "{script}: {told}");
    }
}
