//! `curtsy paper get`: papers, one after the other; the path of each on standard output.

use std::collections::BTreeMap;

use curtsy::core::audit::{Entry, Event};
use curtsy_papers::Identifier;
use curtsy_papers::plan::{Outcome, Retry};
use curtsy_papers::retrieve::{Order, Paper, PaperRetriever};

use super::citing::{self, Had};
use super::given::{AllGiven, Given};
use super::worse;
use crate::args::{GlobalArgs, PaperGetArgs};
use crate::failure::{Exit, Failure, one_line};
use crate::notices::{clock, notices};
use crate::output::{Results, say};
use crate::record;
use crate::session::{self, Ears, State};
use crate::settings::Settings;

pub(crate) fn run(args: &PaperGetArgs, global: &GlobalArgs) -> Result<Exit, Failure> {
    refuse_scihub(args.allow_scihub.as_deref())?;
    let mut words = args.given.clone();
    words.extend(args.doi.iter().chain(&args.pmid).cloned());
    if words.is_empty() {
        return Err(Failure::usage_text(
            "no paper is named: give a DOI, a PMID, a PMCID or an arXiv id",
        ));
    }
    if args.name.is_some() && words.len() > 1 {
        return Err(Failure::usage(
            "--name",
            "names the file of one paper, and there are several",
        ));
    }
    for (kind, words) in [("doi", &args.doi), ("pmid", &args.pmid)] {
        for word in words {
            check_kind(kind, word)?;
        }
    }
    let options = args.options.options_of(&args.copies, args.audit.as_ref());
    let settings = super::settings(&options, global)?;
    session::run(work(args, &words, &settings))
}

async fn work(args: &PaperGetArgs, words: &[String], settings: &Settings) -> Result<Exit, Failure> {
    let state = State::of(settings).await?;
    let audit = record::of_run(&settings.fetch, "paper", &state.clock)?;
    let ears = Ears {
        audit: audit.clone(),
        notices: notices(settings.fetch.verbosity, say),
        ..Ears::default()
    };
    let access = session::access_with(settings, args.options.asking(), state, ears)?;
    let retriever = super::copies::retriever(&settings.papers, access)
        .filename(args.name.clone())
        .override_previous_attempt(args.again)
        .build()
        .map_err(|error| session::paper_failure(&error))?;
    let recorded = |error: curtsy::Error| session::failure("audit", &error);
    audit
        .record([record::started(settings)])
        .await
        .map_err(recorded)?;
    let is_told = settings.fetch.verbosity > 0;
    let Got { totals, had } = get(args.json, words, &retriever, is_told).await?;
    let cited = citing::write(&args.cite, retriever.access(), had.into_iter()).await?;
    let exit = worse(exit(&totals), cited);
    audit
        .record([Entry::of_run(Event::RunEnded { totals })])
        .await
        .map_err(recorded)?;
    Ok(exit)
}

/// What became of the papers.
struct Got {
    /// How many ended how.
    totals: BTreeMap<String, u64>,
    had: Vec<Had>,
}

/// Gets papers one after the other.
async fn get(
    json: bool,
    words: &[String],
    retriever: &PaperRetriever,
    is_told: bool,
) -> Result<Got, Failure> {
    let mut all = AllGiven::of(words);
    let mut out = Results::start();
    let (mut totals, mut had) = (BTreeMap::new(), Vec::new());
    while let Some(given) = all.next(1)?.pop() {
        let paper = one(retriever, &given, is_told).await?;
        let outcome = paper
            .as_ref()
            .map_or(Outcome::Failed, |paper| paper.verdict.outcome);
        *totals.entry(outcome.label().to_owned()).or_default() += 1;
        let Some(paper) = paper else { continue };
        if let Some(stored) = &paper.stored {
            had.push(Had {
                id: paper.id.clone(),
                pdf: stored.path.clone(),
            });
        }
        if json {
            out.line(&paper.row(given.line).to_string())?;
        } else if let Some(stored) = &paper.stored {
            out.line(&stored.path.display().to_string())?;
        }
    }
    out.finish()?;
    Ok(Got { totals, had })
}

fn exit(totals: &BTreeMap<String, u64>) -> Exit {
    let any = |outcome: Outcome| totals.contains_key(outcome.label());
    if any(Outcome::Deferred) {
        Exit::Deferred
    } else if any(Outcome::NotOpen) || any(Outcome::Failed) {
        Exit::No
    } else {
        Exit::Done
    }
}

/// One paper; `None` where nothing is named.
async fn one(
    retriever: &PaperRetriever,
    given: &Given,
    is_told: bool,
) -> Result<Option<Paper>, Failure> {
    let text = one_line(&given.text);
    let id = match &given.id {
        Ok(id) => id.clone(),
        Err(why) => {
            say(&format!("{text}: {why}"));
            return Ok(None);
        }
    };
    let stop = session::told_to_stop();
    let order = Order {
        given: given.text.clone(),
        ..Order::from(id)
    };
    let paper = tokio::select! {
        paper = retriever.retrieve(order) => paper.map_err(|error| session::paper_failure(&error))?,
        () = stop => return Err(Failure::silent(Exit::Interrupted)),
    };
    if is_told || paper.stored.is_none() {
        say(&format!("{text}: {}", sentence(&paper)));
    }
    Ok(Some(paper))
}

/// How a paper ended, in a line.
pub(super) fn sentence(paper: &Paper) -> String {
    let verdict = &paper.verdict;
    let from = paper
        .source()
        .map_or(String::new(), |source| format!(" from {source}"));
    let Some(reason) = verdict.reason else {
        let had = if verdict.outcome == Outcome::Had {
            "is there already"
        } else {
            "a verified PDF"
        };
        return format!("{had}{from}");
    };
    let mut text = format!("{reason}: {}", reason.explain().trim_end_matches('.'));
    if let Some(host) = &verdict.host {
        text.push_str(&format!(" ({host}"));
        if let Some(status) = verdict.status {
            text.push_str(&format!(", status {status}"));
        }
        text.push(')');
    }
    let link = paper.link();
    text.push_str(&match verdict.retry {
        Some(Retry::ByHand) => format!("; open it by hand: {link}"),
        Some(Retry::Later) => format!("; try again later: {link}"),
        Some(Retry::At(time)) => format!("; not before {}: {link}", clock(time)),
        Some(Retry::On(date)) => format!("; not before {date}: {link}"),
        Some(Retry::Never | Retry::WithOption) | None => format!(": {link}"),
    });
    text
}

/// A DOI where a DOI is to be given, and a PMID where a PMID is.
fn check_kind(kind: &str, word: &str) -> Result<(), Failure> {
    let read = word.parse::<Identifier>();
    let fits = match &read {
        Ok(id) if kind == "doi" => {
            matches!(id.kind(), "doi" | "shortdoi") || word.contains("10.48550")
        }
        Ok(id) => id.kind() == kind,
        Err(_) => false,
    };
    match (fits, read) {
        (true, _) => Ok(()),
        (false, Err(why)) => Err(Failure::usage(
            format_args!("--{kind} {}", one_line(word)),
            why,
        )),
        (false, Ok(_)) => Err(Failure::usage(
            format_args!("--{kind} {}", one_line(word)),
            "is an identifier of another kind; give it without the option",
        )),
    }
}

fn refuse_scihub(allow: Option<&str>) -> Result<(), Failure> {
    match allow {
        None | Some("false" | "False") => Ok(()),
        Some(_) => Err(Failure::usage(
            "--allow-scihub",
            "it serves copies without the right holders' leave, which a tool built on obeying what servers and \
             licences say cannot do",
        )),
    }
}
