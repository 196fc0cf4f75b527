//! [`Job`]: a whole list of URLs, each scope at its own pace, resumable.
//!
//! Scopes are leased from the queue, each is worked through by a lane of its own, what ends goes through
//! the sink to the disk and only then back to the queue as done. After a crash at any moment, what was
//! recorded stands and everything else is fetched again.

mod dir;
mod feed;
mod fetch;
mod fleet;
mod lane;
mod lanes;
pub(crate) mod manifest;
mod outlook;
mod recorder;
mod refresh;
mod store;
mod summary;

use std::sync::Arc;
use std::time::Duration;

use curtsy_core::{Reason, Scope, Timestamp};
use curtsy_store::queue::MAX_PAGE;
use curtsy_store::{Enqueued, Horizon, Queue};

pub use dir::JobDir;
pub use feed::Feed;
pub use manifest::{Line, Outcome};
pub use outlook::{Outlook, ScopeOutlook};
pub use store::Bodies;
pub use summary::{Progress, ReasonCount, ScopeSummary, Summary};

use crate::client::{Client, Crowd};
use crate::error::{Error, ErrorKind};
use crate::sink::Sink;
use feed::Feeds;
use fleet::Fellows;
use lanes::Lanes;
use recorder::Recorder;
use store::{Store, StoreKind};
use summary::Reasons;

/// What this process is called in a queue of its own.
const WORKER: &str = "local";
/// How long a lease lasts where the worker dies.
pub const DEFAULT_LEASE: Duration = Duration::from_secs(60);
/// Scopes that are worked on at once.
pub const DEFAULT_SCOPES: usize = 2048;
/// What is due within so long is room made for.
const SOON: Duration = Duration::from_secs(10);
/// URLs that a scope is handed at once while others wait for its lane.
const SMALL_PAGE: usize = 4;
/// How many times a job with nothing else left asks for a robots.txt that cannot be read.
const ROBOTS_ROUNDS: u32 = 3;
/// How URLs end that `retry_failed` takes up again.
const FAILED: [Outcome; 3] = [Outcome::Failed, Outcome::HttpError, Outcome::Suppressed];

/// How a job is run.
#[derive(Clone, Debug)]
pub struct JobOptions {
    /// What becomes of bodies. Default: files.
    pub bodies: Bodies,
    /// H10: with only deferred URLs left, the longest wait for the next one. Default: 300 s.
    pub max_wait: Duration,
    /// Whether URLs that failed for good are taken up again. Default: no.
    pub retry_failed: bool,
    /// Scopes that are worked on at once, at least 1. Where there are more, those that only wait for
    /// their next departure make room. Default: [`DEFAULT_SCOPES`].
    pub scopes: usize,
    /// Whether fetched URLs are asked again, with the validators of their last response where the body is
    /// still there. Default: no.
    pub refresh: bool,
    /// How long a lease of a scope lasts where the worker dies; it is renewed after a quarter of it. At
    /// least a second. Default: [`DEFAULT_LEASE`].
    pub lease: Duration,
    /// Of a job that workers share: whether the first URLs are waited for, where there are none yet. Default:
    /// no.
    pub awaits_urls: bool,
    /// Of a job that workers share: whether further URLs are waited for when it is done, until this worker is
    /// stopped. Default: no.
    pub stays: bool,
}

impl Default for JobOptions {
    fn default() -> Self {
        Self {
            bodies: Bodies::Files,
            max_wait: curtsy_core::policy::DEFAULT_MAX_RETRY_AFTER,
            retry_failed: false,
            scopes: DEFAULT_SCOPES,
            refresh: false,
            lease: DEFAULT_LEASE,
            awaits_urls: false,
            stays: false,
        }
    }
}

impl JobOptions {
    /// The outcomes of an earlier run after which a URL is fetched again.
    pub(crate) async fn takes_up(&self, queue: &dyn Queue) -> Result<Vec<&'static str>, Error> {
        let mut outcomes = Vec::new();
        if self.retry_failed {
            outcomes.extend(FAILED.map(Outcome::label));
        }
        if self.refresh && !refresh::is_under_way(queue).await? {
            outcomes.push(Outcome::Fetched.label());
        }
        Ok(outcomes)
    }
}

/// A URL to be fetched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewEntry {
    /// The URL as given.
    pub url: String,
    /// The file for its body, relative to the job's directory.
    pub out: Option<String>,
    /// Headers of its own, as a JSON object of texts.
    pub headers: Option<String>,
}

/// A list of URLs in a directory.
pub struct Job {
    shared: Arc<Shared>,
    dir: JobDir,
    options: JobOptions,
    recorder: Recorder,
}

/// What lanes share.
struct Shared {
    client: Client,
    queue: Arc<dyn Queue>,
    /// What this process is called in the queue.
    worker: String,
    sink: Sink,
    store: Store,
    progress: summary::Counters,
    feeds: Feeds,
    crowd: Arc<Crowd>,
}

/// Stops a job gracefully: requests in flight finish, nothing else departs.
#[derive(Clone)]
pub struct Stopper(Arc<Shared>);

impl Stopper {
    /// Asks the job to stop.
    pub fn stop(&self) {
        self.0.client.close();
    }
}

impl Job {
    /// Opens the job in `dir` on its queue: for this process alone, or beside the workers of other
    /// directories where the queue is shared.
    ///
    /// # Errors
    /// The directory or the queue cannot be used. `Configuration`: a shared job is to be refreshed.
    pub async fn open(
        client: Client,
        queue: Arc<dyn Queue>,
        dir: JobDir,
        options: JobOptions,
    ) -> Result<Self, Error> {
        let worker = if queue.is_shared() {
            dir.worker()?
        } else {
            WORKER.to_owned()
        };
        // The directory's lock says that every earlier worker of it is gone.
        queue.take_over(&worker).await?;
        if options.retry_failed {
            queue.reopen(&FAILED.map(Outcome::label)).await?;
        }
        if options.refresh && queue.is_shared() {
            let why = "a job that workers share cannot be refreshed";
            return Err(Error::new(ErrorKind::Configuration, why));
        }
        if options.refresh {
            refresh::begin(&*queue).await?;
        }
        let (store, archive) = Store::open(&options.bodies, &dir, &client, &*queue).await?;
        let (sink, groups) = Sink::start(dir.path(), &dir.temporary(), archive)?;
        let progress = summary::Counters::of(&queue.counts().await?);
        let shared = Arc::new(Shared {
            client,
            queue,
            worker,
            sink,
            store,
            progress,
            feeds: Feeds::default(),
            crowd: Arc::default(),
        });
        let recorder = Recorder::start(&shared, groups, &dir.manifest())?;
        Ok(Self {
            shared,
            dir,
            options,
            recorder,
        })
    }

    /// Adds URLs; those that the job has already are left out. What is no http(s) URL must not come here.
    ///
    /// # Errors
    /// The queue failed, or an entry is no http(s) URL.
    pub async fn add(&self, entries: Vec<NewEntry>) -> Result<Enqueued, Error> {
        self.shared.add(entries).await
    }

    /// What stops this job.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper(Arc::clone(&self.shared))
    }

    /// How far it has come.
    #[must_use]
    pub fn progress(&self) -> ProgressView {
        ProgressView {
            shared: Arc::clone(&self.shared),
            max_wait: self.options.max_wait,
        }
    }

    /// Works until every URL has ended and no [`Feed`] is left, only deferred ones are left that have to
    /// wait for too long, or it is stopped; then the manifest has one line a URL, unless it was stopped. Of a
    /// shared queue: every URL that this worker has fetched.
    ///
    /// # Errors
    /// The store, the queue or the disk failed. What was recorded stands: the job can be taken up again.
    pub async fn run(mut self) -> Result<Summary, Error> {
        let started = self.shared.client.now();
        let gone = self.dir.gone();
        let ended = async {
            let worked = self.work().await;
            let interrupted = self.shared.is_stopping();
            self.recorder.finish(&self.shared.sink).await?;
            worked.map(|()| interrupted)
        };
        let interrupted = tokio::select! {
            ended = ended => ended?,
            // Neither the queue nor a body has a place any more: nothing is waited for.
            gone = gone => {
                self.recorder.abandon();
                return Err(gone);
            }
        };
        let Self { shared, dir, .. } = self;
        let mut reasons = Reasons::default();
        if shared.queue.is_shared() {
            fleet::tidy_manifest(&dir)?;
        } else if !interrupted {
            reasons = summary::write_manifest(&*shared.queue, &dir).await?;
            refresh::end(&*shared.queue).await?;
        }
        let audit = &shared.client.shared.audit.audit;
        audit.keep_tail(&*shared.queue).await?;
        summary::of(&shared, started, interrupted, reasons).await
    }

    async fn work(&self) -> Result<(), Error> {
        let (shared, gate) = (&self.shared, &self.shared.client.shared.gate);
        let mut lanes = Lanes::new(self.options.scopes, self.options.lease);
        let mut patience = Patience::default();
        let mut fed = shared.feeds.watch();
        let mut watch = shared.queue.watch();
        let mut fellows = Fellows::default();
        while !shared.is_stopping() {
            // Before it is looked what is due: what is added meanwhile wakes this loop.
            let is_fed = fed.borrow_and_update().is_open();
            let looked = self.look(&mut lanes, &mut fellows, is_fed).await;
            let Horizon { due, lease_end } = match looked {
                Err(error) if error.kind() == ErrorKind::Closed => break,
                Err(error) => return self.give_up(&mut lanes, error).await,
                Ok(horizon) => horizon,
            };
            let next = due.into_iter().chain(lease_end).min();
            if lanes.is_empty() && !is_fed {
                let Some(next) = next else { break };
                let wait = next.since(shared.client.now());
                // What others have leased may come back, as long as they have it.
                if lease_end.is_none()
                    && (wait > self.options.max_wait || !patience.goes_on(&shared.progress, wait))
                {
                    break;
                }
            }
            let next = next.filter(|_| lanes.room() > 0).unwrap_or(Timestamp::MAX);
            let wake = next.min(lanes.renewal()).min(fellows.renewal());
            let ended = tokio::select! {
                ended = lanes.next_end() => ended,
                () = shared.client.until(wake) => Ok(()),
                _ = fed.changed() => Ok(()),
                () = fleet::told(&mut watch) => Ok(()),
                () = gate.until_closed() => Ok(()),
                error = self.recorder.failed() => Err(error),
            };
            if let Err(error) = ended {
                return self.give_up(&mut lanes, error).await;
            }
        }
        while !lanes.is_empty() {
            self.renew(&mut lanes).await?;
            let renewal = lanes.renewal();
            tokio::select! {
                ended = lanes.next_end() => ended?,
                () = shared.client.until(renewal) => {}
            }
        }
        fellows.tell(false, lanes.length(), shared).await
    }

    /// Starts what is due, and answers what to wait for.
    async fn look(
        &self,
        lanes: &mut Lanes,
        fellows: &mut Fellows,
        is_fed: bool,
    ) -> Result<Horizon, Error> {
        fellows.tell(is_fed, lanes.length(), &self.shared).await?;
        let due = self.start_lanes(lanes).await?;
        fellows.count(&self.shared).await?;
        if lanes.is_empty() && !is_fed {
            return self.horizon(due).await;
        }
        Ok(Horizon {
            due,
            lease_end: None,
        })
    }

    /// Ends with this error when those under way have landed; nothing more is started.
    async fn give_up(&self, lanes: &mut Lanes, error: Error) -> Result<(), Error> {
        self.shared.client.close();
        while !lanes.is_empty() {
            let _ = lanes.next_end().await;
        }
        Err(error)
    }

    /// Keeps what is leased, leases what else is due, and answers when something is due again.
    async fn start_lanes(&self, lanes: &mut Lanes) -> Result<Option<Timestamp>, Error> {
        let (shared, gate) = (&self.shared, &self.shared.client.shared.gate);
        // First, so that a worker that stood still takes up its own leases and not those scopes anew.
        self.renew(lanes).await?;
        let room = fleet::share(&*shared.queue, lanes.room(), lanes.len());
        let mut is_full = false;
        if room > 0 {
            let lease = || async {
                let now = shared.client.now();
                let page = if shared.crowd.is_crowded() {
                    SMALL_PAGE
                } else {
                    MAX_PAGE
                };
                let leased =
                    shared
                        .queue
                        .lease_due(&shared.worker, room, page, lanes.length(), now);
                Ok((leased.await?, now))
            };
            let (leased, now) = gate.patiently(lease).await?;
            is_full = leased.len() == room;
            leased
                .into_iter()
                .for_each(|leased| lanes.start(shared, leased, now));
        }
        let due = gate
            .patiently(|| async { Ok(shared.queue.next_due().await?) })
            .await?;
        let soon = shared.client.now().after(SOON);
        let is_crowded = lanes.room() == 0 && due.is_some_and(|due| due <= soon);
        shared.crowd.note(is_crowded);
        // The other workers of a shared job have their turn first.
        let turn = shared.client.now().after(fleet::TURN);
        let shares = is_full && shared.queue.is_shared();
        Ok(due.map(|due| if shares { due.max(turn) } else { due }))
    }

    async fn renew(&self, lanes: &mut Lanes) -> Result<(), Error> {
        let (shared, gate) = (&self.shared, &self.shared.client.shared.gate);
        if lanes.is_empty() || shared.client.now() < lanes.renewal() {
            return Ok(());
        }
        let leases = lanes.leases();
        let renew = || async {
            let now = shared.client.now();
            let lost = shared.queue.renew(&leases, lanes.length(), now).await?;
            Ok((lost, now))
        };
        let (lost, now) = gate.persistently(renew).await?;
        lanes.renewed(&lost, now);
        Ok(())
    }
}

/// A look at a running job.
#[derive(Clone)]
pub struct ProgressView {
    shared: Arc<Shared>,
    max_wait: Duration,
}

impl ProgressView {
    /// How far it has come now.
    #[must_use]
    pub fn now(&self) -> Progress {
        self.shared.progress.view()
    }

    /// When it will be done, and what is left of the scopes that are `asked` about. It goes through all
    /// scopes of the job: in a large one, that is no question for every second.
    ///
    /// # Errors
    /// The queue failed.
    pub async fn outlook(&self, asked: impl Fn(&Scope) -> bool) -> Result<Outlook, Error> {
        outlook::outlook(&self.shared, self.max_wait, asked).await
    }
}

impl Shared {
    fn is_stopping(&self) -> bool {
        self.client.shared.gate.is_closed()
    }
}

/// How long a job goes on asking for what cannot be read.
#[derive(Default)]
struct Patience {
    ended: u64,
    rounds: u32,
}

impl Patience {
    /// Whether to wait once more: with nothing but unreadable robots.txt left, three times.
    fn goes_on(&mut self, progress: &summary::Counters, wait: Duration) -> bool {
        let ended = progress.ended();
        let robots_alone = progress.last_deferral() == Some(Reason::RobotsUnreachable);
        if ended != self.ended || !robots_alone || wait.is_zero() {
            (self.ended, self.rounds) = (ended, 0);
            return true;
        }
        self.rounds += 1;
        self.rounds < ROBOTS_ROUNDS
    }
}
