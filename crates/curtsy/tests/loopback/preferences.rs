//! What a server wants done with its pages: on record in the manifest, and in the way of nothing.

use serde_json::{Value, json};

use crate::support::*;

/// The three fields of a URL's line, as they stand in the file.
fn preferences(lines: &[Value], url: &str) -> Value {
    let line = lines.iter().find(|line| line["url"] == url).unwrap();
    assert_eq!(line["outcome"], "fetched", "{line}");
    let fields = ["robots_tag", "content_usage", "content_signal"];
    let told = fields
        .iter()
        .filter_map(|field| Some(((*field).to_owned(), line.get(field)?.clone())));
    told.collect()
}

#[tokio::test]
async fn the_manifest_tells_what_a_server_wishes_and_a_job_fetches_all_the_same() {
    let origin = origin(
        r#"{"robots": "User-agent: *\nContent-Usage: train-ai=n\nUser-agent: curtsy\nContent-Signal: search=yes, ai-train=no\nContent-Usage: search=y\nContent-Usage: /open train-ai=y, search=y\nAllow: /\n",
            "pages": {
                "/tagged": {"headers": [["X-Robots-Tag", "noindex, max-snippet: 20"], ["X-Robots-Tag", "curtsy: none"],
                    ["X-Robots-Tag", "other: noai"]]},
                "/open/refused": {"headers": [["Content-Usage", "train-ai=n, future=y"], ["Content-Signal", "ai-input=no"]]},
                "/open/moved": {"location": "/tagged"}}}"#,
    )
    .await;
    let signal = json!({"search": "yes", "ai-train": "no"});
    let rows = [
        (
            "/plain",
            json!({"content_usage": {"search": "y"}, "content_signal": signal}),
        ),
        (
            "/tagged",
            json!({"robots_tag": ["noindex", "nofollow", "max-snippet:20"], "content_usage": {"search": "y"},
                "content_signal": signal}),
        ),
        (
            "/open/x",
            json!({"content_usage": {"train-ai": "y", "search": "y"}, "content_signal": signal}),
        ),
        (
            "/open/refused",
            json!({"content_usage": {"train-ai": "n", "search": "y"},
                "content_signal": {"search": "yes", "ai-input": "no", "ai-train": "no"}}),
        ),
        (
            // Those of the page that answered.
            "/open/moved",
            json!({"robots_tag": ["noindex", "nofollow", "max-snippet:20"], "content_usage": {"search": "y"},
                "content_signal": signal}),
        ),
    ];
    let dir = tempfile::tempdir().unwrap();
    let urls = rows.iter().map(|(path, _)| origin.url(path)).collect();
    run_job(client(|_| ()), dir.path(), urls).await;
    let lines = json_lines(&dir.path().join("manifest.jsonl"));
    for (path, expected) in rows {
        assert_eq!(preferences(&lines, &origin.url(path)), expected, "{path}");
    }
}

#[tokio::test]
async fn without_a_wish_a_line_has_none_and_hostile_wishes_leave_a_line_small() {
    let words = "noindex, max-snippet:1, unavailable_after: 1, 2, 3, ".repeat(150);
    let keys: String = (0..800).map(|n| format!("k{n}=y, ")).collect();
    let origin = origin(&format!(
        r#"{{"robots": 404, "pages": {{"/hostile": {{"headers": [["X-Robots-Tag", "{words}"], ["Content-Usage", "{keys}train-ai=n"],
            ["Content-Signal", "((((((((("]]}}}}}}"#
    ))
    .await;
    let dir = tempfile::tempdir().unwrap();
    let urls = vec![origin.url("/plain"), origin.url("/hostile")];
    run_job(client(|_| ()), dir.path(), urls).await;
    let lines = json_lines(&dir.path().join("manifest.jsonl"));
    assert_eq!(preferences(&lines, &origin.url("/plain")), json!({}));
    let expected = json!({"robots_tag": ["noindex", "max-snippet:1", "unavailable_after:1, 2, 3"],
        "content_usage": {"train-ai": "n"}});
    assert_eq!(preferences(&lines, &origin.url("/hostile")), expected);
}
