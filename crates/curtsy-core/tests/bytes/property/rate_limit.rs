//! The structured fields of the IETF draft.

use curtsy_core::signal::{self, Signal};
use http::{HeaderMap, HeaderValue};

use super::departure::assert_no_earlier_than_after_silence;
use super::response::NOW;
use super::sane::assert_sane;

/// Lines that are in turn `RateLimit-Policy` and `RateLimit`: their reading is bounded and makes nothing
/// faster, and a list of Strings is the same on one line and on several (RFC 9110, section 5.3).
pub(crate) fn holds(bytes: &[u8]) {
    let mut lines = [Vec::new(), Vec::new()];
    for (at, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        // An empty one stands for a field that is not there.
        let value = HeaderValue::from_bytes(line).ok();
        lines[at % 2].extend(value.filter(|value| !value.is_empty()));
    }
    for status in [200, 429] {
        let signal = read(status, &lines);
        assert_sane(&signal);
        if status == 200 {
            assert_no_earlier_than_after_silence(&signal, NOW);
        }
        // Half a String on a line is malformed, and becomes a whole one when the lines are joined.
        let is_whole = signal.ignored.is_empty();
        if is_whole && lines.iter().flatten().all(is_short_list_of_strings) {
            let joined = read(status, &lines.each_ref().map(|lines| joined(lines)));
            assert_eq!(joined.quotas, signal.quotas);
            assert_eq!(joined.wait, signal.wait);
        }
    }
}

/// As drafts 08 to 10 have it; the older forms are read leniently, and that line by line.
fn is_short_list_of_strings(line: &HeaderValue) -> bool {
    line.as_bytes().starts_with(b"\"") && line.len() < 200
}

fn read(status: u16, lines: &[Vec<HeaderValue>; 2]) -> Signal {
    let mut headers = HeaderMap::new();
    for (name, lines) in ["ratelimit-policy", "ratelimit"].into_iter().zip(lines) {
        for line in lines {
            headers.append(name, line.clone());
        }
    }
    signal::read(status, &headers, NOW, None, None)
}

/// The same list on one line.
fn joined(lines: &[HeaderValue]) -> Vec<HeaderValue> {
    let lines: Vec<&[u8]> = lines.iter().map(HeaderValue::as_bytes).collect();
    if lines.is_empty() {
        return Vec::new();
    }
    HeaderValue::from_bytes(&lines.join(&b", "[..]))
        .into_iter()
        .collect()
}
