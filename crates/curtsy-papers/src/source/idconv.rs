//! NCBI's ID converter: DOI, PMID and PMCID of what is in PubMed Central.
//!
//! <https://pmc.ncbi.nlm.nih.gov/tools/id-converter-api/>: at most 200 identifiers a call, all of one kind.
//! "Not found" means not in PubMed Central, and nothing about PubMed. An identifier that it cannot parse, such
//! as a short DOI, makes the whole call fail; so none is sent. The answer's order is not promised: it is joined
//! by `requested-id`. PMIDs are numbers in the answer of 2025 and later, texts in that before.

use std::collections::HashMap;

use super::{Ids, Unreadable, object};
use crate::field::Field;
use crate::id::{Doi, Identifier, Pmcid};
use crate::query::Query;

/// The most identifiers of one call.
pub const MAX_IDS: usize = 200;
/// The most bytes of identifiers in one call, encoded: it is asked by URL alone, and servers cut those off at 8 KiB.
const MAX_BYTES: usize = 7_000;

/// Cuts a list into what fits into one call each.
pub fn calls(ids: &[Identifier]) -> impl Iterator<Item = &[Identifier]> {
    let mut rest = ids;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |id: &&Identifier| {
            bytes += encoded_len(&asked_as(id));
            bytes <= MAX_BYTES
        };
        let count = rest.iter().take(MAX_IDS).take_while(fits).count();
        // One that is too long by itself is asked for all the same.
        let (call, left) = rest.split_at(count.max(1).min(rest.len()));
        rest = left;
        (!call.is_empty()).then_some(call)
    })
}

/// With the comma behind it.
fn encoded_len(id: &str) -> usize {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let len: usize = id.bytes().map(|b| if plain(b) { 1 } else { 3 }).sum();
    len + 3
}

/// Asks about those of the identifiers that are of the first one's kind, [`MAX_IDS`] at most; `None` where the
/// converter does not know that kind, or there are none.
#[must_use]
pub fn query(ids: &[Identifier]) -> Option<Query> {
    let kind = ids.first()?.kind();
    if !matches!(kind, "doi" | "pmid" | "pmcid") {
        return None;
    }
    let of_kind = ids.iter().filter(|id| id.kind() == kind).take(MAX_IDS);
    let ids: Vec<String> = of_kind.map(asked_as).collect();
    let call = Query::at("")
        .pair("ids", ids.join(","))
        .pair("idtype", kind);
    Some(call.pair("format", "json").pair("versions", "no"))
}

/// What the converter said of the identifiers of one call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    by_requested: HashMap<String, Ids>,
}

impl Answer {
    /// The paper's names, if it is in PubMed Central.
    #[must_use]
    pub fn of(&self, id: &Identifier) -> Option<&Ids> {
        self.by_requested.get(&asked_as(id).to_ascii_lowercase())
    }
}

/// Reads an answer.
///
/// # Errors
/// It is none, or says that the call as a whole failed.
pub fn read(body: &[u8]) -> Result<Answer, Unreadable> {
    let answer = object(body)?;
    let has_failed = answer
        .text("status")
        .is_some_and(|status| status == "error");
    if has_failed || !answer.part("records").is_array() {
        return Err(Unreadable);
    }
    let mut by_requested = HashMap::new();
    for record in answer.list("records").iter() {
        let ids = Ids {
            doi: record.parse("doi"),
            pmid: record.parse("pmid"),
            pmcid: record.parse("pmcid"),
            arxiv: None,
        };
        if record
            .text("status")
            .is_some_and(|status| status == "error")
            || ids.pmcid.is_none()
        {
            continue;
        }
        // The old converter does not repeat what was asked.
        let names = [
            record.text("requested-id"),
            ids.doi.as_ref().map(Doi::to_string),
            ids.pmid.map(|pmid| pmid.to_string()),
            ids.pmcid.map(|pmcid| pmcid.to_string()),
        ];
        for name in names.into_iter().flatten() {
            by_requested
                .entry(name.to_ascii_lowercase())
                .or_insert_with(|| ids.clone());
        }
    }
    Ok(Answer { by_requested })
}

/// Versions of an article are one in the converter.
fn asked_as(id: &Identifier) -> String {
    match id {
        Identifier::Pmcid(pmcid) => Pmcid::article(*pmcid).to_string(),
        id => id.value(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> Identifier {
        text.parse().unwrap()
    }

    #[test]
    fn an_answer_is_joined_by_what_was_asked() {
        for body in [
            &include_bytes!("../../testdata/idconv_v1_mixed.json")[..],
            include_bytes!("../../testdata/idconv_legacy_v1.0.json"),
        ] {
            let answer = read(body).unwrap();
            let ids = answer.of(&id("10.5555/CURTSY.2024.0042")).unwrap();
            assert_eq!(ids.pmcid.unwrap().to_string(), "PMC9900042");
            assert_eq!(ids.pmid.unwrap().to_string(), "39900042");
            assert_eq!(answer.of(&id("10.5555/only.in.pubmed")), None);
        }
    }

    #[test]
    fn a_call_that_failed_is_no_answer_of_not_found() {
        assert_eq!(
            read(include_bytes!("../../testdata/idconv_bad_type.json")),
            Err(Unreadable)
        );
        assert_eq!(read(b"<html>"), Err(Unreadable));
    }

    #[test]
    fn a_list_is_cut_so_that_no_call_is_too_long() {
        let base = url::Url::parse("https://c.example/v1/articles").unwrap();
        let short: Vec<_> = (0..450).map(|n| id(&format!("10.5555/w.{n}"))).collect();
        let long: Vec<_> = (0..450)
            .map(|n| {
                id(&format!(
                    "10.5555/(sici)1521-3951(199911)216:1<135::aid-x{n}>3.0.co;2-z"
                ))
            })
            .collect();
        let huge = [id(&format!("10.5555/{}", "é".repeat(900)))];
        for (ids, most) in [
            (&short[..], 3),
            (&long[..], 9),
            (&huge[..], 1),
            (&[][..], 0),
        ] {
            let calls: Vec<_> = calls(ids).collect();
            assert!(calls.len() <= most, "{}", calls.len());
            assert_eq!(calls.concat(), ids);
            for call in calls.iter().filter(|call| call.len() > 1) {
                assert!(query(call).unwrap().url(&base).len() < 7_500);
            }
        }
    }

    #[test]
    fn one_call_holds_one_kind_and_encodes_it() {
        let base = url::Url::parse("https://c.example/v1/articles").unwrap();
        let ids = [id("10.5555/a;b+c#d"), id("39900042"), id("10.5555/e")];
        assert_eq!(
            query(&ids).unwrap().url(&base),
            "https://c.example/v1/articles?ids=10.5555%2Fa%3Bb%2Bc%23d%2C10.5555%2Fe&idtype=doi&format=json&versions=no"
        );
        assert_eq!(query(&[id("10/abc12")]), None);
        assert_eq!(query(&[]), None);
    }
}
