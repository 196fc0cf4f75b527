//! robots.txt: the corpus, and properties over files much like real ones; those over any octets are in
//! `tests/bytes`.

#![allow(clippy::unwrap_used)]

use std::fs;

use base64::prelude::{BASE64_STANDARD, Engine};
use curtsy_core::Timestamp;
use curtsy_core::robots::{ProductToken, Robots, read_url, robots_url};
use proptest::prelude::*;
use serde::Deserialize;
use url::Url;

/// Cases of the tier `choice` that are decided otherwise than the corpus has it, with the better
/// reason. All of them are followed today.
const CHOSEN_OTHERWISE: [(&str, &str); 0] = [];

#[derive(Deserialize)]
struct Case {
    id: String,
    tier: String,
    robots: Option<String>,
    robots_b64: Option<String>,
    robots_parts: Option<Vec<(String, usize)>>,
    user_agent: String,
    url: String,
    expected_allowed: bool,
    expected_crawl_delay: Option<f64>,
    expected_sitemaps: Option<Vec<String>>,
    #[serde(default)]
    note: String,
}

impl Case {
    fn body(&self) -> Vec<u8> {
        if let Some(text) = &self.robots {
            return text.clone().into_bytes();
        }
        if let Some(text) = &self.robots_b64 {
            return BASE64_STANDARD.decode(text).unwrap();
        }
        let parts = self.robots_parts.as_ref().unwrap();
        parts
            .iter()
            .map(|(text, times)| text.repeat(*times))
            .collect::<String>()
            .into_bytes()
    }

    /// Everything in which the reading differs from the case.
    fn differences(&self) -> Vec<String> {
        let robots = Robots::parse(
            &self.body(),
            &ProductToken::from_user_agent(&self.user_agent),
        );
        let url = read_url(&self.url).unwrap();
        let mut differences = Vec::new();
        let verdict = robots.verdict(&url);
        if verdict.allowed != self.expected_allowed {
            differences.push(format!("allowed {} by {:?}", verdict.allowed, verdict.rule));
        }
        let delay = robots.told_crawl_delay_secs();
        if delay != self.expected_crawl_delay {
            let expected = self.expected_crawl_delay;
            differences.push(format!("Crawl-delay {delay:?} and not {expected:?}"));
        }
        let sitemaps = robots.sitemaps(&robots_url(&url).unwrap());
        if self
            .expected_sitemaps
            .as_ref()
            .is_some_and(|expected| *expected != sitemaps)
        {
            differences.push(format!("sitemaps {sitemaps:?}"));
        }
        differences
    }
}

fn corpus() -> Vec<Case> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/robots.jsonl");
    let text = fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn every_case_of_the_corpus_is_read_as_it_expects() {
    let corpus = corpus();
    assert!(corpus.len() >= 398, "{} cases", corpus.len());
    let mut failures = Vec::new();
    for case in &corpus {
        let differences = case.differences();
        let otherwise =
            case.tier == "choice" && CHOSEN_OTHERWISE.iter().any(|(id, _)| *id == case.id);
        if differences.is_empty() == otherwise {
            failures.push(format!(
                "{} ({}): {} [{}]",
                case.id,
                case.tier,
                differences.join("; "),
                case.note
            ));
        }
    }
    assert!(
        failures.is_empty(),
        "{} cases differ:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// Lines that make up files much like real ones, and unlike them.
fn line() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => "(User-agent|user agent|useragent): ?(FernBot|\\*|MossBot/2|)".prop_map(String::into_bytes),
        6 => "(Allow|Disallow|disalow): ?[/ab*$%4?=é]{0,10}".prop_map(String::into_bytes),
        2 => "(Crawl-delay|Request-rate): ?[0-9./smhd -]{0,12}".prop_map(String::into_bytes),
        1 => "(Sitemap|Host|Mood): [a-z:/#.]{0,12}".prop_map(String::into_bytes),
        1 => proptest::collection::vec(any::<u8>(), 0..40),
    ]
}

fn file() -> impl Strategy<Value = Vec<Vec<u8>>> {
    // A carriage return of random octets would end a line within a line, which some properties below
    // do not allow for.
    let plain = line().prop_map(|line| {
        line.into_iter()
            .filter(|octet| !b"\r\n".contains(octet))
            .collect::<Vec<u8>>()
    });
    // A first line that is a comment keeps random octets from being a byte order mark.
    proptest::collection::vec(plain, 0..24).prop_map(|lines| [vec![b"#".to_vec()], lines].concat())
}

fn path() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        "/[/ab$%4?=é]{0,12}".prop_map(String::into_bytes),
        proptest::collection::vec(any::<u8>(), 0..60),
    ]
}

fn joined(lines: &[Vec<u8>], end: &[u8]) -> Vec<u8> {
    lines
        .iter()
        .flat_map(|line| [line.as_slice(), end].concat())
        .collect()
}

fn fern_bot() -> ProductToken {
    ProductToken::from_user_agent("FernBot/2.1 (+https://fern.example/bot)")
}

/// All that a reading says about one path, in comparable form.
fn told(body: &[u8], path: &[u8]) -> String {
    let robots = Robots::parse(body, &fern_bot());
    let verdict = robots.verdict_on_path(path);
    let delay = robots.delay(Timestamp::EPOCH);
    format!(
        "{} {:?} {:?} {delay:?}",
        verdict.allowed,
        verdict.rule,
        robots.group()
    )
}

proptest! {
    #[test]
    fn robots_txt_itself_is_always_allowed(file in file()) {
        let robots = Robots::parse(&joined(&file, b"\n"), &fern_bot());
        let url = Url::parse("https://orchard.example/robots.txt").unwrap();
        prop_assert!(robots.verdict(&url).allowed);
    }

    #[test]
    fn every_line_end_reads_alike(file in file(), path in path()) {
        let told_with = |end| told(&joined(&file, end), &path);
        prop_assert_eq!(told_with(b"\r\n"), told_with(b"\n"));
        prop_assert_eq!(told_with(b"\r"), told_with(b"\n"));
    }

    #[test]
    fn other_records_change_no_verdict(file in file(), path in path(), at in any::<prop::sample::Index>()) {
        let allowed = |file: &[Vec<u8>]| {
            Robots::parse(&joined(file, b"\n"), &fern_bot()).verdict_on_path(&path).allowed
        };
        for other in ["", "# Disallow: /", "Mood: sunny", "Sitemap: /x", "Crawl-delay: 7", "junk"] {
            let mut longer = file.clone();
            longer.insert(at.index(file.len() + 1), other.as_bytes().to_vec());
            prop_assert_eq!(allowed(&longer), allowed(&file), "{}", other);
        }
    }

    #[test]
    fn a_group_of_ours_makes_the_ones_for_everyone_void(file in file(), path in path()) {
        let mut longer = file;
        longer.extend(["Disallow:", "User-agent: FernBot", "Allow:"].map(|line| line.into()));
        let before = told(&joined(&longer, b"\n"), &path);
        longer.extend(["User-agent: *", "Disallow: /", "Crawl-delay: 999"].map(|line| line.into()));
        prop_assert_eq!(told(&joined(&longer, b"\n"), &path), before);
    }
}
