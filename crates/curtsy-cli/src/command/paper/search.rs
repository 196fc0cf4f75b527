//! `curtsy paper search`.

use curtsy_papers::pubmed::{
    Article, DateRange, DateType, Engine, Hits, Order, PubMedSearcher, SearchOptions,
};
use curtsy_papers::{Access, Answer};
use serde_json::json;

use super::unavailable;
use crate::args::{DateArg, EngineArg, GlobalArgs, OrderArg, SearchArgs};
use crate::failure::{Exit, Failure, one_line};
use crate::output::{self, Results, say};
use crate::session;
use crate::table::cut;

pub(crate) fn run(args: &SearchArgs, global: &GlobalArgs) -> Result<Exit, Failure> {
    session::run(async {
        let access = super::access(&args.options, global).await?;
        let options = options(args, &access)?;
        let searcher = PubMedSearcher::builder(access.contact().clone())
            .search_string(args.query.join(" "))
            .http_client(access)
            .build()
            .map_err(|error| session::paper_failure(&error))?;
        let begun = searcher
            .search(&options)
            .await
            .map_err(|error| session::paper_failure(&error))?;
        match begun {
            Answer::Found(hits) => show(args, hits).await,
            answer => Err(unavailable::failure("search", &answer)),
        }
    })
}

fn options(args: &SearchArgs, access: &Access) -> Result<SearchOptions, Failure> {
    let (from, to) = (args.from.as_deref(), args.to.as_deref());
    let dates = match (from, to) {
        (None, None) => None,
        _ => {
            let range = DateRange::parse(from, to, access.today());
            Some(range.map_err(|why| Failure::usage("--from, --to", why))?)
        }
    };
    let usual = SearchOptions::default();
    Ok(SearchOptions {
        count: args
            .count
            .map_or(usual.count, |count| count.0.map(u64::from)),
        dates,
        date_type: match args.date {
            DateArg::Published => DateType::Published,
            DateArg::Entered => DateType::Entered,
            DateArg::Modified => DateType::Modified,
        },
        order: match args.order {
            OrderArg::Newest => Order::Chronological,
            OrderArg::Relevance => Order::Relevance,
        },
        only_open_access: args.open_access,
        only_case_reports: args.case_reports,
        engine: match args.engine {
            EngineArg::Pubmed => Engine::PubMed,
            EngineArg::Europepmc => Engine::EuropePmc,
        },
    })
}

/// Prints the hits as they come, none of them kept.
async fn show(args: &SearchArgs, mut hits: Hits) -> Result<Exit, Failure> {
    let mut out = Results::start();
    let mut shown = 0_u64;
    if args.csv {
        out.line(&Article::COLUMNS.join(","))?;
    }
    let end = loop {
        let page = match next(args, &mut hits).await? {
            Answer::Found(page) => page,
            answer => break Err(unavailable::failure("search", &answer)),
        };
        if page.is_empty() {
            break Ok(());
        }
        for line in &page {
            out.line(line)?;
        }
        shown += page.len() as u64;
    };
    out.finish()?;
    say(&format!("{shown} of {} hits", hits.count()));
    end?;
    if hits.missing() > 0 {
        let missing = hits.missing();
        say(&format!(
            "{missing} hits lie in no range of dates that PubMed hands out; narrow the search"
        ));
        return Ok(Exit::No);
    }
    Ok(Exit::Done)
}

/// The lines of the next page; none at the end.
async fn next(args: &SearchArgs, hits: &mut Hits) -> Result<Answer<Vec<String>>, Failure> {
    let failed = |error: curtsy_papers::Error| session::paper_failure(&error);
    // PubMed hands out its numbers without the records.
    if args.ids && args.engine == EngineArg::Pubmed {
        let page = hits.next_ids().await.map_err(failed)?;
        return Ok(page.map(|page| page.iter().map(ToString::to_string).collect()));
    }
    let page = hits.next_articles().await.map_err(failed)?;
    Ok(page.map(|page| page.iter().map(|article| line(args, article)).collect()))
}

fn line(args: &SearchArgs, article: &Article) -> String {
    if args.ids {
        let pmid = article.pmid.map(|pmid| pmid.to_string());
        let doi = || article.doi.as_ref().map(ToString::to_string);
        let pmcid = || article.pmcid.map(|pmcid| pmcid.to_string());
        // A line that names nothing is no identifier, and is told as such by who reads it.
        pmid.or_else(doi)
            .or_else(pmcid)
            .unwrap_or_else(|| format!("# {}", one_line(&article.title)))
    } else if args.csv {
        article.row().map(|cell| quoted(&cell)).join(",")
    } else if args.json {
        json!(article).to_string()
    } else {
        let width = output::width().unwrap_or(usize::MAX);
        cut(&describe(article), width)
    }
}

/// `39900042  2024  Roe, Rae  Waiting politely: queue discipline in marsh herons.`
fn describe(article: &Article) -> String {
    let pmid = article
        .pmid
        .map(|pmid| pmid.to_string())
        .unwrap_or_default();
    let year = article
        .year
        .map(|year| year.to_string())
        .unwrap_or_default();
    let author = article
        .authors
        .first()
        .map(ToString::to_string)
        .unwrap_or_default();
    one_line(&format!(
        "{pmid:>8}  {year:>4}  {:<20}  {}",
        cut(&author, 20),
        article.title
    ))
}

/// RFC 4180: in quotation marks where it must be.
fn quoted(cell: &str) -> String {
    if cell.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_of_csv_is_quoted_where_it_must_be() {
        for (cell, expected) in [
            ("a b", "a b"),
            ("a,b", "\"a,b\""),
            ("a \"b\"", "\"a \"\"b\"\"\""),
            ("a\nb", "\"a\nb\""),
        ] {
            assert_eq!(quoted(cell), expected);
        }
    }
}
