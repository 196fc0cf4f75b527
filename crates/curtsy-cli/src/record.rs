//! The audit log of a run, and which chain of it the run goes on with.

use curtsy::clock::Clock;
use curtsy::core::audit::{Entry, Event};
use curtsy::store::Queue;
use curtsy::{Audit, JobDir};

use crate::failure::Failure;
use crate::session;
use crate::settings::{FetchSettings, Settings};
use crate::value::{QueueUrl, Value};

/// The log of a job, under the job's own pipeline: its queue keeps which that is.
///
/// # Errors
/// The queue failed, or the log cannot be written.
pub(crate) async fn of_job(
    fetch: &FetchSettings,
    queue: &dyn Queue,
    dir: &JobDir,
    clock: &Clock,
) -> Result<Audit, Failure> {
    const KEY: &str = "pipeline_id";
    let failed = |error: curtsy::store::StoreError| session::store_failure("the queue", &error);
    let stored = queue
        .meta(KEY)
        .await
        .map_err(failed)?
        .and_then(|id| String::from_utf8(id).ok());
    let id = match stored {
        Some(id) => id,
        None => {
            let worker = match fetch.queue {
                QueueUrl::Sqlite => moment(clock),
                QueueUrl::Redis(_) => dir
                    .worker()
                    .map_err(|error| session::failure("audit", &error))?,
            };
            let id = format!("{}-{worker}", fetch.job);
            queue
                .set_meta(vec![(KEY.to_owned(), id.clone().into_bytes())])
                .await
                .map_err(failed)?;
            id
        }
    };
    let audit = open(fetch, &id, clock)?;
    let failed = |error: curtsy::Error| session::failure("audit", &error);
    audit.check_tail(queue).await.map_err(failed)?;
    Ok(audit)
}

/// The log of a run that is no job, under a pipeline of its own.
///
/// # Errors
/// It cannot be written.
pub(crate) fn of_run(fetch: &FetchSettings, what: &str, clock: &Clock) -> Result<Audit, Failure> {
    let id = format!("{what}-{}-{}", moment(clock), std::process::id());
    open(fetch, &id, clock)
}

/// What a run begins with.
pub(crate) fn started(settings: &Settings) -> Entry {
    let store = settings.fetch.state.show();
    Entry::of_run(Event::RunStarted {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        policy: Box::new(settings.policy.values()),
        store: store.as_str().unwrap_or_default().to_owned(),
    })
}

fn open(fetch: &FetchSettings, id: &str, clock: &Clock) -> Result<Audit, Failure> {
    Audit::append_rotating(&fetch.audit, id, clock.clone(), fetch.audit_size.0)
        .map_err(|error| session::failure("audit", &error))
}

fn moment(clock: &Clock) -> String {
    format!("{:x}", clock.now().as_micros())
}
