//! `refresh`: asking again for what an earlier run fetched, in a way that costs no body where it still holds.
//!
//! A round takes up every fetched URL. It is asked with the ETag and Last-Modified of its last response
//! (RFC 9110, section 13), whatever freshness that response claimed: whoever asks for a refresh wants to know
//! now. A round that was interrupted goes on with what is left of it. Until a URL has ended anew, its line
//! stands in the queue, and its body on the disk.

mod validators;

use curtsy_store::Queue;
use url::Url;

use self::validators::Validators;
use super::fetch::{Errand, archived};
use super::manifest::Outcome;
use super::{Shared, StoreKind};
use crate::error::Error;
use crate::reply::Response;
use crate::sink::{Destination, Revisited};

/// Whether a round is under way, among the queue's small values.
const ROUND: &str = "refresh_round";
const UNDER_WAY: &[u8] = b"under way";

/// Begins a round, unless one is under way.
pub(super) async fn begin(queue: &dyn Queue) -> Result<(), Error> {
    if is_under_way(queue).await? {
        return Ok(());
    }
    // In this order: after a crash in between the next run finds nothing more to take up.
    queue.reopen(&[Outcome::Fetched.label()]).await?;
    set(queue, UNDER_WAY).await
}

/// Ends a round, if there is one: all that was due has ended.
pub(super) async fn end(queue: &dyn Queue) -> Result<(), Error> {
    if is_under_way(queue).await? {
        set(queue, b"").await?;
    }
    Ok(())
}

/// Whether a round has begun that has not come to its end.
pub(super) async fn is_under_way(queue: &dyn Queue) -> Result<bool, Error> {
    Ok(queue.meta(ROUND).await?.as_deref() == Some(UNDER_WAY))
}

async fn set(queue: &dyn Queue, value: &[u8]) -> Result<(), Error> {
    let entry = (ROUND.to_owned(), value.to_vec());
    Ok(queue.set_meta(vec![entry]).await?)
}

impl Shared {
    /// What the stored body can be asked about with, if it is there still.
    pub(super) async fn validators(&self, errand: &Errand<'_>) -> Option<Validators> {
        let earlier = errand.earlier.as_ref()?;
        let is_there = match (&self.store.kind, &earlier.file, earlier.warc_offset) {
            (StoreKind::Dropped, ..) => true,
            (StoreKind::Files, Some(file), None) => {
                Some(self.store.length(file).await?) == earlier.bytes
            }
            (StoreKind::Warc(name), Some(file), Some(offset)) if name == file => {
                self.store.length(file).await? > offset
            }
            _ => false,
        };
        let known = Validators::of(earlier, self.client.now());
        known.filter(|_| is_there)
    }

    /// The stored body still holds.
    pub(super) async fn confirm(
        &self,
        errand: Errand<'_>,
        asked: &Url,
        mut response: Response,
    ) -> Result<(), Error> {
        let mut line = self.line_of(&errand, asked, &response);
        line.not_modified = true;
        let record = errand.earlier.as_ref().and_then(|earlier| {
            line.keep_body_of(earlier);
            earlier.warc_record_id.clone()
        });
        line.set_validators(&response.headers);
        let Some(trail) = response.trail.take() else {
            return self.end(errand, line).await;
        };
        let archived = archived(*trail, &mut response, None, Some(Revisited { record }));
        drop(response);
        let to = Destination::Archive(Box::new(archived));
        self.sink.begin().end(to, errand.ended(line, None)).await
    }
}
