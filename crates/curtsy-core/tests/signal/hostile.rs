//! Values and numbers of fields that no sane server sends.

use std::collections::BTreeSet;

use curtsy_core::Timestamp;
use curtsy_core::signal;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::corpus::Case;
use crate::sane::assert_sane;

#[test]
fn what_cannot_be_read_is_like_no_field_at_all_and_is_told() {
    let junk = [
        "",
        "NaN",
        "inf",
        "-",
        "junk",
        "0x10",
        "1e3",
        "<html>",
        "\u{e9}",
        "Mon, 30 Feb 2026 00:00:00 GMT",
    ];
    for case in Case::all() {
        for (at, (name, _)) in case.headers.iter().enumerate() {
            let is_only_line = case
                .headers
                .iter()
                .filter(|(other, _)| other == name)
                .count()
                == 1;
            // These hold a name, which may be any text.
            let is_word = ["x-ratelimit-resource", "x-ratelimit-bucket"].contains(&name.as_str());
            if !is_only_line || is_word {
                continue;
            }
            let mut without = case.clone();
            without.headers.remove(at);
            let without = without.read(None);
            for junk in junk {
                let mut corrupt = case.clone();
                corrupt.headers[at].1 = HeaderValue::from_bytes(junk.as_bytes()).unwrap();
                let corrupt = corrupt.read(None);
                let what = format!("{}: {name}: {junk}", case.id);
                assert_eq!(corrupt.wait, without.wait, "{what}");
                assert_eq!(corrupt.quotas, without.quotas, "{what}");
            }
        }
    }
}

#[test]
fn hostile_values_do_no_harm() {
    let megabyte = |text: &str| text.repeat(1_000_000 / text.len());
    let values = [
        megabyte("9"),
        megabyte("9,"),
        megabyte("\"a\";r=1;t=1, "),
        megabyte("{\"a\":["),
        megabyte("1;w=1,"),
        "99999999999".to_owned(),
        "-1".to_owned(),
        "NaN".to_owned(),
        String::new(),
    ];
    let lines = Case::all().iter().flat_map(|case| &case.headers);
    let names: BTreeSet<&str> = lines.map(|(name, _)| name.as_str()).collect();
    for value in values {
        let value = HeaderValue::try_from(value).unwrap();
        for name in &names {
            let name = name.parse::<HeaderName>().unwrap();
            let headers = HeaderMap::from_iter([(name, value.clone())]);
            for status in [200, 429] {
                let signal = signal::read(status, &headers, Timestamp::from_secs(1), None, None);
                assert_sane(&signal);
            }
        }
    }
}

#[test]
fn ten_thousand_lines_are_as_quick_as_a_few() {
    let mut headers = HeaderMap::new();
    for line in 0..10_000 {
        let name = format!("x-ratelimit-limit-{line}").parse::<HeaderName>();
        headers.insert(name.unwrap(), HeaderValue::from_static("5"));
    }
    let signal = signal::read(429, &headers, Timestamp::EPOCH, None, None);
    assert_sane(&signal);
    assert!(!signal.ignored.is_empty());
}
