//! What is asked of a [`Client`](super::Client).

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use url::Url;

use crate::error::{Error, ErrorKind};

/// One request.
#[derive(Clone, Debug)]
pub struct Request {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) repeatable: bool,
    pub(crate) in_job: bool,
}

impl Request {
    /// A GET of a URL.
    ///
    /// # Errors
    /// `InvalidUrl`: not an http(s) URL.
    pub fn get(url: &str) -> Result<Self, Error> {
        Self::new(Method::GET, url)
    }

    /// A request with any method.
    ///
    /// # Errors
    /// `InvalidUrl`: not an http(s) URL.
    pub fn new(method: Method, url: &str) -> Result<Self, Error> {
        let url = Url::parse(url)
            .map_err(|error| Error::new(ErrorKind::InvalidUrl, "not a URL").caused_by(error))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(Error::new(ErrorKind::InvalidUrl, "not an http(s) URL"));
        }
        let repeatable = matches!(
            method,
            Method::GET | Method::HEAD | Method::OPTIONS | Method::PUT | Method::DELETE
        );
        Ok(Self {
            method,
            url,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            repeatable,
            in_job: false,
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

    /// R1: in a job, throttling of the whole scope does not use up a URL's tries.
    pub(crate) fn in_job(mut self) -> Self {
        self.in_job = true;
        self
    }
}
