//! What a [`Client`] is made of.

use std::sync::Arc;
use std::time::Duration;

use curtsy_core::Policy;
use curtsy_core::robots::ProductToken;
use curtsy_store::{HostStore, MemoryStore};
use http::header::USER_AGENT;
use http::{HeaderMap, HeaderName, HeaderValue};

use super::{Client, Shared};
use crate::alert::Alerts;
use crate::audit::Audit;
use crate::clock::Clock;
use crate::error::{Error, ErrorKind};
use crate::gate::Gate;
use crate::hosts::Hosts;
use crate::metrics::Metrics;
use crate::notice::Notices;
use crate::policies::Policies;
use crate::robots::RobotsCache;
use crate::telling::Telling;
use crate::transport::{Transport, TransportError};

/// The User-Agent of a client that sets none; its product token is what robots.txt is asked about.
pub const DEFAULT_USER_AGENT: &str = concat!("curtsy/", env!("CARGO_PKG_VERSION"));
/// Requests in flight at once, over all scopes.
pub const DEFAULT_CONCURRENCY: usize = 64;

/// Collects the parts of a [`Client`]; every part has a default.
#[derive(Debug)]
pub struct ClientBuilder {
    policies: Policies,
    store: Arc<dyn HostStore>,
    transport: Option<Transport>,
    clock: Clock,
    audit: Telling,
    notices: Notices,
    user_agent: String,
    contact: Option<String>,
    headers: HeaderMap,
    concurrency: usize,
    store_timeout: Option<Duration>,
    allow_private: bool,
}

impl Default for ClientBuilder {
    fn default() -> Self {
        Self {
            policies: Policies::default(),
            store: Arc::new(MemoryStore::default()),
            transport: None,
            clock: Clock::system(),
            audit: Telling::default(),
            notices: Notices::default(),
            user_agent: DEFAULT_USER_AGENT.to_owned(),
            contact: None,
            headers: HeaderMap::new(),
            concurrency: DEFAULT_CONCURRENCY,
            store_timeout: None,
            allow_private: false,
        }
    }
}

impl ClientBuilder {
    /// The policy of every scope. Default: `compliant`.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policies = Policies::new(policy);
        self
    }

    /// Policies by scope, in the place of [`policy`](Self::policy).
    #[must_use]
    pub fn policies(mut self, policies: Policies) -> Self {
        self.policies = policies;
        self
    }

    /// Where the state of scopes is kept. Default: in memory, for as long as the client lives.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn HostStore>) -> Self {
        self.store = store;
        self
    }

    /// How connections are made. Default: [`Transport::builder`]'s own.
    #[must_use]
    pub fn transport(mut self, transport: Transport) -> Self {
        self.transport = Some(transport);
        self
    }

    /// The clock, which should be the transport's and the audit log's too. Default: the system's.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Where every decision and outcome is put on record. Default: nowhere.
    #[must_use]
    pub fn audit(mut self, audit: Audit) -> Self {
        self.audit.audit = audit;
        self
    }

    /// What counts all that happens. Default: nothing.
    #[must_use]
    pub fn metrics(mut self, metrics: Metrics) -> Self {
        self.audit.metrics = metrics;
        self
    }

    /// What alerts of scopes in trouble, once it [watches](Alerts::watch) the client. Default: nothing.
    #[must_use]
    pub fn alerts(mut self, alerts: Alerts) -> Self {
        self.audit.alerts = alerts;
        self
    }

    /// Who is told of what happens. Default: nobody.
    #[must_use]
    pub fn notices(mut self, notices: Notices) -> Self {
        self.notices = notices;
        self
    }

    /// The User-Agent; one that a request sets wins over it (R6). Default: [`DEFAULT_USER_AGENT`].
    #[must_use]
    pub fn user_agent(mut self, user_agent: impl Into<String>) -> Self {
        self.user_agent = user_agent.into();
        self
    }

    /// A mail address at which server operators reach who runs this: added to the User-Agent.
    #[must_use]
    pub fn contact(mut self, contact: impl Into<String>) -> Self {
        self.contact = Some(contact.into());
        self
    }

    /// A header of every request but those for robots.txt.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.append(name, value);
        self
    }

    /// Requests in flight at once, over all scopes; at least 1. Default: [`DEFAULT_CONCURRENCY`].
    #[must_use]
    pub fn concurrency(mut self, concurrency: usize) -> Self {
        self.concurrency = concurrency.clamp(1, tokio::sync::Semaphore::MAX_PERMITS);
        self
    }

    /// How long a lost store is waited for (S4). Default: as long as it takes.
    #[must_use]
    pub fn store_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.store_timeout = timeout;
        self
    }

    /// Whether a redirect of a public server may lead to a private address. Default: no.
    #[must_use]
    pub fn allow_private(mut self, allow: bool) -> Self {
        self.allow_private = allow;
        self
    }

    /// Makes the client.
    ///
    /// # Errors
    /// `Configuration`: the User-Agent cannot be a header, or the default transport cannot be built.
    pub fn build(self) -> Result<Client, Error> {
        let user_agent = match &self.contact {
            Some(contact) => format!("{} (+mailto:{contact})", self.user_agent),
            None => self.user_agent,
        };
        let value = HeaderValue::from_str(&user_agent).map_err(|error| {
            Error::new(
                ErrorKind::Configuration,
                "the User-Agent cannot be a header",
            )
            .caused_by(error)
        })?;
        let transport = match self.transport {
            Some(transport) => transport,
            None => Transport::builder(self.clock.clone())
                .build()
                .map_err(|error: TransportError| Error::from(error))?,
        };
        let policies = Arc::new(self.policies);
        let hosts = Hosts::new(self.store, self.clock.clone(), Arc::clone(&policies));
        let gate = Gate::new(
            hosts,
            self.clock,
            transport,
            self.concurrency,
            self.store_timeout,
            self.notices,
        );
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, value);
        let mut page_headers = headers.clone();
        for (name, value) in &self.headers {
            if name == USER_AGENT {
                page_headers.insert(USER_AGENT, value.clone());
            } else {
                page_headers.append(name, value.clone());
            }
        }
        Ok(Client {
            shared: Arc::new(Shared {
                gate: Arc::new(gate),
                audit: self.audit,
                robots: RobotsCache::default(),
                policies,
                headers,
                page_headers,
                token: ProductToken::from_user_agent(&user_agent),
                allow_private: self.allow_private,
            }),
        })
    }
}
