//! Lines of a file, and what record each one is.

use super::scan::position_of;

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// Nothing, or a comment.
    Blank,
    /// A record that this module knows.
    Record {
        field: Field,
        value: &'a [u8],
        spelling: Spelling,
    },
    /// A name and a colon, the name unknown.
    Unknown,
    /// Neither a name with a colon nor two words.
    NoRecord,
}

/// The records that are known by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    UserAgent,
    Allow,
    Disallow,
    CrawlDelay,
    RequestRate,
    Sitemap,
    ContentUsage,
    ContentSignal,
    /// Known elsewhere, and reported only.
    Reported,
}

/// How a known record was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    Exact,
    /// One of the usual typing errors.
    Misspelt,
    /// Two words with no colon between.
    NoColon,
}

/// Splits a text at CR, LF and CRLF and at nothing else, and numbers the lines from 1.
pub(super) struct Lines<'a> {
    rest: &'a [u8],
    number: u32,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self {
            rest: text,
            number: 0,
        }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = (u32, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let end = position_of(self.rest, [b'\n', b'\r']);
        let (line, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = match rest {
            [b'\r', b'\n', rest @ ..] | [_, rest @ ..] => rest,
            [] => rest,
        };
        self.number += 1;
        Some((self.number, line))
    }
}

/// The part of a line that counts: without its comment and the blanks at both ends. A NUL counts as a
/// blank there, since files padded with them exist.
pub(super) fn content(line: &[u8]) -> &[u8] {
    let comment = position_of(line, [b'#']);
    trim(&line[..comment.unwrap_or(line.len())])
}

/// Reads the content of a line as a record.
///
/// The name ends at the first colon. Where what stands before it is no known name, two words of which
/// the first is one are taken as a record whose colon was forgotten, as most parsers do.
pub(super) fn read(content: &[u8]) -> Line<'_> {
    if content.is_empty() {
        return Line::Blank;
    }
    let colon = position_of(content, [b':']);
    if let Some(at) = colon
        && let Some((field, spelling)) = named(trim(&content[..at]))
    {
        let value = trim(&content[at + 1..]);
        return Line::Record {
            field,
            value,
            spelling,
        };
    }
    if let Some((first, second)) = two_words(content)
        && let Some((field, _)) = named(first)
    {
        return Line::Record {
            field,
            value: second,
            spelling: Spelling::NoColon,
        };
    }
    match colon {
        Some(_) => Line::Unknown,
        None => Line::NoRecord,
    }
}

/// The field of a record name. Names are compared whole: `Disallowed` is no `Disallow`.
fn named(name: &[u8]) -> Option<(Field, Spelling)> {
    let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
    // The three of the RFC come first; nearly every line is one of them.
    match name.len() {
        8 if is("disallow") => return Some((Field::Disallow, Spelling::Exact)),
        5 if is("allow") => return Some((Field::Allow, Spelling::Exact)),
        10 if is("user-agent") => return Some((Field::UserAgent, Spelling::Exact)),
        _ => {}
    }
    let row = NAMES.iter().find(|(known, ..)| is(known))?;
    Some((row.1, row.2))
}

/// Names beside those of the RFC. The typing errors are the ones that google/robotstxt accepts; more
/// would mean to guess, and a guessed `Allow` is a permission that nobody gave.
const NAMES: [(&str, Field, Spelling); 24] = [
    ("sitemap", Field::Sitemap, Spelling::Exact),
    ("crawl-delay", Field::CrawlDelay, Spelling::Exact),
    ("request-rate", Field::RequestRate, Spelling::Exact),
    ("useragent", Field::UserAgent, Spelling::Misspelt),
    ("user agent", Field::UserAgent, Spelling::Misspelt),
    ("dissallow", Field::Disallow, Spelling::Misspelt),
    ("dissalow", Field::Disallow, Spelling::Misspelt),
    ("disalow", Field::Disallow, Spelling::Misspelt),
    ("diasllow", Field::Disallow, Spelling::Misspelt),
    ("disallaw", Field::Disallow, Spelling::Misspelt),
    ("site-map", Field::Sitemap, Spelling::Misspelt),
    ("crawl delay", Field::CrawlDelay, Spelling::Misspelt),
    ("crawl_delay", Field::CrawlDelay, Spelling::Misspelt),
    ("crawldelay", Field::CrawlDelay, Spelling::Misspelt),
    ("request rate", Field::RequestRate, Spelling::Misspelt),
    ("host", Field::Reported, Spelling::Exact),
    ("clean-param", Field::Reported, Spelling::Exact),
    ("visit-time", Field::Reported, Spelling::Exact),
    ("noindex", Field::Reported, Spelling::Exact),
    ("nofollow", Field::Reported, Spelling::Exact),
    ("noarchive", Field::Reported, Spelling::Exact),
    ("content-usage", Field::ContentUsage, Spelling::Exact),
    ("content-signal", Field::ContentSignal, Spelling::Exact),
    ("content-signals", Field::ContentSignal, Spelling::Exact),
];

fn two_words(content: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = content.iter().position(|&octet| is_blank(octet))?;
    let second = trim(&content[end..]);
    let single = !second.is_empty() && !second.iter().any(|&octet| is_blank(octet));
    single.then_some((&content[..end], second))
}

fn trim(mut octets: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = octets
        && is_blank(*first)
    {
        octets = rest;
    }
    while let [rest @ .., last] = octets
        && is_blank(*last)
    {
        octets = rest;
    }
    octets
}

fn is_blank(octet: u8) -> bool {
    matches!(octet, b' ' | b'\t' | 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_at_cr_lf_and_crlf_only() {
        let text = "a\rb\r\nc\n\nd\n\re\u{2028}f\u{85}g\u{b}h\u{c}i".as_bytes();
        let lines: Vec<_> = Lines::new(text)
            .map(|(number, line)| (number, String::from_utf8_lossy(line).into_owned()))
            .collect();
        let expected = [
            (1, "a"),
            (2, "b"),
            (3, "c"),
            (4, ""),
            (5, "d"),
            (6, ""),
            (7, "e\u{2028}f\u{85}g\u{b}h\u{c}i"),
        ];
        assert_eq!(
            lines,
            expected.map(|(number, line)| (number, line.to_owned()))
        );
    }

    #[test]
    fn a_line_is_read_as_its_writer_meant_it() {
        let record = |field, value: &'static str, spelling| Line::Record {
            field,
            value: value.as_bytes(),
            spelling,
        };
        for (line, expected) in [
            ("", Line::Blank),
            ("  # only a comment: x", Line::Blank),
            (
                "Disallow: /a # b",
                record(Field::Disallow, "/a", Spelling::Exact),
            ),
            (
                "\t ALLOW\t:/a b\0",
                record(Field::Allow, "/a b", Spelling::Exact),
            ),
            ("Disallow:", record(Field::Disallow, "", Spelling::Exact)),
            (
                "Disallow:: /a",
                record(Field::Disallow, ": /a", Spelling::Exact),
            ),
            (
                "User Agent: x",
                record(Field::UserAgent, "x", Spelling::Misspelt),
            ),
            (
                "dissalow: /",
                record(Field::Disallow, "/", Spelling::Misspelt),
            ),
            (
                "disallow /",
                record(Field::Disallow, "/", Spelling::NoColon),
            ),
            (
                "Disallow /a:b",
                record(Field::Disallow, "/a:b", Spelling::NoColon),
            ),
            (
                "sitemap https://x.example/",
                record(Field::Sitemap, "https://x.example/", Spelling::NoColon),
            ),
            (
                "disallow / # x",
                record(Field::Disallow, "/", Spelling::NoColon),
            ),
            ("disallow /a /b", Line::NoRecord),
            ("disallow", Line::NoRecord),
            ("Disallowed: /", Line::Unknown),
            (": /", Line::Unknown),
            ("<p>User-agent and Disallow: / are words", Line::Unknown),
            ("Host: x", record(Field::Reported, "x", Spelling::Exact)),
        ] {
            assert_eq!(read(content(line.as_bytes())), expected, "{line:?}");
        }
    }
}
