//! A request's way to its answer: robots.txt, the gate, retries, redirects.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use curtsy_core::audit::{Cited, Subject};
use curtsy_core::robots::{Preferences, ProductToken};
use curtsy_core::{Answer, Bound, Class, Decline, Kind, Next, Timestamp, retry};
use http::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HOST, IF_MATCH,
    IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, LOCATION, PROXY_AUTHORIZATION,
    RANGE, USER_AGENT,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use url::Url;

use super::Client;
use super::request::{Condition, Request};
use crate::capture::{Capture, Trail, Truncated, collect_wire};
use crate::error::{Error, ErrorKind};
use crate::exchange::{Answered, Hop, Landing, failure};
use crate::hosts::Host;
use crate::reply::{Body, Reply, Response};
use crate::transport::{Guard, Target, Trace, TransportError, TransportErrorKind};

/// R3: redirects that are followed.
const MAX_REDIRECTS: usize = 10;
/// R1: in a job, refusals of the whole scope that one URL waits out. The breaker ends them much sooner,
/// unless the server refuses this one URL alone.
const MAX_THROTTLED: u32 = 20;
/// What is left of a refusal is read, for the sake of the connection, up to so much in so long.
const DRAIN: (usize, Duration) = (16 * 1024, Duration::from_millis(500));

/// Fields with which the user asks for something else than the whole, present representation.
const CONDITIONAL: [HeaderName; 6] = [
    IF_MATCH,
    IF_MODIFIED_SINCE,
    IF_NONE_MATCH,
    IF_RANGE,
    IF_UNMODIFIED_SINCE,
    RANGE,
];

/// Where a request stands.
pub(super) struct Journey {
    pub(super) url: Url,
    method: Method,
    headers: HeaderMap,
    pub(super) token: ProductToken,
    pub(super) guard: Guard,
    keeps_https: bool,
    body: Bytes,
    /// The URLs that redirected so far.
    passed: Vec<Url>,
    /// What the robots.txt of `url` wishes.
    pub(super) preferences: Preferences,
    /// What it says of fetching `url`, where it was asked.
    pub(super) robots: Option<Cited>,
    condition: Option<Condition>,
    /// What an archive keeps of the redirects; none of them where the request is not traced.
    hops: Vec<(Capture, Vec<Bytes>)>,
    traced: bool,
    pub(super) tally: Tally,
}

/// What departed for a request, robots.txt not counted.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tally {
    pub(crate) attempts: u32,
    pub(crate) first_departure: Option<Timestamp>,
}

impl Tally {
    pub(crate) fn add(&mut self, more: Self) {
        self.attempts += more.attempts;
        self.first_departure = self.first_departure.or(more.first_departure);
    }
}

/// What became of one URL of a journey.
#[expect(
    clippy::large_enum_variant,
    reason = "one a request, and a box would cost what it saves"
)]
enum Stop {
    Reply(Reply),
    Redirect(Url, StatusCode),
}

/// One URL of a journey, and where it is asked.
pub(super) struct Station {
    pub(super) host: Arc<Host>,
    target: Target,
}

impl Client {
    /// Fetches what a request asks for; see [`get`](Self::get).
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn execute(&self, request: Request) -> Result<Reply, Error> {
        self.execute_tallied(&request).await.0
    }

    /// The same, and what departed for it, whatever came of it.
    pub(crate) async fn execute_tallied(&self, request: &Request) -> (Result<Reply, Error>, Tally) {
        let mut journey = self.begin(request);
        let reply = self.travel(&mut journey, request).await;
        (reply, journey.tally)
    }

    async fn travel(&self, journey: &mut Journey, request: &Request) -> Result<Reply, Error> {
        loop {
            match self.visit(journey, request).await? {
                Stop::Reply(reply) => return Ok(reply),
                Stop::Redirect(next, status) => journey.follow(next, status)?,
            }
        }
    }

    fn begin(&self, request: &Request) -> Journey {
        let mut headers = self.shared.page_headers.clone();
        for name in request.headers.keys() {
            headers.remove(name);
        }
        headers.extend(request.headers.clone());
        let has_condition = CONDITIONAL.iter().any(|name| headers.contains_key(name));
        let own = request
            .headers
            .get(USER_AGENT)
            .or_else(|| headers.get(USER_AGENT))
            .and_then(|value| value.to_str().ok());
        let token = own.map_or_else(|| self.shared.token.clone(), ProductToken::from_user_agent);
        Journey {
            url: request.url.clone(),
            method: request.method.clone(),
            headers,
            token,
            guard: request.guard,
            keeps_https: request.keeps_https,
            body: request.body.clone(),
            passed: Vec::new(),
            preferences: Preferences::default(),
            robots: None,
            condition: request.condition.clone().filter(|_| !has_condition),
            hops: Vec::new(),
            traced: request.traced,
            tally: Tally::default(),
        }
    }

    async fn visit(&self, journey: &mut Journey, request: &Request) -> Result<Stop, Error> {
        let (scope, target) = self.address(&journey.url)?;
        let station = Station {
            host: self.shared.gate.hosts.host(&scope),
            target,
        };
        if let Some(reply) = self.before_departure(journey, &station).await? {
            return Ok(Stop::Reply(reply));
        }
        if let Some(crowd) = &request.job
            && let Some(reply) = self.makes_room(journey, &station, crowd)
        {
            return Ok(Stop::Reply(reply));
        }
        let policy = &station.host.policy;
        let conditional = journey.conditional_headers();
        let (mut tries, mut throttled, mut own) = (0, 0, Bound::FREE);
        loop {
            let kind = match (tries + throttled, journey.passed.is_empty()) {
                (0, true) => Kind::Page,
                (0, false) => Kind::Redirect,
                _ => Kind::Retry,
            };
            let hop = Hop {
                host: &station.host,
                target: &station.target,
                url: &journey.url,
                method: &journey.method,
                headers: conditional.as_ref().unwrap_or(&journey.headers),
                body: &journey.body,
                guard: journey.guard,
                kind,
                attempt: tries + throttled + 1,
                own,
                robots: journey.robots.as_ref(),
                profile: self.shared.policies.profile_of(&journey.url),
                traced: journey.traced,
            };
            let landing = self.exchange().run(&hop).await?;
            let (class, departed_at) = match &landing {
                Landing::Answered(answered) => (answered.class, answered.departed_at),
                Landing::Failed {
                    class, departed_at, ..
                } => (*class, *departed_at),
                Landing::Deferred(bound) => {
                    let deferred = self.deferred(journey, &station, *bound).await?;
                    return Ok(Stop::Reply(deferred));
                }
                Landing::Declined(Decline::Suppressed { .. }) => {
                    return Ok(Stop::Reply(journey.synthetic()));
                }
                Landing::Refused(_) => (Class::Failed, self.now()),
            };
            let ended = match landing {
                Landing::Answered(answered) => Ok(answered),
                Landing::Failed { error, .. } => Err(error),
                Landing::Refused(error) => return Err(error.into()),
                Landing::Deferred(_) | Landing::Declined(_) => continue,
            };
            journey.tally.attempts += 1;
            journey.tally.first_departure.get_or_insert(departed_at);
            if request.job.is_some() && class == Class::Throttled && throttled < MAX_THROTTLED {
                throttled += 1;
            } else {
                tries += 1;
            }
            let next = retry(
                policy,
                request.repeatable,
                &answer_of(&ended),
                class,
                tries,
                self.now(),
                self.shared.gate.draw(),
            );
            match (next, ended) {
                (Next::Again(bound), ended) => {
                    own = bound;
                    if let Ok(answered) = ended {
                        drain(*answered).await;
                    }
                }
                (Next::Stands, Err(error)) => return Err(error.into()),
                (Next::Stands, Ok(answered)) => {
                    let conditional = conditional.is_some();
                    return Ok(self.arrive(journey, &station, *answered, conditional).await);
                }
            }
        }
    }

    /// The answer stands: a redirect to be followed, or the response.
    async fn arrive(
        &self,
        journey: &mut Journey,
        station: &Station,
        mut answered: Answered,
        conditional: bool,
    ) -> Stop {
        let status = answered.head.status;
        let trace = answered.head.trace.take();
        if let Some(next) = redirect(&journey.url, status, &answered.head.headers) {
            if journey.passed.is_empty() {
                journey.guard = self.guard_after(journey.guard, answered.public);
            }
            match trace {
                Some(trace) => journey.hops.push(hop(&journey.url, trace, answered).await),
                None => drain(answered).await,
            }
            return Stop::Redirect(next, status);
        }
        let mut preferences = std::mem::take(&mut journey.preferences);
        preferences.add_headers(&answered.head.headers, &journey.token, self.now());
        let meter = self.shared.audit.metrics.byte_meter(&station.host.scope);
        let trail = trace.map(|trace| {
            Box::new(Trail {
                hops: std::mem::take(&mut journey.hops),
                departed_at: answered.departed_at,
                trace,
            })
        });
        Stop::Reply(Reply::Response(Response {
            url: journey.url.clone(),
            status,
            preferences,
            headers: answered.head.headers,
            synthetic: false,
            attempts: journey.tally.attempts,
            first_departure: journey.tally.first_departure,
            body: Body::new(answered.head.body, meter, answered.places),
            trail,
            conditional,
        }))
    }
}

impl Journey {
    /// R3: goes on to the next URL. What identifies the user stays behind when the origin changes.
    fn follow(&mut self, next: Url, status: StatusCode) -> Result<(), Error> {
        if self.passed.len() == MAX_REDIRECTS {
            return Err(Error::new(ErrorKind::Redirect, "more than ten redirects"));
        }
        if next == self.url || self.passed.contains(&next) {
            return Err(Error::new(
                ErrorKind::Redirect,
                "the redirects go in a circle",
            ));
        }
        if self.keeps_https && self.url.scheme() == "https" && next.scheme() == "http" {
            return Err(Error::new(
                ErrorKind::Transport(TransportErrorKind::RefusedTarget),
                "a redirect leads from https to http",
            ));
        }
        if next.origin() != self.url.origin() {
            // The Host that the caller chose is the first origin's too.
            for name in [AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION, HOST] {
                self.headers.remove(name);
            }
            let all = std::mem::take(&mut self.headers);
            self.headers.extend(without_secrets(all));
        }
        // RFC 9110 sections 15.4.2–15.4.4: 303 asks for a GET, and 301 and 302 of a POST get one everywhere.
        let becomes_get = status == StatusCode::SEE_OTHER && self.method != Method::HEAD;
        if becomes_get || (matches!(status.as_u16(), 301 | 302) && self.method == Method::POST) {
            self.method = Method::GET;
            self.body = Bytes::new();
            for name in [CONTENT_TYPE, CONTENT_ENCODING, CONTENT_LENGTH] {
                self.headers.remove(name);
            }
        }
        self.passed.push(std::mem::replace(&mut self.url, next));
        Ok(())
    }

    pub(super) fn subject<'a>(&'a self, station: &'a Station) -> Subject<'a> {
        let kind = if self.passed.is_empty() {
            Kind::Page
        } else {
            Kind::Redirect
        };
        Subject {
            scope: &station.host.scope,
            url: &self.url,
            kind,
            attempt: self.tally.attempts + 1,
            policy: &station.host.policy,
        }
    }

    /// The headers for the present URL where it is asked only if it changed.
    fn conditional_headers(&self) -> Option<HeaderMap> {
        let condition = self.condition.as_ref();
        let condition = condition.filter(|condition| condition.url == self.url.as_str())?;
        let mut headers = self.headers.clone();
        headers.extend(condition.headers.clone());
        Some(headers)
    }

    /// R4: the 403 of a suppressed scope.
    pub(super) fn synthetic(&self) -> Reply {
        Reply::Response(Response {
            url: self.url.clone(),
            status: StatusCode::FORBIDDEN,
            headers: HeaderMap::new(),
            preferences: Preferences::default(),
            synthetic: true,
            attempts: self.tally.attempts,
            first_departure: self.tally.first_departure,
            body: Body::empty(),
            trail: None,
            conditional: false,
        })
    }
}

fn answer_of(ended: &Result<Box<Answered>, TransportError>) -> Answer<'_> {
    match ended {
        Ok(answered) => Answer::Head {
            status: answered.head.status.as_u16(),
            latency: answered.latency,
            signal: &answered.signal,
        },
        Err(error) => Answer::Failed(failure(error.kind())),
    }
}

/// What is marked as sensitive is the first origin's alone: a key in a header of its own.
fn without_secrets(headers: HeaderMap) -> impl Iterator<Item = (Option<HeaderName>, HeaderValue)> {
    let mut is_secret = false;
    headers.into_iter().filter(move |(name, value)| {
        // The further values of a field come without its name.
        is_secret = value.is_sensitive() || (name.is_none() && is_secret);
        !is_secret
    })
}

/// Where a response redirects to, if it does.
fn redirect(from: &Url, status: StatusCode, headers: &HeaderMap) -> Option<Url> {
    if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = headers.get(LOCATION)?;
    let mut next = from
        .join(&String::from_utf8_lossy(location.as_bytes()))
        .ok()?;
    // It is no part of what is asked for, and a circle is one whatever it says.
    next.set_fragment(None);
    (matches!(next.scheme(), "http" | "https") && next.has_host()).then_some(next)
}

/// Reads what little a refusal or a redirect holds, so that its connection can be used again.
async fn drain(answered: Answered) {
    let (limit, time) = DRAIN;
    let _ = tokio::time::timeout(time, answered.head.body.collect(limit)).await;
}

/// The same for a redirect that is archived.
async fn hop(url: &Url, trace: Box<Trace>, answered: Answered) -> (Capture, Vec<Bytes>) {
    let (limit, time) = DRAIN;
    let (mut head, mut pieces) = (answered.head, Vec::new());
    let read = collect_wire(&mut head.body, limit, &mut pieces);
    let truncated = tokio::time::timeout(time, read).await;
    let capture = Capture {
        url: url.clone(),
        departed_at: answered.departed_at,
        trace,
        status: head.status,
        headers: head.headers,
        truncated: truncated.unwrap_or(Some(Truncated::Time)),
    };
    (capture, pieces)
}
