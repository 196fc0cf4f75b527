//! What becomes of a question to a provider.

use bytes::Bytes;
use curtsy::core::Timestamp;
use curtsy::core::audit::redacted;
use curtsy::transport::TransportErrorKind;
use curtsy::{Deferred, ErrorKind, Response};
use http::StatusCode;
use url::Url;

use crate::endpoint::Provider;
use crate::error::Error;
use crate::reason::Reason;
use crate::source::Unreadable;

/// A provider's answer, or why there is none.
///
/// That a provider does not know a work, and that it could not be asked, are two things: only the first is a reason
/// to call a paper closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer<T> {
    /// It knows.
    Found(T),
    /// It does not know: 404, 410.
    NotFound,
    /// It does not take the question: 400, 422 and their like. To ask again is useless.
    Rejected(StatusCode),
    /// It could not be asked, or has not answered.
    Unavailable(Unavailable),
    /// It answered with what cannot be read: this is what.
    Malformed(&'static str),
}

/// Why a provider has not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unavailable {
    /// Why.
    pub reason: Reason,
    /// The host that it is due to; after redirects not the one that was asked.
    pub host: String,
    /// The status, where there was an answer.
    pub status: Option<u16>,
    /// Not before then is it to be asked again, where that is known.
    pub until: Option<Timestamp>,
}

impl<T> Answer<T> {
    /// The same, read further.
    pub fn and_then<U>(self, read: impl FnOnce(T) -> Answer<U>) -> Answer<U> {
        match self {
            Self::Found(found) => read(found),
            Self::NotFound => Answer::NotFound,
            Self::Rejected(status) => Answer::Rejected(status),
            Self::Unavailable(why) => Answer::Unavailable(why),
            Self::Malformed(what) => Answer::Malformed(what),
        }
    }

    /// The same of another kind.
    pub fn map<U>(self, read: impl FnOnce(T) -> U) -> Answer<U> {
        self.and_then(|found| Answer::Found(read(found)))
    }

    /// What was found, or that there is nothing; everything else is a provider that is as good as unavailable, and
    /// proves nothing.
    ///
    /// # Errors
    /// Why nobody knows.
    pub(crate) fn settle(self, provider: Provider) -> Result<Option<T>, Unavailable> {
        match self {
            Self::Found(found) => Ok(Some(found)),
            Self::NotFound => Ok(None),
            Self::Unavailable(why) => Err(why),
            Self::Rejected(status) => Err(Unavailable {
                status: Some(status.as_u16()),
                ..Unavailable::at(provider)
            }),
            Self::Malformed(_) => Err(Unavailable::at(provider)),
        }
    }

    /// What was found.
    pub fn found(self) -> Option<T> {
        match self {
            Self::Found(found) => Some(found),
            _ => None,
        }
    }
}

impl Answer<Bytes> {
    /// Reads what was found.
    pub fn read<T>(self, read: impl FnOnce(&[u8]) -> Result<T, Unreadable>) -> Answer<T> {
        self.and_then(|body| {
            read(&body).map_or(Answer::Malformed("not what was asked for"), Answer::Found)
        })
    }
}

impl Unavailable {
    /// It answers, but not what it is asked.
    fn at(provider: Provider) -> Self {
        Self {
            reason: Reason::Unavailable,
            host: provider.name().to_owned(),
            status: None,
            until: None,
        }
    }

    /// It is not asked without its key.
    pub(crate) fn needs_key(url: &Url) -> Self {
        Self::of(Reason::NeedsKey, url)
    }

    /// A page that wants proof of a person or a password came.
    pub(crate) fn walled(url: &Url) -> Self {
        Self {
            status: Some(200),
            ..Self::of(Reason::Walled, url)
        }
    }

    /// robots.txt disallows the question.
    pub(crate) fn robots(url: &Url) -> Self {
        Self::of(Reason::Robots, url)
    }

    /// The engine put it off.
    #[must_use]
    pub fn deferred(deferred: &Deferred) -> Self {
        let reason = match deferred.bound.reason {
            curtsy::core::Reason::ServerHold => Reason::RateLimited,
            curtsy::core::Reason::QuotaExhausted | curtsy::core::Reason::DayCap => {
                Reason::QuotaSpent
            }
            _ => Reason::Deferred,
        };
        Self {
            until: Some(deferred.bound.not_before),
            ..Self::of(reason, &deferred.url)
        }
    }

    /// A response that is a refusal for now or by this host; `None` for every other.
    #[must_use]
    pub fn refused(response: &Response) -> Option<Self> {
        let reason = match response.status.as_u16() {
            401 | 402 | 403 | 451 => Reason::Walled,
            429 => Reason::RateLimited,
            408 | 425 | 500.. => Reason::ServerError,
            _ => return None,
        };
        Some(Self {
            status: Some(response.status.as_u16()),
            ..Self::of(reason, &response.url)
        })
    }

    /// What the network did to a request for `url`.
    ///
    /// # Errors
    /// The failure is none of the network: the store's, the log's, the client's end.
    pub fn failed(error: curtsy::Error, url: &Url) -> Result<Self, Error> {
        let reason = match error.kind() {
            ErrorKind::Transport(kind) => match kind {
                TransportErrorKind::Timeout(_) => Reason::Timeout,
                TransportErrorKind::Tls => Reason::Tls,
                TransportErrorKind::RefusedTarget => Reason::RefusedTarget,
                TransportErrorKind::BodyTooLarge => Reason::TooLarge,
                _ => Reason::Network,
            },
            ErrorKind::Redirect => Reason::RedirectLoop,
            _ => return Err(error.into()),
        };
        Ok(Self::of(reason, url))
    }

    fn of(reason: Reason, url: &Url) -> Self {
        let host = url.host_str().map_or_else(|| redacted(url), str::to_owned);
        Self {
            reason,
            host,
            status: None,
            until: None,
        }
    }
}
