//! `curtsy audit`: what the logs of jobs prove, and what they show.

mod report;
mod verify;

use curtsy::store::SqliteQueue;
use curtsy::{JobDir, KeptTail, Logs};

use crate::args::{AuditCommand, LogArgs};
use crate::failure::{Exit, Failure};
use crate::session;

pub(crate) fn run(command: &AuditCommand) -> Result<Exit, Failure> {
    match command {
        AuditCommand::Verify(args) => verify::run(args),
        AuditCommand::Report(args) => report::run(args),
    }
}

/// The logs that are meant, and how far the job's database knows of one.
fn find(args: &LogArgs) -> Result<(Logs, Option<KeptTail>), Failure> {
    // First, since a job that is running goes on writing: its log is never behind what its database knows.
    let kept = match &args.job {
        Some(dir) => session::run(kept_tail(dir))?,
        None => None,
    };
    let mut files = args.files.clone();
    if let (true, Some(dir)) = (files.is_empty(), &args.job) {
        files.push(JobDir::audit_in(dir));
    }
    let logs = Logs::find(&files).map_err(|error| session::failure("audit", &error))?;
    Ok((logs, kept))
}

async fn kept_tail(dir: &std::path::Path) -> Result<Option<KeptTail>, Failure> {
    let queues = [JobDir::queue_in(dir), dir.join(super::paper::QUEUE)];
    let Some(path) = queues.into_iter().find(|path| path.exists()) else {
        let why = format!("no job of its own has run in {}", dir.display());
        return Err(Failure::usage("audit", why));
    };
    let queue = SqliteQueue::open(&path).await;
    let queue = queue.map_err(|error| session::store_failure("the queue", &error))?;
    KeptTail::of(&queue)
        .await
        .map_err(|error| session::failure("audit", &error))
}
