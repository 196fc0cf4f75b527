//! A job that workers of other directories, on this machine or others, work on too.
//!
//! Each worker leases scopes, paces them and writes a manifest of its own. One that has nothing to do waits
//! as long as others hold leases: what a worker that died had leased is taken over when its lease ends.

use std::fs;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::time::Duration;

use curtsy_core::Timestamp;
use curtsy_store::{Horizon, Queue, Watch};
use serde::Deserialize;

use super::manifest::Outcome;
use super::{Job, JobDir, Shared};
use crate::error::Error;

/// After as many scopes as its share were leased, others have so long to lease theirs.
pub(super) const TURN: Duration = Duration::from_millis(100);

/// How many of `room` scopes to lease at once while `held` are: of a shared job never all there are, so
/// that workers that start together get about as many each.
pub(super) fn share(queue: &dyn Queue, room: usize, held: usize) -> usize {
    if queue.is_shared() {
        room.min(1.max(held / 2))
    } else {
        room
    }
}

/// How often a worker looks how far the others have come.
const LOOK_AFTER: Duration = Duration::from_secs(10);

/// What a worker and the others of a shared job know of each other.
#[derive(Default)]
pub(super) struct Fellows {
    /// When the others have to be told again of this one's feeds; `None` where there are none.
    renewal: Option<Timestamp>,
    /// When to look again how far they have come.
    next_look: Timestamp,
}

impl Fellows {
    /// Counts what the others have done, now and then.
    pub(super) async fn count(&mut self, shared: &Shared) -> Result<(), Error> {
        let now = shared.client.now();
        if now >= self.next_look && shared.queue.is_shared() {
            self.next_look = now.after(LOOK_AFTER);
            let gate = &shared.client.shared.gate;
            let counts = gate.patiently(|| async { Ok(shared.queue.counts().await?) });
            shared.progress.recount(&counts.await?);
        }
        Ok(())
    }

    /// Tells that there are feeds, or none any more.
    pub(super) async fn tell(
        &mut self,
        is_fed: bool,
        lease: Duration,
        shared: &Shared,
    ) -> Result<(), Error> {
        let now = shared.client.now();
        let is_told = match self.renewal {
            Some(renewal) => is_fed && now < renewal,
            None => !is_fed,
        };
        if is_told || !shared.queue.is_shared() {
            return Ok(());
        }
        let until = is_fed.then(|| now.after(lease));
        let tell = || async { Ok(shared.queue.feed(&shared.worker, until).await?) };
        let gate = &shared.client.shared.gate;
        gate.persistently(tell).await?;
        self.renewal = is_fed.then(|| now.after(lease / 4));
        Ok(())
    }

    /// When to call [`tell`](Self::tell) again.
    pub(super) fn renewal(&self) -> Timestamp {
        self.renewal.unwrap_or(Timestamp::MAX)
    }
}

impl Job {
    /// What a worker without anything to do has to wait for, with nothing due before `due`.
    pub(super) async fn horizon(&self, due: Option<Timestamp>) -> Result<Horizon, Error> {
        let (shared, queue) = (&self.shared, &self.shared.queue);
        let gate = &shared.client.shared.gate;
        if !queue.is_shared() {
            return Ok(Horizon {
                due,
                lease_end: None,
            });
        }
        // First, since whoever adds the first URLs tells of it only then.
        let counts = || async { Ok(queue.counts().await?) };
        let awaits_first = self.options.awaits_urls && gate.patiently(counts).await?.total() == 0;
        let horizon = gate.patiently(|| async { Ok(queue.horizon().await?) });
        let mut horizon = horizon.await?;
        if self.options.stays || (awaits_first && horizon == Horizon::default()) {
            horizon.lease_end = horizon.lease_end.or(Some(Timestamp::MAX));
        }
        Ok(horizon)
    }
}

/// Waits until there may be something new in the queue; for ever where nobody tells of that.
pub(super) async fn told(watch: &mut Option<Watch>) {
    match watch {
        Some(watch) => _ = watch.changed().await,
        None => std::future::pending().await,
    }
}

/// Drops the lines of a worker's manifest that say that a URL is deferred, where a later line says what
/// became of it.
pub(super) fn tidy_manifest(dir: &JobDir) -> Result<(), Error> {
    #[derive(Deserialize)]
    struct Head {
        url: String,
        outcome: Outcome,
    }

    let path = dir.manifest();
    let failed = |error| {
        let what = format!("the manifest {} cannot be written", path.display());
        Error::output(what, error)
    };
    let lines = || fs::File::open(&path).map(|file| BufReader::new(file).lines());
    let head = |line: &str| serde_json::from_str::<Head>(line).ok();
    let mut last = std::collections::HashMap::new();
    for (number, line) in lines().map_err(failed)?.enumerate() {
        if let Some(head) = head(&line.map_err(failed)?) {
            last.insert(head.url, number);
        }
    }
    let fresh = path.with_extension("jsonl.new");
    let mut file = BufWriter::new(fs::File::create(&fresh).map_err(failed)?);
    for (number, line) in lines().map_err(failed)?.enumerate() {
        let line = line.map_err(failed)?;
        let stands = head(&line).is_some_and(|head| {
            head.outcome != Outcome::Deferred || last.get(&head.url) == Some(&number)
        });
        if stands {
            writeln!(file, "{line}").map_err(failed)?;
        }
    }
    let file = file.into_inner();
    let file = file.map_err(|error| failed(error.into_error()))?;
    file.sync_all().map_err(failed)?;
    fs::rename(&fresh, &path).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deferral_stands_in_a_workers_manifest_only_while_it_is_the_last_word() {
        let dir = tempfile::tempdir().unwrap();
        let dir = JobDir::open(dir.path()).unwrap();
        let line = |url: &str, outcome: &str| format!(r#"{{"url":"{url}","outcome":"{outcome}"}}"#);
        let lines = [
            line("a", "deferred"),
            line("b", "deferred"),
            line("a", "deferred"),
            r#"{"url":"torn"#.to_owned(),
            line("c", "fetched"),
            line("a", "fetched"),
            line("b", "deferred"),
            // Of another URL that is told alike, since passwords are left out.
            line("c", "fetched"),
        ];
        fs::write(dir.manifest(), lines.join("\n")).unwrap();
        tidy_manifest(&dir).unwrap();
        let left = fs::read_to_string(dir.manifest()).unwrap();
        let left: Vec<&str> = left.lines().collect();
        assert_eq!(left, [&*lines[4], &lines[5], &lines[6], &lines[7]]);
    }
}
