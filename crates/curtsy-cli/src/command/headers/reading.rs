//! A response as it is asked about, and what was read of it.

use std::time::Duration;

use curtsy_core::Timestamp;
use curtsy_core::signal::{self, Ignored, Policy, Profile, QuotaKey, Signal, Unit};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// A response.
#[derive(Debug, Default)]
pub(super) struct Question {
    /// Anything; the answer repeats it.
    pub(super) id: Json,
    /// The status.
    pub(super) status: u16,
    /// Names and values in order.
    pub(super) headers: Vec<(Vec<u8>, Vec<u8>)>,
    /// When it was received; `None`: now.
    pub(super) received: Option<Timestamp>,
    /// The body, where there is one.
    pub(super) body: Option<Vec<u8>>,
}

/// A line of JSON. Other keys are passed over, so that a file of cases can be asked as it is.
#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    id: Json,
    status: u16,
    headers: Vec<(String, String)>,
    /// Seconds since the Unix epoch.
    now: Option<f64>,
    body: Option<String>,
}

impl Question {
    /// Reads a line.
    ///
    /// # Errors
    /// It is no response.
    pub(super) fn from_json(line: &str) -> Result<Self, String> {
        let line: Line = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let headers = line.headers.into_iter();
        Ok(Self {
            id: line.id,
            status: line.status,
            headers: headers
                .map(|(name, value)| (name.into_bytes(), value.into_bytes()))
                .collect(),
            // The cast saturates, and a time before the epoch is the epoch.
            received: line
                .now
                .map(|now| Timestamp::from_micros((now * 1e6).round() as u64)),
            body: line.body.map(String::into_bytes),
        })
    }
}

/// What was read. The field names are public interface.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    id: &'a Json,
    retry_after_s: Option<f64>,
    limit: Option<f64>,
    remaining: Option<u64>,
    reset_in_s: Option<f64>,
    window_s: Option<f64>,
    min_interval_s: Option<f64>,
    policies: Vec<ToldPolicy<'a>>,
    ignored: Vec<ToldIgnored<'a>>,
}

#[derive(Debug, Serialize)]
struct ToldPolicy<'a> {
    name: Option<&'a QuotaKey>,
    unit: Unit,
    limit: Option<f64>,
    remaining: Option<u64>,
    reset_in_s: Option<f64>,
    window_s: Option<f64>,
}

#[derive(Debug, Serialize)]
struct ToldIgnored<'a> {
    name: &'a str,
    value: &'a str,
    why: &'a str,
}

/// Reads a response and tells what was understood, as one line of JSON.
pub(super) fn read(question: &Question, profile: Option<Profile>, now: Timestamp) -> String {
    let mut headers = HeaderMap::new();
    let mut unsendable = Vec::new();
    for (name, value) in &question.headers {
        match (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) {
            // Past 32768 fields the map takes no more, and no client would.
            (Ok(name), Ok(value)) => drop(headers.try_append(name, value)),
            _ => unsendable.push(Ignored {
                name: String::from_utf8_lossy(name).into_owned(),
                value: String::from_utf8_lossy(value).chars().take(100).collect(),
                why: "no field that HTTP can carry",
            }),
        }
    }
    let received = question.received.unwrap_or(now);
    let mut signal = signal::read(
        question.status,
        &headers,
        received,
        question.body.as_deref(),
        profile,
    );
    signal.ignored.append(&mut unsendable);
    serde_json::to_string(&Answer::of(&question.id, &signal)).unwrap_or_default()
}

impl<'a> Answer<'a> {
    fn of(id: &'a Json, signal: &'a Signal) -> Self {
        Self {
            id,
            retry_after_s: signal.wait.as_ref().map(|wait| wait.after.as_secs_f64()),
            limit: signal.figures.limit,
            remaining: signal.figures.remaining,
            reset_in_s: signal.figures.reset.map(|reset| reset.as_secs_f64()),
            window_s: signal.figures.window.map(|window| window.as_secs_f64()),
            min_interval_s: signal.min_interval().as_ref().map(Duration::as_secs_f64),
            policies: signal.policies.iter().map(ToldPolicy::of).collect(),
            ignored: signal
                .ignored
                .iter()
                .map(|ignored| ToldIgnored {
                    name: &ignored.name,
                    value: &ignored.value,
                    why: ignored.why,
                })
                .collect(),
        }
    }
}

impl<'a> ToldPolicy<'a> {
    fn of(policy: &'a Policy) -> Self {
        let figures = &policy.figures;
        Self {
            name: policy.name.as_ref(),
            unit: policy.unit,
            limit: figures.limit,
            remaining: figures.remaining,
            reset_in_s: figures.reset.as_ref().map(Duration::as_secs_f64),
            window_s: figures.window.as_ref().map(Duration::as_secs_f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(line: &str) -> Json {
        let question = Question::from_json(line).unwrap();
        serde_json::from_str(&read(&question, None, Timestamp::from_micros(0))).unwrap()
    }

    #[test]
    fn a_wait_and_a_quota_are_told_in_seconds() {
        let told = answer(
            r#"{"id": "a", "status": 429, "headers": [["Retry-After", "7.5"], ["X-RateLimit-Limit", "100"],
            ["X-RateLimit-Remaining", "0"], ["X-RateLimit-Reset", "1470173023"]], "now": 1470173016.5, "note": "x"}"#,
        );
        assert_eq!(told["id"], "a");
        assert_eq!(told["retry_after_s"], 7.5);
        assert_eq!(
            (&told["limit"], &told["remaining"]),
            (&100.0.into(), &0.into())
        );
        assert_eq!(told["reset_in_s"], 6.5);
    }

    #[test]
    fn what_was_not_used_is_told_with_the_reason() {
        let told = answer(
            "{\"status\": 429, \"headers\": [[\"Retry-After\", \"soon\"], [\"X-Odd\", \"a\\u0000b\"]]}",
        );
        let ignored = told["ignored"].as_array().unwrap();
        assert_eq!(ignored[0]["value"], "soon");
        assert_eq!(ignored[1]["why"], "no field that HTTP can carry");
        assert_eq!(told["retry_after_s"], Json::Null);
    }

    #[test]
    fn what_is_no_response_is_refused() {
        for line in [
            "",
            "{}",
            "3",
            r#"{"status": 70000, "headers": []}"#,
            r#"{"status": 200, "headers": {}}"#,
        ] {
            assert!(Question::from_json(line).is_err(), "{line}");
        }
    }
}
