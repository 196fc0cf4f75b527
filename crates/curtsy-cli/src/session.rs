//! From settings to a client: store, transport, policies.

use std::sync::Arc;
use std::time::Duration;

use curtsy::clock::Clock;
use curtsy::store::{
    HostStore, MemoryStore, Queue, RedisUrl, SqliteQueue, SqliteStore, StoreError, StoreErrorKind,
};
use curtsy::transport::{Limits, Proxies, Transport};
use curtsy::{Alerts, Audit, Client, ClientBuilder, ErrorKind, JobDir, Metrics, Notices, Policies};
use curtsy_papers::{Access, Contact};
use tokio::runtime::Runtime;

use crate::dynamodb;
use crate::failure::{Exit, Failure, chain};
use crate::files;
use crate::settings::{FetchSettings, Settings};
use crate::value::{QueueUrl, Scoping, StateUrl};

/// How long a second Ctrl-C is needed for an end at once: a shutdown of the runtime waits no longer.
const SHUTDOWN: Duration = Duration::from_secs(1);

/// Runs a command's work on a runtime of one thread, which measures better here than several.
pub(crate) fn run<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    files::raise_limit();
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
    let state = State::of(settings).await?;
    let ears = Ears {
        notices,
        ..Ears::default()
    };
    client_with(settings, state, ears)
}

/// Who hears of what a client does.
#[derive(Clone, Default)]
pub(crate) struct Ears {
    pub(crate) audit: Audit,
    pub(crate) notices: Notices,
    pub(crate) metrics: Metrics,
    pub(crate) alerts: Alerts,
}

/// A client as the settings want it, with this state, that is heard by these ears.
///
/// # Errors
/// An option makes no sense.
pub(crate) fn client_with(
    settings: &Settings,
    state: State,
    ears: Ears,
) -> Result<Client, Failure> {
    let mut client = client_builder(settings, state, ears)?;
    for header in &settings.fetch.headers {
        client = client.header(header.name.clone(), header.value.clone());
    }
    client
        .policies(policies(settings))
        .build()
        .map_err(|error| failure("the client", &error))
}

/// A client's parts, but for its policies, and for the headers that go to listed URLs.
fn client_builder(settings: &Settings, state: State, ears: Ears) -> Result<ClientBuilder, Failure> {
    let fetch = &settings.fetch;
    let State { store, clock } = state;
    let transport = transport(settings, clock.clone())?;
    let mut builder = Client::builder()
        .store(store)
        .transport(transport)
        .clock(clock)
        .audit(ears.audit)
        .notices(ears.notices)
        .metrics(ears.metrics)
        .alerts(ears.alerts)
        .user_agent(fetch.user_agent.as_str())
        .concurrency(fetch.concurrency as usize)
        .store_timeout(fetch.store_timeout)
        .allow_private(fetch.allow_private);
    if let Some(contact) = &fetch.contact {
        builder = builder.contact(contact.as_str());
    }
    Ok(builder)
}

/// What only papers leave to the user in how they are asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asking {
    /// robots.txt is consulted for the documented interfaces too.
    pub(crate) respect_robots_txt: bool,
    /// Redirects from https to http are followed.
    pub(crate) allow_http: bool,
}

/// The way to all providers of papers, as the settings want it.
///
/// # Errors
/// There is no contact, or a placeholder; the state store cannot be opened, or an option makes no sense.
pub(crate) async fn access(
    settings: &Settings,
    asking: Asking,
    notices: Notices,
) -> Result<Access, Failure> {
    let state = State::of(settings).await?;
    let ears = Ears {
        notices,
        ..Ears::default()
    };
    access_with(settings, asking, state, ears)
}

/// The same, with this state, heard by these ears.
///
/// # Errors
/// As [`access`].
pub(crate) fn access_with(
    settings: &Settings,
    asking: Asking,
    state: State,
    ears: Ears,
) -> Result<Access, Failure> {
    let builder = client_builder(settings, state, ears)?;
    Access::builder(contact(settings)?)
        .keys(settings.papers.keys.clone())
        .endpoints(settings.papers.endpoints.clone())
        .respect_robots_txt(asking.respect_robots_txt)
        .allow_http(asking.allow_http)
        .policies(policies(settings))
        .client(builder)
        .build()
        .map_err(|error| paper_failure(&error))
}

/// Who asks, which every provider of papers wants to know.
///
/// # Errors
/// There is none, or a placeholder: exit 2.
pub(crate) fn contact(settings: &Settings) -> Result<Contact, Failure> {
    let Some(contact) = &settings.fetch.contact else {
        return Err(Failure::usage(
            "--contact",
            "is needed: the providers of papers want a mail address of who asks; give it here, or as \
             CURTSY_CONTACT, or in curtsy.toml",
        ));
    };
    let text = contact.as_str();
    text.parse()
        .map_err(|why| Failure::usage(format_args!("--contact {text}"), why))
}

/// An error of the papers' library, with the exit code of its kind.
pub(crate) fn paper_failure(error: &curtsy_papers::Error) -> Failure {
    match error.kind() {
        curtsy_papers::ErrorKind::Engine(kind) => {
            Failure::new(exit_of(kind), "paper", chain(error))
        }
        curtsy_papers::ErrorKind::Disk => Failure::new(Exit::Output, "paper", chain(error)),
        _ => Failure::usage("paper", chain(error)),
    }
}

impl State {
    /// The state store and its clock.
    ///
    /// # Errors
    /// It cannot be opened: exit 4.
    pub(crate) async fn of(settings: &Settings) -> Result<Self, Failure> {
        Self::open(&settings.fetch.state).await
    }

    /// The state store and its clock, or else that of the queue, which workers share too.
    ///
    /// # Errors
    /// It cannot be opened: exit 4.
    pub(crate) async fn beside(queue: &dyn Queue, url: &StateUrl) -> Result<Self, Failure> {
        let mut state = Self::open(url).await?;
        if state.store.clock().is_none()
            && let Some(clock) = queue.clock()
        {
            state.clock = Clock::shared(clock);
        }
        Ok(state)
    }

    /// Makes what the store needs, and says what there is to know of it.
    ///
    /// # Errors
    /// It cannot be made or opened: exit 4.
    pub(crate) async fn create(url: &StateUrl) -> Result<&'static str, Failure> {
        if let StateUrl::DynamoDb(table) = url {
            let created = dynamodb::create_table(table).await;
            return created.map_err(|error| store_failure("the state store", &error));
        }
        Self::open(url).await?;
        Ok("")
    }

    async fn open(url: &StateUrl) -> Result<Self, Failure> {
        let opened: Result<Arc<dyn HostStore>, StoreError> = match url {
            StateUrl::Memory => Ok(Arc::new(MemoryStore::new())),
            StateUrl::Sqlite(path) => SqliteStore::open(path)
                .await
                .map(|store| Arc::new(store) as _),
            StateUrl::Redis(url) => redis::state(url).await,
            StateUrl::DynamoDb(table) => dynamodb::open(table).await,
        };
        let store = opened.map_err(|error| store_failure("the state store", &error))?;
        let clock = store.clock().map_or_else(Clock::system, Clock::shared);
        Ok(Self { store, clock })
    }
}

/// The queue of a job in this directory, or of a job that the worker of this directory shares with others.
///
/// # Errors
/// It cannot be opened: exit 4.
pub(crate) async fn queue(
    settings: &FetchSettings,
    dir: &JobDir,
) -> Result<Arc<dyn Queue>, Failure> {
    let opened: Result<Arc<dyn Queue>, StoreError> = match &settings.queue {
        QueueUrl::Sqlite => SqliteQueue::open(&dir.queue())
            .await
            .map(|queue| Arc::new(queue) as _),
        QueueUrl::Redis(url) => {
            let worker = dir.worker().map_err(|error| failure("fetch", &error))?;
            redis::queue(url, settings.job.as_str(), &worker).await
        }
    };
    opened.map_err(|error| store_failure("the queue", &error))
}

/// The queue of the job that stands in the output directory, or on the queue that workers share, to look at:
/// whoever works on it goes on.
///
/// # Errors
/// It cannot be opened: exit 4.
pub(crate) async fn standing(settings: &FetchSettings) -> Result<Option<Arc<dyn Queue>>, Failure> {
    match &settings.queue {
        QueueUrl::Redis(_) => Ok(Some(job(&settings.queue, settings.job.as_str()).await?)),
        QueueUrl::Sqlite => {
            let path = JobDir::queue_in(&settings.out);
            if !path.exists() {
                return Ok(None);
            }
            let queue = SqliteQueue::open(&path).await;
            let queue = queue.map_err(|error| store_failure("the queue", &error))?;
            Ok(Some(Arc::new(queue)))
        }
    }
}

/// The names of the jobs in a queue that workers share.
///
/// # Errors
/// It is no such queue (exit 2), or failed (exit 4).
pub(crate) async fn jobs(queue: &QueueUrl) -> Result<Vec<String>, Failure> {
    let jobs = redis::jobs(shared(queue)?).await;
    jobs.map_err(|error| store_failure("the queue", &error))
}

/// One of these jobs, to look at.
///
/// # Errors
/// As [`jobs`].
pub(crate) async fn job(queue: &QueueUrl, name: &str) -> Result<Arc<dyn Queue>, Failure> {
    let job = redis::queue(shared(queue)?, name, "").await;
    job.map_err(|error| store_failure("the queue", &error))
}

/// Forgets one of these jobs; false where there is none of this name.
///
/// # Errors
/// As [`jobs`].
pub(crate) async fn cancel(queue: &QueueUrl, name: &str) -> Result<bool, Failure> {
    let cancelled = redis::cancel(shared(queue)?, name).await;
    cancelled.map_err(|error| store_failure("the queue", &error))
}

fn shared(queue: &QueueUrl) -> Result<&RedisUrl, Failure> {
    match queue {
        QueueUrl::Redis(url) => Ok(url),
        QueueUrl::Sqlite => Err(Failure::usage(
            "--queue",
            "name the queue that workers share, as redis://HOST",
        )),
    }
}

#[cfg(feature = "redis")]
mod redis {
    use std::sync::Arc;

    use curtsy::store::{HostStore, Queue, RedisQueue, RedisStore, RedisUrl, StoreError};

    pub(super) async fn state(url: &RedisUrl) -> Result<Arc<dyn HostStore>, StoreError> {
        Ok(Arc::new(RedisStore::open(url).await?))
    }

    pub(super) async fn queue(
        url: &RedisUrl,
        job: &str,
        worker: &str,
    ) -> Result<Arc<dyn Queue>, StoreError> {
        Ok(Arc::new(RedisQueue::open(url, job, worker).await?))
    }

    pub(super) async fn jobs(url: &RedisUrl) -> Result<Vec<String>, StoreError> {
        RedisQueue::jobs(url).await
    }

    pub(super) async fn cancel(url: &RedisUrl, job: &str) -> Result<bool, StoreError> {
        RedisQueue::cancel(url, job).await
    }
}

/// Without the feature no such URL can be read.
#[cfg(not(feature = "redis"))]
mod redis {
    use std::sync::Arc;

    use curtsy::store::{HostStore, Queue, RedisUrl, StoreError, StoreErrorKind};

    pub(super) async fn queue(
        _: &RedisUrl,
        _: &str,
        _: &str,
    ) -> Result<Arc<dyn Queue>, StoreError> {
        missing()
    }

    pub(super) async fn jobs(_: &RedisUrl) -> Result<Vec<String>, StoreError> {
        missing()
    }

    pub(super) async fn cancel(_: &RedisUrl, _: &str) -> Result<bool, StoreError> {
        missing()
    }

    pub(super) async fn state(_: &RedisUrl) -> Result<Arc<dyn HostStore>, StoreError> {
        missing()
    }

    fn missing<T>() -> Result<T, StoreError> {
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
    Failure::new(exit_of(error.kind()), what, chain(error))
}

fn exit_of(kind: ErrorKind) -> Exit {
    match kind {
        // Wherever it is that there is no room.
        ErrorKind::Store(StoreErrorKind::Full) => Exit::Output,
        ErrorKind::Store(StoreErrorKind::Gone) => Exit::Interrupted,
        ErrorKind::Store(_) => Exit::Store,
        ErrorKind::Output => Exit::Output,
        ErrorKind::Configuration | ErrorKind::InvalidUrl | ErrorKind::Locked => Exit::Usage,
        ErrorKind::Closed => Exit::Interrupted,
        _ => Exit::No,
    }
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
