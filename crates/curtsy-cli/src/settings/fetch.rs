//! The keys of `[fetch]`: all that is no policy.

use std::path::PathBuf;
use std::time::Duration;

use curtsy_core::Policy;

use super::layers::{Layers, key};
use super::{Flags, PaperSettings};
use crate::failure::Failure;
use crate::value::{
    Contact, Header, HostName, JobName, ListenAddr, Proxy, QueueUrl, Resolve, Scoping, Size,
    StateUrl, Token, UserAgent,
};

/// How a job and its connections are run.
#[derive(Clone, Debug)]
pub(crate) struct FetchSettings {
    /// Where bodies and the job's own files go. Default `curtsy-out`.
    pub(crate) out: PathBuf,
    /// Requests in flight at once, over all scopes, from 1 to 10000. Default 64.
    pub(crate) concurrency: u32,
    /// What is paced together where no group says otherwise. Default: each host.
    pub(crate) scoping: Scoping,
    /// The longest time to connect, above 0. Default 10 s.
    pub(crate) connect_timeout: Duration,
    /// The longest time of a whole request, above 0. Default 10 min.
    pub(crate) total_timeout: Duration,
    /// The largest body in bytes, decoded; at least 1. Default 1 GiB.
    pub(crate) max_body: Size,
    /// The User-Agent, without the contact. Default `curtsy/VERSION`.
    pub(crate) user_agent: UserAgent,
    /// The mail address at which sites reach the user. Default none.
    pub(crate) contact: Option<Contact>,
    /// Headers for listed URLs.
    pub(crate) headers: Vec<Header>,
    /// Addresses in place of what the name system says.
    pub(crate) resolve: Vec<Resolve>,
    /// The certificate authorities to trust. Default: the system's.
    pub(crate) cacert: Option<PathBuf>,
    /// The proxy. Default: as the environment says.
    pub(crate) proxy: Option<Proxy>,
    /// Redirects may lead from public hosts to private addresses. Default false.
    pub(crate) allow_private: bool,
    /// Where the state of scopes is kept. Default: a file in the user's state directory.
    pub(crate) state: StateUrl,
    /// The longest wait for a state store that is lost during a run. Default: until it returns.
    pub(crate) store_timeout: Option<Duration>,
    /// Where the job's URLs wait. Default: a file in `out`.
    pub(crate) queue: QueueUrl,
    /// The job's name in a shared queue. Default `default`.
    pub(crate) job: JobName,
    /// How long a lease of a scope lasts where the worker dies, at least a second. Default 60 s.
    pub(crate) lease: Duration,
    /// The audit log. Default `.curtsy/audit.jsonl` in `out`.
    pub(crate) audit: PathBuf,
    /// The size at which it goes on in another file, at least 1 byte. Default 256 MiB.
    pub(crate) audit_size: Size,
    /// Where metrics are served. Default nowhere.
    pub(crate) metrics: Option<ListenAddr>,
    /// Where the live page is served. Default nowhere.
    pub(crate) dashboard: Option<ListenAddr>,
    /// What a visitor of the page must know. Default: beyond this machine a fresh one.
    pub(crate) dashboard_token: Option<Token>,
    /// Further names by which the page may be asked for. Default: addresses and localhost alone.
    pub(crate) dashboard_hosts: Vec<HostName>,
    /// The longest wait for the next URL where only deferred ones are left. Default: the policy's patience.
    pub(crate) max_wait: Duration,
    /// Failed URLs of an earlier run are taken up again. Default false.
    pub(crate) retry_failed: bool,
    /// Fetched URLs of an earlier run are asked again. Default false.
    pub(crate) refresh: bool,
    /// The archive that responses are recorded in. Default: none, bodies are files.
    pub(crate) warc: Option<PathBuf>,
    /// No bodies are kept. Default false.
    pub(crate) no_body: bool,
    /// The summary is JSON. Default false.
    pub(crate) json: bool,
    /// 0 silent, 1 warnings, 2 what happens, 3 why. Default 1.
    pub(crate) verbosity: u8,
}

/// Reads the keys from their layers and checks them.
///
/// # Errors
/// A value cannot be read, or is out of its bounds.
pub(super) fn read(
    layers: &mut Layers<'_>,
    flags: Flags<'_>,
    policy: &Policy,
    papers: &PaperSettings,
) -> Result<FetchSettings, Failure> {
    let job = &flags.options.job;
    let mut f = FetchSettings {
        out: PathBuf::from("curtsy-out"),
        concurrency: 64,
        scoping: Scoping::Host,
        connect_timeout: Duration::from_secs(10),
        total_timeout: Duration::from_secs(600),
        max_body: Size(1 << 30),
        user_agent: UserAgent::own(),
        contact: None,
        headers: Vec::new(),
        resolve: Vec::new(),
        cacert: None,
        proxy: None,
        allow_private: false,
        state: StateUrl::Memory,
        store_timeout: None,
        queue: QueueUrl::Sqlite,
        job: JobName::default_job(),
        lease: curtsy::DEFAULT_LEASE,
        audit: PathBuf::new(),
        audit_size: Size(curtsy::DEFAULT_ROTATE_AT),
        metrics: None,
        dashboard: None,
        dashboard_token: None,
        dashboard_hosts: Vec::new(),
        max_wait: policy.max_retry_after,
        retry_failed: false,
        refresh: false,
        warc: None,
        no_body: false,
        json: false,
        verbosity: 1,
    };
    let on = |flag: bool| flag.then_some(true);
    layers.set(key("out").flag("--out"), job.out.clone(), &mut f.out)?;
    if flags.options.for_papers {
        f.out.clone_from(&papers.out_dir);
    }
    layers.set(
        key("concurrency").flag("--concurrency"),
        job.concurrency,
        &mut f.concurrency,
    )?;
    layers.check(
        "concurrency",
        (1..=10_000).contains(&f.concurrency),
        "must be from 1 to 10000",
    )?;
    layers.set(key("scoping"), None, &mut f.scoping)?;
    layers.set(
        key("max_wait").flag("--max-wait"),
        job.max_wait,
        &mut f.max_wait,
    )?;
    layers.set(
        key("retry_failed").flag("--retry-failed"),
        on(job.retry_failed),
        &mut f.retry_failed,
    )?;
    layers.set(
        key("refresh").flag("--refresh"),
        on(job.refresh),
        &mut f.refresh,
    )?;
    set_bodies(layers, flags, &mut f)?;
    set_queue(layers, flags, &mut f)?;
    f.audit = f.out.join(".curtsy").join("audit.jsonl");
    layers.set(
        key("audit").flag("--audit"),
        job.audit.clone(),
        &mut f.audit,
    )?;
    layers.set(
        key("audit_size").flag("--audit-size"),
        job.audit_size,
        &mut f.audit_size,
    )?;
    layers.check(
        "audit_size",
        f.audit_size > Size(0),
        "must be at least 1 byte",
    )?;
    set_watching(layers, flags, &mut f)?;
    layers.set(key("json").flag("--json"), on(flags.json), &mut f.json)?;
    set_verbosity(layers, flags, &mut f.verbosity)?;
    set_connection(layers, flags, &mut f)?;
    set_store(layers, flags, &mut f)?;
    Ok(f)
}

fn set_queue(
    layers: &mut Layers<'_>,
    flags: Flags<'_>,
    f: &mut FetchSettings,
) -> Result<(), Failure> {
    let job = &flags.options.job;
    layers.set(
        key("queue").flag("--queue"),
        job.queue.clone(),
        &mut f.queue,
    )?;
    layers.set(key("job").flag("--job"), job.job.clone(), &mut f.job)?;
    layers.set(key("lease").flag("--lease"), job.lease, &mut f.lease)?;
    layers.check(
        "lease",
        f.lease >= Duration::from_secs(1),
        "must be at least 1 second",
    )?;
    let is_shared = matches!(f.queue, QueueUrl::Redis(_));
    layers.check(
        "refresh",
        !(is_shared && f.refresh),
        "a job that workers share cannot be refreshed",
    )
}

fn set_watching(
    layers: &mut Layers<'_>,
    flags: Flags<'_>,
    f: &mut FetchSettings,
) -> Result<(), Failure> {
    let given = &flags.options.watching;
    layers.set(
        key("metrics").flag("--metrics").unset("off"),
        given.metrics.map(Some),
        &mut f.metrics,
    )?;
    layers.set(
        key("dashboard").flag("--dashboard").unset("off"),
        given.dashboard.map(Some),
        &mut f.dashboard,
    )?;
    layers.set(
        key("dashboard_token").unset("a fresh one, where it is served beyond this machine"),
        None,
        &mut f.dashboard_token,
    )?;
    layers.set(key("dashboard_hosts"), None, &mut f.dashboard_hosts)?;
    let is_same = f.metrics.is_some() && f.metrics == f.dashboard;
    let has_port = f.dashboard.is_some_and(|at| at.0.port() != 0);
    layers.check(
        "dashboard",
        !(is_same && has_port),
        "needs another port than metrics",
    )
}

fn set_bodies(
    layers: &mut Layers<'_>,
    flags: Flags<'_>,
    f: &mut FetchSettings,
) -> Result<(), Failure> {
    let job = &flags.options.job;
    layers.set(
        key("warc").flag("--warc").unset("each body is a file"),
        job.warc.clone().map(Some),
        &mut f.warc,
    )?;
    layers.set(
        key("no_body").flag("--no-body"),
        job.no_body.then_some(true),
        &mut f.no_body,
    )?;
    layers.check(
        "no_body",
        f.warc.is_none() || !f.no_body,
        "keeps no bodies, and warc asks for a file of them: one of the two",
    )
}

fn set_verbosity(
    layers: &mut Layers<'_>,
    flags: Flags<'_>,
    verbosity: &mut u8,
) -> Result<(), Failure> {
    let (quiet, verbose) = (flags.global.quiet, flags.global.verbose);
    let (flag, name) = match (quiet, verbose) {
        (true, _) => (Some(0), "-q"),
        (false, 0) => (None, "-v"),
        (false, more) => (Some(more.saturating_add(1).min(3)), "-v"),
    };
    layers.set(key("verbosity").flag(name), flag, verbosity)?;
    layers.check("verbosity", *verbosity <= 3, "must be from 0 to 3")
}

fn set_connection(
    layers: &mut Layers<'_>,
    flags: Flags<'_>,
    f: &mut FetchSettings,
) -> Result<(), Failure> {
    let given = &flags.options.connection;
    layers.set(
        key("connect_timeout").flag("--connect-timeout"),
        given.connect_timeout,
        &mut f.connect_timeout,
    )?;
    layers.check(
        "connect_timeout",
        !f.connect_timeout.is_zero(),
        "must be above 0",
    )?;
    layers.set(
        key("total_timeout").flag("--total-timeout"),
        given.total_timeout,
        &mut f.total_timeout,
    )?;
    layers.check(
        "total_timeout",
        !f.total_timeout.is_zero(),
        "must be above 0",
    )?;
    layers.set(
        key("max_body").flag("--max-body"),
        given.max_body,
        &mut f.max_body,
    )?;
    layers.check("max_body", f.max_body > Size(0), "must be at least 1 byte")?;
    layers.set(
        key("resolve").flag("--resolve"),
        unless_empty(&given.resolve),
        &mut f.resolve,
    )?;
    layers.set(
        key("cacert")
            .flag("--cacert")
            .unset("the system's authorities"),
        given.cacert.clone().map(Some),
        &mut f.cacert,
    )?;
    layers.set(
        key("proxy")
            .flag("--proxy")
            .unset("as http_proxy, https_proxy, all_proxy and no_proxy say"),
        given.proxy.clone().map(Some),
        &mut f.proxy,
    )?;
    layers.set(
        key("allow_private").flag("--allow-private"),
        given.allow_private.then_some(true),
        &mut f.allow_private,
    )?;
    layers.set(
        key("user_agent").flag("--user-agent"),
        given.user_agent.clone(),
        &mut f.user_agent,
    )?;
    layers.set(
        key("contact").flag("--contact").unset("none"),
        given.contact.clone().map(Some),
        &mut f.contact,
    )?;
    layers.set(
        key("header").or("headers").flag("--header"),
        unless_empty(&given.header),
        &mut f.headers,
    )
}

fn set_store(
    layers: &mut Layers<'_>,
    flags: Flags<'_>,
    f: &mut FetchSettings,
) -> Result<(), Failure> {
    let given = &flags.options.store;
    // Workers that share a job share what they know of its servers.
    let usual = match &f.queue {
        QueueUrl::Redis(url) => Ok(StateUrl::Redis(url.clone())),
        QueueUrl::Sqlite => StateUrl::of_user(),
    };
    if let Ok(usual) = &usual {
        f.state = usual.clone();
    }
    layers.set(
        key("state").flag("--state"),
        given.state.clone(),
        &mut f.state,
    )?;
    if let (Err(why), false) = (usual, layers.is_given("state")) {
        return Err(layers.complain_of("state", &why));
    }
    layers.check(
        "state",
        f.state != StateUrl::Memory || f.queue == QueueUrl::Sqlite,
        "workers that share a job must share their state: leave it out, or name a redis://",
    )?;
    layers.set(
        key("store_timeout")
            .flag("--store-timeout")
            .unset("none, until the store returns"),
        given.store_timeout.map(|off| off.0),
        &mut f.store_timeout,
    )
}

/// A list on the command line replaces the one of the file; no list replaces nothing.
fn unless_empty<T: Clone>(list: &[T]) -> Option<Vec<T>> {
    (!list.is_empty()).then(|| list.to_vec())
}
