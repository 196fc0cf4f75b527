//! The corpus, and a signal in its words.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use curtsy_core::Timestamp;
use curtsy_core::signal::{self, Profile, Signal};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

const CORPUS: [&str; 2] = [
    include_str!("../../testdata/dialects.jsonl"),
    // What the vendors' documentation says beyond it, figures invented.
    include_str!("../../testdata/dialects-more.jsonl"),
];

/// One response of the corpus.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) status: u16,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) now: Timestamp,
    pub(crate) body: Option<String>,
    pub(crate) json: Value,
}

impl Case {
    pub(crate) fn all() -> &'static [Self] {
        static ALL: LazyLock<Vec<Case>> = LazyLock::new(|| {
            CORPUS
                .iter()
                .flat_map(|file| file.lines())
                .map(Case::parse)
                .collect()
        });
        &ALL
    }

    fn parse(line: &str) -> Self {
        let json: Value = serde_json::from_str(line).unwrap();
        let headers = json["headers"].as_array().unwrap().iter().map(|pair| {
            let (name, value) = (pair[0].as_str().unwrap(), pair[1].as_str().unwrap());
            let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
            (name.parse().unwrap(), value)
        });
        Self {
            id: json["id"].as_str().unwrap().to_owned(),
            status: json["status"].as_u64().unwrap().try_into().unwrap(),
            headers: headers.collect(),
            now: Timestamp::from_micros((json["now"].as_f64().unwrap() * 1e6).round() as u64),
            body: json["body"].as_str().map(str::to_owned),
            json,
        }
    }

    pub(crate) fn read(&self, profile: Option<Profile>) -> Signal {
        let headers: HeaderMap = self.headers.iter().cloned().collect();
        let body = self.body.as_ref().map(|body| body.as_bytes());
        signal::read(self.status, &headers, self.now, body, profile)
    }
}

/// A signal in the corpus' own words.
pub(crate) fn told(signal: &Signal) -> BTreeMap<String, Value> {
    let figures = &signal.figures;
    let policies: Vec<Value> = signal.policies.iter().map(policy).collect();
    BTreeMap::from([
        (
            "retry_after_s".to_owned(),
            seconds(signal.wait.as_ref().map(|wait| wait.after)),
        ),
        ("limit".to_owned(), json!(figures.limit)),
        ("remaining".to_owned(), json!(figures.remaining)),
        ("reset_in_s".to_owned(), seconds(figures.reset)),
        ("window_s".to_owned(), seconds(figures.window)),
        ("min_interval_s".to_owned(), seconds(signal.min_interval())),
        ("policies".to_owned(), json!(policies)),
    ])
}

fn policy(policy: &signal::Policy) -> Value {
    json!({
        "name": policy.name,
        "unit": policy.unit,
        "limit": policy.figures.limit,
        "remaining": policy.figures.remaining,
        "reset_in_s": seconds(policy.figures.reset),
        "window_s": seconds(policy.figures.window),
    })
}

fn seconds(duration: Option<Duration>) -> Value {
    json!(duration.map(|duration| duration.as_secs_f64()))
}

/// Equal, numbers to the millisecond that the corpus is rounded to, lists in any order.
pub(crate) fn is_same(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::Number(expected), Value::Number(found)) => {
            let (expected, found) = (expected.as_f64().unwrap(), found.as_f64().unwrap());
            (expected - found).abs() < 0.001
        }
        (Value::Array(expected), Value::Array(found)) => {
            let mut left: Vec<&Value> = found.iter().collect();
            expected.len() == found.len()
                && expected.iter().all(|one| {
                    let at = left.iter().position(|other| is_same(one, other));
                    at.map(|at| left.swap_remove(at)).is_some()
                })
        }
        (Value::Object(expected), Value::Object(found)) => expected
            .iter()
            .all(|(key, value)| is_same(value, found.get(key).unwrap_or(&Value::Null))),
        (expected, found) => expected == found,
    }
}

/// What differs between the expectation and the reading, as `key: expected …, found …`.
pub(crate) fn differences(expected: &Value, signal: &Signal) -> Vec<String> {
    let told = told(signal);
    told.iter()
        // The slowest spacing is only stated in some cases.
        .filter(|(key, _)| key.as_str() != "min_interval_s" || expected.get(key.as_str()).is_some())
        .filter(|(key, found)| !is_same(&expected[key.as_str()], found))
        .map(|(key, found)| format!("{key}: expected {}, found {found}", expected[key.as_str()]))
        .collect()
}
