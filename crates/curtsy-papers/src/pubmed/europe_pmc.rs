//! The search of Europe PMC, which hands its hits out by a cursor and without a limit.
//!
//! <https://europepmc.org/RestfulWebService>: `nextCursorMark` until it repeats.

use serde_json::Value;

use super::article::{Article, Author, Section};
use super::search::{Order, SearchOptions};
use crate::access::Access;
use crate::answer::Answer;
use crate::endpoint::Provider;
use crate::error::Error;
use crate::field::{Field, as_text};
use crate::plain::plain;
use crate::query::Query;
use crate::source::{Unreadable, object};

/// The most records of one call: with `resultType=core` each is some 10 kB.
const MAX_RECORDS: u64 = 500;

/// Where a search stands.
#[derive(Debug)]
pub(super) struct Cursor {
    query: String,
    order: Order,
    size: u64,
    /// Of the next page; `None` at the end.
    mark: Option<String>,
    /// The first page comes with the count.
    first: Option<Vec<Article>>,
}

pub(crate) struct Page {
    count: u64,
    pub(crate) articles: Vec<Article>,
    next: Option<String>,
}

impl Cursor {
    pub(super) async fn begin(
        access: &Access,
        search: &str,
        options: &SearchOptions,
        wanted: u64,
    ) -> Result<Answer<(Self, u64)>, Error> {
        let mut cursor = Self {
            query: query(search, options),
            order: options.order,
            size: wanted.clamp(1, MAX_RECORDS),
            mark: Some("*".to_owned()),
            first: None,
        };
        let page = cursor.ask(access, "*").await?;
        Ok(page.map(|page| {
            cursor.mark = page.next.filter(|next| next != "*");
            cursor.first = Some(page.articles);
            (cursor, page.count)
        }))
    }

    /// The next records; none where there are no more.
    pub(super) async fn next(&mut self, access: &Access) -> Result<Answer<Vec<Article>>, Error> {
        if let Some(first) = self.first.take() {
            return Ok(Answer::Found(first));
        }
        let Some(mark) = self.mark.take() else {
            return Ok(Answer::Found(Vec::new()));
        };
        let page = self.ask(access, &mark).await?;
        Ok(match page {
            Answer::Found(page) => {
                let has_more = !page.articles.is_empty();
                self.mark = page.next.filter(|next| has_more && *next != mark);
                Answer::Found(page.articles)
            }
            other => {
                self.mark = Some(mark);
                other.map(|page| page.articles)
            }
        })
    }

    async fn ask(&self, access: &Access, mark: &str) -> Result<Answer<Page>, Error> {
        let query = Query::at("search")
            .pair("query", &self.query)
            .pair("resultType", "core")
            .pair("format", "json")
            .pair("pageSize", self.size.to_string())
            .pair("cursorMark", mark);
        let query = match self.order {
            Order::Chronological => query.pair("sort", "P_PDATE_D desc"),
            Order::Relevance => query,
        };
        Ok(access.ask(Provider::EuropePmc, query).await?.read(read))
    }
}

fn query(search: &str, options: &SearchOptions) -> String {
    let mut query = format!("({search})");
    if options.only_open_access {
        query.push_str(" AND OPEN_ACCESS:y");
    }
    if options.only_case_reports {
        query.push_str(" AND PUB_TYPE:\"Case Reports\"");
    }
    if let Some(dates) = options.dates {
        let (from, to) = dates.ends();
        let (from, to) = (from.replace('/', "-"), to.replace('/', "-"));
        query.push_str(&format!(" AND FIRST_PDATE:[{from} TO {to}]"));
    }
    query
}

pub(crate) fn read(body: &[u8]) -> Result<Page, Unreadable> {
    let answer = object(body)?;
    let results = answer.part("resultList");
    if !results.is_object() {
        return Err(Unreadable);
    }
    let articles: Vec<Article> = results.list("result").iter().map(article).collect();
    Ok(Page {
        count: answer.number("hitCount").unwrap_or(articles.len() as u64),
        articles,
        next: answer.text("nextCursorMark"),
    })
}

fn article(record: &Value) -> Article {
    let journal = record.part("journalInfo");
    let texts = |list: &str, item: &str| -> Vec<String> {
        match record.part(list).part(item) {
            Value::Array(items) => items.iter().filter_map(as_text).collect(),
            single => as_text(single).into_iter().collect(),
        }
    };
    let types = texts("pubTypeList", "pubType");
    let abstract_text = record.text("abstractText");
    Article {
        // A preprint's own number is none of PubMed's.
        pmid: record.parse("pmid"),
        doi: record.parse("doi"),
        pmcid: record.parse("pmcid"),
        title: record
            .text("title")
            .map(|title| plain(&title))
            .unwrap_or_default(),
        authors: record
            .part("authorList")
            .list("author")
            .iter()
            .filter_map(author)
            .collect(),
        sections: abstract_text
            .map(|text| Section {
                label: None,
                text: plain(&text),
            })
            .into_iter()
            .collect(),
        journal: journal.part("journal").text("title"),
        journal_abbreviation: journal.part("journal").text("medlineAbbreviation"),
        volume: journal.text("volume"),
        issue: journal.text("issue"),
        pages: record.text("pageInfo"),
        date: record.text("firstPublicationDate"),
        year: record
            .number("pubYear")
            .and_then(|year| u16::try_from(year).ok()),
        keywords: texts("keywordList", "keyword"),
        retracted: types
            .iter()
            .any(|kind| kind.eq_ignore_ascii_case("retracted publication")),
        types,
        languages: record.text("language").into_iter().collect(),
        ..Article::default()
    }
}

fn author(author: &Value) -> Option<Author> {
    if let Some(group) = author.text("collectiveName") {
        return Some(Author::Group { group });
    }
    let last = author
        .text("lastName")
        .or_else(|| author.text("fullName"))?;
    let fore = author.text("firstName").or_else(|| author.text("initials"));
    Some(Author::Person {
        last,
        fore: fore.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_pubmeds_are() {
        let page = read(include_bytes!("../../testdata/europepmc_search_core.json")).unwrap();
        assert_eq!(page.count, 1);
        assert_eq!(
            page.articles[0].row().join("|"),
            "39900042|Waiting politely: queue discipline in marsh herons.|Roe, Rae; Marsh Heron Group|Roe, Rae|To see \
             whether herons queue. They do.|2024-01-12|2024|Journal of invented ornithology 12(2):101-110|\
             10.5555/curtsy.2024.0042|PMC9900042||Journal Article||eng"
        );
        assert!(
            read(include_bytes!("../../testdata/europepmc_search_none.json"))
                .unwrap()
                .articles
                .is_empty()
        );
        assert!(read(b"{\"errCode\": 404}").is_err());
    }
}
