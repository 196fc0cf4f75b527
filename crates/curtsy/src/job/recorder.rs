//! Takes what the sink has made durable and records it in the queue.

use std::sync::Arc;

use curtsy_store::Settlement;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::Shared;
use super::manifest::Line;
use crate::error::{Error, ErrorKind};
use crate::sink::Groups;

/// The task that records.
pub(super) struct Recorder {
    task: JoinHandle<()>,
    failure: watch::Receiver<Option<Error>>,
}

impl Recorder {
    pub(super) fn start(shared: Arc<Shared>, groups: Groups) -> Self {
        let (failed, failure) = watch::channel(None);
        // Only the queue and the counters: were the whole held here, the sink would never end.
        let (queue, shared) = (Arc::clone(&shared.queue), Arc::downgrade(&shared));
        let task = tokio::spawn(async move {
            let mut groups = groups;
            while let Some(group) = groups.recv().await {
                let recorded = match group {
                    Ok(group) => {
                        let (settlements, lines): (Vec<Settlement>, Vec<Line>) =
                            group.into_iter().unzip();
                        queue
                            .settle(settlements)
                            .await
                            .map(|_| lines)
                            .map_err(Error::from)
                    }
                    Err(error) => Err(error),
                };
                match recorded {
                    Ok(lines) => {
                        if let Some(shared) = shared.upgrade() {
                            shared.progress.note(&lines);
                        }
                    }
                    Err(error) => {
                        failed.send_replace(Some(error));
                        return;
                    }
                }
            }
        });
        Self { task, failure }
    }

    /// Waits for a failure, after which nothing is recorded any more.
    pub(super) async fn failed(&self) -> Error {
        let mut failure = self.failure.clone();
        match failure.wait_for(Option::is_some).await {
            Ok(error) => error.clone().unwrap_or_else(ended),
            // The task is gone without a failure: that is the end of the job, which comes from elsewhere.
            Err(_) => std::future::pending().await,
        }
    }

    /// Waits until all that has ended is recorded.
    pub(super) async fn finish(self, shared: &Shared) -> Result<(), Error> {
        let failure = self.failure.clone();
        while shared.progress.unrecorded() {
            tokio::select! {
                () = shared.progress.recorded() => {}
                error = self.failed() => return Err(error),
            }
        }
        self.task.abort();
        let failed = failure.borrow().clone();
        failed.map_or(Ok(()), Err)
    }
}

fn ended() -> Error {
    Error::new(ErrorKind::Output, "the writer has stopped")
}
