//! Records of the agencies as items.

use serde_json::Value;

use super::item::{Issued, Item, ItemType, Name};
use crate::field::{Field, as_number, as_text};
use crate::source::{Unreadable, object};

/// More authors than any paper has.
const MOST_AUTHORS: usize = 10_000;

/// CSL-JSON, as content negotiation gives it.
pub(crate) fn csl_json(body: &[u8]) -> Result<Item, Unreadable> {
    let record = object(body)?;
    if record.text("title").is_none() && record.text("DOI").is_none() {
        return Err(Unreadable);
    }
    Ok(read(&record))
}

/// A work of Crossref: CSL-JSON but for its types, its lists of titles, and the names of groups.
pub(crate) fn crossref(body: &[u8]) -> Result<Item, Unreadable> {
    let answer = object(body)?;
    let work = answer.part("message");
    if !work.is_object() {
        return Err(Unreadable);
    }
    Ok(read(work))
}

fn read(record: &Value) -> Item {
    Item {
        kind: record
            .text("type")
            .map_or(ItemType::Document, |kind| ItemType::of_label(&kind)),
        title: first(record, "title").unwrap_or_default(),
        container_title: first(record, "container-title"),
        authors: record
            .list("author")
            .iter()
            .take(MOST_AUTHORS)
            .filter_map(name)
            .collect(),
        issued: issued(record.part("issued")),
        volume: line(record.text("volume")),
        issue: line(record.text("issue")),
        page: line(
            record
                .text("page")
                .or_else(|| record.text("article-number")),
        ),
        publisher: line(record.text("publisher")),
        issn: texts(record, "ISSN"),
        isbn: texts(record, "ISBN"),
        doi: record.parse("DOI"),
        pmid: record.parse("PMID"),
        pmcid: record.parse("PMCID"),
        url: record.url("URL").map(String::from),
    }
}

/// The attributes of a DOI of DataCite.
pub(crate) fn datacite(body: &[u8]) -> Result<Item, Unreadable> {
    let answer = object(body)?;
    let work = answer.part("data").part("attributes");
    if !work.is_object() {
        return Err(Unreadable);
    }
    let types = work.part("types");
    let kind = types.text("citeproc").map(|kind| ItemType::of_label(&kind));
    let of_general = || {
        types
            .text("resourceTypeGeneral")
            .map(|kind| ItemType::of_label(&kind))
    };
    let creators = work.list("creators").iter().take(MOST_AUTHORS);
    let titles = work.list("titles").iter();
    let container = work.part("container");
    Ok(Item {
        kind: kind.or_else(of_general).unwrap_or(ItemType::Document),
        title: line(titles.filter_map(|title| title.text("title")).next()).unwrap_or_default(),
        container_title: line(container.text("title")),
        authors: creators.filter_map(creator).collect(),
        issued: work
            .number("publicationYear")
            .and_then(|year| Issued::new(year, None, None)),
        volume: line(container.text("volume")),
        issue: line(container.text("issue")),
        // Since schema 4.5 the publisher may be an object.
        publisher: line(
            work.text("publisher")
                .or_else(|| work.part("publisher").text("name")),
        ),
        doi: work.parse("doi"),
        url: work.url("url").map(String::from),
        ..Item::default()
    })
}

fn name(name: &Value) -> Option<Name> {
    let literal = || name.text("literal").or_else(|| name.text("name"));
    match line(name.text("family")) {
        Some(family) => Some(Name::Person {
            family: match line(name.text("non-dropping-particle")) {
                Some(particle) => format!("{particle} {family}"),
                None => family,
            },
            given: line(name.text("given")).unwrap_or_default(),
        }),
        None => line(literal().or_else(|| name.text("given"))).map(Name::Literal),
    }
}

fn creator(creator: &Value) -> Option<Name> {
    match line(creator.text("familyName")) {
        Some(family) => Some(Name::Person {
            family,
            given: line(creator.text("givenName")).unwrap_or_default(),
        }),
        None => line(creator.text("name")).map(Name::Literal),
    }
}

/// `{"date-parts": [[2024, 2, 3]]}`.
fn issued(date: &Value) -> Option<Issued> {
    let parts = date.list("date-parts").first()?.as_array()?;
    let part = |index: usize| parts.get(index).and_then(as_number);
    Issued::new(part(0)?, part(1), part(2))
}

/// A text, or the first of a list of them.
fn first(record: &Value, name: &str) -> Option<String> {
    let of_list = || record.list(name).iter().find_map(as_text);
    line(record.text(name).or_else(of_list))
}

fn texts(record: &Value, name: &str) -> Vec<String> {
    match record.part(name) {
        Value::Array(items) => items.iter().filter_map(as_text).collect(),
        single => as_text(single).into_iter().collect(),
    }
}

/// One line without markup: titles come with tags, and with breaks for the sake of their own layout.
fn line(text: Option<String>) -> Option<String> {
    let text = crate::plain::plain(&text?);
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_work_reads_the_same_from_crossref_and_by_negotiation() {
        let negotiated = csl_json(include_bytes!("../../testdata/doi_csl.json")).unwrap();
        let of_crossref = crossref(include_bytes!("../../testdata/crossref_work.json")).unwrap();
        assert_eq!(of_crossref, negotiated);
        assert_eq!(
            negotiated.authors[1],
            Name::Literal("Marsh Heron Group".to_owned())
        );
        let date = negotiated.issued.unwrap();
        assert_eq!((date.year, date.month, date.day), (2024, Some(2), Some(3)));
    }

    #[test]
    fn data_have_creators_and_a_year() {
        let item = datacite(include_bytes!("../../testdata/datacite_doi.json")).unwrap();
        assert_eq!(
            (item.kind, item.title.as_str()),
            (ItemType::Article, "Heron queue observations")
        );
        assert_eq!(item.issued.unwrap().year, 2024);
    }

    #[test]
    fn what_is_no_record_is_none() {
        for body in [
            &b"{}"[..],
            b"[]",
            b"<html>",
            b"{\"message\": \"x\"}",
            b"{\"data\": []}",
        ] {
            assert!(csl_json(body).is_err() && crossref(body).is_err() && datacite(body).is_err());
        }
    }
}
