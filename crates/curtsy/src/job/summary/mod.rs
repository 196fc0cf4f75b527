//! How far a job has come, and what became of it in the end.

mod reasons;
mod scopes;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use curtsy_core::{Reason, Timestamp};
use curtsy_store::{Counts, Queue, UrlRecord, UrlState};
use serde::Serialize;

pub use reasons::ReasonCount;
pub(super) use reasons::Reasons;
pub use scopes::ScopeSummary;

use super::dir::JobDir;
use super::manifest::{Line, Outcome};
use super::{Error, Shared};
use crate::sink::Durable;
use scopes::Deeds;

/// Lines that are read from the queue at once when the manifest is written anew.
const PAGE: usize = 1000;

/// How far a running job has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// URLs of the job.
    pub total: u64,
    /// Those that have ended, by outcome, earlier runs included.
    pub ended: BTreeMap<Outcome, u64>,
    /// Bytes of stored bodies in this run.
    pub bytes: u64,
    /// URLs that ended in this run.
    pub ended_now: u64,
}

/// What became of a job.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// URLs of the job.
    pub total: u64,
    /// URLs by outcome; what still waits is `deferred`, or `pending` where the run was interrupted.
    pub outcomes: BTreeMap<String, u64>,
    /// Bytes of the bodies stored in this run.
    pub bytes: u64,
    /// How long this run took, seconds.
    pub elapsed_s: f64,
    /// When the first deferred URL is due: RFC 3339, UTC.
    pub next_due: Option<String>,
    /// Whether it was stopped.
    pub interrupted: bool,
    /// The scopes with most URLs, and the others in one.
    pub scopes: Vec<ScopeSummary>,
    /// Why URLs were not fetched, the most frequent reason first; empty where the run was interrupted.
    pub reasons: Vec<ReasonCount>,
}

impl Summary {
    /// The number of URLs with this outcome.
    #[must_use]
    pub fn count(&self, outcome: Outcome) -> u64 {
        self.outcomes.get(outcome.label()).copied().unwrap_or(0)
    }
}

/// The numbers behind [`Progress`].
#[derive(Default)]
pub(super) struct Counters(Mutex<State>);

#[derive(Default)]
struct State {
    progress: Progress,
    last_deferral: Option<Reason>,
    deeds: Deeds,
}

impl Counters {
    pub(super) fn of(counts: &Counts) -> Self {
        let counters = Self::default();
        counters.recount(counts);
        counters
    }

    /// The whole job stands so, by whomever.
    pub(super) fn recount(&self, counts: &Counts) {
        let ended = Outcome::ALL
            .iter()
            .filter_map(|outcome| Some((*outcome, *counts.finished.get(outcome.label())?)));
        let mut state = self.lock();
        state.progress.total = counts.total();
        state.progress.ended = ended.collect();
    }

    pub(super) fn add(&self, urls: u64) {
        self.lock().progress.total += urls;
    }

    /// These are recorded, at `now`.
    pub(super) fn note(&self, recorded: Vec<&Durable>, now: Timestamp) {
        let mut state = self.lock();
        for Durable { line, scope, .. } in recorded {
            if line.outcome == Outcome::Deferred {
                state.last_deferral = reason_of(line.error.as_deref());
                continue;
            }
            *state.progress.ended.entry(line.outcome).or_default() += 1;
            state.progress.ended_now += 1;
            let is_new = line.outcome == Outcome::Fetched && !line.not_modified;
            let stored = line.file.as_ref().and(line.bytes);
            let bytes = stored.filter(|_| is_new).unwrap_or(0);
            state.progress.bytes += bytes;
            state.deeds.note(scope.clone(), bytes, now);
        }
    }

    pub(super) fn ended(&self) -> u64 {
        self.lock().progress.ended_now
    }

    pub(super) fn last_deferral(&self) -> Option<Reason> {
        self.lock().last_deferral
    }

    pub(super) fn view(&self) -> Progress {
        self.lock().progress.clone()
    }

    fn take_deeds(&self) -> Deeds {
        std::mem::take(&mut self.lock().deeds)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn reason_of(label: Option<&str>) -> Option<Reason> {
    serde_json::from_value(serde_json::Value::from(label?)).ok()
}

pub(super) async fn of(
    shared: &Shared,
    started: Timestamp,
    interrupted: bool,
    reasons: Reasons,
) -> Result<Summary, Error> {
    let counts = shared.queue.counts().await?;
    let mut outcomes = counts.finished.clone();
    let waiting = if interrupted {
        "pending"
    } else {
        Outcome::Deferred.label()
    };
    for (name, count) in [
        (waiting, counts.pending),
        (Outcome::Deferred.label(), counts.deferred),
    ] {
        if count > 0 {
            *outcomes.entry(name.to_owned()).or_default() += count;
        }
    }
    let left = counts.pending + counts.deferred > 0;
    let next_due = if left {
        shared.queue.next_due().await?
    } else {
        None
    };
    let deeds = shared.progress.take_deeds();
    let scopes = scopes::of(&*shared.queue, &deeds, waiting).await?;
    let elapsed: Duration = shared.client.now().since(started);
    Ok(Summary {
        total: counts.total(),
        outcomes,
        bytes: shared.progress.view().bytes,
        elapsed_s: elapsed.as_secs_f64(),
        next_due: next_due.map(Timestamp::to_rfc3339),
        interrupted,
        scopes,
        reasons: reasons.counts(),
    })
}

/// Writes the manifest anew, one line a URL in the order of the input, in the place of the one that grew
/// during the runs. Returns why URLs were not fetched.
pub(super) async fn write_manifest(queue: &dyn Queue, dir: &JobDir) -> Result<Reasons, Error> {
    let failed = |error| {
        Error::output(
            format!(
                "the manifest {} cannot be written",
                dir.manifest().display()
            ),
            error,
        )
    };
    let fresh = dir.manifest().with_extension("jsonl.new");
    let mut file = BufWriter::new(File::create(&fresh).map_err(failed)?);
    let (mut reasons, mut after) = (Reasons::default(), None);
    loop {
        let records = queue.records(after, PAGE).await?;
        let Some(last) = records.last() else { break };
        after = Some(last.id);
        for record in &records {
            reasons.note(record);
            file.write_all(line_of(record).as_bytes())
                .and_then(|()| file.write_all(b"\n"))
                .map_err(failed)?;
        }
    }
    let file = file
        .into_inner()
        .map_err(|error| failed(error.into_error()))?;
    file.sync_all().map_err(failed)?;
    fs::rename(&fresh, dir.manifest()).map_err(failed)?;
    Ok(reasons)
}

/// A URL's last line; for one that was not even tried, or not yet again, that it is deferred.
fn line_of(record: &UrlRecord) -> String {
    let reason = match &record.state {
        UrlState::Finished { .. } => return record.line.clone().unwrap_or_default(),
        UrlState::Deferred { reason, .. } => reason.as_str(),
        UrlState::Pending => "not_tried",
    };
    let earlier = record.line.as_deref().map(serde_json::from_str::<Line>);
    let mut line = Line::new(&record.url, Outcome::Deferred, Timestamp::EPOCH).with_error(reason);
    line.finished = None;
    match (earlier, &record.line) {
        (Some(Ok(earlier)), Some(line)) if earlier.outcome == Outcome::Deferred => {
            return line.clone();
        }
        (Some(Ok(earlier)), _) => line.keep_body_of(&earlier),
        _ => {}
    }
    line.to_json()
}
