//! Every answer of the fixtures with every field missing, null, of another type, or a number in the place of a text; and
//! every XML cut off or with an element missing: no reader panics, whatever it makes of it.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::cite::Bibliography;
use crate::cite::{Format, Item};
use crate::pubmed::Article;

/// What a reader makes of an answer, told in a way that looks at all of it.
type Reader = fn(&[u8]) -> bool;

fn articles(all: &[Article]) -> bool {
    all.iter().all(|article| {
        let item = Item::from(article);
        !article.row().is_empty() && renders(&item)
    })
}

/// In every form, with each brace closed and no line that begins another tag.
fn renders(item: &Item) -> bool {
    Format::ALL.into_iter().all(|format| {
        let text = Bibliography::of_one(format, item);
        match format {
            Format::Bibtex => text.matches('{').count() == text.matches('}').count(),
            Format::Ris => text
                .lines()
                .all(|line| line.get(2..6).is_some_and(|mark| mark == "  - ")),
            Format::CslJson => {
                serde_json::from_str::<Vec<Value>>(&text).is_ok_and(|all| all.len() == 1)
            }
            Format::Text => text.lines().count() == 1,
        }
    })
}

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../testdata/", $name))
    };
}

const JSON: [(&str, Reader); 14] = [
    (fixture!("eutils_esearch_history.json"), |b| {
        crate::pubmed::esearch::read(b).is_ok()
    }),
    (fixture!("eutils_esearch_none.json"), |b| {
        crate::pubmed::esearch::read(b).is_ok()
    }),
    (fixture!("eutils_esearch_over_limit.json"), |b| {
        crate::pubmed::esearch::read(b).is_ok()
    }),
    (fixture!("eutils_esummary.json"), |b| {
        crate::pubmed::summary::read(b).is_ok()
    }),
    (fixture!("eutils_elink_citedin.json"), |b| {
        crate::references::link::read(b).is_ok()
    }),
    (fixture!("eutils_elink_none.json"), |b| {
        crate::references::link::read(b).is_ok()
    }),
    (fixture!("europepmc_references.json"), |b| {
        crate::references::europe_pmc::read(b, crate::references::europe_pmc::List::References)
            .is_ok()
    }),
    (fixture!("europepmc_citations.json"), |b| {
        crate::references::europe_pmc::read(b, crate::references::europe_pmc::List::Citations)
            .is_ok()
    }),
    (fixture!("europepmc_search_core.json"), |b| {
        crate::pubmed::europe_pmc::read(b).is_ok_and(|page| articles(&page.articles))
    }),
    (fixture!("europepmc_search_core.json"), |b| {
        crate::convert::dois::read(b).is_ok()
    }),
    (fixture!("crossref_work.json"), |b| {
        crate::references::crossref::read(b).is_ok()
    }),
    (fixture!("crossref_work.json"), |b| {
        crate::cite::read::crossref(b).is_ok_and(|item| renders(&item))
    }),
    (fixture!("doi_csl.json"), |b| {
        crate::cite::read::csl_json(b).is_ok_and(|item| renders(&item))
    }),
    (fixture!("datacite_doi.json"), |b| {
        crate::cite::read::datacite(b).is_ok_and(|item| renders(&item))
    }),
];

/// What may stand where something else should.
fn strange() -> [Value; 12] {
    [
        Value::Null,
        json!(7),
        json!(-1.5),
        json!(u64::MAX),
        json!(true),
        json!(""),
        json!("} @article{evil,\nER  - \n\u{0}"),
        json!("10.5555/x"),
        json!([]),
        json!([null, 7, "x", {}]),
        json!({}),
        json!({"name": 7, "date-parts": [["2024", null]]}),
    ]
}

/// The pointers to every field of a document.
fn places(value: &Value, at: &str, all: &mut Vec<String>) {
    let mut add = |name: &str, inner: &Value| {
        let name = name.replace('~', "~0").replace('/', "~1");
        let place = format!("{at}/{name}");
        places(inner, &place, all);
        all.push(place);
    };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, inner)| add(name, inner)),
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(index, inner)| add(&index.to_string(), inner));
        }
        _ => {}
    }
}

fn remove(document: &mut Value, place: &str) {
    let (parent, name) = place.rsplit_once('/').unwrap();
    let name = name.replace("~1", "/").replace("~0", "~");
    match document.pointer_mut(parent).unwrap() {
        Value::Object(fields) => drop(fields.remove(&name)),
        Value::Array(items) => drop(items.remove(name.parse().unwrap())),
        _ => {}
    }
}

#[test]
fn each_field_missing_or_of_another_kind_is_read_or_refused() {
    for (text, read) in JSON {
        let whole: Value = serde_json::from_str(text).unwrap();
        let mut all = Vec::new();
        places(&whole, "", &mut all);
        for place in all {
            let mut without = whole.clone();
            remove(&mut without, &place);
            check(&without, read, &place);
            for value in strange() {
                let mut with = whole.clone();
                *with.pointer_mut(&place).unwrap() = value;
                check(&with, read, &place);
            }
        }
    }
}

/// What is read is whole; so what is refused is refused by its reader and not by what looks at it.
fn check(document: &Value, read: Reader, place: &str) {
    let text = document.to_string();
    let is_read = std::panic::catch_unwind(|| read(text.as_bytes()));
    assert!(is_read.is_ok(), "{place} in {text:.300}");
}

#[test]
fn a_title_that_tries_to_leave_its_entry_stays_in_it() {
    for (text, read) in JSON.into_iter().skip(11) {
        let whole: Value = serde_json::from_str(text).unwrap();
        assert!(read(text.as_bytes()), "the fixture is read");
        let mut all = Vec::new();
        places(&whole, "", &mut all);
        for place in all {
            let mut with = whole.clone();
            let old = with.pointer_mut(&place).unwrap();
            if old.is_string() {
                *old = json!("{ } \\ } @article{evil,\r\nER  - \nTY  - JOUR\u{0}");
                assert!(read(with.to_string().as_bytes()), "{place}");
            }
        }
    }
}

#[test]
fn xml_that_is_cut_off_anywhere_or_lacks_an_element_is_read_or_refused() {
    let whole = fixture!("eutils_efetch_pubmed.xml");
    for end in (0..whole.len()).filter(|end| whole.is_char_boundary(*end)) {
        assert!(
            crate::pubmed::efetch::read(&whole.as_bytes()[..end]).is_err()
                || end + 2 >= whole.len(),
            "{end}"
        );
    }
    let starts = whole.match_indices('<').map(|(at, _)| at);
    for at in starts {
        let end = at + whole[at..].find('>').unwrap() + 1;
        let without = [&whole[..at], &whole[end..]].concat();
        let _ = crate::pubmed::efetch::read(without.as_bytes()).map(|all| articles(&all));
        let empty = [&whole[..at], "<x/>", &whole[end..]].concat();
        let _ = crate::pubmed::efetch::read(empty.as_bytes()).map(|all| articles(&all));
    }
}

proptest! {
    #[test]
    fn bytes_of_any_kind_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        for (_, read) in JSON {
            read(&bytes);
        }
        let _ = crate::pubmed::efetch::read(&bytes);
    }

    #[test]
    fn several_changes_at_once_are_read_or_refused(
        which in 0..JSON.len(),
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), 0..13_usize), 1..6),
    ) {
        let (text, read) = JSON[which];
        let mut document: Value = serde_json::from_str(text).unwrap();
        for (index, what) in changes {
            let mut all = Vec::new();
            places(&document, "", &mut all);
            if all.is_empty() {
                break;
            }
            let place = index.get(&all).clone();
            match strange().get(what) {
                Some(value) => *document.pointer_mut(&place).unwrap() = value.clone(),
                None => remove(&mut document, &place),
            }
        }
        read(document.to_string().as_bytes());
    }
}
