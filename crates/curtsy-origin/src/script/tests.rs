use std::time::Duration;

use super::*;

#[test]
fn the_empty_script_is_the_default() {
    assert_eq!(Script::from_json("{}").unwrap(), Script::default());
}

#[test]
fn the_example_uses_every_key_and_survives_a_round_trip() {
    let script = Script::from_json(crate::EXAMPLE).unwrap();
    assert_eq!(Script::from_json(&script.to_json()).unwrap(), script);
    let keys = |json: &str| -> Vec<String> {
        let value: serde_json::Value = serde_json::from_str(json).unwrap();
        value.as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(keys(crate::EXAMPLE).len(), keys(&script.to_json()).len());
}

#[test]
fn a_policy_reads_its_own_keys_and_those_of_its_rule() {
    let script = Script::from_json(
        r#"{"policies": [{"kind": "fixed_window", "limit": 50, "window_s": 2.5, "anchor": "clock",
                          "prefix": "/api", "published": false},
                         {"kind": "min_gap", "gap_s": 0.2, "slack_ms": 5}]}"#,
    )
    .unwrap();
    let window = Rule::FixedWindow {
        limit: 50,
        window: Duration::from_millis(2500),
        anchor: Anchor::Clock,
    };
    let gap = Rule::MinGap {
        gap: Duration::from_millis(200),
        slack: Duration::from_millis(5),
    };
    assert_eq!(
        script.policies,
        [Policy::new(window).under("/api").hidden(), Policy::new(gap)]
    );
}

#[test]
fn every_form_of_retry_after_is_read_and_written() {
    for (json, expected) in [
        (r#""none""#, RetryAfter::None),
        (r#""seconds""#, RetryAfter::Seconds),
        (r#""floor""#, RetryAfter::Floor),
        (r#""date""#, RetryAfter::Date),
        ("5", RetryAfter::Fixed(5.0)),
        ("-1", RetryAfter::Fixed(-1.0)),
        ("1.5", RetryAfter::Fixed(1.5)),
        (r#"{"text": "NaN"}"#, RetryAfter::Text("NaN".to_owned())),
    ] {
        let read: RetryAfter = serde_json::from_str(json).unwrap();
        assert_eq!(read, expected, "{json}");
        let written = serde_json::to_string(&read).unwrap();
        assert_eq!(
            serde_json::from_str::<RetryAfter>(&written).unwrap(),
            expected
        );
    }
}

#[test]
fn what_is_unknown_or_out_of_bounds_is_refused_by_name() {
    for (json, named) in [
        (r#"{"policy": []}"#, "policy"),
        (
            r#"{"policies": [{"kind": "fixed_window", "limit": 5}]}"#,
            "window_s",
        ),
        (
            r#"{"policies": [{"kind": "fixed_window", "limit": 5, "window_s": 1, "gap_s": 1}]}"#,
            "gap_s",
        ),
        (
            r#"{"policies": [{"kind": "fixed_window", "limit": 0, "window_s": 1}]}"#,
            "policies[0]: limit 0",
        ),
        (
            r#"{"policies": [{"kind": "fixed_window", "limit": 5, "window_s": 0}]}"#,
            "window_s is 0",
        ),
        (
            r#"{"policies": [{"kind": "fixed_window", "limit": 5, "window_s": -1}]}"#,
            "-1",
        ),
        (
            r#"{"policies": [{"kind": "token_bucket", "rate_per_s": 0, "burst": 5}]}"#,
            "rate_per_s 0",
        ),
        (
            r#"{"policies": [{"kind": "sideways", "limit": 5}]}"#,
            "sideways",
        ),
        (r#"{"refuse": {"status": 700}}"#, "refuse: status 700"),
        (r#"{"refuse": {"retry_after": "later"}}"#, "later"),
        (
            r#"{"refuse": {"retry_after": {"text": "a\nb"}}}"#,
            "retry_after",
        ),
        (
            r#"{"outages": [{"at_s": 1, "for_s": 0}]}"#,
            "outages[0]: for_s",
        ),
        (r#"{"dialect": "draft99"}"#, "draft99"),
        (r#"{"robots": 99}"#, "robots: status 99"),
        (
            r#"{"pages": {"/x": {"headers": [["Content-Length", "5"]]}}}"#,
            "Content-Length",
        ),
        (
            r#"{"pages": {"/x": {"headers": [["no name", "5"]]}}}"#,
            "no name",
        ),
        (r#"{"pages": {"x": {}}}"#, "does not begin"),
        (r#"{"pages": {"/x": []}}"#, "at least one"),
        (r#"{"pages": {"/x": {"fault": "explode"}}}"#, "explode"),
        (
            r#"{"pages": {"/x": {"fault": {"cut_body": {}}}}}"#,
            "after_bytes",
        ),
        (
            r#"{"pages": {"/x": {"body": "a", "body_bytes": 1}}}"#,
            "exclude",
        ),
        (r#"{"service": {"workers": 1000000}}"#, "workers"),
        (r#"{"clock_skew_s": 1e12}"#, "clock_skew_s"),
        ("{", "EOF"),
    ] {
        let error = Script::from_json(json).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Script, "{json}");
        let why = std::error::Error::source(&error).unwrap().to_string();
        assert!(why.contains(named), "{json}: {why}");
    }
}

#[test]
fn the_most_exact_page_answers() {
    let pages: Pages = ["/a", "/a?x=1", "/a*", "/a/b*", "/*"]
        .map(|key| (key, Page::new(200, key)))
        .into_iter()
        .collect();
    for (path, key, rest) in [
        ("/a", "/a", ""),
        ("/a?x=1", "/a?x=1", ""),
        ("/a?x=2", "/a", ""),
        ("/a/c", "/a*", "/c"),
        ("/a/b/c?d", "/a/b*", "/c?d"),
        ("/z", "/*", "z"),
    ] {
        let (found, _, star) = pages.find(path).unwrap();
        assert_eq!((found, star), (key, rest), "{path}");
    }
    assert!(Pages::default().find("/a").is_none());
}

#[test]
fn a_list_of_pages_is_taken_in_turn_and_the_last_stays() {
    let script =
        Script::from_json(r#"{"pages": {"/x": [{"status": 500}, {"status": 200}]}}"#).unwrap();
    let (_, series, _) = script.pages.find("/x").unwrap();
    let statuses: Vec<_> = (0..4).map(|n| series.page(n).status.unwrap()).collect();
    assert_eq!(statuses, [500, 200, 200, 200]);
}

#[test]
fn the_longest_crawl_delay_of_a_robots_text_counts() {
    for (text, expected) in [
        ("User-agent: *\nCrawl-delay: 0.2\n", Some(0.2)),
        ("crawl-DELAY : 3 # s\nCrawl-delay: 10\n", Some(10.0)),
        ("Crawl-delay: soon\nDisallow: /\n", None),
        ("", None),
    ] {
        let script = Script {
            robots: Some(Robots::Text(text.to_owned())),
            ..Script::default()
        };
        assert_eq!(
            script.crawl_delay(),
            expected.map(Duration::from_secs_f64),
            "{text:?}"
        );
    }
}
