//! `curtsy paper batch`: thousands of papers, resumable.

use std::sync::Arc;
use std::time::Duration;

use curtsy::JobDir;
use curtsy::store::SqliteQueue;
use curtsy_papers::Reason;
use curtsy_papers::batch::{Batch, BatchHandle, BatchOptions, DEFAULT_JOBS, Entry, Report};

use super::given::AllGiven;
use super::{outlook, report};
use crate::args::{BatchArgs, GlobalArgs};
use crate::failure::{Exit, Failure, chain};
use crate::output::{Results, say};
use crate::session;

/// Lines that are queued at once.
const CHUNK: usize = 1_000;
/// Between two lines about how it comes on.
const LINE: Duration = Duration::from_secs(10);

pub(crate) fn run(args: &BatchArgs, global: &GlobalArgs) -> Result<Exit, Failure> {
    if args.options.pace.no_polite_mode && !args.i_own_these_hosts {
        return Err(Failure::usage(
            "--no-polite-mode",
            "is for one paper; a batch takes it only with --i-own-these-hosts",
        ));
    }
    if args.plan {
        return session::run(async {
            let settings = super::settings(&args.options, global)?;
            outlook::show(args, &settings)
        });
    }
    session::run(work(args, global))
}

async fn work(args: &BatchArgs, global: &GlobalArgs) -> Result<Exit, Failure> {
    let retry_failed = args.retry_failed.as_deref().map(reasons).transpose()?;
    let settings = super::settings(&args.options, global)?;
    let access = super::access(&args.options, global).await?;
    let dir = JobDir::open(&args.copies.out_dir)
        .map_err(|error| session::failure("paper batch", &error))?;
    let retriever = super::copies::retriever(&args.copies, access)?.build();
    let retriever = retriever.map_err(|error| session::paper_failure(&error))?;
    let queue = SqliteQueue::open(&dir.path().join(".curtsy/papers.sqlite")).await;
    let queue = queue.map_err(|error| Failure::new(Exit::Store, "the queue", chain(&error)))?;
    let options = BatchOptions {
        jobs: args.jobs.map_or(DEFAULT_JOBS, |jobs| jobs as usize),
        retry_failed,
        wait: args.wait,
    };
    let batch = Batch::open(retriever, Arc::new(queue), options).await;
    let batch = batch.map_err(|error| session::paper_failure(&error))?;
    let lines = add(args, &batch).await?;
    let handle = batch.handle();
    let is_shown = settings.fetch.verbosity > 0;
    let (progress, stop) = (show_progress(&handle, is_shown), stop(&handle));
    let run = batch.run(lines);
    tokio::pin!(run, progress, stop);
    let mut interrupted = false;
    let report = loop {
        tokio::select! {
            report = &mut run => break report.map_err(|error| session::paper_failure(&error))?,
            () = &mut progress => {}
            () = &mut stop, if !interrupted => interrupted = true,
        }
    };
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
        exit(&report)
    })
}

/// Reads the input into the queue, and says how many lines it had.
async fn add(args: &BatchArgs, batch: &Batch) -> Result<u64, Failure> {
    let mut all = AllGiven::of(&args.given);
    let mut lines = 0;
    loop {
        let some = all.next(CHUNK)?;
        if some.is_empty() {
            return Ok(lines);
        }
        lines += some.len() as u64;
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

async fn show_progress(handle: &BatchHandle, is_shown: bool) {
    loop {
        tokio::time::sleep(LINE).await;
        if is_shown {
            let now = handle.progress();
            let ended = now.had + now.not_open + now.failed + now.deferred;
            say(&format!(
                "{ended} of {} papers: {} had, {} not open, {} failed, {} to be tried again later",
                now.total, now.had, now.not_open, now.failed, now.deferred
            ));
        }
    }
}

async fn stop(handle: &BatchHandle) {
    session::told_to_stop().await;
    say("stopping: what is under way is taken up again next time");
    handle.stop();
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
