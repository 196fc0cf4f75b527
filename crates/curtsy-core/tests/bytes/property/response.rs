//! A response in bytes, much as it came over the wire.

use curtsy_core::Timestamp;
use http::{HeaderMap, HeaderName, HeaderValue};

/// What does not say when it was received came at this time.
pub(crate) const NOW: Timestamp = Timestamp::from_secs(1_796_048_940);

/// A line with the status and the time of receipt in microseconds, lines of fields, and after an empty
/// line the body. Whatever is missing has a default, and lines that are no field are skipped.
pub(crate) struct Response<'b> {
    pub(crate) status: u16,
    pub(crate) received: Timestamp,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<&'b [u8]>,
}

impl<'b> Response<'b> {
    pub(crate) fn parse(bytes: &'b [u8]) -> Self {
        let end = bytes.windows(2).position(|two| two == b"\n\n");
        let (head, body) = match end {
            Some(end) => (&bytes[..end], Some(&bytes[end + 2..])),
            None => (bytes, None),
        };
        let mut lines = head.split(|&byte| byte == b'\n');
        let first = String::from_utf8_lossy(lines.next().unwrap_or_default());
        let mut words = first.split(' ');
        let mut headers = HeaderMap::new();
        for (name, value) in lines.filter_map(field) {
            // More of them than it can hold are of no interest here.
            let _ = headers.try_append(name, value);
        }
        Self {
            status: next_number(&mut words).unwrap_or(200),
            received: next_number(&mut words).map_or(NOW, Timestamp::from_micros),
            headers,
            body,
        }
    }
}

fn next_number<'w, N: std::str::FromStr>(words: &mut impl Iterator<Item = &'w str>) -> Option<N> {
    words.next()?.parse().ok()
}

fn field(line: &[u8]) -> Option<(HeaderName, HeaderValue)> {
    let colon = line.iter().position(|&byte| byte == b':')?;
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    let value = value.strip_prefix(b" ").unwrap_or(value);
    Some((
        HeaderName::from_bytes(name).ok()?,
        HeaderValue::from_bytes(value).ok()?,
    ))
}
