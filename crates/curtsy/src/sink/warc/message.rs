//! HTTP messages as they stand in records.
//!
//! A response is written as what came over the wire, with its content coding on, but for three things.
//! HTTP/2 has no text, so it is written as HTTP/1.1 is. Field names are in lower case, and space around
//! values is gone. The transfer coding has been taken off, so `Transfer-Encoding` is kept under the name
//! `X-Archive-Orig-Transfer-Encoding`, and the body ends where the record does.
//!
//! Of a request only fields of [`PLAIN`] are written: any other may be a key or a session, and archives are
//! passed on.

use http::header::{HOST, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderValue, StatusCode};
use url::{Position, Url};

use crate::transport::Trace;

/// The request fields that hold nothing but what everybody may know.
const PLAIN: &[&str] = &[
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "connection",
    "from",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "pragma",
    "range",
    "te",
    "user-agent",
];

/// The head of a request for `url`, up to the empty line.
pub(super) fn request(url: &Url, trace: &Trace) -> Vec<u8> {
    let mut text = format!("{} {} HTTP/1.1\r\n", trace.method, trace.path).into_bytes();
    if !trace.headers.contains_key(HOST) {
        let authority = &url[Position::BeforeHost..Position::AfterPort];
        field(&mut text, "host", authority.as_bytes());
    }
    for (name, value) in plain(&trace.headers) {
        field(&mut text, name, value.as_bytes());
    }
    text.extend_from_slice(b"\r\n");
    text
}

fn plain(headers: &HeaderMap) -> impl Iterator<Item = (&str, &HeaderValue)> {
    let all = headers.iter().map(|(name, value)| (name.as_str(), value));
    all.filter(|(name, value)| PLAIN.contains(name) && !value.is_sensitive())
}

/// The head of a response, up to the empty line.
pub(super) fn response(status: StatusCode, headers: &HeaderMap) -> Vec<u8> {
    let reason = status.canonical_reason().unwrap_or_default();
    let mut text = format!("HTTP/1.1 {} {reason}\r\n", status.as_str()).into_bytes();
    for (name, value) in headers {
        let name = if *name == TRANSFER_ENCODING {
            "X-Archive-Orig-Transfer-Encoding"
        } else {
            name.as_str()
        };
        field(&mut text, name, value.as_bytes());
    }
    text.extend_from_slice(b"\r\n");
    text
}

fn field(text: &mut Vec<u8>, name: &str, value: &[u8]) {
    text.extend_from_slice(name.as_bytes());
    text.extend_from_slice(b": ");
    text.extend_from_slice(value);
    text.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, Method};

    use super::*;

    fn headers(fields: &[(&str, &str)]) -> HeaderMap {
        let fields = fields.iter().map(|(name, value)| {
            let name = HeaderName::try_from(*name).unwrap();
            (name, HeaderValue::from_str(value).unwrap())
        });
        fields.collect()
    }

    #[test]
    fn a_request_over_http2_has_its_host_from_the_url() {
        let url = Url::parse("https://example.org:8443/a?b").unwrap();
        let trace = Trace {
            method: Method::GET,
            path: "/a?b".to_owned(),
            headers: headers(&[("user-agent", "x"), ("authorization", "Basic c2VjcmV0")]),
            address: None,
        };
        let expected = "GET /a?b HTTP/1.1\r\nhost: example.org:8443\r\nuser-agent: x\r\n\r\n";
        assert_eq!(request(&url, &trace), expected.as_bytes());
    }

    #[test]
    fn a_transfer_coding_that_was_taken_off_is_not_claimed() {
        let fields = [
            ("transfer-encoding", "chunked"),
            ("content-encoding", "gzip"),
        ];
        let expected = "HTTP/1.1 200 OK\r\nX-Archive-Orig-Transfer-Encoding: chunked\r\n\
                        content-encoding: gzip\r\n\r\n";
        let written = response(StatusCode::OK, &headers(&fields));
        assert_eq!(String::from_utf8(written).unwrap(), expected);
    }
}
