//! The octets of a file before its lines are read: size, marks, encodings.

use std::borrow::Cow;

/// The octets of a robots.txt that are read: 500 KiB, the least that RFC 9309 (2.5) allows as a limit.
pub const MAX_BODY: usize = 512_000;

/// What there is to parse of a body, and what was noticed about it.
pub(super) struct Body<'a> {
    pub(super) text: Cow<'a, [u8]>,
    pub(super) cut: bool,
    pub(super) utf16: bool,
}

/// The first [`MAX_BODY`] octets of a body, to the end of the last line that is whole. Half a line could
/// be another rule (`Disallow: /private` cut to `Disallow: /`), so it is dropped.
#[must_use]
pub fn cut_to_limit(body: &[u8]) -> &[u8] {
    let Some((kept, dropped)) = body.split_at_checked(MAX_BODY) else {
        return body;
    };
    if dropped.first().is_none_or(|&octet| is_line_end(octet)) {
        return kept;
    }
    let end = kept.iter().rposition(|&octet| is_line_end(octet));
    &kept[..end.map_or(0, |at| at + 1)]
}

/// Cuts a body to the limit and takes off its byte order mark. UTF-16 with a mark is turned into
/// UTF-8; every other encoding is left as the octets it is.
pub(super) fn prepare(body: &[u8]) -> Body<'_> {
    if let Some(unit) = utf16_unit(body) {
        // In UTF-16 an octet 10 need not be a line end: decode first, cut afterwards.
        let kept = &body[..body.len().min(MAX_BODY)];
        let mut text = decode_utf16(&kept[2..], unit);
        let cut = kept.len() < body.len();
        if cut {
            let end = text.rfind(['\n', '\r']).map_or(0, |at| at + 1);
            text.truncate(end);
        }
        return Body {
            text: Cow::Owned(text.into_bytes()),
            cut,
            utf16: true,
        };
    }
    let kept = cut_to_limit(body);
    Body {
        text: Cow::Borrowed(without_mark(kept)),
        cut: kept.len() < body.len(),
        utf16: false,
    }
}

pub(super) fn is_line_end(octet: u8) -> bool {
    octet == b'\n' || octet == b'\r'
}

/// Whether a body is plainly a web page or a JSON document in the place of a robots.txt.
pub(super) fn is_other_document(text: &[u8]) -> bool {
    let first = text.iter().find(|octet| !octet.is_ascii_whitespace());
    matches!(first, Some(b'<' | b'{' | b'['))
}

/// Skips a UTF-8 mark, and the beginning of a broken one, at the start of the file only.
fn without_mark(body: &[u8]) -> &[u8] {
    let mark = [0xEF, 0xBB, 0xBF];
    let shared = body
        .iter()
        .zip(mark)
        .take_while(|(octet, part)| *octet == part);
    &body[shared.count()..]
}

fn utf16_unit(body: &[u8]) -> Option<fn([u8; 2]) -> u16> {
    match body {
        [0xFF, 0xFE, ..] => Some(u16::from_le_bytes),
        [0xFE, 0xFF, ..] => Some(u16::from_be_bytes),
        _ => None,
    }
}

fn decode_utf16(octets: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let (pairs, _half) = octets.as_chunks::<2>();
    char::decode_utf16(pairs.iter().map(|&pair| unit(pair)))
        .map(|decoded| decoded.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line_of(length: usize) -> Vec<u8> {
        vec![b'a'; length]
    }

    #[test]
    fn a_body_over_the_limit_loses_its_cut_line() {
        let mut body = b"User-agent: *\nDisallow: /".to_vec();
        body.extend(line_of(MAX_BODY));
        assert_eq!(cut_to_limit(&body), b"User-agent: *\n");
        assert_eq!(cut_to_limit(&line_of(MAX_BODY + 1)), b"");
    }

    #[test]
    fn a_line_that_ends_at_the_limit_is_whole() {
        let mut body = line_of(MAX_BODY);
        assert_eq!(
            cut_to_limit(&body).len(),
            MAX_BODY,
            "no octet over the limit"
        );
        body.push(b'\n');
        assert_eq!(
            cut_to_limit(&body).len(),
            MAX_BODY,
            "the next octet ends the line"
        );
    }

    #[test]
    fn marks_are_skipped_at_the_start_only() {
        for (body, expected) in [
            (&b"\xEF\xBB\xBFUser"[..], &b"User"[..]),
            (b"\xEF\xBBUser", b"User"),
            (b"User\xEF\xBB\xBF", b"User\xEF\xBB\xBF"),
            (b"\xEF\xBB\xBF\xEF\xBB\xBFUser", b"\xEF\xBB\xBFUser"),
            (b"\xFF\xFEU\0s\0", b"Us"),
            (b"\xFE\xFF\0U\0s", b"Us"),
            (b"\xFE\xFF\0U\0", b"U"),
            (b"", b""),
        ] {
            assert_eq!(&*prepare(body).text, expected, "{body:?}");
        }
    }

    #[test]
    fn utf16_is_cut_at_a_line_of_text_and_not_at_an_octet_ten() {
        // U+0A0A is two octets 10, and no line end.
        let mut body = b"\xFE\xFF\0a\0\n".to_vec();
        body.extend([0x0A, 0x0A].repeat(MAX_BODY / 2));
        let body = prepare(&body);
        assert_eq!(&*body.text, b"a\n");
        assert!(body.cut && body.utf16);
    }
}
