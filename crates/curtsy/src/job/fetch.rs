//! One URL of a job: fetched, its body handed to the sink, its end told.

use std::path::{Path, PathBuf};

use curtsy_core::{Bound, Scope};
use curtsy_store::QueuedUrl;
use http::{HeaderName, HeaderValue};
use url::Url;

use super::Shared;
use super::manifest::{Line, Outcome};
use crate::client::Request;
use crate::error::{Error, ErrorKind};
use crate::reply::{Deferred, Reply, Response};
use crate::sink::{Ended, is_inside, path_of};
use crate::transport::TransportErrorKind;

/// Further fetches of a URL whose body broke off.
const BODY_RETRIES: u32 = 3;

/// What a URL's end means for the rest of its scope.
pub(super) enum Aftermath {
    /// Nothing.
    None,
    /// The whole scope waits.
    Park(Bound),
    /// It has not ended: nothing departs any more.
    Closed,
}

/// How a body ended.
enum Stored {
    Whole,
    Broken(Error),
}

impl Shared {
    /// Fetches one URL. An error is of the job, not of the URL.
    pub(super) async fn fetch(
        &self,
        scope: &Scope,
        queued: &QueuedUrl,
    ) -> Result<Aftermath, Error> {
        let request = match request_of(queued) {
            Ok(request) => request,
            Err(error) => {
                self.end(
                    queued,
                    self.line(queued, Outcome::Failed)
                        .with_error(describe(&error)),
                )
                .await?;
                return Ok(Aftermath::None);
            }
        };
        let (mut attempts, mut first_departure) = (0, None);
        for retries in 0.. {
            let reply = match self.client.execute(request.clone()).await {
                Ok(reply) => reply,
                Err(error) if error.kind() == ErrorKind::Closed => return Ok(Aftermath::Closed),
                Err(error) if is_of_the_job(&error) => return Err(error),
                Err(error) => {
                    self.end(
                        queued,
                        self.line(queued, Outcome::Failed)
                            .with_error(describe(&error)),
                    )
                    .await?;
                    return Ok(Aftermath::None);
                }
            };
            let response = match reply {
                Reply::Response(response) => response,
                Reply::Disallowed(no) => {
                    let rule = match (&no.rule, no.line) {
                        (Some(rule), Some(line)) => format!("robots.txt line {line}: {rule}"),
                        _ => "robots.txt forbids the whole site".to_owned(),
                    };
                    self.end(
                        queued,
                        self.line(queued, Outcome::Disallowed).with_error(rule),
                    )
                    .await?;
                    return Ok(Aftermath::None);
                }
                Reply::Deferred(deferred) => return self.defer(scope, queued, &deferred).await,
            };
            attempts += response.attempts;
            first_departure = first_departure.or(response.first_departure);
            let status = response.status.as_u16();
            let outcome = match status {
                _ if response.synthetic => Outcome::Suppressed,
                400.. => Outcome::HttpError,
                _ => Outcome::Fetched,
            };
            let mut line = self
                .line(queued, outcome)
                .with_attempts(attempts, first_departure);
            line.status = Some(status);
            line.final_url = (response.url.as_str() != request.url.as_str())
                .then(|| super::manifest::without_userinfo(response.url.as_str()));
            if let Some(value) = response.headers.get(http::header::CONTENT_TYPE) {
                line.set_content_type(value);
            }
            match outcome {
                Outcome::Suppressed => {
                    line.error = Some("the scope answered 403 before".to_owned())
                }
                Outcome::HttpError => line.error = Some(format!("status {status}")),
                _ => {}
            }
            match self
                .store(queued, &request.url, response, line.clone())
                .await?
            {
                Stored::Whole => return Ok(Aftermath::None),
                Stored::Broken(error) if retries < BODY_RETRIES && may_come_whole(&error) => {}
                Stored::Broken(error) => {
                    line.outcome = Outcome::Failed;
                    self.end(queued, line.with_error(describe(&error))).await?;
                    return Ok(Aftermath::None);
                }
            }
        }
        Ok(Aftermath::None)
    }

    /// Reads the body to its end, into a file where it is one that is kept.
    async fn store(
        &self,
        queued: &QueuedUrl,
        url: &Url,
        mut response: Response,
        line: Line,
    ) -> Result<Stored, Error> {
        let keep = line.outcome == Outcome::Fetched && self.keep_bodies;
        let writing = keep.then(|| self.sink.begin());
        let mut bytes = 0;
        loop {
            match response.body.chunk().await {
                Ok(Some(piece)) => {
                    bytes += piece.len() as u64;
                    if let Some(writing) = &writing {
                        writing.write(piece).await?;
                    }
                }
                Ok(None) => break,
                // What a refusal says in its body is of no use to anybody.
                Err(_) if line.outcome != Outcome::Fetched => break,
                Err(error) => return Ok(Stored::Broken(error)),
            }
        }
        // The place in flight is free before the disk is waited for.
        drop(response);
        let mut ended = Ended {
            line,
            id: queued.id,
            not_before: None,
        };
        self.progress.hand_over();
        match writing {
            None => {
                ended.line.bytes = Some(bytes);
                self.sink.end(ended).await?;
            }
            Some(writing) => {
                let path = queued
                    .out
                    .as_deref()
                    .map_or_else(|| path_of(url), PathBuf::from);
                writing.end(path, ended).await?;
            }
        }
        Ok(Stored::Whole)
    }

    /// H10, K2: the URL waits; the scope too, unless the wait is of this URL alone.
    async fn defer(
        &self,
        scope: &Scope,
        queued: &QueuedUrl,
        deferred: &Deferred,
    ) -> Result<Aftermath, Error> {
        let line = self
            .line(queued, Outcome::Deferred)
            .with_attempts(deferred.attempts, deferred.first_departure);
        let line = Line {
            finished: None,
            ..line.with_error(deferred.bound.reason.label())
        };
        self.commit(Ended {
            line,
            id: queued.id,
            not_before: Some(deferred.bound.not_before),
        })
        .await?;
        let same = self.client.shared.policies.scope_of(&deferred.url).as_ref() == Some(scope);
        Ok(
            if same && deferred.bound.reason != curtsy_core::Reason::RetryBackoff {
                Aftermath::Park(deferred.bound)
            } else {
                Aftermath::None
            },
        )
    }

    fn line(&self, queued: &QueuedUrl, outcome: Outcome) -> Line {
        Line::new(&queued.url, outcome, self.client.now())
    }

    async fn end(&self, queued: &QueuedUrl, line: Line) -> Result<(), Error> {
        self.commit(Ended {
            line,
            id: queued.id,
            not_before: None,
        })
        .await
    }

    async fn commit(&self, ended: Ended) -> Result<(), Error> {
        self.progress.hand_over();
        self.sink.end(ended).await
    }
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

fn request_of(queued: &QueuedUrl) -> Result<Request, Error> {
    let mut request = Request::get(&queued.url)?.in_job();
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
