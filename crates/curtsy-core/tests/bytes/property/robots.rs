//! The reading of a robots.txt.

use curtsy_core::Timestamp;
use curtsy_core::robots::{MAX_DELAY, ProductToken, Robots, Rule, read_url};

/// A line with a User-Agent, one with a path, and then the file: a second reading says the same, what is
/// told is bounded, and a verdict names the line of the file that says so.
pub(crate) fn holds(bytes: &[u8]) {
    let mut parts = bytes.splitn(3, |&byte| byte == b'\n');
    let mut next = || parts.next().unwrap_or_default();
    let (user_agent, path, file) = (String::from_utf8_lossy(next()), next(), next());
    let token = ProductToken::from_user_agent(&user_agent);
    let robots = Robots::parse(file, &token);
    let verdict = robots.verdict_on_path(path);
    assert_eq!(robots.verdict_on_path(path), verdict);
    assert_eq!(Robots::parse(file, &token).verdict_on_path(path), verdict);
    match verdict.rule {
        None => assert!(verdict.allowed),
        Some(rule) => assert_stands_in(file, rule, verdict.allowed),
    }
    assert!(robots.verdict_on_path(b"/robots.txt").allowed);
    assert!(robots.warnings().len() <= 64);
    let delay = robots.delay(Timestamp::EPOCH);
    assert!(delay.is_none_or(|delay| delay <= MAX_DELAY), "{delay:?}");
    let base = read_url("https://orchard.example/robots.txt").expect("it is a URL");
    assert!(robots.sitemaps(&base).len() <= file.len());
}

fn assert_stands_in(file: &[u8], rule: Rule<'_>, allowed: bool) {
    let begins_with_allow = rule.text().to_ascii_lowercase().starts_with("allow");
    assert_eq!(begins_with_allow, allowed, "{rule:?}");
    if matches!(file, [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..]) {
        // The record is not written in the file's own octets.
        return;
    }
    let line = line_at(file, rule.line).expect("there is no such line");
    let mut parts = line.windows(rule.record.len());
    assert!(parts.any(|part| part == rule.record), "{rule:?}: {line:?}");
}

/// A line by its number, from 1; a line ends with CR, LF or both.
fn line_at(file: &[u8], number: u32) -> Option<&[u8]> {
    let mut rest = file;
    for _ in 1..number {
        let end = rest.iter().position(|octet| b"\r\n".contains(octet))?;
        let length = if rest[end..].starts_with(b"\r\n") {
            2
        } else {
            1
        };
        rest = &rest[end + length..];
    }
    rest.split(|octet| b"\r\n".contains(octet)).next()
}
