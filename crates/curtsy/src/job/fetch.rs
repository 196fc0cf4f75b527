//! One URL of a job: fetched, its body handed to the sink, its end told.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use curtsy_core::{Bound, Reason, Scope, Timestamp};
use curtsy_store::QueuedUrl;
use http::{HeaderName, HeaderValue, StatusCode};
use tokio::sync::OwnedSemaphorePermit;
use url::Url;

use super::manifest::{Line, Outcome, without_userinfo};
use super::{Shared, StoreKind};
use crate::capture::{Capture, Trail, Truncated};
use crate::client::{Crowd, Request, Tally};
use crate::error::{Error, ErrorKind};
use crate::reply::{Deferred, Disallowed, Reply, Response};
use crate::sink::{Archived, Destination, Ended, Place, Revisited, is_inside, path_of};
use crate::transport::TransportErrorKind;

/// Further fetches of a URL whose body broke off.
const BODY_RETRIES: u32 = 3;
/// So much of the body of an HTTP error is read; its end is of no use to anybody.
const ERROR_BODY: u64 = 256 * 1024;

/// What a URL's end means for the rest of its scope.
pub(super) enum Aftermath {
    /// Nothing.
    None,
    /// The whole scope waits.
    Park(Bound),
    /// Others wait for a lane, and this scope may only depart later; nothing has ended.
    MadeRoom(Timestamp),
    /// It has not ended: nothing departs any more.
    Closed,
}

/// A URL under way.
pub(super) struct Errand<'a> {
    scope: &'a Scope,
    queued: &'a QueuedUrl,
    /// Its line of an earlier run.
    pub(super) earlier: Option<Line>,
    /// What departed for it.
    tally: Tally,
    receipt: OwnedSemaphorePermit,
}

impl Shared {
    /// Fetches one URL. An error is of the job, not of the URL. `receipt` is held until its end is recorded.
    pub(super) async fn fetch(
        &self,
        scope: &Scope,
        queued: &QueuedUrl,
        receipt: OwnedSemaphorePermit,
    ) -> Result<Aftermath, Error> {
        let mut errand = Errand {
            scope,
            queued,
            earlier: earlier_line(queued),
            tally: Tally::default(),
            receipt,
        };
        let mut request = match request_of(queued, &self.crowd) {
            Ok(request) => request.traced(matches!(self.store.kind, StoreKind::Warc(_))),
            Err(error) => return self.fail(errand, &error).await,
        };
        let validators = self.validators(&errand).await;
        let now = self.client.now();
        request = request.only_if(validators.as_ref().and_then(|known| known.condition(now)));
        let mut retries = 0;
        loop {
            let (reply, tally) = self.client.execute_tallied(&request).await;
            errand.tally.add(tally);
            let response = match reply {
                Ok(Reply::Response(response)) => response,
                Ok(Reply::Disallowed(no)) => return self.disallow(errand, &no).await,
                Ok(Reply::Deferred(Deferred {
                    bound,
                    made_room: true,
                    ..
                })) => return Ok(Aftermath::MadeRoom(bound.not_before)),
                Ok(Reply::Deferred(deferred)) => return self.defer(scope, errand, &deferred).await,
                Err(error) if error.kind() == ErrorKind::Closed => return Ok(Aftermath::Closed),
                Err(error) if is_of_the_job(&error) => return Err(error),
                Err(error) => return self.fail(errand, &error).await,
            };
            if response.status == StatusCode::NOT_MODIFIED && errand.earlier.is_some() {
                let confirmed = validators
                    .as_ref()
                    .filter(|_| response.conditional)
                    .is_some_and(|known| {
                        known.are_confirmed_by(&response.headers, self.client.now())
                    });
                if confirmed {
                    self.confirm(errand, &request.url, response).await?;
                    return Ok(Aftermath::None);
                }
                if !response.conditional {
                    let error = Error::new(
                        ErrorKind::Transport(TransportErrorKind::Protocol),
                        "status 304, which was not asked for",
                    );
                    return self.fail(errand, &error).await;
                }
                // It is about another body than the one that is stored.
                request = request.only_if(None);
                continue;
            }
            let line = self.line_of(&errand, &request.url, &response);
            match self.take_body(errand, &request.url, response, line).await? {
                Stored::Handed => return Ok(Aftermath::None),
                Stored::Broken(back, error) if retries < BODY_RETRIES && may_come_whole(&error) => {
                    (errand, _) = *back;
                    retries += 1;
                }
                Stored::Broken(back, error) => {
                    let (errand, mut line) = *back;
                    line.outcome = Outcome::Failed;
                    (line.etag, line.last_modified) = (None, None);
                    if let Some(earlier) = &errand.earlier {
                        line.keep_body_of(earlier);
                    }
                    let line = line.with_error(describe(&error));
                    self.end(errand, line).await?;
                    return Ok(Aftermath::None);
                }
            }
        }
    }

    /// The line of a response, as far as its head tells.
    pub(super) fn line_of(&self, errand: &Errand<'_>, asked: &Url, response: &Response) -> Line {
        let status = response.status.as_u16();
        let (outcome, error) = match status {
            _ if response.synthetic => (
                Outcome::Suppressed,
                Some("the scope answered 403 before".to_owned()),
            ),
            400.. => (Outcome::HttpError, Some(format!("status {status}"))),
            _ => (Outcome::Fetched, None),
        };
        let mut line = self.line(errand, outcome);
        line.error = error;
        line.status = Some(status);
        line.final_url = (response.url.as_str() != asked.as_str())
            .then(|| without_userinfo(response.url.as_str()));
        if let Some(value) = response.headers.get(http::header::CONTENT_TYPE) {
            line.set_content_type(value);
        }
        line.set_preferences(&response.preferences);
        match &errand.earlier {
            Some(earlier) if outcome != Outcome::Fetched => line.keep_body_of(earlier),
            // Of a part of it they would be taken for those of the whole.
            _ if response.status == StatusCode::OK => line.set_validators(&response.headers),
            _ => {}
        }
        line
    }

    /// Reads the body to its end, and hands it on where it is one that is kept.
    async fn take_body<'a>(
        &self,
        errand: Errand<'a>,
        url: &Url,
        mut response: Response,
        mut line: Line,
    ) -> Result<Stored<'a>, Error> {
        let is_error = line.outcome != Outcome::Fetched;
        let trail = response.trail.take();
        let is_kept = match self.store.kind {
            StoreKind::Files => !is_error,
            StoreKind::Warc(_) => trail.is_some(),
            StoreKind::Dropped => false,
        };
        let mut writing = is_kept.then(|| self.sink.begin());
        let mut bytes = 0;
        let truncated = loop {
            let piece = response.body.chunk().await;
            let wire = response.body.take_wire();
            if let Some(writing) = &mut writing
                && let Ok(piece) = &piece
                && (piece.is_some() || !wire.is_empty())
            {
                let piece = piece.clone().unwrap_or_default();
                writing.write(piece, wire).await?;
            }
            match piece {
                Ok(Some(piece)) => bytes += piece.len() as u64,
                Ok(None) => break None,
                Err(_) if is_error => break Some(Truncated::Disconnect),
                Err(error) => return Ok(Stored::Broken(Box::new((errand, line)), error)),
            }
            if is_error && bytes > ERROR_BODY {
                break Some(Truncated::Length);
            }
        };
        if !is_error || line.file.is_none() {
            line.bytes = truncated.is_none().then_some(bytes);
        }
        let to = match (trail, &errand.queued.out) {
            (Some(trail), _) => {
                // What follows a body's coded data may not have been waited for.
                let rest = (!response.body.has_ended()).then_some(Truncated::Length);
                let archived = archived(*trail, &mut response, truncated.or(rest), None);
                Destination::Archive(Box::new(archived))
            }
            (None, Some(out)) => Destination::File(Place {
                path: PathBuf::from(out),
                chosen: true,
            }),
            (None, None) => Destination::File(Place {
                path: path_of(url),
                chosen: false,
            }),
        };
        // The place in flight is free before the disk is waited for.
        drop(response);
        match writing {
            Some(writing) => writing.end(to, errand.ended(line, None)).await?,
            None => self.end(errand, line).await?,
        }
        Ok(Stored::Handed)
    }

    /// O4.
    async fn disallow(&self, errand: Errand<'_>, no: &Disallowed) -> Result<Aftermath, Error> {
        let rule = match (&no.rule, no.line) {
            (Some(rule), Some(line)) => format!("robots.txt line {line}: {rule}"),
            _ => "robots.txt forbids the whole site".to_owned(),
        };
        let line = self
            .line_without_body(&errand, Outcome::Disallowed)
            .with_error(rule);
        self.end(errand, line).await?;
        Ok(Aftermath::None)
    }

    /// H10, K2: the URL waits; the scope too, unless the wait is of this URL alone.
    async fn defer(
        &self,
        scope: &Scope,
        errand: Errand<'_>,
        deferred: &Deferred,
    ) -> Result<Aftermath, Error> {
        let bound = deferred.bound;
        let mut line = self.line_without_body(&errand, Outcome::Deferred);
        line.error = Some(bound.reason.label().to_owned());
        line.finished = None;
        let ended = errand.ended(line, Some(bound.not_before));
        self.sink.end(ended).await?;
        let same = self.client.shared.policies.scope_of(&deferred.url).as_ref() == Some(scope);
        Ok(if same && bound.reason != Reason::RetryBackoff {
            Aftermath::Park(bound)
        } else {
            Aftermath::None
        })
    }

    async fn fail(&self, errand: Errand<'_>, error: &Error) -> Result<Aftermath, Error> {
        let line = self
            .line_without_body(&errand, Outcome::Failed)
            .with_error(describe(error));
        self.end(errand, line).await?;
        Ok(Aftermath::None)
    }

    fn line(&self, errand: &Errand<'_>, outcome: Outcome) -> Line {
        let Tally {
            attempts,
            first_departure,
        } = errand.tally;
        Line::new(&errand.queued.url, outcome, self.client.now())
            .with_attempts(attempts, first_departure)
    }

    /// The line of a URL that has no new body.
    fn line_without_body(&self, errand: &Errand<'_>, outcome: Outcome) -> Line {
        let mut line = self.line(errand, outcome);
        if let Some(earlier) = &errand.earlier {
            line.keep_body_of(earlier);
        }
        line
    }

    pub(super) async fn end(&self, errand: Errand<'_>, line: Line) -> Result<(), Error> {
        self.sink.end(errand.ended(line, None)).await
    }
}

impl Errand<'_> {
    pub(super) fn ended(self, line: Line, not_before: Option<Timestamp>) -> Ended {
        Ended {
            line,
            scope: self.scope.clone(),
            id: self.queued.id,
            not_before,
            receipt: self.receipt,
        }
    }
}

/// What the archive is given of a response.
pub(super) fn archived(
    trail: Trail,
    response: &mut Response,
    truncated: Option<Truncated>,
    revisit: Option<Revisited>,
) -> Archived {
    Archived {
        hops: trail.hops,
        capture: Capture {
            url: response.url.clone(),
            departed_at: trail.departed_at,
            trace: trail.trace,
            status: response.status,
            headers: std::mem::take(&mut response.headers),
            truncated,
        },
        revisit,
    }
}

/// The line of an earlier run, where that stored a body.
fn earlier_line(queued: &QueuedUrl) -> Option<Line> {
    let line: Line = serde_json::from_str(queued.line.as_deref()?).ok()?;
    line.has_body().then_some(line)
}

/// How a body ended.
enum Stored<'a> {
    /// Its URL's end is on its way to the record.
    Handed,
    /// It broke off.
    Broken(Box<(Errand<'a>, Line)>, Error),
}

/// The store, the disk and the log are the job's; everything else is one URL's.
fn is_of_the_job(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Store(_) | ErrorKind::Output | ErrorKind::Configuration
    )
}

/// Whether another fetch may bring the body whole. One that is too large is so again.
fn may_come_whole(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Transport(TransportErrorKind::BodyCutShort | TransportErrorKind::Reset)
    )
}

fn describe(error: &Error) -> String {
    format!("{}: {error}", error.kind().label())
}

fn request_of(queued: &QueuedUrl, crowd: &Arc<Crowd>) -> Result<Request, Error> {
    let mut request = Request::get(&queued.url)?.in_job(crowd);
    if let Some(out) = &queued.out
        && !is_inside(Path::new(out))
    {
        return Err(Error::new(
            ErrorKind::InvalidUrl,
            "its file would lie outside the directory",
        ));
    }
    let bad = |what: &str| {
        Error::new(
            ErrorKind::InvalidUrl,
            format!("its headers cannot be sent: {what}"),
        )
    };
    if let Some(headers) = &queued.headers {
        let headers: std::collections::BTreeMap<String, String> =
            serde_json::from_str(headers).map_err(|_| bad("no object of texts"))?;
        for (name, value) in headers {
            let header = HeaderName::try_from(&name).map_err(|_| bad("a name"))?;
            let value = HeaderValue::try_from(&value).map_err(|_| bad("a value"))?;
            request = request.header(header, value);
        }
    }
    Ok(request)
}
