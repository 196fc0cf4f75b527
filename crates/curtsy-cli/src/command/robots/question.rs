//! One line of `curtsy robots --jsonl`.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use curtsy_core::robots::MAX_BODY;
use serde::Deserialize;
use serde_json::Value as Json;

/// A robots.txt, who asks and for what. Other keys are passed over, so that a file of cases with their
/// expectations can be asked as it is.
#[derive(Debug, Deserialize)]
pub(super) struct Question {
    /// Anything; the answer repeats it.
    #[serde(default)]
    pub(super) id: Json,
    /// Who asks: a product token or a whole User-Agent.
    pub(super) user_agent: Option<String>,
    /// What is asked for.
    pub(super) url: String,
    robots: Option<String>,
    robots_b64: Option<String>,
    /// Texts, each to be repeated.
    robots_parts: Option<Vec<(String, u64)>>,
}

impl Question {
    /// Reads a line.
    ///
    /// # Errors
    /// It is no question.
    pub(super) fn read(line: &str) -> Result<Self, String> {
        serde_json::from_str(line).map_err(|error| error.to_string())
    }

    /// The octets of the robots.txt, no more of them than are read, and one.
    ///
    /// # Errors
    /// There is none, more than one, or one in broken Base64.
    pub(super) fn body(&self) -> Result<Vec<u8>, String> {
        match (&self.robots, &self.robots_b64, &self.robots_parts) {
            (Some(text), None, None) => Ok(text.clone().into_bytes()),
            (None, Some(text), None) => BASE64_STANDARD
                .decode(text)
                .map_err(|error| format!("robots_b64: {error}")),
            (None, None, Some(parts)) => Ok(join(parts)),
            _ => Err("one of robots, robots_b64 and robots_parts is needed".to_owned()),
        }
    }
}

fn join(parts: &[(String, u64)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (text, times) in parts.iter().filter(|(text, _)| !text.is_empty()) {
        for _ in 0..*times {
            body.extend_from_slice(text.as_bytes());
            // A count of billions asks for no more than the parser reads.
            if body.len() > MAX_BODY {
                return body;
            }
        }
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_text_base64_or_parts() {
        for line in [
            r#"{"url": "x", "robots": "aab"}"#,
            r#"{"url": "x", "robots_b64": "YWFi"}"#,
            r#"{"url": "x", "robots_parts": [["a", 2], ["", 99999999999], ["b", 1]]}"#,
        ] {
            assert_eq!(
                Question::read(line).unwrap().body().unwrap(),
                b"aab",
                "{line}"
            );
        }
    }

    #[test]
    fn a_part_that_is_repeated_without_end_is_cut_where_reading_ends() {
        let line = r#"{"url": "x", "robots_parts": [["abc\n", 18446744073709551615]]}"#;
        let body = Question::read(line).unwrap().body().unwrap();
        assert!(body.len() > MAX_BODY && body.len() < MAX_BODY + 10);
    }

    #[test]
    fn a_question_without_a_body_or_with_two_is_refused() {
        for line in [
            r#"{"url": "x"}"#,
            r#"{"url": "x", "robots": "", "robots_b64": ""}"#,
            r#"{"url": "x", "robots_b64": "*"}"#,
        ] {
            assert!(Question::read(line).unwrap().body().is_err(), "{line}");
        }
        for line in ["", "{}", "[]", r#"{"url": 3, "robots": ""}"#] {
            assert!(Question::read(line).is_err(), "{line}");
        }
    }
}
