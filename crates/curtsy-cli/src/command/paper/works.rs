//! `curtsy paper refs` and `curtsy paper cited-by`.

use curtsy_papers::references::{Reference, ReferenceRetriever, References};
use curtsy_papers::{Access, Identifier, NotAnId};
use serde_json::json;

use super::unavailable::{exit, sentence};
use crate::args::{GlobalArgs, WorksArgs};
use crate::failure::{Exit, Failure, one_line};
use crate::output::{self, Results, say};
use crate::session;
use crate::table::cut;

/// Which works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    References,
    Citing,
}

pub(super) fn run(args: &WorksArgs, list: List, global: &GlobalArgs) -> Result<Exit, Failure> {
    let id: Identifier = args
        .id
        .parse()
        .map_err(|why: NotAnId| Failure::usage(one_line(&args.id), why))?;
    session::run(async {
        let access = super::access(&args.options, global).await?;
        let found = fetch(access, id, list)
            .await
            .map_err(|error| session::paper_failure(&error))?;
        show(args, list, &found)
    })
}

async fn fetch(
    access: Access,
    id: Identifier,
    list: List,
) -> Result<References, curtsy_papers::Error> {
    let retriever = ReferenceRetriever::builder(access.contact().clone())
        .id(id)
        .http_client(access)
        .build()?;
    match list {
        List::References => retriever.fetch_references().await,
        List::Citing => retriever.fetch_cited_by().await,
    }
}

fn show(args: &WorksArgs, list: List, found: &References) -> Result<Exit, Failure> {
    let mut out = Results::start();
    let width = output::width().unwrap_or(usize::MAX);
    for work in &found.works {
        if args.json {
            out.line(&json!(work).to_string())?;
        } else if !args.ids {
            out.line(&cut(&describe(work), width))?;
        } else if let Some(id) = name(work) {
            out.line(&id)?;
        }
    }
    out.finish()?;
    let word = match list {
        List::References => "references",
        List::Citing => "citing works",
    };
    if found.works.is_empty() && found.unavailable.is_empty() {
        say(&format!("no {word} are known"));
    }
    let mut worst = Exit::Done;
    for why in &found.unavailable {
        say(&format!("there may be more {word}: {}", sentence(why)));
        worst = if worst == Exit::Deferred {
            worst
        } else {
            exit(why.until)
        };
    }
    Ok(worst)
}

/// A DOI, else a PMID, else a PMCID.
fn name(work: &Reference) -> Option<String> {
    let doi = work.doi.as_ref().map(ToString::to_string);
    let pmid = || work.pmid.map(|pmid| pmid.to_string());
    doi.or_else(pmid)
        .or_else(|| work.pmcid.map(|pmcid| pmcid.to_string()))
}

/// `2011  Doe J  Patience in waders. J Inv Ornithol  10.5555/ref.one.1`.
fn describe(work: &Reference) -> String {
    let year = work
        .year
        .map_or_else(|| "    ".to_owned(), |year| format!("{year:4}"));
    let said = match (&work.title, &work.text) {
        (Some(title), _) => {
            let author = work.authors.first().map(|author| format!("{author}. "));
            let journal = work.journal.as_ref().map(|journal| format!(" {journal}"));
            let title = title.trim_end_matches('.');
            format!(
                "{}{title}.{}",
                author.unwrap_or_default(),
                journal.unwrap_or_default()
            )
        }
        (None, Some(text)) => text.clone(),
        (None, None) => String::new(),
    };
    let name = name(work)
        .map(|name| format!("  {name}"))
        .unwrap_or_default();
    one_line(format!("{year}  {said}{name}").trim_end())
}
