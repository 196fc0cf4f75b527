//! One connection: its requests, read by hyper, answered by the script.

use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH};
use http::{HeaderValue, Method, Request, Response};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::body::AnswerBody;
use super::content::Source;
use super::ledger::{Ledger, Underway};
use super::stopping::Stopping;
use super::wire::{Stream, Switch, Wire};
use crate::reply::{Hold, Reply, word};
use crate::script::Fault;

/// How much of a request's body is read before the answer; a longer one loses its connection.
const MAX_REQUEST_BODY: usize = 1 << 20;
/// How long a TLS handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Serves a connection until either side ends it. Told to stop, it finishes what is under way.
pub(super) async fn serve(
    tcp: TcpStream,
    tls: Option<TlsAcceptor>,
    ledger: Arc<Ledger>,
    number: u64,
    stopping: Stopping,
) -> io::Result<()> {
    tcp.set_nodelay(true)?;
    let stream = match tls {
        Some(tls) => {
            let stream = tokio::time::timeout(HANDSHAKE, tls.accept(tcp)).await??;
            Stream::Tls(Box::new(stream))
        }
        None => Stream::Plain(tcp),
    };
    let switch = Arc::new(Switch::default());
    let io = TokioIo::new(Wire::new(stream, Arc::clone(&switch)));
    let mut hear = stopping.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        // hyper calls this as soon as it has read the head: the arrival is now, not when the answer
        // is first worked on.
        let at = ledger.clock.now();
        let underway = ledger.enter(&request, number, at);
        let desk = Desk {
            ledger: Arc::clone(&ledger),
            switch: Arc::clone(&switch),
            stopping: stopping.clone(),
        };
        async move { Ok::<_, Infallible>(desk.answer(request, underway).await) }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().auto_date_header(false);
    builder.http2().auto_date_header(false);
    let mut connection = pin!(builder.serve_connection(io, service));
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = hear.told() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    served.map_err(io::Error::other)
}

/// What an answer needs to be written.
struct Desk {
    ledger: Arc<Ledger>,
    switch: Arc<Switch>,
    stopping: Stopping,
}

impl Desk {
    async fn answer(
        mut self,
        request: Request<Incoming>,
        mut underway: Underway,
    ) -> Response<AnswerBody> {
        let is_head = request.method() == Method::HEAD;
        drain(request.into_body()).await;
        let ready_at = underway.ready_at();
        if ready_at > self.ledger.clock.now() {
            tokio::time::sleep_until((self.ledger.clock.base() + ready_at).into()).await;
        }
        let now = self.ledger.clock.now();
        underway.overtake(now);
        let reply = word(
            &self.ledger.script,
            underway.ruling.as_ref(),
            underway.chosen.clone(),
            self.ledger.clock.epoch_at(now),
            now,
        );
        match reply.fault {
            Some(Fault::NoHead) => {
                self.stopping.told().await;
                self.switch.reset();
                broken(underway)
            }
            Some(Fault::ResetBeforeHead) => {
                self.switch.reset();
                broken(underway)
            }
            Some(Fault::Raw(bytes)) => {
                self.switch.replace(Bytes::from(bytes));
                underway.mark_answered(None, None, now);
                underway.mark_whole();
                broken(underway)
            }
            _ => self.send(reply, underway, is_head).await,
        }
    }

    async fn send(self, reply: Reply, underway: Underway, is_head: bool) -> Response<AnswerBody> {
        let source = match Source::open(reply.content, reply.coding).await {
            Ok(source) => source,
            // Encoding in memory does not fail.
            Err(_) => Source::Whole(Bytes::new()),
        };
        let now = self.ledger.clock.now();
        let hold_until = match reply.hold {
            Hold::None => None,
            Hold::For(wait) => Some(now.saturating_add(wait)),
            Hold::Until(at) => Some(at),
        };
        underway.mark_answered(Some(reply.status.as_u16()), hold_until, now);
        let length = source.length();
        let body = if is_head {
            AnswerBody::none(underway)
        } else {
            AnswerBody::new(source, reply.fault, self.switch, self.stopping, underway)
        };
        let mut response = Response::new(body);
        *response.status_mut() = reply.status;
        *response.headers_mut() = reply.headers;
        if let Some(length) = length.filter(|_| is_head) {
            response.headers_mut().insert(CONTENT_LENGTH, length.into());
        }
        response
    }
}

/// An answer that does not get out, since the switch is thrown; it makes hyper write and close.
fn broken(underway: Underway) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::broken(underway));
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(CONNECTION, close);
    response
}

async fn drain(mut body: Incoming) {
    if body.is_end_stream() {
        return;
    }
    let mut left = MAX_REQUEST_BODY;
    while let Some(Ok(frame)) = body.frame().await {
        let bytes = frame.data_ref().map_or(0, Bytes::len);
        let Some(rest) = left.checked_sub(bytes) else {
            return;
        };
        left = rest;
    }
}
