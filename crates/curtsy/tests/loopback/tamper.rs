//! A log that was tampered with is found out, whoever did it: with the chain broken, and with the chain made
//! anew over what was changed.

use std::path::PathBuf;

use curtsy::core::audit::verify::{Proof, Rule};
use curtsy::core::{Bound, Timestamp};
use curtsy::{KeptTail, Logs};
use serde_json::{Value, json};

use crate::support::*;

/// An honest log with a hold, backoff, a quota, robots.txt, a suppression, and what its database knows.
async fn honest() -> (Vec<String>, KeptTail) {
    let origin = origin(
        r#"{"robots": "User-agent: *\nCrawl-delay: 0.01\nDisallow: /no\nAllow: /no/but\n", "pages": {
            "/429": [{"status": 429, "headers": [["Retry-After", "1"]]}, {"status": 200}],
            "/503": [{"status": 503}, {"status": 200}],
            "/moved": {"location": "/there"},
            "/quota": {"headers": [["RateLimit-Limit", "100"], ["RateLimit-Remaining", "50"], ["RateLimit-Reset", "10"]]},
            "/403": {"status": 403}}}"#,
    )
    .await;
    let ((), log, audit) = log();
    let policy = fast(|p| p.suppress_after = Some(1));
    let client = builder(policy).audit(audit.clone()).build().unwrap();
    for path in ["/429", "/503", "/moved", "/no/but", "/quota", "/a?secret"] {
        assert_eq!(status(&client, &origin.url(path)).await, 200, "{path}");
    }
    disallowed(client.get(&origin.url("/no")).await);
    assert_eq!(status(&client, &origin.url("/403")).await, 403);
    let lines = std::fs::read_to_string(log).unwrap();
    (
        lines.lines().map(str::to_owned).collect(),
        audit.tail().unwrap(),
    )
}

/// A place to put changed logs, one after another.
struct Desk {
    _dir: tempfile::TempDir,
    path: PathBuf,
    tail: KeptTail,
}

impl Desk {
    fn new(tail: KeptTail) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.jsonl");
        Self {
            _dir: dir,
            path,
            tail,
        }
    }

    fn proof(&self, lines: &[String], kept: Option<&KeptTail>) -> Proof {
        let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
        std::fs::write(&self.path, text).unwrap();
        self.read(kept)
    }

    fn read(&self, kept: Option<&KeptTail>) -> Proof {
        Logs::find(std::slice::from_ref(&self.path))
            .unwrap()
            .verify(kept)
            .unwrap()
    }

    /// What is found, with what the job's database knows.
    fn found(&self, lines: &[String]) -> Vec<Rule> {
        let proof = self.proof(lines, Some(&self.tail));
        proof.violations.iter().map(|v| v.rule).collect()
    }

    /// What is found where the chain was made anew, so that nothing is known but the log.
    fn found_anew(&self, values: &[Value]) -> Vec<(Rule, String)> {
        let proof = self.proof(&chained(values), None);
        let found = proof.violations.into_iter();
        found.map(|v| (v.rule, v.what)).collect()
    }
}

/// The lines with numbers and hashes that fit.
fn chained(values: &[Value]) -> Vec<String> {
    let mut prev = sha256(b"");
    let chain = |(at, value): (usize, &Value)| {
        let mut value = value.clone();
        (value["seq"], value["prev"]) = (json!(at + 1), json!(prev));
        let line = value.to_string();
        prev = sha256(line.as_bytes());
        line
    };
    values.iter().enumerate().map(chain).collect()
}

fn values(lines: &[String]) -> Vec<Value> {
    let parse = |line: &String| serde_json::from_str(line).unwrap();
    lines.iter().map(parse).collect()
}

/// The place of the first line that is such an event, after `from`.
fn place(values: &[Value], from: usize, is: impl Fn(&Value) -> bool) -> usize {
    let found = values.iter().skip(from).position(is);
    from + found.unwrap_or_else(|| panic!("no such line: {values:#?}"))
}

fn event(name: &str) -> impl Fn(&Value) -> bool {
    move |value| value["event"] == name
}

/// A value that is another one.
fn other(value: &Value) -> Value {
    match value {
        Value::Null => json!("x"),
        Value::Bool(is) => json!(!is),
        Value::Number(number) => json!(number.as_f64().unwrap() + 1.0),
        Value::String(text) => json!(format!("{text}x")),
        Value::Array(_) => json!(["x"]),
        Value::Object(_) => json!({ "x": 1 }),
    }
}

#[tokio::test]
async fn t1_a_line_removed_doubled_moved_or_changed_in_any_field_is_found() {
    let (lines, tail) = honest().await;
    let desk = Desk::new(tail);
    assert_eq!(desk.found(&lines), []);
    for at in 0..lines.len() {
        let mut removed = lines.clone();
        removed.remove(at);
        assert!(desk.found(&removed).contains(&Rule::Chain), "{at} removed");

        let mut doubled = lines.clone();
        doubled.insert(at, lines[at].clone());
        assert!(desk.found(&doubled).contains(&Rule::Chain), "{at} doubled");

        let mut moved = lines.clone();
        let line = moved.remove(at);
        moved.insert((at + 3) % lines.len(), line);
        assert!(desk.found(&moved).contains(&Rule::Chain), "{at} moved");

        let value: Value = serde_json::from_str(&lines[at]).unwrap();
        for (field, told) in value.as_object().unwrap() {
            let mut changed = lines.clone();
            let mut line = value.clone();
            line[field] = other(told);
            changed[at] = line.to_string();
            assert!(!desk.found(&changed).is_empty(), "{at} {field} changed");
        }
    }
}

#[tokio::test]
async fn t1_a_tail_that_was_cut_off_is_found_by_what_the_database_knows() {
    let (lines, tail) = honest().await;
    let desk = Desk::new(tail);
    for left in 1..lines.len() {
        let cut = &lines[..left];
        assert_eq!(
            desk.proof(cut, None).violations,
            [],
            "{left} left: honest as far as it goes"
        );
        assert_eq!(desk.found(cut), [Rule::Chain], "{left} left");
    }
    // Written anew as a whole, longer than it was.
    let mut values = values(&lines);
    values.push(
        json!({"timestamp": "2026-12-01T00:00:00.000Z", "pipeline_id": "test", "seq": 0, "prev": "",
        "target_domain": null, "trigger": null, "base_delay_ms": null, "computed_delay_ms": null,
        "jitter_ms": null, "compliance_flag": true, "status_code": null, "event": "resumed"}),
    );
    values.remove(0);
    assert_eq!(desk.found(&chained(&values)), [Rule::Chain]);
}

#[tokio::test]
async fn t1_a_last_line_that_a_crash_tore_is_no_offence_and_one_that_is_no_record_is() {
    let (lines, tail) = honest().await;
    let desk = Desk::new(tail);
    let whole: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
    let torn = &lines[3][..lines[3].len() / 2];
    std::fs::write(&desk.path, format!("{whole}{torn}")).unwrap();
    let proof = desk.read(Some(&desk.tail));
    assert_eq!((proof.violations, proof.summary.torn_lines), (vec![], 1));
    // Closed, but no line says why.
    for next in ["", &format!("{}\n", lines[4])] {
        std::fs::write(&desk.path, format!("{whole}{torn}\n{next}")).unwrap();
        let found = desk.read(None).violations;
        assert!(
            found.iter().any(|v| v.what.contains("no record")),
            "{found:?}"
        );
    }
}

/// What is done to an honest log, and what must be found.
type Tampering = (&'static str, fn(&mut Vec<Value>), Rule);

/// Moves a departure, its outcome with it, to so many seconds before.
fn earlier(values: &mut [Value], at: usize, secs: f64) {
    let number = values[at]["departure"].clone();
    let scope = values[at]["scope"].clone();
    let shift = |text: &Value| {
        let bound = json!({ "not_before": text, "reason": "free" });
        let mut bound: Bound = serde_json::from_value(bound).unwrap();
        let micros = bound.not_before.as_micros() - (secs * 1e6) as u64;
        bound.not_before = Timestamp::from_micros(micros);
        json!(bound)["not_before"].clone()
    };
    for value in values.iter_mut() {
        if value["departure"] != number || value["scope"] != scope {
            continue;
        }
        for field in ["permitted_at", "departed_at"] {
            if value[field].is_string() {
                value[field] = shift(&value[field]);
            }
        }
    }
    values[at]["not_before"] = values[at]["permitted_at"].clone();
}

const TAMPERINGS: [Tampering; 14] = [
    (
        "a departure is moved into a hold",
        |values| {
            let hold = place(values, 0, event("hold_started"));
            let departure = place(values, hold, event("departure"));
            earlier(values, departure, 0.6);
        },
        Rule::Hold,
    ),
    (
        "a departure is moved into a hold that a made-up state knows nothing of",
        |values| {
            let hold = place(values, 0, event("hold_started"));
            let departure = place(values, hold, event("departure"));
            earlier(values, departure, 0.6);
            let read = place(values, 0, event("state_read"));
            let mut state = values[read].clone();
            state["turn"] = values[departure]["turn"].clone();
            state["state"]["n"] = json!(values[departure]["departure"].as_u64().unwrap() - 1);
            values.insert(departure, state);
        },
        Rule::Hold,
    ),
    (
        "a departure is moved before its Crawl-delay",
        |values| {
            let robots = place(values, 0, event("robots_disallowed"));
            let departure = place(values, robots, event("departure"));
            earlier(values, departure, 0.05);
        },
        Rule::Bound,
    ),
    (
        "a hold is shortened",
        |values| {
            let hold = place(values, 0, event("hold_started"));
            values[hold]["until"] = values[hold]["timestamp"].clone();
        },
        Rule::Change,
    ),
    (
        "what the server asked for is shortened, and so is the hold",
        |values| {
            let hold = place(values, 0, event("hold_started"));
            let outcome = hold - 1;
            for field in ["wait", "explicit"] {
                values[outcome]["signal"][field]["after_ms"] = json!(100.0);
            }
            values[outcome]["wait_ms"] = json!(100.0);
        },
        Rule::Change,
    ),
    (
        "a disallowed URL departs",
        |values| {
            let no = place(values, 0, event("robots_disallowed"));
            let url = values[no]["url"].clone();
            let departure = place(values, no, event("departure"));
            values[departure]["url"] = url;
        },
        Rule::Robots,
    ),
    (
        "the verdict of a robots.txt is cited from another line",
        |values| {
            let allowed = place(values, 0, |value| value["robots"]["line"] == 4);
            values[allowed]["robots"]["line"] = json!(3);
        },
        Rule::Robots,
    ),
    (
        "a robots.txt that forbids is said not to have been there",
        |values| {
            let read = place(values, 0, event("robots_read"));
            values.remove(read);
        },
        Rule::Robots,
    ),
    (
        "a change of rate is taken away",
        |values| {
            let rate = place(values, 0, event("rate_adjusted"));
            values.remove(rate);
        },
        Rule::Change,
    ),
    (
        "a rate is changed to another",
        |values| {
            let rate = place(values, 0, event("rate_adjusted"));
            values[rate]["after"] = json!(50.0);
        },
        Rule::Change,
    ),
    (
        "a dynamic delay is made up",
        |values| {
            let delay = place(values, 0, event("dynamic_delay_applied"));
            let delay = values[delay].clone();
            let outcome = place(values, 0, event("outcome"));
            values.insert(outcome + 1, delay);
        },
        Rule::Change,
    ),
    (
        "a refusal is said to have been a success",
        |values| {
            let hold = place(values, 0, event("hold_started"));
            values[hold - 1]["status_code"] = json!(200);
            values[hold - 1]["class"] = json!("healthy");
        },
        Rule::Change,
    ),
    (
        "a quota is said to have held more",
        |values| {
            let outcome = place(values, 0, |value| value["quota_remaining"].is_u64());
            values[outcome]["signal"]["quotas"][0]["remaining"] = json!(99);
            values[outcome]["quota_remaining"] = json!(99);
        },
        Rule::Change,
    ),
    (
        "a departure is taken away, its outcome with it",
        |values| {
            let first = place(values, 0, event("hold_started"));
            let departure = place(values, first, event("departure"));
            let number = values[departure]["departure"].clone();
            values.retain(|value| value["departure"] != number);
        },
        Rule::Change,
    ),
];

#[tokio::test]
async fn t2_what_is_tampered_with_is_found_though_the_chain_was_made_anew() {
    let (lines, tail) = honest().await;
    let (desk, honest) = (Desk::new(tail), values(&lines));
    assert_eq!(desk.found_anew(&honest), []);
    for (what, tamper, rule) in TAMPERINGS {
        let mut values = honest.clone();
        tamper(&mut values);
        assert_ne!(values, honest, "{what}");
        let found = desk.found_anew(&values);
        assert!(
            found.iter().any(|(of, _)| *of == rule),
            "{what}: {found:#?}"
        );
    }
}

#[tokio::test]
async fn t2_hardly_a_field_of_a_departure_or_an_outcome_can_be_changed_without_a_trace() {
    let (lines, tail) = honest().await;
    let (desk, honest) = (Desk::new(tail), values(&lines));
    // What only tells more about it: a replay has nothing to compare it with.
    const FREE: [&str; 7] = [
        "timestamp",
        "pipeline_id",
        "seq",
        "prev",
        "latency_ms",
        "waited_ms",
        // Where an interval is fixed, its sample says nothing.
        "draw",
    ];
    // What comes last may look as if a crash had cut it off: of that only the database knows.
    for at in 0..honest.len() - 12 {
        if !["departure", "outcome"].contains(&honest[at]["event"].as_str().unwrap()) {
            continue;
        }
        for (field, told) in honest[at].as_object().unwrap() {
            if FREE.contains(&field.as_str()) {
                continue;
            }
            let mut values = honest.clone();
            values[at][field] = other(told);
            let found = desk.found_anew(&values);
            assert!(!found.is_empty(), "{field} of {:#}", honest[at]);
        }
    }
}
