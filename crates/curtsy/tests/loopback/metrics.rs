//! T3: what is counted is what happened, by the audit log and by the server's own.

use std::collections::{BTreeMap, BTreeSet};

use curtsy::Metrics;
use curtsy::core::Scope;
use curtsy::core::audit::{Event, Record};
use curtsy_origin::Origin;

use crate::support::*;

/// The series of a text: name and labels as they stand there, and the value.
fn series(text: &str) -> BTreeMap<&str, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let series = lines.map(|line| line.rsplit_once(' ').unwrap());
    series
        .map(|(name, value)| (name, value.parse().unwrap()))
        .collect()
}

/// The sum over the scopes of a counter, by the value of a label.
fn sums(text: &str, name: &str, label: &str) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for (series, value) in series(text) {
        let Some(labels) = series.strip_prefix(&format!("{name}{{")) else {
            continue;
        };
        let value_of = |line: &str| line.split('"').nth(1).unwrap().to_owned();
        let found = labels.split(',').find(|pair| pair.starts_with(label));
        let key = found.map(value_of).unwrap_or_default();
        *sums.entry(key).or_default() += value as u64;
    }
    sums.retain(|_, count| *count > 0);
    sums
}

/// The labels of each series' name, without those that are Prometheus's own.
fn labels(text: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut labels: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for (name, rest) in series(text)
        .into_keys()
        .filter_map(|key| key.split_once('{'))
    {
        let pairs = rest.trim_end_matches('}').split("\",");
        let keys = pairs.filter_map(|pair| Some(pair.split_once('=')?.0));
        let name = ["_bucket", "_sum", "_count"]
            .into_iter()
            .find_map(|suffix| name.strip_suffix(suffix))
            .unwrap_or(name);
        labels
            .entry(name)
            .or_default()
            .extend(keys.filter(|key| *key != "le"));
    }
    labels
}

/// The table of `docs/metrics.md`: the type and the labels of each metric.
fn documented() -> BTreeMap<&'static str, (&'static str, BTreeSet<&'static str>)> {
    let rows = include_str!("../../../../docs/metrics.md").lines();
    let rows = rows.filter_map(|line| line.strip_prefix("| `curtsy_").map(|_| line));
    rows.map(|row| {
        let mut cells = row.trim_matches('|').split('|').map(str::trim);
        let mut next = || cells.next().unwrap();
        let (name, kind) = (next().trim_matches('`'), next());
        let labels = next().split(", ").map(|label| label.trim_matches('`'));
        (name, (kind, labels.collect()))
    })
    .collect()
}

fn count<K: Ord>(keys: impl Iterator<Item = K>) -> BTreeMap<K, u64> {
    let mut counts = BTreeMap::new();
    keys.for_each(|key| *counts.entry(key).or_default() += 1);
    counts
}

fn events<T>(records: &[Record], of: impl Fn(&Record) -> Option<T>) -> Vec<T> {
    records.iter().filter_map(of).collect()
}

async fn server() -> Origin {
    origin(
        r#"{"robots": "User-agent: *\nDisallow: /no\n", "page": {"body_bytes": 1000}, "pages": {
            "/busy": [{"status": 503}, {"status": 429, "headers": [["Retry-After", "0"]]}, {"body": "late"}],
            "/moved": {"location": "/there"},
            "/gone": {"status": 404, "body": ""},
            "/broken": {"status": 500, "body": ""},
            "/shut": [{"status": 403, "body": ""}]}}"#,
    )
    .await
}

#[tokio::test]
async fn t3_metrics_audit_and_the_servers_own_log_agree_number_for_number() {
    let (one, other) = (server().await, server().await);
    let (_dir, log, audit) = log();
    let metrics = Metrics::on();
    let policy = fast(|p| (p.suppress_after, p.max_retries) = (Some(1), 2));
    let client = builder(policy)
        .audit(audit)
        .metrics(metrics.clone())
        .build()
        .unwrap();
    let dir = tempfile::tempdir().unwrap();
    let paths = ["/a", "/b", "/busy", "/moved", "/gone", "/broken", "/no"];
    let mut urls: Vec<String> = Vec::new();
    for origin in [&one, &other] {
        urls.extend(paths.iter().map(|path| origin.url(path)));
    }
    urls.push(format!("http://{}/nobody", nobody()));
    run_job(client.clone(), dir.path(), urls).await;
    response(client.get(&other.url("/shut")).await);
    assert!(response(client.get(&other.url("/a")).await).synthetic);

    let (text, records) = (metrics.text(&client), records(&log));
    let arrivals: Vec<_> = [&one, &other]
        .into_iter()
        .flat_map(|o| o.arrivals())
        .collect();

    let kinds = events(&records, |record| {
        matches!(record.event, Event::Departure(_)).then(|| record.kind.unwrap().label())
    });
    let departures = sums(&text, "curtsy_departures_total", "kind");
    assert_eq!(
        departures,
        count(kinds.iter().map(|kind| (*kind).to_owned()))
    );
    // What departed to nobody arrived nowhere.
    let refused = sums(&text, "curtsy_outcomes_total", "status")["error"];
    assert_eq!(
        departures.values().sum::<u64>(),
        arrivals.len() as u64 + refused
    );

    let statuses = events(&records, |record| {
        let status = record
            .status_code
            .map_or("error".to_owned(), |code| code.to_string());
        matches!(record.event, Event::Outcome(_)).then_some(status)
    });
    let outcomes = sums(&text, "curtsy_outcomes_total", "status");
    assert_eq!(outcomes, count(statuses.into_iter()));
    let sent = arrivals
        .iter()
        .map(|arrival| arrival.status.unwrap().to_string());
    let mut answered = outcomes.clone();
    answered.remove("error");
    assert_eq!(answered, count(sent));

    let total = |name: &str| sums(&text, name, "none").values().sum::<u64>();
    let of = |is: fn(&Event) -> bool| records.iter().filter(|r| is(&r.event)).count() as u64;
    assert_eq!(
        total("curtsy_suppressions_total"),
        of(|event| matches!(event, Event::ScopeSuppressed { .. }))
    );
    assert_eq!(
        total("curtsy_deferrals_total"),
        of(|event| matches!(event, Event::Deferred { .. }))
    );
    let retries = events(&records, |record| {
        let is_departure = matches!(record.event, Event::Departure(_));
        (is_departure && record.attempt > Some(1)).then_some(())
    });
    assert_eq!(total("curtsy_retries_total"), retries.len() as u64);
    assert_eq!(total("curtsy_wait_seconds_count"), kinds.len() as u64);
    assert_eq!(
        total("curtsy_response_head_seconds_count"),
        arrivals.len() as u64
    );

    // URL by URL, each server has seen what is on record, and what is on record is proved.
    let told = |server: &Origin| {
        let base = server.url("");
        let of = events(&records, |record| {
            let url = record.url.as_deref()?.strip_prefix(&base)?.to_owned();
            matches!(record.event, Event::Departure(_)).then_some(url)
        });
        count(of.into_iter())
    };
    for server in [&one, &other] {
        assert_eq!(
            told(server),
            count(crate::support::paths(server).into_iter())
        );
    }
    let proof = curtsy::Logs::find(&[log]).unwrap().verify(None).unwrap();
    assert_eq!(proof.violations, []);
    assert_eq!(proof.summary.departures, departures.values().sum::<u64>());
    assert_eq!(proof.summary.outcomes, outcomes.values().sum::<u64>());

    let stored: u64 = manifest(dir.path())
        .iter()
        .filter_map(|line| line.bytes)
        .sum();
    assert_eq!(total("curtsy_body_bytes_total"), stored);

    let documented = documented();
    for (name, labels) in labels(&text) {
        assert_eq!(labels, documented[name].1, "{name} in docs/metrics.md");
    }
}

#[tokio::test]
async fn t3_a_deferral_and_how_a_scope_stands_are_told() {
    let origin =
        origin(r#"{"robots": 404, "page": {"status": 429, "headers": [["Retry-After", "600"]]}}"#)
            .await;
    let metrics = Metrics::on();
    let client = builder(fast(|_| ()))
        .metrics(metrics.clone())
        .build()
        .unwrap();
    deferred(client.get(&origin.url("/")).await);
    let text = metrics.text(&client);
    let series = series(&text);
    let of = |name: &str| {
        let key = format!("{name}{{scope=\"{}\"}}", origin.addr());
        *series
            .get(key.as_str())
            .unwrap_or_else(|| panic!("{key}: {text}"))
    };
    assert_eq!(of("curtsy_deferrals_total"), 1.0);
    assert!((600.0..700.0).contains(&of("curtsy_hold_remaining_seconds")));
    assert_eq!(of("curtsy_breaker_state"), 0.0);
    assert_eq!(of("curtsy_in_flight"), 0.0);
    assert_eq!(of("curtsy_tokens"), 0.0);
    assert!(of("curtsy_rate_per_second") > 0.0);
    assert!(of("curtsy_dynamic_delay_seconds") > 0.0);
}

#[tokio::test]
async fn t3_no_more_scopes_than_the_busiest_have_series_of_their_own_and_none_is_lost() {
    let origin = origin(r#"{"page": {"body": ""}}"#).await;
    let metrics = Metrics::on();
    let port = origin.addr().port();
    let hosts = 130;
    let mut transport = curtsy::transport::Transport::builder(curtsy::clock::Clock::system());
    for n in 0..hosts {
        let entry = format!("h{n}.example:{port}:127.0.0.1");
        transport = transport.resolve(entry.parse().unwrap());
    }
    let client = builder(fast(|p| p.respect_robots = false))
        .transport(transport.build().unwrap())
        .metrics(metrics.clone())
        .build()
        .unwrap();
    let url = |n: usize| format!("http://h{n}.example:{port}/");
    statuses(&client, (0..hosts).map(url)).await;
    // The last one becomes busy.
    let busy = format!("h{}.example:{port}", hosts - 1);
    for _ in 0..20 {
        assert_eq!(status(&client, &url(hosts - 1)).await, 200);
    }
    let text = metrics.text(&client);
    let departures = sums(&text, "curtsy_departures_total", "scope");
    assert_eq!(departures.len(), curtsy::MOST_SCOPES + 1);
    assert!(departures.contains_key(&busy), "{departures:?}");
    assert!(departures["other"] >= 30, "{departures:?}");
    assert!(
        client
            .state(&Scope::named(&busy))
            .await
            .unwrap()
            .departures()
            >= 20
    );
}

/// Every name in a text that looks like one of ours, without what Prometheus adds to a histogram's.
fn names(text: &str) -> BTreeSet<&str> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let names = text.split(|c| !is_of_name(c));
    names
        .filter(|name| name.starts_with("curtsy_"))
        .map(|name| name.strip_suffix("_bucket").unwrap_or(name))
        .collect()
}

#[tokio::test]
async fn the_rules_and_the_picture_that_come_along_ask_for_metrics_that_there_are() {
    let metrics = Metrics::on();
    let client = builder(fast(|_| ()))
        .metrics(metrics.clone())
        .build()
        .unwrap();
    let text = metrics.text(&client);
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let types: BTreeMap<_, _> = types.filter_map(|line| line.split_once(' ')).collect();
    let known: BTreeSet<_> = types.keys().copied().collect();
    assert_eq!(known.len(), 15, "{text}");
    let in_docs = documented()
        .into_iter()
        .map(|(name, (kind, _))| (name, kind));
    assert_eq!(
        in_docs.collect::<BTreeMap<_, _>>(),
        types,
        "docs/metrics.md"
    );
    let rules = include_str!("../../../../deploy/prometheus/alerts.yml");
    let picture = include_str!("../../../../deploy/grafana/curtsy.json");
    let parsed: serde_json::Value = serde_json::from_str(picture).unwrap();
    assert!(parsed["panels"].as_array().unwrap().len() > 10);
    for (what, text) in [("rules", rules), ("picture", picture)] {
        let unknown: Vec<_> = names(text).difference(&known).copied().collect();
        assert!(
            unknown.is_empty() && names(text).len() > 4,
            "{what}: {unknown:?}"
        );
    }
    let unseen: Vec<_> = known.difference(&names(picture)).copied().collect();
    assert_eq!(unseen, Vec::<&str>::new(), "what the picture leaves out");
}
