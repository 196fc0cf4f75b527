//! From settings to a client: store, transport, policies.

use std::sync::Arc;
use std::time::Duration;

use curtsy::clock::Clock;
use curtsy::store::{HostStore, MemoryStore, SqliteStore, StoreErrorKind};
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

/// A client as the settings want it.
///
/// # Errors
/// The state store cannot be opened, or an option makes no sense.
pub(crate) async fn client(
    settings: &Settings,
    clock: Clock,
    audit: Audit,
    notices: Notices,
) -> Result<Client, Failure> {
    let fetch = &settings.fetch;
    let transport = transport(settings, clock.clone())?;
    let mut builder = Client::builder()
        .policies(policies(settings))
        .store(store(&fetch.state).await?)
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

/// The state store.
///
/// # Errors
/// It cannot be opened: exit 4.
pub(crate) async fn store(url: &StateUrl) -> Result<Arc<dyn HostStore>, Failure> {
    match url {
        StateUrl::Memory => Ok(Arc::new(MemoryStore::new())),
        StateUrl::Sqlite(path) => match SqliteStore::open(path).await {
            Ok(store) => Ok(Arc::new(store)),
            Err(error) => Err(Failure::new(
                Exit::Store,
                format!("the state store {}", path.display()),
                chain(&error),
            )),
        },
    }
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
