//! Every answer of a provider with every field missing, null, of another type, or a number in the place of a text:
//! readers neither panic nor take an address that cannot be followed.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use curtsy_papers::source::{
    Finding, Ids, crossref, datacite, doi, europe_pmc, idconv, open_alex, pmc_cloud,
    semantic_scholar, unpaywall,
};
use curtsy_papers::{Identifier, Pmcid};
use jiff::civil::date;
use proptest::prelude::*;
use serde_json::{Value, json};
use url::Url;

/// What an answer says, by whichever reader.
type Reader = fn(&[u8]) -> Vec<Finding>;

const ANSWERS: [(&str, Reader); 15] = [
    (include_str!("../testdata/unpaywall_v2_gold.json"), |b| {
        unpaywall::read(b).into_iter().collect()
    }),
    (
        include_str!("../testdata/unpaywall_v2_bronze_landing_only.json"),
        |b| unpaywall::read(b).into_iter().collect(),
    ),
    (
        include_str!("../testdata/unpaywall_v2_closed_old_authors.json"),
        |b| unpaywall::read(b).into_iter().collect(),
    ),
    (
        include_str!("../testdata/europepmc_search_core.json"),
        |b| {
            europe_pmc::read(b, &[asked()])
                .ok()
                .and_then(|mut all| all.remove(0))
                .into_iter()
                .collect()
        },
    ),
    (
        include_str!("../testdata/europepmc_search_none.json"),
        |b| {
            europe_pmc::read(b, &[asked()])
                .ok()
                .and_then(|mut all| all.remove(0))
                .into_iter()
                .collect()
        },
    ),
    (include_str!("../testdata/openalex_work.json"), |b| {
        open_alex::read(b).into_iter().collect()
    }),
    (include_str!("../testdata/openalex_work.json"), |b| {
        let list = [b"{\"results\":[", b, b"]}"].concat();
        open_alex::read_list(&list)
            .into_iter()
            .flatten()
            .map(|(_, finding)| finding)
            .collect()
    }),
    (
        include_str!("../testdata/semanticscholar_paper.json"),
        |b| semantic_scholar::read(b).into_iter().collect(),
    ),
    (
        include_str!("../testdata/semanticscholar_batch.json"),
        |b| {
            semantic_scholar::read_batch(b, 2)
                .into_iter()
                .flatten()
                .flatten()
                .collect()
        },
    ),
    (include_str!("../testdata/crossref_work.json"), |b| {
        crossref::read(b, date(2026, 12, 1)).into_iter().collect()
    }),
    (include_str!("../testdata/datacite_doi.json"), |b| {
        datacite::read(b).into_iter().collect()
    }),
    (include_str!("../testdata/pmc_cloud_metadata.json"), |b| {
        pmc_cloud::read_metadata(b, &base(), pmcid())
            .into_iter()
            .collect()
    }),
    (
        include_str!("../testdata/pmc_cloud_metadata_no_pdf.json"),
        |b| {
            pmc_cloud::read_metadata(b, &base(), pmcid())
                .into_iter()
                .collect()
        },
    ),
    (include_str!("../testdata/idconv_v1_mixed.json"), |b| {
        let named = |ids: &Ids| Finding {
            ids: ids.clone(),
            ..Finding::default()
        };
        idconv::read(b)
            .iter()
            .filter_map(|answer| answer.of(&paper()).map(named))
            .collect()
    }),
    (include_str!("../testdata/doi_handle.json"), |b| {
        let _ = doi::read_handle(b);
        Vec::new()
    }),
];

fn paper() -> Identifier {
    "10.5555/curtsy.2024.0042".parse().unwrap()
}

fn asked() -> Ids {
    Ids::from(&paper())
}

fn pmcid() -> Pmcid {
    "PMC9900042.2".parse().unwrap()
}

fn base() -> Url {
    Url::parse("https://bucket.example/").unwrap()
}

/// Every place of a document, as a JSON pointer.
fn places(value: &Value, at: &str, into: &mut Vec<String>) {
    into.push(at.to_owned());
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                places(
                    member,
                    &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")),
                    into,
                );
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                places(item, &format!("{at}/{index}"), into);
            }
        }
        _ => {}
    }
}

fn without(document: &Value, place: &str) -> Value {
    let mut document = document.clone();
    if let Some((parent, name)) = place.rsplit_once('/') {
        match document.pointer_mut(parent) {
            Some(Value::Object(members)) => {
                members.remove(&name.replace("~1", "/").replace("~0", "~"));
            }
            Some(Value::Array(items)) => {
                items.remove(name.parse().unwrap());
            }
            _ => {}
        }
    }
    document
}

fn with(document: &Value, place: &str, value: Value) -> Value {
    let mut document = document.clone();
    *document.pointer_mut(place).unwrap() = value;
    document
}

/// What stands in the place of something else.
fn strangers(was: &Value) -> Vec<Value> {
    let number = match was {
        Value::String(text) => text.parse().unwrap_or(7_u64),
        _ => 0,
    };
    let text = was.as_str().map_or_else(|| was.to_string(), str::to_owned);
    vec![
        Value::Null,
        json!(number),
        json!(-1.5),
        json!(1e300),
        json!(text),
        json!(""),
        json!("javascript:alert(1)"),
        json!(true),
        json!([]),
        json!([[null], 7]),
        json!({}),
        json!({ "url": { "url": [] } }),
    ]
}

fn check(read: Reader, document: &Value) {
    for finding in read(document.to_string().as_bytes()) {
        for location in &finding.locations {
            assert!(
                matches!(location.url.scheme(), "http" | "https"),
                "{}",
                location.url
            );
            assert!(location.url.has_host() && location.url.username().is_empty());
        }
    }
}

#[test]
fn every_answer_bears_every_single_change() {
    let mut changes = 0;
    for (text, read) in ANSWERS {
        let document: Value = serde_json::from_str(text).unwrap();
        check(read, &document);
        let mut all = Vec::new();
        places(&document, "", &mut all);
        for place in all {
            check(read, &without(&document, &place));
            for stranger in strangers(document.pointer(&place).unwrap()) {
                check(read, &with(&document, &place, stranger));
                changes += 1;
            }
        }
    }
    assert!(changes > 5_000, "{changes}");
}

/// Refusals, and answers of services that are not asked any more.
const REFUSALS: [&str; 9] = [
    include_str!("../testdata/unpaywall_v2_404.json"),
    include_str!("../testdata/unpaywall_v2_422_placeholder_email.json"),
    include_str!("../testdata/semanticscholar_404.json"),
    include_str!("../testdata/semanticscholar_429.json"),
    include_str!("../testdata/eutils_429.json"),
    include_str!("../testdata/idconv_bad_type.json"),
    include_str!("../testdata/biorxiv_not_found.json"),
    include_str!("../testdata/doi_ra.json"),
    include_str!("../testdata/idconv_legacy_v1.0.json"),
];

#[test]
fn what_is_no_answer_names_no_copy_whatever_its_fields() {
    for text in REFUSALS {
        let document: Value = serde_json::from_str(text).unwrap();
        let mut all = Vec::new();
        places(&document, "", &mut all);
        for (_, read) in ANSWERS {
            let named = |document: &Value| {
                let found = read(document.to_string().as_bytes());
                found.iter().any(|finding| !finding.locations.is_empty())
            };
            for place in &all {
                assert!(!named(&without(&document, place)), "{text}");
                for stranger in strangers(document.pointer(place).unwrap()) {
                    assert!(!named(&with(&document, place, stranger)), "{text}");
                }
            }
        }
    }
}

#[test]
fn every_answer_says_something_as_it_is() {
    let silent = ["closed", "none", "handle", "no_pdf"].len();
    let told = ANSWERS.iter().filter(|(text, read)| {
        read(text.as_bytes())
            .iter()
            .any(|f| f != &Finding::default())
    });
    assert!(told.count() >= ANSWERS.len() - silent);
}

proptest! {
    #[test]
    fn every_answer_bears_several_changes_and_any_end(
        which in 0..ANSWERS.len(),
        picks in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..13), 1..8),
        end in any::<prop::sample::Index>(),
    ) {
        let (text, read) = ANSWERS[which];
        let mut document: Value = serde_json::from_str(text).unwrap();
        for (pick, kind) in picks {
            let mut all = Vec::new();
            places(&document, "", &mut all);
            let place = pick.get(&all).clone();
            let strangers = strangers(document.pointer(&place).unwrap());
            document = match strangers.get(kind) {
                Some(stranger) => with(&document, &place, stranger.clone()),
                None => without(&document, &place),
            };
        }
        check(read, &document);
        read(&text.as_bytes()[..end.index(text.len())]);
    }

    #[test]
    fn the_list_of_versions_bears_any_end_and_any_byte(
        end in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let list = include_bytes!("../testdata/pmc_cloud_list_versions.xml");
        let mut list = list[..end.index(list.len() + 1)].to_vec();
        if !list.is_empty() {
            let at = at.index(list.len());
            list[at] = byte;
        }
        if let Ok(Some(last)) = pmc_cloud::read_versions(&list, pmcid()) {
            prop_assert_eq!(last.article(), pmcid().article());
        }
    }
}
