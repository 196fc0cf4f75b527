//! [`Feed`]: URLs that are added while the job runs.

use std::sync::Arc;

use curtsy_store::{Enqueued, NewUrl};
use tokio::sync::watch;
use url::Url;

use super::{Job, NewEntry, Shared};
use crate::error::{Error, ErrorKind};

/// Adds URLs to a job that runs already, so that a long list need not be read before the first departure.
/// The job does not end before the last of its feeds is dropped, unless it is stopped.
pub struct Feed {
    shared: Arc<Shared>,
}

/// The feeds of a job.
#[derive(Default)]
pub(super) struct Feeds(watch::Sender<Fed>);

/// How far they have come.
#[derive(Default)]
pub(super) struct Fed {
    open: usize,
}

impl Job {
    /// A feed for this job; [`Job::run`] waits for what it adds.
    #[must_use]
    pub fn feed(&self) -> Feed {
        self.shared.feeds.0.send_modify(|fed| fed.open += 1);
        Feed {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl Feed {
    /// Adds URLs; those that the job has already are left out. What is no http(s) URL must not come here.
    ///
    /// # Errors
    /// The queue failed, an entry is no http(s) URL, or the job was stopped (`Closed`).
    pub async fn add(&self, entries: Vec<NewEntry>) -> Result<Enqueued, Error> {
        if self.shared.is_stopping() {
            return Err(Error::new(ErrorKind::Closed, "the job was stopped"));
        }
        let enqueued = self.shared.add(entries).await?;
        self.shared.feeds.0.send_modify(|_| ());
        Ok(enqueued)
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.shared.feeds.0.send_modify(|fed| fed.open -= 1);
    }
}

impl Feeds {
    /// Tells of every batch and of every feed that ends.
    pub(super) fn watch(&self) -> watch::Receiver<Fed> {
        self.0.subscribe()
    }
}

impl Fed {
    /// Whether there may be more to come.
    pub(super) fn is_open(&self) -> bool {
        self.open > 0
    }
}

impl Shared {
    pub(super) async fn add(&self, entries: Vec<NewEntry>) -> Result<Enqueued, Error> {
        let urls = entries
            .into_iter()
            .map(|entry| self.new_url(entry))
            .collect::<Result<Vec<_>, _>>()?;
        let enqueued = self.queue.enqueue(urls).await?;
        self.progress.add(enqueued.added);
        Ok(enqueued)
    }

    fn new_url(&self, entry: NewEntry) -> Result<NewUrl, Error> {
        let invalid = || Error::new(ErrorKind::InvalidUrl, "not an http(s) URL");
        let mut url = Url::parse(&entry.url).map_err(|_| invalid())?;
        let policies = &self.client.shared.policies;
        let scope = policies.scope_of(&url).ok_or_else(invalid)?;
        url.set_fragment(None);
        Ok(NewUrl {
            scope: scope.as_str().to_owned(),
            url: entry.url,
            key: Some(url.into()),
            out: entry.out,
            headers: entry.headers,
        })
    }
}
