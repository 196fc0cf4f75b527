//! Lists of Europe PMC, all their pages.

use serde_json::Value;

use super::{MOST, Reference};
use crate::access::Access;
use crate::answer::Answer;
use crate::endpoint::Provider;
use crate::error::Error;
use crate::field::Field;
use crate::id::Pmid;
use crate::query::Query;
use crate::source::{Unreadable, object};

/// The most entries of one page.
const PAGE: usize = 1_000;

#[derive(Clone, Copy, Debug)]
pub(crate) enum List {
    References,
    Citations,
}

impl List {
    /// Its name in the path, and those of the list and of an entry in the answer.
    fn names(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::References => ("references", "referenceList", "reference"),
            Self::Citations => ("citations", "citationList", "citation"),
        }
    }
}

pub(super) async fn fetch(
    access: &Access,
    pmid: Pmid,
    list: List,
) -> Result<Answer<Vec<Reference>>, Error> {
    let (name, ..) = list.names();
    let mut all = Vec::new();
    for page in 1..=MOST / PAGE {
        let query = Query::at("MED")
            .then(&pmid.to_string())
            .then(name)
            .pair("page", page.to_string())
            .pair("pageSize", PAGE.to_string())
            .pair("format", "json");
        let answer = access.ask(Provider::EuropePmc, query).await?;
        let (count, entries) = match answer.read(|body| read(body, list)) {
            Answer::Found(found) => found,
            other => return Ok(other.map(|(_, entries)| entries)),
        };
        let is_last = entries.is_empty();
        all.extend(entries);
        if is_last || all.len() as u64 >= count {
            break;
        }
    }
    Ok(Answer::Found(all))
}

/// How many there are, and those of this page.
pub(crate) fn read(body: &[u8], list: List) -> Result<(u64, Vec<Reference>), Unreadable> {
    let answer = object(body)?;
    let (_, outer, inner) = list.names();
    let count = answer.number("hitCount").ok_or(Unreadable)?;
    let entries = answer
        .part(outer)
        .list(inner)
        .iter()
        .map(reference)
        .collect();
    Ok((count, entries))
}

fn reference(entry: &Value) -> Reference {
    // The number of a preprint or a patent is none of PubMed's.
    let is_of_pubmed = entry.text("source").as_deref() == Some("MED");
    let authors = entry.text("authorString");
    let authors = authors.as_deref().map(|text| text.trim_end_matches('.'));
    Reference {
        doi: entry.parse("doi"),
        pmid: entry.parse("id").filter(|_| is_of_pubmed),
        title: entry.text("title"),
        authors: authors.map_or_else(Vec::new, |text| {
            let names = text
                .split(", ")
                .map(str::trim)
                .filter(|name| !name.is_empty());
            names.map(str::to_owned).collect()
        }),
        journal: entry
            .text("journalAbbreviation")
            .or_else(|| entry.text("publisherName")),
        year: entry
            .number("pubYear")
            .and_then(|year| u16::try_from(year).ok()),
        text: entry.text("unstructuredInformation"),
        ..Reference::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preprints_number_is_no_pmid() {
        let body = include_bytes!("../../testdata/europepmc_references.json");
        let (count, all) = read(body, List::References).unwrap();
        assert_eq!(count, 3);
        let pmids: Vec<_> = all
            .iter()
            .map(|entry| entry.pmid.map(|pmid| pmid.to_string()))
            .collect();
        assert_eq!(pmids, [Some("21110001".to_owned()), None, None]);
        assert_eq!(all[0].authors, ["Doe J", "Poe P"]);
        assert_eq!(
            (all[1].journal.as_deref(), all[1].year),
            (Some("Example Press"), Some(1999))
        );
    }
}
