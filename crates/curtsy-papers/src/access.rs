//! How providers are asked: [`Access`].

use std::sync::Arc;

use bytes::Bytes;
use curtsy::transport::Guard;
use curtsy::{Client, ClientBuilder, Policies, Reply, Request, Response};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Method};
use jiff::civil::Date;
use jiff::tz::Offset;
use serde_json::Value;
use url::{Host, Url};

use crate::answer::{Answer, Unavailable};
use crate::contact::Contact;
use crate::endpoint::{Endpoints, Provider, site_policy};
use crate::error::Error;
use crate::keys::Keys;
use crate::query::Query;

/// The most bytes of an answer that are read, once decoded.
const LARGEST_ANSWER: usize = 32 << 20;
/// The name under which NCBI knows its callers.
const TOOL: &str = "curtsy";
const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// The way to all providers: one client, one contact, the keys and the bases. Cheap to clone; whatever asks for
/// papers shares one, so that every host has one pace whoever asks.
#[derive(Clone, Debug)]
pub struct Access {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    client: Client,
    contact: Contact,
    keys: Keys,
    endpoints: Endpoints,
    allow_http: bool,
}

/// Collects the parts of an [`Access`].
#[derive(Debug)]
#[must_use]
pub struct AccessBuilder {
    contact: Contact,
    keys: Keys,
    endpoints: Endpoints,
    policies: Option<Policies>,
    client: ClientBuilder,
    respect_robots: bool,
    allow_http: bool,
}

impl Access {
    /// Starts an access for whoever reads mail at `contact`.
    pub fn builder(contact: Contact) -> AccessBuilder {
        AccessBuilder {
            contact,
            keys: Keys::default(),
            endpoints: Endpoints::default(),
            policies: None,
            client: Client::builder(),
            respect_robots: false,
            allow_http: false,
        }
    }

    /// The client of all requests.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.shared.client
    }

    /// Who asks.
    #[must_use]
    pub fn contact(&self) -> &Contact {
        &self.shared.contact
    }

    /// The bases in effect.
    #[must_use]
    pub fn endpoints(&self) -> &Endpoints {
        &self.shared.endpoints
    }

    /// A GET of a URL that comes out of an answer. It may lead to public hosts, and to this machine only where a base
    /// lies on it; and no redirect leads it from https to http, unless that is allowed.
    pub(crate) fn get(&self, url: &Url) -> Result<Request, Error> {
        let endpoints = &self.shared.endpoints;
        let mut bases = Provider::ALL.into_iter().map(|of| endpoints.base(of));
        let guard = match bases.any(is_loopback) {
            true => Guard::PublicOrLoopback,
            false => Guard::PublicOnly,
        };
        let request = Request::get(url.as_str())?.guard(guard);
        Ok(request.keep_https(!self.shared.allow_http))
    }

    /// Whether a provider is asked at all: some are asked only with a key.
    #[must_use]
    pub fn may_ask(&self, provider: Provider) -> bool {
        !provider.endpoint().needs_key || self.shared.keys.of(provider).is_some()
    }

    /// The day by the client's clock, UTC.
    #[must_use]
    pub fn today(&self) -> Date {
        let now = i64::try_from(self.shared.client.now().as_secs()).unwrap_or(i64::MAX);
        let now = jiff::Timestamp::from_second(now).unwrap_or(jiff::Timestamp::MAX);
        Offset::UTC.to_datetime(now).date()
    }

    /// Asks a provider, and reads what it says to its end.
    ///
    /// # Errors
    /// The engine itself failed. What the provider or the network does is an [`Answer`].
    pub async fn ask(&self, provider: Provider, query: Query) -> Result<Answer<Bytes>, Error> {
        let base = self.shared.endpoints.base(provider);
        if !self.may_ask(provider) {
            return Ok(Answer::Unavailable(Unavailable::needs_key(base)));
        }
        let request = self.request(provider, query)?;
        match self.shared.client.execute(request).await {
            Ok(Reply::Response(response)) => read(response).await,
            Ok(Reply::Disallowed(no)) => Ok(Answer::Unavailable(Unavailable::robots(&no.url))),
            Ok(Reply::Deferred(later)) => Ok(Answer::Unavailable(Unavailable::deferred(&later))),
            Err(error) => Unavailable::failed(error, base).map(Answer::Unavailable),
        }
    }

    /// The same, read as JSON.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub async fn ask_json(&self, provider: Provider, query: Query) -> Result<Answer<Value>, Error> {
        let answer = self.ask(provider, query).await?;
        Ok(answer.and_then(|body| match serde_json::from_slice(&body) {
            Ok(json) => Answer::Found(json),
            Err(_) => Answer::Malformed("no JSON"),
        }))
    }

    /// A question with what its provider wants to know of who asks.
    fn request(&self, provider: Provider, query: Query) -> Result<Request, Error> {
        let base = self.shared.endpoints.base(provider);
        let query = self.sign(provider, query).fitted(provider, base);
        let url = query.url(base);
        let body = query.body();
        let method = if body.is_some() {
            Method::POST
        } else {
            Method::GET
        };
        // Nothing that is asked here changes anything, by whatever method.
        let mut request = Request::new(method, &url)?
            .repeatable(true)
            .keep_https(!self.shared.allow_http);
        if is_loopback(base) {
            request = request.guard(Guard::PublicOrLoopback);
        }
        if let Some((media_type, text)) = body {
            request = request
                .header(CONTENT_TYPE, HeaderValue::from_static(media_type))
                .body(text.into_owned());
        }
        if let Some(media_type) = query.wanted() {
            request = request.header(ACCEPT, HeaderValue::from_static(media_type));
        }
        if provider == Provider::SemanticScholar
            && let Some(key) = self.shared.keys.of(provider)
        {
            request = request.header(API_KEY, key.header());
        }
        Ok(request)
    }

    fn sign(&self, provider: Provider, query: Query) -> Query {
        let contact = self.shared.contact.as_str();
        let query = match provider {
            Provider::Unpaywall => query.pair("email", contact),
            Provider::Ncbi | Provider::IdConverter => {
                query.pair("tool", TOOL).pair("email", contact)
            }
            Provider::Crossref | Provider::DataCite => query.pair("mailto", contact),
            Provider::EuropePmc => query.pair("email", contact),
            _ => query,
        };
        match (provider, self.shared.keys.of(provider)) {
            (Provider::Ncbi | Provider::OpenAlex, Some(key)) => query.pair("api_key", key.secret()),
            _ => query,
        }
    }
}

impl AccessBuilder {
    /// The keys at hand. Default: none.
    pub fn keys(mut self, keys: Keys) -> Self {
        self.keys = keys;
        self
    }

    /// The bases. Default: the providers' own.
    pub fn endpoints(mut self, endpoints: Endpoints) -> Self {
        self.endpoints = endpoints;
        self
    }

    /// How all else is treated than the interfaces. Default: [`site_policy`] for every host.
    pub fn policies(mut self, policies: Policies) -> Self {
        self.policies = Some(policies);
        self
    }

    /// Whether robots.txt is consulted for the documented interfaces too. Default: no.
    pub fn respect_robots_txt(mut self, respect: bool) -> Self {
        self.respect_robots = respect;
        self
    }

    /// Whether redirects from https to http are followed. Default: no.
    pub fn allow_http(mut self, allow: bool) -> Self {
        self.allow_http = allow;
        self
    }

    /// What else the client is made of: store, transport, clock, log. Its policies and contact are set here.
    pub fn client(mut self, client: ClientBuilder) -> Self {
        self.client = client;
        self
    }

    /// Makes the access.
    ///
    /// # Errors
    /// `Configuration`: the policies make no sense together; `Engine`: the client cannot be built.
    pub fn build(self) -> Result<Access, Error> {
        let wrong = |error: curtsy::core::PolicyError| Error::configuration(error.to_string());
        let policies = match self.policies {
            Some(policies) => policies,
            None => Policies::new(site_policy().build().map_err(wrong)?),
        };
        let policies = self
            .endpoints
            .policies(policies, &self.keys, self.respect_robots)
            .map_err(wrong)?;
        let client = self
            .client
            .policies(policies)
            .contact(self.contact.as_str())
            .build()?;
        Ok(Access {
            shared: Arc::new(Shared {
                client,
                contact: self.contact,
                keys: self.keys,
                endpoints: self.endpoints,
                allow_http: self.allow_http,
            }),
        })
    }
}

fn is_loopback(base: &Url) -> bool {
    match base.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

async fn read(response: Response) -> Result<Answer<Bytes>, Error> {
    if let Some(refused) = Unavailable::refused(&response) {
        return Ok(Answer::Unavailable(refused));
    }
    match response.status.as_u16() {
        404 | 410 => return Ok(Answer::NotFound),
        200..300 => {}
        _ => return Ok(Answer::Rejected(response.status)),
    }
    let url: Url = response.url;
    match response.body.collect(LARGEST_ANSWER).await {
        Ok(body) => Ok(Answer::Found(body)),
        Err(error) => Unavailable::failed(error, &url).map(Answer::Unavailable),
    }
}
