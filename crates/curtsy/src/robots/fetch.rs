//! One fetch of a robots.txt.

use bytes::Bytes;
use curtsy_core::robots::{Answer, MAX_BODY, Unreachable, Validators};
use curtsy_core::{Bound, Failure, Kind, Origin, Preset, Scope};
use http::header::{ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, LOCATION};
use http::{HeaderMap, HeaderValue, Method};
use url::Url;

use super::Consulted;
use crate::client::Client;
use crate::error::{Error, ErrorKind};
use crate::exchange::{Answered, Hop, Landing, failure};
use crate::transport::Guard;

/// RFC 9309 section 2.3.1.2: at least five consecutive redirects are followed.
const REDIRECTS: u32 = 5;

/// How one fetch ended.
pub(super) enum Ended {
    Answer(Answer),
    Stop(Consulted),
}

impl Client {
    /// One fetch, redirects followed, each hop through the gate of its own scope; transport failures are
    /// tried again as any request's.
    pub(super) async fn fetch_robots(
        &self,
        origin: &Origin,
        validators: Option<Validators>,
        guard: Guard,
    ) -> Result<Ended, Error> {
        let mut url = Url::parse(&origin.robots_url())
            .map_err(|error| Error::new(ErrorKind::InvalidUrl, "no robots URL").caused_by(error))?;
        let mut guard = guard;
        let mut headers = self.shared.headers.clone();
        if let Some(validators) = validators {
            add_validators(&mut headers, &validators);
        }
        for redirects in 0.. {
            let answered = match self.ask_for_robots(&url, &headers, guard).await? {
                Ok(answered) => answered,
                Err(ended) => return Ok(ended),
            };
            let status = answered.head.status;
            guard = self.guard_after(guard, answered.public);
            let next = answered
                .head
                .headers
                .get(LOCATION)
                .and_then(|location| url.join(location.to_str().ok()?).ok());
            let next =
                next.filter(|next| matches!(next.scheme(), "http" | "https") && next.has_host());
            match next {
                Some(_)
                    if matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
                        && redirects == REDIRECTS =>
                {
                    return Ok(Ended::Answer(Answer::TooManyRedirects));
                }
                Some(next) if matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) => url = next,
                _ => return Ok(Ended::Answer(read_answer(*answered).await)),
            }
        }
        Ok(Ended::Answer(Answer::TooManyRedirects))
    }

    async fn ask_for_robots(
        &self,
        url: &Url,
        headers: &HeaderMap,
        guard: Guard,
    ) -> Result<Result<Box<Answered>, Ended>, Error> {
        let (scope, target) = self.address(url)?;
        let host = self.shared.gate.hosts.host(&scope);
        let mut attempt = 1;
        loop {
            let hop = Hop {
                host: &host,
                target: &target,
                url,
                method: &Method::GET,
                headers,
                body: &Bytes::new(),
                guard,
                kind: Kind::Robots,
                attempt,
                own: Bound::FREE,
                robots: None,
                profile: self.shared.policies.profile_of(url),
                traced: false,
            };
            return Ok(Err(match self.exchange().run(&hop).await? {
                Landing::Answered(answered) => return Ok(Ok(answered)),
                Landing::Failed { .. }
                    if attempt <= host.policy.max_retries && self.retries_robots(&scope) =>
                {
                    attempt += 1;
                    continue;
                }
                Landing::Failed { error, .. } => {
                    Ended::Answer(Answer::Failed(unreachable(failure(error.kind()))))
                }
                Landing::Deferred(bound) => Ended::Stop(Consulted::Deferred(bound)),
                Landing::Declined(decline) => Ended::Stop(Consulted::Declined(decline)),
                Landing::Refused(error) => Ended::Stop(Consulted::Failed(error.into())),
            }));
        }
    }

    /// The lenient reading takes any failure for a yes, so that trying again would only cost time.
    fn retries_robots(&self, scope: &Scope) -> bool {
        self.shared.policies.policy_of(scope).preset != Preset::HttpClient
    }
}

async fn read_answer(answered: Answered) -> Answer {
    let status = answered.head.status.as_u16();
    let text = |name| {
        answered
            .head
            .headers
            .get(name)
            .and_then(|value: &HeaderValue| value.to_str().ok())
            .map(str::to_owned)
    };
    let validators = Validators {
        etag: text(ETAG),
        last_modified: text(LAST_MODIFIED),
    };
    let (mut body, mut rest) = (Vec::new(), answered.head.body);
    // A little more than is read, so that it shows that there was more.
    while body.len() <= MAX_BODY {
        match rest.chunk().await {
            Ok(Some(piece)) => body.extend_from_slice(&piece),
            Ok(None) => break,
            Err(_) => return Answer::Failed(Unreachable::BrokenBody),
        }
    }
    Answer::Response {
        status,
        body,
        validators,
    }
}

fn add_validators(headers: &mut HeaderMap, validators: &Validators) {
    for (name, value) in [
        (IF_NONE_MATCH, &validators.etag),
        (IF_MODIFIED_SINCE, &validators.last_modified),
    ] {
        if let Some(value) = value
            .as_deref()
            .and_then(|value| HeaderValue::from_str(value).ok())
        {
            headers.insert(name, value);
        }
    }
}

fn unreachable(failure: Failure) -> Unreachable {
    match failure {
        Failure::Dns => Unreachable::Dns,
        Failure::Refused => Unreachable::Refused,
        Failure::Reset => Unreachable::Reset,
        Failure::Timeout => Unreachable::Timeout,
        Failure::Tls => Unreachable::Tls,
        Failure::Protocol => Unreachable::Protocol,
    }
}
