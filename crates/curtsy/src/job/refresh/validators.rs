//! What tells one representation of a URL from another (RFC 9110, section 8.8).

use std::time::{Duration, SystemTime};

use curtsy_core::Timestamp;
use http::header::{CACHE_CONTROL, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use http_cache_semantics::{AfterResponse, BeforeRequest, CacheOptions, CachePolicy};

use crate::client::Condition;
use crate::job::manifest::{Line, Outcome};

/// What a body that is stored can be asked about with.
pub(in crate::job) struct Validators {
    url: String,
    request: Request<()>,
    policy: CachePolicy,
}

impl Validators {
    /// Those of a line; none where its response had none.
    pub(in crate::job) fn of(line: &Line, now: Timestamp) -> Option<Self> {
        let url = line.final_url.as_ref().unwrap_or(&line.url).clone();
        let mut response = Response::new(());
        for (name, value) in [(ETAG, &line.etag), (LAST_MODIFIED, &line.last_modified)] {
            if let Some(value) = value {
                let value = HeaderValue::from_str(value).ok()?;
                response.headers_mut().insert(name, value);
            }
        }
        if response.headers().is_empty() {
            return None;
        }
        // Never answered from memory.
        let request = Request::get(&url)
            .header(CACHE_CONTROL, "no-cache")
            .body(())
            .ok()?;
        let options = CacheOptions {
            shared: false,
            ..CacheOptions::default()
        };
        let policy = CachePolicy::new_options(&request, &response, system(now), options);
        Some(Self {
            url,
            request,
            policy,
        })
    }

    /// The fields that ask whether the body still holds.
    pub(in crate::job) fn condition(&self, now: Timestamp) -> Option<Condition> {
        let asked = match self.policy.before_request(&self.request, system(now)) {
            BeforeRequest::Stale { request, .. } => request.headers,
            BeforeRequest::Fresh(_) => return None,
        };
        let mut headers = HeaderMap::new();
        for name in [IF_NONE_MATCH, IF_MODIFIED_SINCE] {
            if let Some(value) = asked.get(&name) {
                headers.insert(name, value.clone());
            }
        }
        (!headers.is_empty()).then(|| Condition {
            url: self.url.clone(),
            headers,
        })
    }

    /// Whether a 304 with these fields is about the body that is stored.
    pub(in crate::job) fn are_confirmed_by(&self, headers: &HeaderMap, now: Timestamp) -> bool {
        let mut response = Response::new(());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.headers_mut() = headers.clone();
        if !headers.contains_key(ETAG) && !headers.contains_key(LAST_MODIFIED) {
            // It names no representation, so it is about the only one that it was asked about.
            return true;
        }
        let after = self
            .policy
            .after_response(&self.request, &response, system(now));
        matches!(after, AfterResponse::NotModified(..))
    }
}

fn system(at: Timestamp) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_micros(at.as_micros())
}

/// The longest validator that is kept, in bytes.
const MAX_VALIDATOR: usize = 512;

impl Line {
    /// Notes the validators of a response whose body is stored.
    pub(in crate::job) fn set_validators(&mut self, headers: &HeaderMap) {
        let text = |name: HeaderName| {
            let value = headers.get(name)?.to_str().ok()?.trim();
            (!value.is_empty() && value.len() <= MAX_VALIDATOR).then(|| value.to_owned())
        };
        self.etag = text(ETAG).or(self.etag.take());
        self.last_modified = text(LAST_MODIFIED).or(self.last_modified.take());
    }

    /// Whether it tells of a whole body that was fetched, in its own run or in one before. In an archive an
    /// error has a record too.
    pub(in crate::job) fn has_body(&self) -> bool {
        let is_known = self.etag.is_some() || self.last_modified.is_some();
        let is_file = self.file.is_some() && self.warc_offset.is_none();
        self.outcome == Outcome::Fetched || is_known || is_file
    }

    /// What an earlier run stored is still there.
    pub(in crate::job) fn keep_body_of(&mut self, earlier: &Self) {
        if !earlier.has_body() {
            return;
        }
        self.file = earlier.file.clone();
        self.warc_offset = earlier.warc_offset;
        self.warc_record_id = earlier.warc_record_id.clone();
        (self.bytes, self.sha256) = (earlier.bytes, earlier.sha256.clone());
        if self.content_type.is_none() {
            self.content_type = earlier.content_type.clone();
        }
        if self.status.is_none() {
            self.final_url = earlier.final_url.clone();
        }
        // A 304 need not repeat what was wished before.
        if self.robots_tag.is_empty() {
            self.robots_tag = earlier.robots_tag.clone();
        }
        if self.content_usage.is_empty() {
            self.content_usage = earlier.content_usage.clone();
        }
        if self.content_signal.is_empty() {
            self.content_signal = earlier.content_signal.clone();
        }
        // They mean nothing at any other URL.
        if self.final_url == earlier.final_url {
            self.etag = earlier.etag.clone();
            self.last_modified = earlier.last_modified.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_secs(1_716_215_521);
    const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

    fn line(etag: Option<&str>, last_modified: Option<&str>) -> Line {
        let mut line = Line::new("http://example.org/a", Outcome::Fetched, NOW);
        line.etag = etag.map(str::to_owned);
        line.last_modified = last_modified.map(str::to_owned);
        line
    }

    fn headers(fields: &[(HeaderName, &'static str)]) -> HeaderMap {
        let fields = fields.iter().cloned();
        fields
            .map(|(name, value)| (name, HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn what_a_response_was_known_by_is_what_is_asked_with() {
        let cases = [
            (None, None, None),
            (
                Some("\"a\""),
                None,
                Some(headers(&[(IF_NONE_MATCH, "\"a\"")])),
            ),
            (
                Some("W/\"a\""),
                Some(DATE),
                Some(headers(&[
                    (IF_NONE_MATCH, "W/\"a\""),
                    (IF_MODIFIED_SINCE, DATE),
                ])),
            ),
            (
                None,
                Some(DATE),
                Some(headers(&[(IF_MODIFIED_SINCE, DATE)])),
            ),
        ];
        for (etag, last_modified, expected) in cases {
            let validators = Validators::of(&line(etag, last_modified), NOW);
            let condition = validators.and_then(|validators| validators.condition(NOW));
            let asked = condition.map(|condition| condition.headers);
            assert_eq!(asked, expected, "{etag:?} {last_modified:?}");
        }
    }

    #[test]
    fn a_304_confirms_only_what_it_is_about() {
        for (etag, last_modified, fields, expected) in [
            (Some("\"a\""), None, headers(&[(ETAG, "\"a\"")]), true),
            (Some("W/\"a\""), None, headers(&[(ETAG, "W/\"a\"")]), true),
            (Some("\"a\""), None, headers(&[(ETAG, "\"b\"")]), false),
            (Some("\"a\""), Some(DATE), headers(&[]), true),
            (None, Some(DATE), headers(&[(LAST_MODIFIED, DATE)]), true),
            (
                None,
                Some(DATE),
                headers(&[(LAST_MODIFIED, "Mon, 07 Nov 1994 08:49:37 GMT")]),
                false,
            ),
        ] {
            let validators = Validators::of(&line(etag, last_modified), NOW).unwrap();
            let confirmed = validators.are_confirmed_by(&fields, NOW);
            assert_eq!(confirmed, expected, "{etag:?} {last_modified:?} {fields:?}");
        }
    }

    #[test]
    fn validators_that_are_no_text_or_much_too_long_are_not_kept() {
        let long = HeaderValue::from_str(&"x".repeat(600)).unwrap();
        for value in [long, HeaderValue::from_bytes(b"\"\xff\"").unwrap()] {
            let mut line = line(None, None);
            line.set_validators(&HeaderMap::from_iter([(ETAG, value)]));
            assert_eq!(line.etag, None);
        }
    }
}
