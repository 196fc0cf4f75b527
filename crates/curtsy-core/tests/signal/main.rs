//! The reading of signals: the corpora of responses `testdata/dialects*.jsonl`, case by case, and fields that no
//! sane server sends. What must hold of any bytes at all is in `tests/bytes`.

#![allow(clippy::unwrap_used)]

mod corpus;
mod hostile;
#[path = "../bytes/property/sane.rs"]
mod sane;

use curtsy_core::signal::Profile;

use corpus::{Case, differences, is_same, told};

/// Identifiers of cases that are not yet read as expected, one a line. It may only shrink.
const NOT_YET_READ: &str = include_str!("../../testdata/dialects-not-yet-read.txt");

#[test]
fn every_response_of_the_corpus_is_read_as_expected() {
    let mut failed = Vec::new();
    let mut report = String::new();
    for case in Case::all() {
        let differences = differences(&case.json["expected"], &case.read(None));
        if !differences.is_empty() {
            report += &format!("{}\n  {}\n", case.id, differences.join("\n  "));
            failed.push(case.id.as_str());
        }
    }
    let known: Vec<&str> = NOT_YET_READ.lines().collect();
    assert_eq!(failed, known, "{} differ:\n{report}", failed.len());
}

#[test]
fn a_host_known_by_name_is_read_by_its_profile() {
    let mut profiled = 0;
    for case in Case::all() {
        let expected = &case.json["with_profile"];
        let profile = match expected["profile"].as_str() {
            None => continue,
            Some("discord-v6") => Profile::DiscordV6,
            Some("openalex") => Profile::OpenAlex,
            Some("prisjakt") => Profile::Prisjakt,
            Some(other) => panic!("{}: no profile {other}", case.id),
        };
        let told = told(&case.read(Some(profile)));
        for (key, expected) in expected.as_object().unwrap() {
            let key = match key.as_str() {
                "profile" => continue,
                "remaining_requests" => "remaining",
                key => key,
            };
            assert!(
                is_same(expected, &told[key]),
                "{} {key}: {}",
                case.id,
                told[key]
            );
        }
        profiled += 1;
    }
    assert_eq!(profiled, 3);
}

#[test]
fn without_its_body_a_response_says_what_its_headers_say() {
    for case in Case::all() {
        let mut case = case.clone();
        let expected = case.json["expected_headers_only"].clone();
        if expected.is_object() {
            case.body = None;
            assert_eq!(
                differences(&expected, &case.read(None)),
                [""; 0],
                "{}",
                case.id
            );
        }
    }
}
