//! `curtsy paper batch`: thousands of papers, resumable.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use curtsy::JobDir;
use curtsy::core::audit::{Entry as AuditEntry, Event};
use curtsy::store::SqliteQueue;
use curtsy_papers::Reason;
use curtsy_papers::batch::{Batch, BatchHandle, BatchOptions, DEFAULT_JOBS, Entry, PAPERS, Report};
use serde_json::Value;

use super::citing::{self, Had};
use super::given::AllGiven;
use super::worse;
use super::{outlook, report};
use crate::args::{BatchArgs, GlobalArgs};
use crate::failure::{Exit, Failure};
use crate::notices::notices;
use crate::output::Results;
use crate::progress::{Screen, speaker};
use crate::record;
use crate::session::{self, Ears, State};
use crate::settings::Settings;

/// Lines that are queued at once.
const CHUNK: usize = 1_000;
/// The queue's file, in the folder of the papers.
pub(crate) const QUEUE: &str = ".curtsy/papers.sqlite";

pub(crate) fn run(args: &BatchArgs, global: &GlobalArgs) -> Result<Exit, Failure> {
    let retry_failed = args.retry_failed.as_deref().map(reasons).transpose()?;
    AllGiven::refuse_strangers(&args.given)?;
    let options = args.options.options_of(&args.copies, args.audit.as_ref());
    let settings = super::settings(&options, global)?;
    if !settings.policy.polite && !args.i_own_these_hosts {
        return Err(Failure::usage(
            "--no-polite-mode",
            "is for one paper; a batch takes it only with --i-own-these-hosts",
        ));
    }
    if args.plan {
        return outlook::show(args, &settings);
    }
    session::run(work(args, retry_failed, &settings))
}

async fn work(
    args: &BatchArgs,
    retry_failed: Option<Vec<Reason>>,
    settings: &Settings,
) -> Result<Exit, Failure> {
    let fetch = &settings.fetch;
    let screen = Screen::new(fetch.verbosity);
    let failed = |error: curtsy_papers::Error| session::paper_failure(&error);
    let recorded = |error: curtsy::Error| session::failure("audit", &error);
    session::contact(settings)?;
    let dir = JobDir::open(&settings.papers.out_dir)
        .map_err(|error| session::failure("paper batch", &error))?;
    let queue = SqliteQueue::open(&dir.path().join(QUEUE)).await;
    let queue = queue.map_err(|error| session::store_failure("the queue", &error))?;
    let state = State::of(settings).await?;
    let audit = record::of_job(fetch, &queue, &dir, &state.clock).await?;
    let ears = Ears {
        audit: audit.clone(),
        notices: notices(fetch.verbosity, speaker(&screen)),
        ..Ears::default()
    };
    let access = session::access_with(settings, args.options.asking(), state, ears)?;
    let client = access.client().clone();
    let retriever = super::copies::retriever(&settings.papers, access.clone());
    let retriever = retriever.build().map_err(failed)?;
    let options = BatchOptions {
        jobs: args.jobs.map_or(DEFAULT_JOBS, |jobs| jobs as usize),
        retry_failed,
        wait: args.wait,
        audit: audit.clone(),
    };
    let queue = Arc::new(queue);
    let batch = Batch::open(retriever, Arc::clone(&queue) as _, options).await;
    let mut batch = batch.map_err(failed)?;
    add(args, &mut batch).await?;
    audit
        .record([record::started(settings)])
        .await
        .map_err(recorded)?;
    let display = screen.show_papers(batch.handle(), client);
    let stopping = tokio::spawn(stop_on_signal(batch.handle(), screen.clone()));
    let ended = batch.run().await;
    display.finish();
    let interrupted = stopping.is_finished();
    stopping.abort();
    let report = ended.map_err(failed)?;
    let cited = if interrupted {
        Exit::Done
    } else {
        citing::write(&args.cite, &access, had(dir.path())?).await?
    };
    audit
        .record([AuditEntry::of_run(Event::RunEnded {
            totals: report.totals(),
        })])
        .await
        .map_err(recorded)?;
    audit.keep_tail(&*queue).await.map_err(recorded)?;
    let mut out = Results::start();
    let value = serde_json::to_value(&report).unwrap_or_default();
    if args.json {
        out.line(&value.to_string())?;
    } else {
        report::sums(&value, dir.path(), &mut out)?;
    }
    out.finish()?;
    Ok(if interrupted {
        Exit::Interrupted
    } else {
        worse(exit(&report), cited)
    })
}

/// The papers that are there, by the list of results.
fn had(folder: &Path) -> Result<impl Iterator<Item = Had>, Failure> {
    let path = folder.join(PAPERS);
    let list = File::open(&path).map_err(|why| Failure::usage(path.display(), why))?;
    let folder = folder.to_owned();
    let rows = BufReader::new(list).lines().map_while(Result::ok);
    let rows = rows.filter_map(|line| serde_json::from_str::<Value>(&line).ok());
    Ok(rows.filter_map(move |row| {
        let name = row["doi"].as_str().or(row["id"].as_str())?;
        Some(Had {
            id: name.parse().ok()?,
            pdf: folder.join(row["file"].as_str()?),
        })
    }))
}

/// Reads the input into the queue.
async fn add(args: &BatchArgs, batch: &mut Batch) -> Result<(), Failure> {
    let mut all = AllGiven::of(&args.given);
    loop {
        let some = all.next(CHUNK)?;
        if some.is_empty() {
            return Ok(());
        }
        let entries = some.into_iter().map(|given| Entry {
            line: given.line,
            given: given.text,
            id: given.id.ok(),
        });
        let added = batch.add(entries.collect()).await;
        added.map_err(|error| session::paper_failure(&error))?;
    }
}

fn reasons(names: &[String]) -> Result<Vec<Reason>, Failure> {
    let reason = |name: &String| {
        Reason::named(name).ok_or_else(|| {
            let all: Vec<&str> = Reason::ALL.iter().map(|reason| reason.label()).collect();
            Failure::usage(
                format_args!("--retry-failed={name}"),
                format_args!("is none of {}", all.join(", ")),
            )
        })
    };
    names
        .iter()
        .filter(|name| !name.is_empty())
        .map(reason)
        .collect()
}

/// The first Ctrl-C lets the papers that are being fetched come to their end; the second ends at once.
async fn stop_on_signal(handle: BatchHandle, screen: Screen) {
    session::told_to_stop().await;
    screen.say("stopping: downloads in flight finish, the rest is taken up next time; Ctrl-C again ends at once");
    handle.stop();
    // The run is over once nothing is under way; whoever waits here longer is told a second time.
    tokio::spawn(async {
        session::told_to_stop().await;
        std::process::exit(130);
    });
}

fn exit(report: &Report) -> Exit {
    match report {
        Report { deferred, left, .. } if *deferred > 0 || *left > 0 => Exit::Deferred,
        Report {
            failed, not_open, ..
        } if *failed > 0 || *not_open > 0 => Exit::No,
        _ => Exit::Done,
    }
}
