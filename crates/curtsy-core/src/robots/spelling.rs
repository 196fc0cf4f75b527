//! One spelling for patterns and paths, so that they can be compared octet by octet.
//!
//! RFC 9309 (2.2.2) wants octets outside ASCII percent-encoded and escapes of unreserved characters
//! decoded on both sides; all other escapes stay, their digits in upper case. Beyond that, what no URI
//! may hold raw (blanks, controls, `<>"{}|\^` and the backtick) is encoded, and so is `'`, which the
//! URL standard encodes in a query. A star or dollar that is data is spelt `%2A` or `%24` here, which
//! leaves the raw star free for the wildcard. The result is ASCII.

use std::borrow::Cow;

use super::scan::position_of;

/// What a pattern is once spelt.
pub(super) struct Spelt {
    /// Octets of the pattern for precedence (RFC 9309, 2.2.2): as encoded, with every star of a run and
    /// each `$` counted once.
    pub(super) octets: u32,
    /// Whether the match must end where the path ends.
    pub(super) anchored: bool,
}

/// Appends the spelling of a path pattern to `out`. Runs of stars become one, and a star at the very
/// end, which says nothing, is left out.
pub(super) fn spell_pattern(pattern: &[u8], out: &mut Vec<u8>) -> Spelt {
    let (body, mut anchored) = match pattern {
        [body @ .., b'$'] => (body, true),
        body => (body, false),
    };
    let mut octets = u32::from(anchored);
    let begin = out.len();
    let mut rest = body;
    while let [first, tail @ ..] = rest {
        let (count, left) = match CLASS[usize::from(*first)] {
            Class::Plain => {
                let run = plain_run(rest);
                out.extend_from_slice(&rest[..run]);
                (run, &rest[run..])
            }
            Class::Star => {
                if out.len() == begin || out.last() != Some(&b'*') {
                    out.push(b'*');
                }
                (1, tail)
            }
            Class::Special => {
                push_escape(*first, out);
                (1, tail)
            }
            Class::Encoded => {
                push_escape(*first, out);
                (3, tail)
            }
            Class::Percent => spell_escape(tail, out),
        };
        octets = octets.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
        rest = left;
    }
    if out.len() > begin && out.last() == Some(&b'*') {
        out.pop();
        anchored = false;
    }
    Spelt { octets, anchored }
}

/// The spelling of a path with its query, as a URL has them.
pub(super) fn spell_path(path: &[u8]) -> Cow<'_, [u8]> {
    if plain_run(path) == path.len() {
        return Cow::Borrowed(path);
    }
    let mut out = Vec::with_capacity(path.len() + 16);
    let mut rest = path;
    while let [first, tail @ ..] = rest {
        rest = match CLASS[usize::from(*first)] {
            Class::Plain => {
                let run = plain_run(rest);
                out.extend_from_slice(&rest[..run]);
                &rest[run..]
            }
            Class::Star | Class::Special | Class::Encoded => {
                push_escape(*first, &mut out);
                tail
            }
            Class::Percent => spell_escape(tail, &mut out).1,
        };
    }
    Cow::Owned(out)
}

/// The other spelling of query values that the RFC's table shows: `?u=https://x` as
/// `?u=https%3A%2F%2Fx`. `None` where no query value holds a general delimiter, raw or escaped.
///
/// It is tried beside the plain spelling and never in its place: behind a star in a pattern nobody
/// knows whether a slash lies in a query value. Only general delimiters are treated so, since they
/// mean nothing in a value; `&`, `=`, `+` and their escapes differ.
pub(super) fn spell_query_values(spelt: &[u8]) -> Option<Vec<u8>> {
    let query = position_of(spelt, [b'?'])? + 1;
    let mut out = Vec::with_capacity(spelt.len() + 16);
    out.extend_from_slice(&spelt[..query]);
    let (mut in_value, mut found) = (false, false);
    for (at, &octet) in spelt.iter().enumerate().skip(query) {
        match octet {
            b'&' => in_value = false,
            b'=' => in_value = true,
            b':' | b'/' | b'?' | b'@' | b'[' | b']' if in_value => {
                found = true;
                push_escape(octet, &mut out);
                continue;
            }
            b'%' if in_value => found |= is_delimiter_escape(&spelt[at + 1..]),
            _ => {}
        }
        out.push(octet);
    }
    found.then_some(out)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Stands for itself.
    Plain,
    /// May stand raw in a URI, but is encoded here; one octet for precedence.
    Special,
    /// May not stand raw in a URI.
    Encoded,
    Star,
    Percent,
}

const CLASS: [Class; 256] = {
    let mut table = [Class::Plain; 256];
    let mut octet = 0;
    while octet < 256 {
        table[octet] = match octet as u8 {
            b'*' => Class::Star,
            b'%' => Class::Percent,
            b'$' | b'\'' => Class::Special,
            0..=b' ' | 0x7F..=0xFF => Class::Encoded,
            b'<' | b'>' | b'"' | b'{' | b'}' | b'|' | b'\\' | b'^' | b'`' => Class::Encoded,
            _ => Class::Plain,
        };
        octet += 1;
    }
    table
};

fn plain_run(octets: &[u8]) -> usize {
    octets
        .iter()
        .position(|&octet| CLASS[usize::from(octet)] != Class::Plain)
        .unwrap_or(octets.len())
}

/// Spells what follows a percent sign; gives the octets that count and what is left. A percent sign
/// that begins no escape is kept as it is.
fn spell_escape<'a>(after: &'a [u8], out: &mut Vec<u8>) -> (usize, &'a [u8]) {
    if let [high, low, left @ ..] = after
        && let (Some(high), Some(low)) = (hex_digit(*high), hex_digit(*low))
    {
        let octet = high << 4 | low;
        if octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'.' | b'_' | b'~') {
            out.push(octet);
            return (1, left);
        }
        push_escape(octet, out);
        return (3, left);
    }
    out.push(b'%');
    (1, after)
}

fn hex_digit(octet: u8) -> Option<u8> {
    match octet {
        b'0'..=b'9' => Some(octet - b'0'),
        b'a'..=b'f' => Some(octet - b'a' + 10),
        b'A'..=b'F' => Some(octet - b'A' + 10),
        _ => None,
    }
}

fn push_escape(octet: u8, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let digit = |nibble: u8| DIGITS[usize::from(nibble)];
    out.extend_from_slice(&[b'%', digit(octet >> 4), digit(octet & 15)]);
}

fn is_delimiter_escape(after: &[u8]) -> bool {
    matches!(
        after,
        [b'3', b'A' | b'F', ..] | [b'2', b'F', ..] | [b'4', b'0', ..] | [b'5', b'B' | b'D', ..]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_one_spelling() {
        for (path, expected) in [
            (&b"/plain/a-b_c.d~e?f=g&h;i"[..], "/plain/a-b_c.d~e?f=g&h;i"),
            (b"/%62%61z/%7ejoe", "/baz/~joe"),
            ("/ツ".as_bytes(), "/%E3%83%84"),
            (b"/\xE9", "/%E9"),
            (b"/%2f%2F", "/%2F%2F"),
            (b"/a b<>\"{}|\\^`", "/a%20b%3C%3E%22%7B%7D%7C%5C%5E%60"),
            (b"/*$'", "/%2A%24%27"),
            (b"/%2a%24%27", "/%2A%24%27"),
            (b"/100%", "/100%"),
            (b"/%zz%4", "/%zz%4"),
            (b"/%25%36%31", "/%2561"),
            (b"/\0\x7f", "/%00%7F"),
        ] {
            assert_eq!(
                String::from_utf8_lossy(&spell_path(path)),
                expected,
                "{path:?}"
            );
        }
    }

    #[test]
    fn a_pattern_keeps_its_stars_and_its_length() {
        for (pattern, expected, octets, anchored) in [
            ("/fish", "/fish", 5, false),
            ("/fish*", "/fish", 6, false),
            ("/fish*$", "/fish", 7, false),
            ("/***a**b***", "/*a*b", 11, false),
            ("/*.php$", "/*.php", 7, true),
            ("/a$b", "/a%24b", 4, false),
            ("/a$$", "/a%24", 4, true),
            ("/a%2a%24", "/a%2A%24", 8, false),
            ("/%61", "/a", 2, false),
            ("/é", "/%C3%A9", 7, false),
            ("*", "", 1, false),
            ("$", "", 1, true),
            ("", "", 0, false),
        ] {
            let mut out = b"before*".to_vec();
            let spelt = spell_pattern(pattern.as_bytes(), &mut out);
            assert_eq!(String::from_utf8_lossy(&out[7..]), expected, "{pattern}");
            assert_eq!(
                (spelt.octets, spelt.anchored),
                (octets, anchored),
                "{pattern}"
            );
        }
    }

    #[test]
    fn only_general_delimiters_in_query_values_have_another_spelling() {
        for (spelt, expected) in [
            ("/a?u=https://x/?y", Some("/a?u=https%3A%2F%2Fx%2F%3Fy")),
            ("/a?u=https%3A%2F%2Fx", Some("/a?u=https%3A%2F%2Fx")),
            ("/a?b=c&d/e=f", None),
            ("/a?b=c%26d", None),
            ("/a:b@c?d", None),
            ("/a=b/c", None),
        ] {
            let spelt_values = spell_query_values(spelt.as_bytes());
            assert_eq!(
                spelt_values.as_deref(),
                expected.map(str::as_bytes),
                "{spelt}"
            );
        }
    }
}
