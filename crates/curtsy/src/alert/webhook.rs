//! Alerts as JSON to a URL of the operator's own.
//!
//! It is no server that is fetched from: no robots.txt is asked, no state is kept, and no other pace holds
//! than the one here. What is not taken is tried again a few times, later each time, and then told as lost.

use std::time::Duration;

use bytes::Bytes;
use curtsy_core::{Timestamp, signal};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, StatusCode};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use url::Url;

use super::message::Message;
use super::shown;
use crate::client::{Client, Request};
use crate::error::{Error, ErrorKind};
use crate::transport::{Guard, Target, Transport};

/// From one POST to the next.
const PACE: Duration = Duration::from_secs(1);
/// So long a whole exchange may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// The waits before further tries.
const RETRIES: [Duration; 4] = [
    Duration::from_secs(1),
    Duration::from_secs(4),
    Duration::from_secs(15),
    Duration::from_secs(60),
];
/// The longest that a Retry-After of the webhook is heeded.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// The other end of a webhook.
pub(super) struct Webhook {
    client: Client,
    transport: Transport,
    url: Url,
    headers: HeaderMap,
    /// Nothing is sent before.
    next: Instant,
}

/// Why one try did not come through.
struct Refusal {
    why: Error,
    /// Whether another try may.
    may_pass: bool,
    /// How long it asks to wait.
    wait: Option<Duration>,
}

impl Webhook {
    pub(super) fn new(client: &Client, request: &Request) -> Self {
        let mut headers = client.shared.headers.clone();
        headers.extend(request.headers.clone());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Self {
            client: client.clone(),
            transport: client.shared.gate.transport().clone(),
            url: request.url.clone(),
            headers,
            next: Instant::now(),
        }
    }

    /// Sends one alert, again where need be.
    ///
    /// # Errors
    /// It was not taken after all tries.
    pub(super) async fn deliver(&mut self, message: &Message) -> Result<(), Error> {
        let body = Bytes::from(message.json());
        let mut retries = RETRIES.into_iter();
        loop {
            sleep_until(self.next).await;
            self.next = Instant::now() + PACE;
            let post = timeout(PATIENCE, self.post(body.clone())).await;
            let refusal = match post {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(refusal)) => refusal,
                Err(_) => Refusal {
                    why: self.failed("no answer in time"),
                    may_pass: true,
                    wait: None,
                },
            };
            let Some(wait) = retries.next().filter(|_| refusal.may_pass) else {
                return Err(refusal.why);
            };
            sleep(wait.max(refusal.wait.unwrap_or_default())).await;
        }
    }

    async fn post(&self, body: Bytes) -> Result<(), Refusal> {
        let transport = |error: crate::transport::TransportError| Refusal {
            why: self.failed("it cannot be reached").caused_by(error),
            may_pass: true,
            wait: None,
        };
        let Some(target) = Target::of(&self.url) else {
            return Err(Refusal {
                why: self.failed("no address"),
                may_pass: false,
                wait: None,
            });
        };
        let checkout = self.transport.check_out(&target, Guard::Any).await;
        let mut request = http::Request::new(body);
        *request.method_mut() = http::Method::POST;
        *request.headers_mut() = self.headers.clone();
        let path = &self.url[url::Position::BeforePath..url::Position::AfterQuery];
        *request.uri_mut() = path.parse().map_err(|_| Refusal {
            why: self.failed("its URL cannot be sent"),
            may_pass: false,
            wait: None,
        })?;
        let sent = checkout.map_err(transport)?.send(request).await;
        let head = sent.map_err(transport)?.head().await.map_err(transport)?;
        let (status, now) = (head.status, self.client.now());
        if status.is_success() {
            return Ok(());
        }
        let is_busy = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
        Err(Refusal {
            why: self.failed(&format!("it answered {}", status.as_u16())),
            may_pass: is_busy || status == StatusCode::REQUEST_TIMEOUT,
            wait: asked_wait(status, &head.headers, now),
        })
    }

    fn failed(&self, why: &str) -> Error {
        let what = format!("the webhook {}: {why}", shown(&self.url));
        Error::new(ErrorKind::Output, what)
    }
}

/// How long the answer asks to wait.
fn asked_wait(status: StatusCode, headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let signal = signal::read(status.as_u16(), headers, now, None, None);
    signal.wait.map(|wait| wait.after.min(LONGEST_WAIT))
}
