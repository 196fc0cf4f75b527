//! Records what the sink has made durable: in the queue, then in the manifest.
//!
//! In this order, since what the manifest tells is never fetched again. A line that a crash kept from the
//! manifest stands in the queue, from which a finished run writes the manifest anew.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Arc, Weak};

use curtsy_store::{Queue, Settlement, UrlId};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::Shared;
use super::manifest::Outcome;
use crate::audit::Audit;
use crate::error::{Error, ErrorKind};
use crate::gate::Gate;
use crate::sink::{Durable, Groups, Sink};

/// The task that records.
pub(super) struct Recorder {
    task: JoinHandle<()>,
    failure: watch::Receiver<Option<Error>>,
}

/// What the task works with. Not the whole of what lanes share: were that held here, the sink would never
/// end.
struct Books {
    queue: Arc<dyn Queue>,
    gate: Arc<Gate>,
    audit: Audit,
    manifest: Manifest,
    progress: Weak<Shared>,
}

struct Manifest {
    file: File,
    name: String,
}

impl Recorder {
    pub(super) fn start(
        shared: &Arc<Shared>,
        mut groups: Groups,
        manifest: &Path,
    ) -> Result<Self, Error> {
        let mut books = Books {
            queue: Arc::clone(&shared.queue),
            gate: Arc::clone(&shared.client.shared.gate),
            audit: shared.client.shared.audit.audit.clone(),
            manifest: Manifest::open(manifest)?,
            progress: Arc::downgrade(shared),
        };
        let (failed, failure) = watch::channel(None);
        let task = tokio::spawn(async move {
            while let Some(group) = groups.recv().await {
                let recorded = match group {
                    Ok(group) => books.record(group).await,
                    Err(error) => Err(error),
                };
                if let Err(error) = recorded {
                    failed.send_replace(Some(error));
                    return;
                }
            }
        });
        Ok(Self { task, failure })
    }

    /// Waits for a failure, after which nothing is recorded any more.
    pub(super) async fn failed(&self) -> Error {
        let mut failure = self.failure.clone();
        let failed = failure.wait_for(Option::is_some).await;
        failed
            .map_or(None, |error| error.clone())
            .unwrap_or_else(stopped)
    }

    /// Records nothing more.
    pub(super) fn abandon(&self) {
        self.task.abort();
    }

    /// Ends the sink and waits until all that came through it is recorded.
    pub(super) async fn finish(&mut self, sink: &Sink) -> Result<(), Error> {
        let closed = sink.close().await;
        let ended = (&mut self.task).await.map_err(|_| stopped());
        let failed = self.failure.borrow().clone();
        failed.map_or(closed.and(ended), Err)
    }
}

fn stopped() -> Error {
    Error::new(ErrorKind::Output, "the writer has stopped")
}

impl Books {
    async fn record(&mut self, group: Vec<Durable>) -> Result<(), Error> {
        let settle = || async {
            let settlements = group.iter().map(settlement).collect();
            Ok(self.queue.settle(settlements).await?)
        };
        // Both in one commit, where the queue puts together what comes at once.
        let keep = || self.audit.keep_tail(&*self.queue);
        let (settled, kept) =
            tokio::join!(self.gate.persistently(settle), self.gate.persistently(keep));
        let settled = settled?;
        kept?;
        let is_new = |ended: &&Durable| !settled.stale.contains(&ended.id);
        let new: Vec<&Durable> = group.iter().filter(is_new).collect();
        self.manifest.append(&new)?;
        if let Some(shared) = self.progress.upgrade() {
            shared.progress.note(new, shared.client.now());
        }
        Ok(())
    }
}

fn settlement(ended: &Durable) -> Settlement {
    let (id, line): (UrlId, String) = (ended.id, ended.json.clone());
    match (ended.line.outcome, ended.not_before) {
        (Outcome::Deferred, Some(not_before)) => Settlement::Deferred {
            id,
            not_before,
            reason: ended.line.error.clone().unwrap_or_default(),
            line,
        },
        (outcome, _) => Settlement::Finished {
            id,
            outcome: outcome.label().to_owned(),
            line,
        },
    }
}

impl Manifest {
    fn open(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .map_err(|error| failed(&name, error))?;
        close_torn_line(&mut file).map_err(|error| failed(&name, error))?;
        Ok(Self { file, name })
    }

    fn append(&mut self, ended: &[&Durable]) -> Result<(), Error> {
        let lines: String = ended.iter().flat_map(|ended| [&ended.json, "\n"]).collect();
        self.file
            .write_all(lines.as_bytes())
            .map_err(|error| failed(&self.name, error))
    }
}

fn failed(name: &str, error: io::Error) -> Error {
    Error::output(format!("the manifest {name} cannot be written"), error)
}

/// Ends a last line that a crash tore, so that the next one begins on its own.
fn close_torn_line(file: &mut File) -> io::Result<()> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(());
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    if last != *b"\n" {
        file.write_all(b"\n")?;
    }
    Ok(())
}
