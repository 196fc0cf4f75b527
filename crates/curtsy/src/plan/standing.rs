//! What a job has already: its URLs that are done with are not planned for; those that wait are, also where the
//! list does not name them.

use std::mem;

use curtsy_store::{Queue, UrlId, UrlRecord, UrlState};
use url::Url;

use super::Planner;
use crate::error::{Error, ErrorKind};
use crate::job::JobOptions;

/// URLs that are read from the queue at once.
const PAGE: usize = 10_000;

impl Planner {
    /// The first time through, before the list: notes the origins of the URLs of this job that would be fetched
    /// with these options, and says how many they are.
    ///
    /// # Errors
    /// The queue failed, or has what is no http(s) URL.
    pub async fn note_job(
        &mut self,
        queue: &dyn Queue,
        options: &JobOptions,
    ) -> Result<usize, Error> {
        let mut records = Records::of(queue, options).await?;
        let mut origins = 0;
        while let Some(page) = records.next().await? {
            for url in page.done {
                self.done += 1;
                self.remember(&url);
            }
            for url in page.waiting {
                origins += usize::from(self.note(&url)?);
            }
        }
        self.of_job = mem::take(&mut self.seen);
        Ok(origins)
    }

    /// The second time through, before the list: counts them. That the list names them too makes them no
    /// duplicates.
    ///
    /// # Errors
    /// As [`note_job`](Self::note_job); the store or the audit log failed.
    pub async fn count_job(
        &mut self,
        queue: &dyn Queue,
        options: &JobOptions,
    ) -> Result<(), Error> {
        let mut records = Records::of(queue, options).await?;
        while let Some(page) = records.next().await? {
            self.count(page.waiting).await?;
        }
        self.of_job.extend(mem::take(&mut self.seen));
        Ok(())
    }
}

/// The URLs of a job, page by page.
struct Records<'a> {
    queue: &'a dyn Queue,
    after: Option<UrlId>,
    taken_up: Vec<&'static str>,
}

#[derive(Default)]
struct Standing {
    done: Vec<Url>,
    waiting: Vec<Url>,
}

impl<'a> Records<'a> {
    async fn of(queue: &'a dyn Queue, options: &JobOptions) -> Result<Self, Error> {
        Ok(Self {
            queue,
            after: None,
            taken_up: options.takes_up(queue).await?,
        })
    }

    async fn next(&mut self) -> Result<Option<Standing>, Error> {
        let records = self.queue.records(self.after, PAGE).await?;
        let Some(last) = records.last() else {
            return Ok(None);
        };
        self.after = Some(last.id);
        let mut page = Standing::default();
        for record in records {
            let url = url_of(&record)?;
            let is_done = match &record.state {
                UrlState::Finished { outcome } => !self.taken_up.contains(&outcome.as_str()),
                UrlState::Pending | UrlState::Deferred { .. } => false,
            };
            if is_done {
                page.done.push(url);
            } else {
                page.waiting.push(url);
            }
        }
        Ok(Some(page))
    }
}

fn url_of(record: &UrlRecord) -> Result<Url, Error> {
    let mut url = Url::parse(&record.url)
        .map_err(|_| Error::new(ErrorKind::InvalidUrl, "the job has what is no URL"))?;
    url.set_fragment(None);
    Ok(url)
}
