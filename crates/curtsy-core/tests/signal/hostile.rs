//! Values and numbers of fields that no sane server sends.

use std::collections::BTreeSet;

use curtsy_core::Timestamp;
use curtsy_core::signal::{self, LONGEST_WAIT, Profile, QuotaKey, Signal};
use http::{HeaderMap, HeaderName, HeaderValue};
use proptest::prelude::*;

use crate::corpus::Case;

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
                assert_is_sane(&signal);
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
    assert_is_sane(&signal);
    assert!(signal.quotas.len() <= 64);
    assert!(!signal.ignored.is_empty());
}

proptest! {
    #[test]
    fn no_bytes_in_any_field_do_harm(
        at in any::<usize>(),
        status in prop::sample::select(vec![200_u16, 202, 301, 403, 429, 503]),
        lines in prop::collection::vec((any::<usize>(), "[ -~\\x80-\\xff]{0,40}"), 1..5),
        body in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let all = Case::all();
        let case = &all[at % all.len()];
        let mut headers: HeaderMap = case.headers.iter().cloned().collect();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        let names: Vec<HeaderName> = headers.keys().cloned().collect();
        for (name, value) in lines {
            let name = names[name % names.len()].clone();
            headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        assert_is_sane(&signal::read(status, &headers, case.now, Some(&body), Some(Profile::DiscordV6)));
    }
}
/// What must hold of every reading, whatever was read.
pub(crate) fn assert_is_sane(signal: &Signal) {
    let lengths = signal
        .quotas
        .iter()
        .flat_map(|quota| [quota.window, quota.reset.map(|reset| reset.after)]);
    let wait = signal.wait.as_ref().map(|wait| wait.after);
    for length in lengths.chain([wait, signal.min_interval()]).flatten() {
        assert!(length <= LONGEST_WAIT, "{signal:?}");
    }
    for quota in &signal.quotas {
        assert!(
            quota.window.is_none_or(|window| !window.is_zero()),
            "{signal:?}"
        );
        if let (Some(limit), Some(remaining)) = (quota.limit, quota.remaining) {
            assert!(remaining <= limit, "{signal:?}");
        }
        assert!(quota.name.as_str().len() <= QuotaKey::MAX_LEN, "{signal:?}");
    }
    let names: Vec<&str> = signal
        .quotas
        .iter()
        .map(|quota| quota.name.as_str())
        .collect();
    assert!(
        names
            .iter()
            .enumerate()
            .all(|(at, name)| !names[..at].contains(name)),
        "{signal:?}"
    );
    assert!(
        signal
            .ignored
            .iter()
            .all(|ignored| ignored.value.len() <= 100),
        "{signal:?}"
    );
}
