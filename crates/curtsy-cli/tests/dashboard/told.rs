//! What a run tells to programs: its metrics, and its alerts.

use crate::run::{Run, ask, eventually};
use crate::support::serve;

/// The sum of the series of a counter with these labels.
fn total(text: &str, name: &str, labels: &[String]) -> u64 {
    let series = text.lines().filter(|line| {
        line.starts_with(&format!("{name}{{")) && labels.iter().all(|label| line.contains(label))
    });
    let values = series.map(|line| line.rsplit(' ').next().unwrap());
    values.map(|value| value.parse::<u64>().unwrap()).sum()
}

#[test]
fn the_metrics_of_a_run_are_what_its_servers_saw() {
    let fine = serve(r#"{"robots": 404, "pages": {"/gone*": {"status": 404}}}"#);
    let held =
        serve(r#"{"robots": 404, "page": {"status": 429, "headers": [["Retry-After", "240"]]}}"#);
    let dir = tempfile::tempdir().unwrap();
    let mut list: Vec<String> = (0..20).map(|n| format!("{}/{n}", fine.url)).collect();
    list.extend((0..5).map(|n| format!("{}/gone{n}", fine.url)));
    list.push(format!("{}/", held.url));
    // It goes on as long as it waits for the one that is held.
    let run = Run::start(
        dir.path(),
        &list,
        &["--rate", "50", "--max-wait", "1h", "--metrics", "0"],
    );
    let address = run.address("metrics");
    let text = || ask(&address, "GET /metrics", &[("Host", &address)], "").body;
    let of = |url: &str, label: &str| {
        let scope = url.trim_start_matches("http://");
        vec![format!(r#"scope="{scope}""#), label.to_owned()]
    };
    let answered = |url: &str| total(&text(), "curtsy_outcomes_total", &of(url, ""));
    // 25 pages, one page that is refused, and a robots.txt each.
    eventually(
        || answered(&fine.url) == 26 && answered(&held.url) == 2,
        || run.said() + &text(),
    );
    let text = text();
    for server in [&fine, &held] {
        let arrivals = server.origin.arrivals();
        let url = &server.url;
        let departures = total(&text, "curtsy_departures_total", &of(url, ""));
        assert_eq!(departures, arrivals.len() as u64, "{url}: {text}");
        for status in [200, 404, 429] {
            let arrived = arrivals.iter().filter(|a| a.status == Some(status)).count();
            let label = format!(r#"status="{status}""#);
            let told = total(&text, "curtsy_outcomes_total", &of(url, &label));
            assert_eq!(told, arrived as u64, "{url}, {status}: {text}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_command_and_a_webhook_are_told_of_a_scope_in_trouble_and_so_is_the_log() {
    let (shut, hook) = (
        serve(r#"{"robots": 404, "page": {"status": 403}}"#),
        serve(r#"{"page": {"status": 204}}"#),
    );
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("told.sh"), "cat >> told; echo >> told\n").unwrap();
    let list: Vec<String> = (0..50).map(|n| format!("{}/{n}", shut.url)).collect();
    let webhook = format!("{}/hook?key=secret", hook.url);
    let run = Run::start(
        dir.path(),
        &list,
        &[
            "--rate",
            "50",
            "--alert-command",
            "sh told.sh",
            "--alert-webhook",
            &webhook,
        ],
    );
    let told = || std::fs::read_to_string(dir.path().join("told")).unwrap_or_default();
    eventually(|| told().ends_with("}\n"), || run.said());
    eventually(|| hook.origin.arrivals().len() == 1, || run.said());
    let alert: serde_json::Value = serde_json::from_str(told().lines().next().unwrap()).unwrap();
    assert_eq!(
        (&alert["alert"], &alert["state"]),
        (&"scope_suppressed".into(), &"raised".into())
    );
    assert_eq!(alert["scope"], shut.url.trim_start_matches("http://"));
    let post = &hook.origin.arrivals()[0];
    assert_eq!((&*post.method, &*post.path), ("POST", "/hook?key=secret"));
    let log = std::fs::read_to_string(dir.path().join("curtsy-out/.curtsy/audit.jsonl")).unwrap();
    assert!(
        log.contains(r#""event":"alert""#) && !log.contains("secret"),
        "{log}"
    );
}
