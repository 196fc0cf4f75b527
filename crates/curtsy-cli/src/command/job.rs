//! `curtsy job`: the jobs that workers share.

use std::sync::Arc;

use curtsy::core::Timestamp;
use curtsy::store::{Counts, Queue, ScopeCounts};
use serde_json::json;

use crate::args::{GlobalArgs, JobArgs, JobCommand, Options};
use crate::failure::{Exit, Failure};
use crate::output::Results;
use crate::session;
use crate::settings::{Flags, Settings};
use crate::table::{Align, Table};
use crate::value::QueueUrl;

/// Scopes or URLs that are asked for at once.
const PAGE: usize = 1000;

pub(crate) fn run(
    command: &JobCommand,
    queue: Option<&QueueUrl>,
    global: &GlobalArgs,
) -> Result<Exit, Failure> {
    let options = Options {
        job: JobArgs {
            queue: queue.cloned(),
            ..JobArgs::default()
        },
        ..Options::default()
    };
    let settings = Settings::load(Flags {
        global,
        options: &options,
        json: false,
    })?;
    let queue = &settings.fetch.queue;
    session::run(async {
        match command {
            JobCommand::List { json } => list(queue, *json).await,
            JobCommand::Show { name, json } => show(queue, name, *json).await,
            JobCommand::Export { name } => export(queue, name).await,
            JobCommand::Cancel { name } => cancel(queue, name).await,
        }
    })
}

async fn list(queue: &QueueUrl, json: bool) -> Result<Exit, Failure> {
    let mut out = Results::start();
    let mut table = Table::new(&[
        ("job", Align::Left),
        ("URLs", Align::Right),
        ("pending", Align::Right),
        ("deferred", Align::Right),
        ("ended", Align::Right),
        ("scopes in work", Align::Right),
    ]);
    for name in session::jobs(queue).await? {
        let job = session::job(queue, &name).await?;
        let counts = job.counts().await.map_err(failed)?;
        if json {
            out.line(&in_json(&name, &counts).to_string())?;
        } else {
            let ended = counts.finished.values().sum::<u64>();
            let numbers = [
                counts.total(),
                counts.pending,
                counts.deferred,
                ended,
                counts.leased_scopes,
            ];
            let mut row = vec![name];
            row.extend(numbers.map(|number| number.to_string()));
            table.row(row);
        }
    }
    if !json {
        for line in table.lines(usize::MAX) {
            out.line(&line)?;
        }
    }
    out.finish()?;
    Ok(Exit::Done)
}

async fn show(queue: &QueueUrl, name: &str, json: bool) -> Result<Exit, Failure> {
    let job = known(queue, name).await?;
    let counts = job.counts().await.map_err(failed)?;
    let mut out = Results::start();
    if json {
        let mut shown = in_json(name, &counts);
        shown["next_due"] = job
            .next_due()
            .await
            .map_err(failed)?
            .map(Timestamp::to_rfc3339)
            .into();
        out.line(&shown.to_string())?;
        out.finish()?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&[
        ("host", Align::Left),
        ("pending", Align::Right),
        ("deferred", Align::Right),
        ("ended", Align::Right),
        ("worker", Align::Left),
    ]);
    let mut after: Option<String> = None;
    loop {
        let page = job.scope_counts(after.as_deref(), PAGE).await;
        let page = page.map_err(failed)?;
        let Some(last) = page.last() else { break };
        after = Some(last.scope.clone());
        page.into_iter().for_each(|scope| table.row(row(scope)));
    }
    for line in table.lines(usize::MAX) {
        out.line(&line)?;
    }
    let ended = counts.finished.iter();
    let ended: Vec<String> = ended
        .map(|(outcome, number)| format!("{number} {}", outcome.replace('_', " ")))
        .collect();
    out.line("")?;
    out.line(&format!(
        "{} URLs: {} pending, {} deferred; {}",
        counts.total(),
        counts.pending,
        counts.deferred,
        if ended.is_empty() {
            "none has ended".to_owned()
        } else {
            ended.join(", ")
        }
    ))?;
    out.finish()?;
    Ok(Exit::Done)
}

/// The manifest lines of all workers, in the order of the input. The files they name are relative to the
/// directory of whoever fetched the URL.
async fn export(queue: &QueueUrl, name: &str) -> Result<Exit, Failure> {
    let job = known(queue, name).await?;
    let mut out = Results::start();
    let mut after = None;
    loop {
        let records = job.records(after, PAGE).await.map_err(failed)?;
        let Some(last) = records.last() else { break };
        after = Some(last.id);
        for line in records.into_iter().filter_map(|record| record.line) {
            out.line(&line)?;
        }
    }
    out.finish()?;
    Ok(Exit::Done)
}

async fn cancel(queue: &QueueUrl, name: &str) -> Result<Exit, Failure> {
    if session::cancel(queue, name).await? {
        Ok(Exit::Done)
    } else {
        Err(unknown(name))
    }
}

/// A job that there is: asking for another must not make it.
async fn known(queue: &QueueUrl, name: &str) -> Result<Arc<dyn Queue>, Failure> {
    if session::jobs(queue).await?.iter().any(|job| job == name) {
        session::job(queue, name).await
    } else {
        Err(unknown(name))
    }
}

fn unknown(name: &str) -> Failure {
    Failure::new(Exit::No, name, "there is no such job; see curtsy job list")
}

fn row(scope: ScopeCounts) -> Vec<String> {
    let ended = scope.finished.values().sum::<u64>();
    vec![
        scope.scope,
        scope.pending.to_string(),
        scope.deferred.to_string(),
        ended.to_string(),
        scope.worker.unwrap_or_default(),
    ]
}

fn in_json(name: &str, counts: &Counts) -> serde_json::Value {
    json!({
        "job": name,
        "total": counts.total(),
        "pending": counts.pending,
        "deferred": counts.deferred,
        "finished": counts.finished,
        "leased_scopes": counts.leased_scopes,
    })
}

fn failed(error: curtsy::store::StoreError) -> Failure {
    session::store_failure("the queue", &error)
}
