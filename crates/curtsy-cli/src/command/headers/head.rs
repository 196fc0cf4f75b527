//! A raw response head, as `curl -i` and `curl -D -` print it.

use super::reading::Question;

/// Reads the last response of a text: before it may stand others, of redirects or of `100 Continue`. What
/// follows its head is its body.
///
/// # Errors
/// The text does not begin with a status line.
pub(super) fn parse(text: &[u8]) -> Result<Question, String> {
    let mut rest = text.trim_ascii_start();
    loop {
        let (head, body) = split(rest);
        if body.starts_with(b"HTTP/") {
            rest = body;
            continue;
        }
        return read(head, body);
    }
}

/// Splits after the first empty line.
fn split(text: &[u8]) -> (&[u8], &[u8]) {
    let mut start = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let end = start + line.len();
        if line.trim_ascii().is_empty() {
            return (&text[..start], &text[end..]);
        }
        start = end;
    }
    (text, b"")
}

fn read(head: &[u8], body: &[u8]) -> Result<Question, String> {
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let status = lines.next().and_then(status).ok_or(
        "begins neither with a status line, as HTTP/1.1 429 Too Many Requests, nor with JSON",
    )?;
    let headers = lines
        .filter(|line| !line.is_empty())
        .map(|line| {
            let colon = line
                .iter()
                .position(|byte| *byte == b':')
                .unwrap_or(line.len());
            let value = line.get(colon + 1..).unwrap_or_default();
            (line[..colon].to_vec(), value.trim_ascii().to_vec())
        })
        .collect();
    let body = (!body.is_empty()).then(|| body.to_vec());
    Ok(Question {
        status,
        headers,
        body,
        ..Question::default()
    })
}

/// `HTTP/1.1 429 Too Many Requests`, `HTTP/2 429`.
fn status(line: &[u8]) -> Option<u16> {
    let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    words.next()?.strip_prefix("HTTP/")?;
    words
        .next()?
        .parse()
        .ok()
        .filter(|status| (100..1000).contains(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(question: &Question) -> Vec<(&str, &str)> {
        let text = |bytes| std::str::from_utf8(bytes).unwrap();
        question
            .headers
            .iter()
            .map(|(name, value)| (text(name), text(value)))
            .collect()
    }

    #[test]
    fn a_head_is_a_status_line_and_fields() {
        let text = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 120\r\nX-A:b:c\r\n\r\nbody\r\n\r\nmore";
        let question = parse(text).unwrap();
        assert_eq!(question.status, 429);
        assert_eq!(pairs(&question), [("Retry-After", "120"), ("X-A", "b:c")]);
        assert_eq!(question.body.as_deref(), Some(&b"body\r\n\r\nmore"[..]));
    }

    #[test]
    fn the_last_of_several_heads_counts() {
        let text = b"HTTP/1.1 301 Moved\nLocation: /x\n\nHTTP/2 200\nA: b\n";
        let question = parse(text).unwrap();
        assert_eq!((question.status, pairs(&question)), (200, vec![("A", "b")]));
        assert_eq!(question.body, None);
    }

    #[test]
    fn what_is_no_response_is_refused() {
        for text in [
            "",
            "Retry-After: 3",
            "HTTP/1.1",
            "HTTP/1.1 x",
            "HTTP/1.1 99 x",
            "<html>",
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
