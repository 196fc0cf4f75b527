//! `manifest.jsonl`: one line for every URL of a job.

use std::collections::BTreeMap;
use std::io;

use curtsy_core::Timestamp;
use curtsy_core::robots::{Preferences, Wishes};
use serde::{Deserialize, Serialize};
use url::Url;

/// What became of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A whole response with a status below 400; its body is on the disk.
    Fetched,
    /// A whole response with a status from 400 on.
    HttpError,
    /// robots.txt does not allow it.
    Disallowed,
    /// Its scope answered 403 before: it was not asked again (R4).
    Suppressed,
    /// It waits; run the job again after the time that is told.
    Deferred,
    /// No whole response after all tries.
    Failed,
}

impl Outcome {
    /// All of them, best first.
    pub const ALL: [Self; 6] = [
        Self::Fetched,
        Self::HttpError,
        Self::Disallowed,
        Self::Suppressed,
        Self::Deferred,
        Self::Failed,
    ];

    /// The stable name.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Fetched => "fetched",
            Self::HttpError => "http_error",
            Self::Disallowed => "disallowed",
            Self::Suppressed => "suppressed",
            Self::Deferred => "deferred",
            Self::Failed => "failed",
        }
    }
}

/// A line of the manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// As given, less user and password.
    pub url: String,
    /// The URL that answered, where that is another.
    pub final_url: Option<String>,
    /// The last status.
    pub status: Option<u16>,
    /// What became of it.
    pub outcome: Outcome,
    /// The body's file, or the archive that it is in, relative to the job's directory. Of a URL that is not
    /// fetched it is what an earlier run stored, or the archived response.
    pub file: Option<String>,
    /// Where in the archive the record of the response begins, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warc_offset: Option<u64>,
    /// The id of that record: `urn:uuid:…`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warc_record_id: Option<String>,
    /// The body's size, decoded.
    pub bytes: Option<u64>,
    /// The body's SHA-256, in hex.
    pub sha256: Option<String>,
    /// Requests that departed for it, robots.txt not counted.
    pub attempts: u32,
    /// When the first of them departed: RFC 3339, UTC, ms.
    pub first_departure: Option<String>,
    /// When it ended.
    pub finished: Option<String>,
    /// The Content-Type of the response.
    pub content_type: Option<String>,
    /// Why it was not fetched.
    pub error: Option<String>,
    /// What X-Robots-Tag asks of this crawler, as `noindex` and `max-snippet:20`; at most one of each
    /// directive, the strictest. Like the next two it is reported, not enforced, and left out where empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub robots_tag: Vec<String>,
    /// Content-Usage of the response and of robots.txt, as `"train-ai": "n"`; an `n` of either stands. Keys
    /// that are not known are left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub content_usage: BTreeMap<String, String>,
    /// Content-Signal, likewise, as `"ai-train": "no"`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub content_signal: BTreeMap<String, String>,
    /// The ETag of the stored body's response, which a later run can ask with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// Its Last-Modified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
    /// Whether the server answered that the stored body still holds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_modified: bool,
}

/// The longest Content-Type that is kept, in characters.
const MAX_CONTENT_TYPE: usize = 200;

impl Line {
    /// A line for `url` (as given) that ends at `at`.
    pub(crate) fn new(url: &str, outcome: Outcome, at: Timestamp) -> Self {
        Self {
            url: without_userinfo(url),
            final_url: None,
            status: None,
            outcome,
            file: None,
            warc_offset: None,
            warc_record_id: None,
            bytes: None,
            sha256: None,
            attempts: 0,
            first_departure: None,
            finished: Some(at.to_rfc3339()),
            content_type: None,
            error: None,
            robots_tag: Vec::new(),
            content_usage: BTreeMap::new(),
            content_signal: BTreeMap::new(),
            etag: None,
            last_modified: None,
            not_modified: false,
        }
    }

    #[must_use]
    pub(crate) fn with_error(mut self, error: impl Into<String>) -> Self {
        self.error = Some(error.into());
        self
    }

    #[must_use]
    pub(crate) fn with_attempts(
        mut self,
        attempts: u32,
        first_departure: Option<Timestamp>,
    ) -> Self {
        self.attempts = attempts;
        self.first_departure = first_departure.map(Timestamp::to_rfc3339);
        self
    }

    pub(crate) fn set_content_type(&mut self, value: &http::HeaderValue) {
        self.content_type = Some(
            String::from_utf8_lossy(value.as_bytes())
                .chars()
                .take(MAX_CONTENT_TYPE)
                .collect(),
        );
    }

    pub(crate) fn set_preferences(&mut self, preferences: &Preferences) {
        let told = |wishes: &Wishes| {
            let told = wishes.told();
            told.map(|(key, word)| (key.to_owned(), word.to_owned()))
                .collect()
        };
        self.robots_tag = preferences.robots_tag.words();
        self.content_usage = told(&preferences.content_usage);
        self.content_signal = told(&preferences.content_signal);
    }

    /// The body was fetched and cannot be stored under its name.
    pub(crate) fn refuse_file(&mut self, error: &io::Error) {
        self.outcome = Outcome::Failed;
        self.error = Some(format!("file_name: {}", error.kind()));
        (self.file, self.bytes, self.sha256) = (None, None, None);
        (self.etag, self.last_modified) = (None, None);
    }

    pub(crate) fn to_json(&self) -> String {
        // A struct of strings and numbers can always be written.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// A URL as the manifest and messages show it: as given, less user and password.
pub(crate) fn without_userinfo(text: &str) -> String {
    if !text.contains('@') {
        return text.to_owned();
    }
    match Url::parse(text) {
        Ok(mut url) if !url.username().is_empty() || url.password().is_some() => {
            let _ = url.set_username("");
            let _ = url.set_password(None);
            url.into()
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_fields_of_the_manifest_and_no_password() {
        let line = Line::new(
            "http://user:secret@example.org/a?b",
            Outcome::Fetched,
            Timestamp::from_secs(1_716_215_521),
        );
        let json: serde_json::Value = serde_json::from_str(&line.to_json()).unwrap();
        let mut fields: Vec<&str> = json
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        fields.sort_unstable();
        let mut expected = [
            "url",
            "final_url",
            "status",
            "outcome",
            "file",
            "bytes",
            "sha256",
            "attempts",
            "first_departure",
            "finished",
            "content_type",
            "error",
        ];
        expected.sort_unstable();
        assert_eq!(fields, expected);
        assert_eq!(json["url"], "http://example.org/a?b");
        assert_eq!(json["finished"], "2024-05-20T14:32:01.000Z");
    }
}
