//! What is asked of a [`Client`](super::Client).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine;
use base64::prelude::BASE64_STANDARD as STANDARD;
use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use percent_encoding::percent_decode_str;
use url::Url;

use crate::error::{Error, ErrorKind};
use crate::transport::Guard;

/// One request.
#[derive(Clone, Debug)]
pub struct Request {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) repeatable: bool,
    /// The job that it is of.
    pub(crate) job: Option<Arc<Crowd>>,
    pub(crate) traced: bool,
    pub(crate) condition: Option<Condition>,
    /// Where it may lead.
    pub(crate) guard: Guard,
    /// No redirect leads it from https to http.
    pub(crate) keeps_https: bool,
}

/// Fields that make a request for one URL conditional.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    /// The URL whose response they come from; no other hop is asked with them, since they mean nothing there.
    pub(crate) url: String,
    pub(crate) headers: HeaderMap,
}

impl Request {
    /// A GET of a URL.
    ///
    /// # Errors
    /// `InvalidUrl`: not an http(s) URL.
    pub fn get(url: &str) -> Result<Self, Error> {
        Self::new(Method::GET, url)
    }

    /// A request with any method. User and password of the URL go into its `Authorization` (RFC 7617).
    ///
    /// # Errors
    /// `InvalidUrl`: not an http(s) URL.
    pub fn new(method: Method, url: &str) -> Result<Self, Error> {
        let mut url = Url::parse(url)
            .map_err(|error| Error::new(ErrorKind::InvalidUrl, "not a URL").caused_by(error))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(Error::new(ErrorKind::InvalidUrl, "not an http(s) URL"));
        }
        let repeatable = matches!(
            method,
            Method::GET | Method::HEAD | Method::OPTIONS | Method::PUT | Method::DELETE
        );
        let mut headers = HeaderMap::new();
        if let Some(credentials) = take_credentials(&mut url) {
            headers.insert(AUTHORIZATION, credentials);
        }
        Ok(Self {
            method,
            url,
            headers,
            body: Bytes::new(),
            repeatable,
            job: None,
            traced: false,
            condition: None,
            guard: Guard::Any,
            keeps_https: false,
        })
    }

    /// A header; a `User-Agent` wins over the client's (R6), and robots.txt is asked about its token.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.append(name, value);
        self
    }

    /// The body that is sent. Default: none.
    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// Whether it may be tried again (R1). Default: GET, HEAD, OPTIONS, PUT and DELETE may.
    #[must_use]
    pub fn repeatable(mut self, repeatable: bool) -> Self {
        self.repeatable = repeatable;
        self
    }

    /// Which addresses it and what redirects it may lead to: for a URL that comes from a server and not from the
    /// user. Default: any, and only public ones once a public one has redirected.
    #[must_use]
    pub fn guard(mut self, guard: Guard) -> Self {
        self.guard = guard;
        self
    }

    /// Whether a redirect from https to http is refused as a target is that its [`guard`](Self::guard) does not allow.
    /// Default: it is followed.
    #[must_use]
    pub fn keep_https(mut self, keep: bool) -> Self {
        self.keeps_https = keep;
        self
    }

    /// R1: in a job, throttling of the whole scope does not use up a URL's tries. And while the job is
    /// crowded, what would only wait for its departure comes back at once.
    pub(crate) fn in_job(mut self, crowd: &Arc<Crowd>) -> Self {
        self.job = Some(Arc::clone(crowd));
        self
    }

    /// Whether its exchanges are kept as they go over the wire.
    pub(crate) fn traced(mut self, traced: bool) -> Self {
        self.traced = traced;
        self
    }

    /// Asks for a body only where it is another one. A condition of the user's own wins.
    pub(crate) fn only_if(mut self, condition: Option<Condition>) -> Self {
        self.condition = condition;
        self
    }
}

/// Whether scopes of a job with something due wait for a lane.
#[derive(Debug, Default)]
pub(crate) struct Crowd(AtomicBool);

impl Crowd {
    pub(crate) fn note(&self, is_crowded: bool) {
        self.0.store(is_crowded, Ordering::Relaxed);
    }

    pub(crate) fn is_crowded(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Takes user and password out of a URL, as the value of an `Authorization` field.
fn take_credentials(url: &mut Url) -> Option<HeaderValue> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let user = percent_decode_str(url.username());
    let password = percent_decode_str(url.password().unwrap_or_default());
    let pair: Vec<u8> = user.chain([b':']).chain(password).collect();
    // Neither can fail on a URL with a host.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    let mut value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(pair))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_of_a_url_become_a_header_and_leave_the_url() {
        let request = Request::get("http://ann:p%40ss@example.org/a").unwrap();
        assert_eq!(request.url.as_str(), "http://example.org/a");
        // "ann:p@ss"
        assert_eq!(request.headers[AUTHORIZATION], "Basic YW5uOnBAc3M=");
        assert!(request.headers[AUTHORIZATION].is_sensitive());
        let plain = Request::get("http://example.org/a").unwrap();
        assert!(plain.headers.is_empty());
    }
}
