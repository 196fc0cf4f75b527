//! HTTP over the network: a pool of connections over hyper's `client::conn`.
//!
//! A connection is checked out first, the caller then passes the gate, and the request is sent on the
//! connection that stands already, so that neither a name lookup nor a handshake lies between the
//! permission and the departure (behaviour P10):
//!
//! ```no_run
//! # async fn fetch() -> Result<(), Box<dyn std::error::Error>> {
//! # use curtsy::clock::Clock;
//! # use curtsy::transport::{Guard, Target, Transport};
//! let transport = Transport::builder(Clock::system()).build()?;
//! let url = url::Url::parse("https://example.org/")?;
//! let target = Target::of(&url).ok_or("not http")?;
//! let checkout = transport.check_out(&target, Guard::Any).await?;
//! // Here the gate is passed.
//! let request = http::Request::get(url.as_str()).body(bytes::Bytes::new())?;
//! let sent = checkout.send(request).await?;
//! let departed_at = sent.departed_at();
//! let mut head = sent.head().await?;
//! while let Some(chunk) = head.body.chunk().await? {
//!     println!("{} {} {}", departed_at, head.status, chunk.len());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! It never waits for a pace, never sends anything twice and follows no redirect: those are the
//! caller's, since each is a departure of its own.
//!
//! Supported: HTTP/1.0, HTTP/1.1 and, where the server takes it by ALPN, HTTP/2; TLS 1.2 and 1.3 with
//! verification always on; gzip, deflate, br and zstd; http and https proxies. Not supported: HTTP/3,
//! HTTP/2 without TLS, upgrades, server push, trailers (read away), client certificates, SOCKS,
//! cookies.

mod body;
mod checkout;
mod connection;
mod decode;
mod departures;
mod dial;
mod error;
mod frames;
mod guard;
mod limits;
mod pool;
mod proxy;
mod request;
mod resolve;
mod stream;
mod target;
mod tls;
mod trace;
mod tunnel;
mod wire;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use body::Body;
pub use checkout::{Checkout, Head, Sent};
pub use error::{Phase, TransportError, TransportErrorKind};
pub use guard::{Guard, is_public};
pub use limits::Limits;
pub use proxy::Proxies;
pub use resolve::Resolve;
pub use target::Target;
pub use trace::Trace;

use checkout::Home;
use connection::Permit;
use pool::{Bounds, Key, Pool};
use proxy::{Proxy, ProxyRules};
use resolve::Resolver;
use tls::Tls;

use crate::clock::{Clock, LONGEST_WAIT};

/// Opens connections and keeps them for reuse. Cheap to clone; all clones share one pool and one TLS
/// configuration. It must be used within a tokio runtime.
#[derive(Clone)]
pub struct Transport {
    shared: Arc<Shared>,
    limits: Limits,
}

struct Shared {
    clock: Clock,
    pool: Arc<Pool>,
    resolver: Resolver,
    tls: Tls,
    proxies: Option<ProxyRules>,
}

impl Transport {
    /// Starts a transport whose departures are stamped by `clock`.
    pub fn builder(clock: Clock) -> TransportBuilder {
        TransportBuilder {
            clock,
            limits: Limits::default(),
            bounds: Bounds {
                total: kept_idle(open_files()),
                per_target: TransportBuilder::IDLE_PER_TARGET,
                idle: TransportBuilder::IDLE_TIMEOUT,
            },
            http2: true,
            ca_certificates: None,
            resolve: Vec::new(),
            proxies: Proxies::none(),
        }
    }

    /// The same transport, pool and all, with other limits for what is checked out from it.
    #[must_use]
    pub fn with_limits(&self, limits: Limits) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            limits,
        }
    }

    /// The limits of what is checked out.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// A connection to `target` that is ready for one request: an idle one, a place on a shared HTTP/2
    /// one, or a new one.
    ///
    /// # Errors
    /// `Dns`, `Refused`, `Unreachable`, `Reset`, `Tls`, `Proxy`, `RefusedTarget`,
    /// `Timeout(Connect)`, `Protocol`; `Configuration` where the platform's certificates and the
    /// bundled ones both cannot be used.
    pub async fn check_out(
        &self,
        target: &Target,
        guard: Guard,
    ) -> Result<Checkout, TransportError> {
        let proxy = self
            .shared
            .proxies
            .as_ref()
            .and_then(|rules| rules.proxy_for(target));
        let home = Home {
            pool: Arc::clone(&self.shared.pool),
            key: Key {
                target: target.clone(),
                proxied: proxy.is_some(),
            },
        };
        // The common case needs no timer.
        let pooled = match self.shared.pool.take(&home.key, guard) {
            Some(Permit::Http1(http1)) if !http1.is_ready() => Some(Permit::Http1(http1)),
            Some(permit) => return Ok(self.checkout(home, permit, true)),
            None => None,
        };
        // Boxed, since it is large and seldom needed: whatever awaits a checkout would be as large.
        let connecting = Box::pin(self.reuse_or_dial(&home, proxy, guard, pooled));
        let (permit, reused) =
            tokio::time::timeout(self.limits.connect.min(LONGEST_WAIT), connecting)
                .await
                .map_err(|_| TransportError::new(TransportErrorKind::Timeout(Phase::Connect)))??;
        Ok(self.checkout(home, permit, reused))
    }

    fn checkout(&self, home: Home, permit: Permit, reused: bool) -> Checkout {
        Checkout::new(home, permit, self.limits, reused)
    }

    /// Waits for a pooled connection that is finishing its last request, or opens one. Whether it was
    /// in use before.
    async fn reuse_or_dial(
        &self,
        home: &Home,
        proxy: Option<Proxy>,
        guard: Guard,
        mut pooled: Option<Permit>,
    ) -> Result<(Permit, bool), TransportError> {
        let shared = &self.shared;
        while let Some(permit) = pooled {
            let Permit::Http1(mut http1) = permit else {
                return Ok((permit, true));
            };
            if http1.ready().await {
                return Ok((Permit::Http1(http1), true));
            }
            pooled = shared.pool.take(&home.key, guard);
        }
        let target = &home.key.target;
        let dialed =
            dial::dial(&shared.resolver, &shared.tls, target, proxy.as_ref(), guard).await?;
        let forwarding = proxy.filter(|_| !target.is_https());
        let authorization = forwarding
            .as_ref()
            .and_then(|proxy| proxy.authorization().cloned());
        let clock = shared.clock.clone();
        let permit = connection::open(dialed, authorization, forwarding.is_some(), clock).await?;
        if let Permit::Http2(stream) = &permit {
            // Another may have dialed at the same time: then one connection serves both.
            if let Some(joined @ Permit::Http2(_)) = shared.pool.take(&home.key, guard) {
                return Ok((joined, true));
            }
            let connection = Arc::clone(stream.connection());
            shared.pool.share(home.key.clone(), connection);
        }
        Ok((permit, false))
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Collects the options of a [`Transport`]; [`build`](Self::build) checks them.
#[derive(Clone, Debug)]
#[must_use]
pub struct TransportBuilder {
    clock: Clock,
    limits: Limits,
    bounds: Bounds,
    http2: bool,
    ca_certificates: Option<Vec<u8>>,
    resolve: Vec<Resolve>,
    proxies: Proxies,
}

impl TransportBuilder {
    /// The default of [`idle_connections`](Self::idle_connections): one for each of the scopes that a job works
    /// on at once, so that none of them costs its server a handshake for every URL. An idle connection holds
    /// some 20 kB, with TLS some 60 kB.
    pub const IDLE_CONNECTIONS: usize = 2048;
    /// The default of [`idle_per_target`](Self::idle_per_target).
    pub const IDLE_PER_TARGET: usize = 64;
    /// The default of [`idle_timeout`](Self::idle_timeout).
    pub const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

    /// The limits of each exchange. Default: [`Limits::default`].
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How many idle connections are kept in all, the one unused for longest making way. 0 keeps none.
    /// Default 2048, or half of the files that this process may have open, where that is less.
    pub fn idle_connections(mut self, count: usize) -> Self {
        self.bounds.total = count;
        self
    }

    /// How many idle connections are kept for one target. 0 keeps none. Default 64.
    pub fn idle_per_target(mut self, count: usize) -> Self {
        self.bounds.per_target = count;
        self
    }

    /// How long an idle connection is kept. Default 30 s; at most half as long again may pass before
    /// it is closed.
    pub fn idle_timeout(mut self, duration: Duration) -> Self {
        self.bounds.idle = duration;
        self
    }

    /// Whether HTTP/2 is offered to https servers. Default: yes.
    pub fn http2(mut self, offered: bool) -> Self {
        self.http2 = offered;
        self
    }

    /// Trusts the certificates in this PEM data and no others, as curl's `--cacert`. Default: the
    /// platform's, or where it has none, Mozilla's as bundled.
    pub fn ca_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.ca_certificates = Some(pem.into());
        self
    }

    /// Adds an entry that is used instead of a name lookup.
    pub fn resolve(mut self, entry: Resolve) -> Self {
        self.resolve.push(entry);
        self
    }

    /// The proxies to use. Default: none, whatever the environment says.
    pub fn proxies(mut self, proxies: Proxies) -> Self {
        self.proxies = proxies;
        self
    }

    /// Checks the options.
    ///
    /// # Errors
    /// `Configuration`: PEM data without a usable certificate, or a proxy that is no http(s) URL.
    pub fn build(self) -> Result<Transport, TransportError> {
        Ok(Transport {
            shared: Arc::new(Shared {
                clock: self.clock,
                pool: Pool::new(self.bounds),
                resolver: Resolver::new(self.resolve),
                tls: Tls::new(self.ca_certificates.as_deref(), self.http2)?,
                proxies: self.proxies.build()?,
            }),
            limits: self.limits,
        })
    }
}

/// How many idle connections are kept where so many files may be open; the other half is for those in use and for
/// bodies.
fn kept_idle(open_files: Option<u64>) -> usize {
    let half = usize::try_from(open_files.unwrap_or(u64::MAX) / 2).unwrap_or(usize::MAX);
    half.min(TransportBuilder::IDLE_CONNECTIONS)
}

/// How many files this process may have open; `None`: as many as it likes, or nobody knows.
fn open_files() -> Option<u64> {
    #[cfg(unix)]
    {
        rustix::process::getrlimit(rustix::process::Resource::Nofile).current
    }
    #[cfg(not(unix))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_connections_leave_half_of_the_files_to_others() {
        for (files, kept) in [
            (None, 2048),
            (Some(0), 0),
            (Some(256), 128),
            (Some(1024), 512),
            (Some(8192), 2048),
            (Some(u64::MAX), 2048),
        ] {
            assert_eq!(kept_idle(files), kept, "{files:?}");
        }
    }

    #[test]
    fn every_scope_that_a_job_works_on_can_keep_a_connection() {
        const { assert!(TransportBuilder::IDLE_CONNECTIONS >= crate::DEFAULT_SCOPES) }
    }
}
