//! The hits of a search, page by page, however many there are.
//!
//! PubMed hands out the first [`LIMIT`] records of a search, through its history too. A larger search is cut into ranges
//! of dates, which are halved until each holds no more than that; what they hold is summed and compared with the
//! whole. Records without such a date are in none: they are counted as missing.

use std::collections::HashSet;

use super::article::Article;
use super::dates::{DateRange, DateType};
use super::efetch;
use super::esearch::{self, History};
use super::europe_pmc::Cursor;
use super::search::{Engine, Order, SearchOptions};
use crate::access::Access;
use crate::answer::Answer;
use crate::endpoint::Provider;
use crate::error::Error;
use crate::id::Pmid;
use crate::query::Query;

/// The most records that PubMed hands out of one search.
pub(super) const LIMIT: u64 = 9_999;

/// The hits of one search. It is asked for pages until one is empty.
#[derive(Debug)]
pub struct Hits {
    access: Access,
    source: Source,
    count: u64,
    wanted: u64,
    given: u64,
    seen: HashSet<Pmid>,
}

#[derive(Debug)]
enum Source {
    PubMed(Slices),
    EuropePmc(Cursor),
}

/// A search of PubMed, whole or in ranges of dates.
#[derive(Debug)]
struct Slices {
    term: String,
    order: Order,
    date_type: DateType,
    /// Still to be searched, the last one next.
    open: Vec<DateRange>,
    /// Being handed out.
    current: Option<Slice>,
    /// Hits of the ranges so far.
    reached: u64,
}

#[derive(Debug)]
struct Slice {
    range: Option<DateRange>,
    history: Option<History>,
    count: u64,
    next: u64,
}

impl Hits {
    pub(super) async fn begin(
        access: Access,
        search: &str,
        options: &SearchOptions,
    ) -> Result<Answer<Self>, Error> {
        let wanted = options.count.unwrap_or(u64::MAX);
        let begun = match options.engine {
            Engine::EuropePmc => {
                let first = Cursor::begin(&access, search, options, wanted).await?;
                first.map(|(cursor, count)| (Source::EuropePmc(cursor), count))
            }
            Engine::PubMed => {
                let first = Slices::begin(&access, search, options, wanted).await?;
                first.map(|(slices, count)| (Source::PubMed(slices), count))
            }
        };
        Ok(begun.map(|(source, count)| Self {
            access,
            source,
            count,
            wanted: wanted.min(count),
            given: 0,
            seen: HashSet::new(),
        }))
    }

    /// How many hits there are, whatever was asked for.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many of the wanted hits were not handed out. At the end of a search: those that no range of dates reaches,
    /// and what is beyond the 9,999th of one day.
    #[must_use]
    pub fn missing(&self) -> u64 {
        self.wanted.saturating_sub(self.given)
    }

    /// The next records; none where there are no more.
    ///
    /// # Errors
    /// The engine itself failed.
    pub async fn next_articles(&mut self) -> Result<Answer<Vec<Article>>, Error> {
        while self.missing() > 0 {
            let page = match &mut self.source {
                Source::EuropePmc(cursor) => cursor.next(&self.access).await?,
                Source::PubMed(slices) => {
                    slices
                        .next_articles(&self.access, self.wanted - self.given)
                        .await?
                }
            };
            let Answer::Found(mut page) = page else {
                return Ok(page);
            };
            if page.is_empty() {
                break;
            }
            page.retain(|article| article.pmid.is_none_or(|pmid| self.seen.insert(pmid)));
            page.truncate(usize::try_from(self.missing()).unwrap_or(usize::MAX));
            self.given += page.len() as u64;
            if !page.is_empty() {
                return Ok(Answer::Found(page));
            }
        }
        Ok(Answer::Found(Vec::new()))
    }

    /// The PMIDs of the next records, without the records; none where there are no more.
    ///
    /// # Errors
    /// The engine itself failed.
    pub async fn next_ids(&mut self) -> Result<Answer<Vec<Pmid>>, Error> {
        while self.missing() > 0 {
            let page = match &mut self.source {
                Source::EuropePmc(cursor) => {
                    let page = cursor.next(&self.access).await?;
                    if page == Answer::Found(Vec::new()) {
                        break;
                    }
                    page.map(|page| page.iter().filter_map(|article| article.pmid).collect())
                }
                Source::PubMed(slices) => {
                    let page = slices
                        .next_ids(&self.access, self.wanted - self.given)
                        .await?;
                    if page == Answer::Found(Vec::new()) {
                        break;
                    }
                    page
                }
            };
            let Answer::Found(mut page) = page else {
                return Ok(page);
            };
            page.retain(|pmid| self.seen.insert(*pmid));
            page.truncate(usize::try_from(self.missing()).unwrap_or(usize::MAX));
            self.given += page.len() as u64;
            if !page.is_empty() {
                return Ok(Answer::Found(page));
            }
        }
        Ok(Answer::Found(Vec::new()))
    }
}

impl Slices {
    async fn begin(
        access: &Access,
        search: &str,
        options: &SearchOptions,
        wanted: u64,
    ) -> Result<Answer<(Self, u64)>, Error> {
        let mut slices = Self {
            term: term(search, options),
            order: options.order,
            date_type: options.date_type,
            open: Vec::new(),
            current: None,
            reached: 0,
        };
        let whole = match slices.probe(access, options.dates).await? {
            Answer::Found(whole) => whole,
            other => return Ok(other.map(|_| unreachable!("found is handled"))),
        };
        let count = whole.count;
        if wanted.min(count) <= LIMIT {
            slices.current = Some(whole);
        } else if let Some(dates) = options.dates {
            slices.open.push(dates);
        } else {
            // The day on which a record came is always a day; that of its publication may be a year alone, which
            // counts as its first day and would crowd it.
            slices.date_type = DateType::Entered;
            slices.open.push(DateRange::whole(access.today()));
        }
        Ok(Answer::Found((slices, count)))
    }

    async fn next_articles(
        &mut self,
        access: &Access,
        most: u64,
    ) -> Result<Answer<Vec<Article>>, Error> {
        if let Err(other) = self.advance(access).await? {
            return Ok(other);
        }
        let Some(slice) = &mut self.current else {
            return Ok(Answer::Found(Vec::new()));
        };
        let Some(history) = &slice.history else {
            return Ok(Answer::Malformed("a search without a history"));
        };
        let some = most
            .min(slice.count - slice.next)
            .min(efetch::MAX_RECORDS as u64) as usize;
        let query = efetch::query_history(history, slice.next as usize, some);
        let answer = access.ask(Provider::Ncbi, query).await?.read(efetch::read);
        if let Answer::Found(_) = answer {
            slice.next += some as u64;
        }
        Ok(answer)
    }

    async fn next_ids(&mut self, access: &Access, most: u64) -> Result<Answer<Vec<Pmid>>, Error> {
        if let Err(other) = self.advance(access).await? {
            return Ok(other);
        }
        let Some(slice) = &mut self.current else {
            return Ok(Answer::Found(Vec::new()));
        };
        let some = most.min(slice.count - slice.next);
        let query = question(&self.term, self.order, self.date_type, slice.range)
            .pair("retstart", slice.next.to_string())
            .pair("retmax", some.to_string());
        let answer = access.ask(Provider::Ncbi, query).await?.read(esearch::read);
        if let Answer::Found(_) = answer {
            slice.next += some;
        }
        Ok(answer.map(|hits| hits.pmids))
    }

    /// Goes on to the next range that has hits, where the current one is at its end. The error is an answer that ends
    /// the page.
    async fn advance<T>(&mut self, access: &Access) -> Result<Result<(), Answer<T>>, Error> {
        if self
            .current
            .as_ref()
            .is_some_and(|slice| slice.next < slice.count)
        {
            return Ok(Ok(()));
        }
        self.current = None;
        while let Some(range) = self.open.pop() {
            let mut slice = match self.probe(access, Some(range)).await? {
                Answer::Found(slice) => slice,
                other => {
                    self.open.push(range);
                    return Ok(Err(other.and_then(|_| Answer::NotFound)));
                }
            };
            if slice.count > LIMIT
                && let Some((later, earlier)) = range.halves()
            {
                self.open.extend([earlier, later]);
                continue;
            }
            self.reached += slice.count;
            slice.count = slice.count.min(LIMIT);
            if slice.count > 0 {
                self.current = Some(slice);
                break;
            }
        }
        Ok(Ok(()))
    }

    /// How many hits a range has, and where the server keeps them.
    async fn probe(
        &self,
        access: &Access,
        range: Option<DateRange>,
    ) -> Result<Answer<Slice>, Error> {
        let query = question(&self.term, self.order, self.date_type, range)
            .pair("usehistory", "y")
            .pair("retmax", "0");
        let answer = access.ask(Provider::Ncbi, query).await?.read(esearch::read);
        Ok(answer.map(|hits| Slice {
            range,
            history: hits.history,
            count: hits.count,
            next: 0,
        }))
    }
}

/// Both dates, or the interface looks at neither.
fn question(term: &str, order: Order, date_type: DateType, range: Option<DateRange>) -> Query {
    let sort = match order {
        Order::Chronological => "pub_date",
        Order::Relevance => "relevance",
    };
    let query = esearch::query(term).pair("sort", sort);
    match range.map(DateRange::ends) {
        Some((from, to)) => query
            .pair("datetype", date_type.code())
            .pair("mindate", from)
            .pair("maxdate", to),
        None => query,
    }
}

/// The search as it is sent: the user's own in brackets, so that its ORs bind first.
fn term(search: &str, options: &SearchOptions) -> String {
    let mut filters = String::new();
    if options.only_open_access {
        filters.push_str(" AND (open access[filter] OR free full text[sb])");
    }
    if options.only_case_reports {
        filters.push_str(" AND case reports[pt]");
    }
    if filters.is_empty() {
        search.to_owned()
    } else {
        format!("({search}){filters}")
    }
}
