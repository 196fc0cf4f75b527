//! From settings to a client: store, transport, policies.

use std::sync::Arc;
use std::time::Duration;

use curtsy::clock::Clock;
use curtsy::store::{HostStore, MemoryStore, SqliteStore, StoreError, StoreErrorKind};
use curtsy::transport::{Limits, Proxies, Transport};
use curtsy::{Audit, Client, ErrorKind, Notices, Policies};
use tokio::runtime::Runtime;

use crate::failure::{Exit, Failure, chain};
use crate::settings::{FetchSettings, Settings};
use crate::value::{Scoping, StateUrl};

/// How long a second Ctrl-C is needed for an end at once: a shutdown of the runtime waits no longer.
const SHUTDOWN: Duration = Duration::from_secs(1);

/// Runs a command's work on a runtime of one thread, which measures better here than several.
pub(crate) fn run<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime: Runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Exit::Usage, "the runtime cannot start", error))?;
    let result = runtime.block_on(work);
    runtime.shutdown_timeout(SHUTDOWN);
    result
}

/// Waits for Ctrl-C, or the polite signal of a process manager.
pub(crate) async fn told_to_stop() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}

/// Where the state of scopes is, and the clock of all who share it.
pub(crate) struct State {
    store: Arc<dyn HostStore>,
    pub(crate) clock: Clock,
}

/// A client as the settings want it, that puts nothing on record.
///
/// # Errors
/// The state store cannot be opened, or an option makes no sense.
pub(crate) async fn client(settings: &Settings, notices: Notices) -> Result<Client, Failure> {
    let state = State::open(&settings.fetch.state).await?;
    client_with(settings, state, Audit::off(), notices)
}

/// A client as the settings want it, with this state and record.
///
/// # Errors
/// An option makes no sense.
pub(crate) fn client_with(
    settings: &Settings,
    state: State,
    audit: Audit,
    notices: Notices,
) -> Result<Client, Failure> {
    let fetch = &settings.fetch;
    let State { store, clock } = state;
    let transport = transport(settings, clock.clone())?;
    let mut builder = Client::builder()
        .policies(policies(settings))
        .store(store)
        .transport(transport)
        .clock(clock)
        .audit(audit)
        .notices(notices)
        .user_agent(fetch.user_agent.as_str())
        .concurrency(fetch.concurrency as usize)
        .store_timeout(fetch.store_timeout)
        .allow_private(fetch.allow_private);
    if let Some(contact) = &fetch.contact {
        builder = builder.contact(contact.as_str());
    }
    for header in &fetch.headers {
        builder = builder.header(header.name.clone(), header.value.clone());
    }
    builder
        .build()
        .map_err(|error| failure("the client", &error))
}

impl State {
    /// Opens the state store.
    ///
    /// # Errors
    /// It cannot be opened: exit 4.
    pub(crate) async fn open(url: &StateUrl) -> Result<Self, Failure> {
        let opened: Result<Arc<dyn HostStore>, StoreError> = match url {
            StateUrl::Memory => Ok(Arc::new(MemoryStore::new())),
            StateUrl::Sqlite(path) => SqliteStore::open(path)
                .await
                .map(|store| Arc::new(store) as _),
            StateUrl::Redis(url) => redis::state(url).await,
        };
        let store = opened.map_err(|error| store_failure("the state store", &error))?;
        let clock = store.clock().map_or_else(Clock::system, Clock::shared);
        Ok(Self { store, clock })
    }
}

#[cfg(feature = "redis")]
mod redis {
    use std::sync::Arc;

    use curtsy::store::{HostStore, RedisStore, RedisUrl, StoreError};

    pub(super) async fn state(url: &RedisUrl) -> Result<Arc<dyn HostStore>, StoreError> {
        Ok(Arc::new(RedisStore::open(url).await?))
    }
}

/// Without the feature no such URL can be read.
#[cfg(not(feature = "redis"))]
mod redis {
    use std::sync::Arc;

    use curtsy::store::{HostStore, RedisUrl, StoreError, StoreErrorKind};

    pub(super) async fn state(_: &RedisUrl) -> Result<Arc<dyn HostStore>, StoreError> {
        Err(StoreError::new(
            StoreErrorKind::Invalid,
            "no Redis is built in",
        ))
    }
}

/// An error of a store or queue while it is opened: its message names it.
pub(crate) fn store_failure(what: &str, error: &StoreError) -> Failure {
    Failure::new(Exit::Store, what, chain(error))
}

/// An error of the library as the user sees it, with the exit code of its kind.
pub(crate) fn failure(what: &str, error: &curtsy::Error) -> Failure {
    let exit = match error.kind() {
        // Wherever it is that there is no room.
        ErrorKind::Store(StoreErrorKind::Full) => Exit::Output,
        ErrorKind::Store(_) => Exit::Store,
        ErrorKind::Output => Exit::Output,
        ErrorKind::Configuration | ErrorKind::InvalidUrl | ErrorKind::Locked => Exit::Usage,
        ErrorKind::Closed => Exit::Interrupted,
        _ => Exit::No,
    };
    Failure::new(exit, what, chain(error))
}

fn policies(settings: &Settings) -> Policies {
    let scoping = match settings.fetch.scoping {
        Scoping::Host => curtsy::Scoping::Host,
        Scoping::RegistrableDomain => curtsy::Scoping::RegistrableDomain,
    };
    let mut policies = Policies::new(settings.policy.clone()).scoping(scoping);
    for (scope, policy) in &settings.scopes {
        policies = policies.with_scope(scope.clone(), policy.clone());
    }
    for (host, group) in &settings.groups {
        policies = policies.with_group(host.clone(), group.clone());
    }
    for (host, profile) in &settings.profiles {
        policies = policies.with_profile(host.clone(), *profile);
    }
    policies
}

fn transport(settings: &Settings, clock: Clock) -> Result<Transport, Failure> {
    let FetchSettings {
        connect_timeout,
        total_timeout,
        max_body,
        resolve,
        cacert,
        proxy,
        ..
    } = &settings.fetch;
    let limits = Limits {
        connect: *connect_timeout,
        silence: settings.policy.timeout,
        total: *total_timeout,
        body: max_body.0,
    };
    let proxies = Proxies::from_environment(|name| std::env::var(name).ok());
    let proxies = match proxy {
        Some(proxy) => proxies.with_url(proxy.url()),
        None => proxies,
    };
    let mut builder = Transport::builder(clock).limits(limits).proxies(proxies);
    for entry in resolve {
        let entry = entry
            .to_string()
            .parse()
            .map_err(|error| Failure::usage("--resolve", chain(&error)))?;
        builder = builder.resolve(entry);
    }
    if let Some(path) = cacert {
        let pem = std::fs::read(path).map_err(|error| Failure::usage(path.display(), error))?;
        builder = builder.ca_certificates(pem);
    }
    builder
        .build()
        .map_err(|error| Failure::usage("the connection options", chain(&error)))
}
