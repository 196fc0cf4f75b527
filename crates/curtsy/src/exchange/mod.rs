//! One departure and what comes of it: through the gate, over the connection, back into the state.

mod listen;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use curtsy_core::audit::{Cited, Entry, Subject, Turn};
use curtsy_core::{
    Answer, Attempt, Bound, Class, Decline, Failure, Kind, Permit, Signal, Timestamp, signal,
};
use http::{HeaderMap, Method, Request, Uri};
use url::Url;

use crate::error::{Error, ErrorKind};
use crate::gate::{Caller, Gate, Passage, Places};
use crate::hosts::Host;
use crate::telling::Telling;
use crate::transport::{Guard, Head, Target, TransportError, TransportErrorKind};
use listen::Understood;

/// How many times a connection that closed under a request is replaced before that counts as a failure.
const UNSENT_TRIES: u32 = 3;

/// A request that is about to depart.
pub(crate) struct Hop<'a> {
    pub(crate) host: &'a Arc<Host>,
    pub(crate) target: &'a Target,
    pub(crate) url: &'a Url,
    pub(crate) method: &'a Method,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: &'a Bytes,
    pub(crate) guard: Guard,
    pub(crate) kind: Kind,
    /// Which try of the URL, from 1.
    pub(crate) attempt: u32,
    /// A bound of its own.
    pub(crate) own: Bound,
    /// What its robots.txt says, where it was asked.
    pub(crate) robots: Option<&'a Cited>,
    pub(crate) profile: Option<signal::Profile>,
    /// Whether it is kept as it goes over the wire.
    pub(crate) traced: bool,
}

/// How it ended.
pub(crate) enum Landing {
    /// A response head came; a refusal is one too.
    Answered(Box<Answered>),
    /// No response came.
    Failed {
        error: TransportError,
        class: Class,
        departed_at: Timestamp,
    },
    /// It did not depart.
    Deferred(Bound),
    /// It did not depart and will not.
    Declined(Decline),
    /// Its address may not be connected to, or it cannot be written: no departure.
    Refused(TransportError),
}

pub(crate) struct Answered {
    pub(crate) head: Head,
    pub(crate) signal: Signal,
    pub(crate) class: Class,
    pub(crate) latency: Duration,
    pub(crate) departed_at: Timestamp,
    /// Whether the server counts as a public one.
    pub(crate) public: bool,
    pub(crate) places: Places,
}

/// What an exchange needs of its client.
pub(crate) struct Exchange<'a> {
    pub(crate) gate: &'a Arc<Gate>,
    pub(crate) audit: &'a Telling,
}

impl Exchange<'_> {
    /// Waits for the gate, sends, waits for the head, and notes what it says.
    pub(crate) async fn run(&self, hop: &Hop<'_>) -> Result<Landing, Error> {
        let subject = Subject {
            scope: &hop.host.scope,
            url: hop.url,
            kind: hop.kind,
            attempt: hop.attempt,
            policy: &hop.host.policy,
        };
        let caller = Caller {
            host: hop.host,
            target: hop.target,
            guard: hop.guard,
            kind: hop.kind,
            own: hop.own,
        };
        // What cannot be written must not cost a departure.
        let uri = uri_of(hop.url)?;
        let mut unsent = 0;
        loop {
            let asked_at = self.gate.clock.now();
            let (permit, leaving, turn, flight, connection, places) =
                match self.gate.pass(&caller).await? {
                    Passage::Passed {
                        permit,
                        leaving,
                        turn,
                        flight,
                        connection,
                        places,
                    } => (permit, leaving, turn, flight, connection, places),
                    Passage::Deferred(bound) => return Ok(Landing::Deferred(bound)),
                    Passage::Declined(decline) => return Ok(Landing::Declined(decline)),
                    Passage::Refused(error) => return Ok(Landing::Refused(error)),
                };
            self.record_departure(hop, &subject, &permit, turn.take())
                .await?;
            let public = connection
                .as_ref()
                .is_ok_and(|checkout| checkout.is_public());
            let sent = match connection {
                Ok(checkout) => checkout.traced(hop.traced).send(request(hop, &uri)).await,
                Err(error) => Err(error),
            };
            if sent
                .as_ref()
                .err()
                .is_none_or(|error| !has_not_left(error, unsent))
            {
                let waited = permit.at.since(asked_at);
                let metrics = &self.audit.metrics;
                metrics.departed(hop.host, hop.kind, hop.attempt, waited);
            }
            let (departed_at, head, received) = match sent {
                Ok(sent) => {
                    let departed_at = sent.departed_at().max(permit.at);
                    let head = async { (sent.head().await, self.gate.clock.now()) };
                    let hosts = &self.gate.hosts;
                    let noted = hosts.note_departed(hop.host, permit.seq, departed_at);
                    drop(leaving);
                    let tell =
                        || hosts.tell_departed(hop.host, permit.seq, departed_at, noted.as_ref());
                    let told = self.gate.persistently(tell);
                    let (told, (head, received)) = tokio::join!(told, head);
                    told?;
                    (departed_at, head, received)
                }
                Err(error) => (permit.at, Err(error), self.gate.clock.now()),
            };
            let attempt = Attempt {
                seq: permit.seq,
                kind: hop.kind,
                departed: departed_at,
                host: hop.host.scope.host(),
            };
            let landing = match head {
                Ok(mut head) => {
                    let listening = self.listen(hop, &subject, &attempt, &mut head, received);
                    let Understood { signal, class } = listening.await?;
                    let latency = received.since(departed_at);
                    Landing::Answered(Box::new(Answered {
                        head,
                        signal,
                        class,
                        latency,
                        departed_at,
                        public,
                        places,
                    }))
                }
                Err(error) if has_not_left(&error, unsent) => {
                    self.observe(hop.host, &subject, &attempt, &Answer::Abandoned, received)
                        .await?;
                    flight.landed();
                    if error.kind() != TransportErrorKind::Unsent {
                        return Ok(Landing::Refused(error));
                    }
                    unsent += 1;
                    continue;
                }
                Err(error) => {
                    let answer = Answer::Failed(failure(error.kind()));
                    let observed = self
                        .observe(hop.host, &subject, &attempt, &answer, received)
                        .await?;
                    self.tell(hop, &observed, Err(&error));
                    let class = observed.class.unwrap_or(Class::Failed);
                    Landing::Failed {
                        error,
                        class,
                        departed_at,
                    }
                }
            };
            flight.landed();
            return Ok(landing);
        }
    }

    /// Puts the permit on record before it is used.
    async fn record_departure(
        &self,
        hop: &Hop<'_>,
        subject: &Subject<'_>,
        permit: &Permit,
        turn: Turn,
    ) -> Result<(), Error> {
        if !self.audit.is_on() {
            return Ok(());
        }
        let entries = Entry::departure(subject, permit, hop.robots, turn);
        self.audit.record(entries).await
    }
}

fn request(hop: &Hop<'_>, uri: &Uri) -> Request<Bytes> {
    let mut request = Request::new(hop.body.clone());
    *request.method_mut() = hop.method.clone();
    *request.headers_mut() = hop.headers.clone();
    *request.uri_mut() = uri.clone();
    request
}

fn uri_of(url: &Url) -> Result<Uri, Error> {
    let parsed = url[url::Position::BeforePath..url::Position::AfterQuery].parse();
    parsed.map_err(|error: http::uri::InvalidUri| {
        Error::new(ErrorKind::InvalidUrl, "the URL cannot be sent").caused_by(error)
    })
}

/// Whether nothing of the request left, so that its departure is taken back: its connection had closed, or
/// the caller's own headers cannot be written. A connection that is always closed counts in the end.
fn has_not_left(error: &TransportError, unsent: u32) -> bool {
    match error.kind() {
        TransportErrorKind::Unsent => unsent < UNSENT_TRIES,
        kind => kind == TransportErrorKind::Request,
    }
}

/// The core's word for a failure of the transport.
pub(crate) fn failure(kind: TransportErrorKind) -> Failure {
    match kind {
        TransportErrorKind::Dns => Failure::Dns,
        TransportErrorKind::Refused
        | TransportErrorKind::Unreachable
        | TransportErrorKind::Proxy => Failure::Refused,
        TransportErrorKind::Timeout(_) => Failure::Timeout,
        TransportErrorKind::Tls => Failure::Tls,
        TransportErrorKind::Protocol | TransportErrorKind::HeaderTooLarge => Failure::Protocol,
        _ => Failure::Reset,
    }
}
