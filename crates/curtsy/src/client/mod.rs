//! [`Client`]: one request at a time, each as politely as its scope's policy says.

mod admission;
mod builder;
mod inspect;
mod journey;
mod operate;
mod request;
mod robots;

use std::sync::Arc;

use curtsy_core::robots::ProductToken;
use curtsy_core::{Scope, Timestamp};
use curtsy_store::HostStore;
use http::HeaderMap;
use url::Url;

pub use builder::{ClientBuilder, DEFAULT_CONCURRENCY, DEFAULT_USER_AGENT};
pub use inspect::{Explanation, RobotsSay, ScopeView};
pub(crate) use journey::Tally;
pub use request::Request;
pub(crate) use request::{Condition, Crowd};
pub use robots::RobotsReport;

use crate::error::{Error, ErrorKind};
use crate::exchange::Exchange;
use crate::gate::Gate;
use crate::hosts::Host;
use crate::policies::Policies;
use crate::reply::Reply;
use crate::robots::RobotsCache;
use crate::telling::Telling;
use crate::transport::{Guard, Target};

/// Fetches URLs as fast as each server permits, and no faster. Cheap to clone; all clones are one client
/// with one pace a scope. It must be used within a tokio runtime.
///
/// ```no_run
/// # async fn fetch() -> Result<(), curtsy::Error> {
/// use curtsy::{Client, Reply};
///
/// let client = Client::builder().contact("you@yours.org").build()?;
/// match client.get("https://example.org/data.csv").await? {
///     Reply::Response(response) => println!("{} after {} requests", response.status, response.attempts),
///     Reply::Disallowed(no) => println!("robots.txt says no in line {:?}", no.line),
///     Reply::Deferred(later) => println!("not before {}", later.bound.not_before),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) gate: Arc<Gate>,
    /// The record, and who else hears of what goes on it.
    pub(crate) audit: Telling,
    pub(crate) robots: RobotsCache,
    pub(crate) policies: Arc<Policies>,
    /// Of every request.
    pub(crate) headers: HeaderMap,
    /// Of every request but those for robots.txt.
    page_headers: HeaderMap,
    pub(crate) token: ProductToken,
    allow_private: bool,
}

impl Client {
    /// Starts a client.
    #[must_use]
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// Fetches a URL: robots.txt is asked, the pace kept, refusals waited for and retried, redirects
    /// followed.
    ///
    /// A response whose body is neither read to its end nor dropped keeps its place among those in flight:
    /// who collects responses before reading them may wait for ever. A dropped call leaves nothing behind.
    ///
    /// # Errors
    /// No http(s) URL; no whole response head from the server after all tries; too many redirects; the
    /// store or the audit log failed.
    pub async fn get(&self, url: &str) -> Result<Reply, Error> {
        self.execute(Request::get(url)?).await
    }

    /// Lets nothing depart any more, for a graceful stop: requests in flight land, those that wait end
    /// with `Closed`.
    pub fn close(&self) {
        self.shared.gate.close();
    }

    /// The time by the client's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.shared.gate.clock.now()
    }

    /// Waits until the client's clock shows `at`, for work between departures.
    pub(crate) async fn until(&self, at: Timestamp) {
        self.shared.gate.until(at).await;
    }

    pub(crate) fn store(&self) -> &Arc<dyn HostStore> {
        self.shared.gate.hosts.store()
    }

    pub(crate) fn exchange(&self) -> Exchange<'_> {
        Exchange {
            gate: &self.shared.gate,
            audit: &self.shared.audit,
        }
    }

    /// The scope of a URL, and what to connect to for it.
    pub(crate) fn address(&self, url: &Url) -> Result<(Scope, Target), Error> {
        let address = self.shared.policies.scope_of(url).zip(Target::of(url));
        address.ok_or_else(not_http)
    }

    /// What a URL is paced with.
    pub(crate) fn host_of(&self, url: &Url) -> Result<Arc<Host>, Error> {
        let scope = self.shared.policies.scope_of(url);
        let scope = scope.ok_or_else(not_http)?;
        Ok(self.shared.gate.hosts.host(&scope))
    }

    /// What a redirect of a server may lead to.
    pub(crate) fn guard_after(&self, guard: Guard, public: bool) -> Guard {
        if self.shared.allow_private {
            Guard::Any
        } else if guard == Guard::Any && public {
            Guard::PublicOnly
        } else {
            guard
        }
    }
}

fn not_http() -> Error {
    Error::new(ErrorKind::InvalidUrl, "not an http(s) URL")
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}
