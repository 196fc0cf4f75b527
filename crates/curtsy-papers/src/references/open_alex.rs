//! The works that cite one, as OpenAlex knows them.

use serde_json::Value;

use super::{MOST, Reference};
use crate::access::Access;
use crate::answer::Answer;
use crate::endpoint::Provider;
use crate::error::Error;
use crate::field::Field;
use crate::query::Query;
use crate::source::{Ids, Unreadable, object, open_alex};

/// The most works of one page.
const PAGE: usize = 100;

struct Page {
    works: Vec<Reference>,
    next: Option<String>,
}

pub(super) async fn fetch_citing(
    access: &Access,
    ids: &Ids,
) -> Result<Answer<Vec<Reference>>, Error> {
    let Some(query) = open_alex::query(ids) else {
        return Ok(Answer::NotFound);
    };
    let answer = access.ask(Provider::OpenAlex, query).await?;
    let work = match answer.read(read_work) {
        Answer::Found(work) => work,
        other => return Ok(other.map(|_| Vec::new())),
    };
    let (mut all, mut cursor) = (Vec::new(), "*".to_owned());
    while all.len() < MOST {
        let query = Query::at("works")
            .pair("filter", format!("cites:{work}"))
            .pair("per_page", PAGE.to_string())
            .pair("cursor", &cursor);
        let page = match access.ask(Provider::OpenAlex, query).await?.read(read) {
            Answer::Found(page) => page,
            other => return Ok(other.map(|page| page.works)),
        };
        let has_more = !page.works.is_empty();
        all.extend(page.works);
        match page.next.filter(|next| has_more && *next != cursor) {
            Some(next) => cursor = next,
            None => break,
        }
    }
    Ok(Answer::Found(all))
}

/// The work's number: `W9900042`.
fn read_work(body: &[u8]) -> Result<String, Unreadable> {
    let id = object(body)?.text("id").ok_or(Unreadable)?;
    let number = id.rsplit('/').next().unwrap_or_default();
    let is_number = number.strip_prefix('W').is_some_and(|digits| {
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    });
    if is_number {
        Ok(number.to_owned())
    } else {
        Err(Unreadable)
    }
}

fn read(body: &[u8]) -> Result<Page, Unreadable> {
    let answer = object(body)?;
    if !answer.part("results").is_array() {
        return Err(Unreadable);
    }
    Ok(Page {
        works: answer.list("results").iter().map(reference).collect(),
        next: answer.part("meta").text("next_cursor"),
    })
}

fn reference(work: &Value) -> Reference {
    let ids = work.part("ids");
    let authors = work.list("authorships").iter();
    Reference {
        doi: work.parse("doi"),
        pmid: ids.parse("pmid"),
        pmcid: ids.parse("pmcid"),
        title: work.text("title").or_else(|| work.text("display_name")),
        authors: authors
            .filter_map(|of| of.part("author").text("display_name"))
            .collect(),
        journal: work
            .part("primary_location")
            .part("source")
            .text("display_name"),
        year: work
            .number("publication_year")
            .and_then(|year| u16::try_from(year).ok()),
        ..Reference::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_work_is_known_by_its_number_and_read_as_others_are() {
        let body = include_bytes!("../../testdata/openalex_work.json");
        assert!(read_work(body).unwrap().starts_with('W'));
        assert_eq!(
            read_work(b"{\"id\": \"https://openalex.org/W1|title.search:x\"}"),
            Err(Unreadable)
        );
        let page = [b"{\"results\": [", &body[..], b"]}"].concat();
        let works = read(&page).unwrap().works;
        assert_eq!(
            works[0].doi.as_ref().unwrap().as_str(),
            "10.5555/curtsy.2024.0042"
        );
    }
}
