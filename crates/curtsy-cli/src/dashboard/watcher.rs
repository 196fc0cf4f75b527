//! Who looks at the run, once for all visitors.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use curtsy::core::Scope;
use curtsy::{Client, Outlook, ProgressView};
use tokio::sync::watch;

use super::detail::Detail;
use super::history::{History, STEP};
use super::snapshot::{Look, Snapshot};
use super::{EventLog, Shown};
use crate::progress::meter::Meter;
use crate::serve::Ending;

/// Between two looks while anybody watches; with very many scopes as many times longer than a look takes.
const LOOK: (Duration, u32) = (Duration::from_millis(400), 4);
/// Between two looks through the whole queue, likewise.
const QUEUE_LOOK: (Duration, u32) = (Duration::from_secs(2), 50);
/// Between two looks at how many have ended.
const METER: Duration = Duration::from_secs(1);

pub(super) struct Watcher {
    name: String,
    client: Client,
    progress: ProgressView,
    pub(super) events: EventLog,
    seen: Mutex<Seen>,
    snapshots: watch::Sender<Option<Arc<Snapshot>>>,
    has_ended: AtomicBool,
}

#[derive(Default)]
struct Seen {
    meter: Meter,
    history: History,
    outlook: Outlook,
}

impl Watcher {
    pub(super) fn start(shown: Shown, ending: Ending) -> Arc<Self> {
        let watcher = Arc::new(Self {
            name: shown.name,
            client: shown.client,
            progress: shown.progress,
            events: shown.events,
            seen: Mutex::default(),
            snapshots: watch::Sender::new(None),
            has_ended: AtomicBool::new(false),
        });
        tokio::spawn(Arc::clone(&watcher).look());
        tokio::spawn(Arc::clone(&watcher).look_through_queue());
        tokio::spawn(Arc::clone(&watcher).keep_history());
        tokio::spawn(Arc::clone(&watcher).see_end(ending));
        watcher
    }

    /// What is seen from now on. The first is there at once.
    pub(super) fn watch(&self) -> watch::Receiver<Option<Arc<Snapshot>>> {
        let watch = self.snapshots.subscribe();
        if watch.borrow().is_none() {
            self.snapshots.send_replace(Some(self.snapshot()));
        }
        watch
    }

    /// All that there is to know of a scope that the client has met.
    pub(super) fn detail(&self, scope: &Scope) -> Option<Detail> {
        let view = self.client.scope(scope)?;
        let points = self.seen().history.points(scope);
        Some(Detail::of(&view, points, self.client.now()))
    }

    /// Whether the job has such a scope.
    pub(super) fn knows(&self, scope: &Scope) -> bool {
        self.client.scope(scope).is_some() || self.seen().outlook.scopes.contains_key(scope)
    }

    /// Looks at once, since somebody has just changed something.
    pub(super) fn refresh(&self) {
        self.snapshots.send_replace(Some(self.snapshot()));
    }

    fn snapshot(&self) -> Arc<Snapshot> {
        let views = self.client.scopes();
        let progress = self.progress.now();
        let now = self.client.now();
        let seen = self.seen();
        Arc::new(Snapshot::of(&Look {
            name: &self.name,
            views: &views,
            progress: &progress,
            outlook: &seen.outlook,
            history: &seen.history,
            rate: seen.meter.rate(),
            eta: seen.meter.eta(&progress, &seen.outlook, now),
            is_paused: self.client.is_paused(),
            has_ended: self.has_ended.load(Ordering::Relaxed),
            now,
        }))
    }

    async fn look(self: Arc<Self>) {
        loop {
            let begun = Instant::now();
            if self.snapshots.receiver_count() > 0 {
                self.refresh();
            } else {
                // Nobody is shown an old one.
                self.snapshots.send_replace(None);
            }
            tokio::time::sleep(LOOK.0.max(begun.elapsed() * LOOK.1)).await;
        }
    }

    async fn look_through_queue(self: Arc<Self>) {
        loop {
            let begun = Instant::now();
            self.look_through_queue_once().await;
            tokio::time::sleep(QUEUE_LOOK.0.max(begun.elapsed() * QUEUE_LOOK.1)).await;
        }
    }

    async fn look_through_queue_once(&self) {
        // Where the queue fails, the job itself says so.
        if let Ok(outlook) = self.progress.outlook(|_| true).await {
            self.seen().outlook = outlook;
        }
    }

    /// Looks a last time.
    async fn see_end(self: Arc<Self>, ending: Ending) {
        ending.comes().await;
        if self.snapshots.receiver_count() > 0 {
            self.look_through_queue_once().await;
        }
        self.has_ended.store(true, Ordering::Relaxed);
        self.refresh();
    }

    async fn keep_history(self: Arc<Self>) {
        let mut ticks = tokio::time::interval(METER);
        for tick in 0_u64.. {
            ticks.tick().await;
            let ended = self.progress.now().ended_now;
            self.seen().meter.note(ended);
            if tick % (STEP.as_secs() / METER.as_secs()) == 0 {
                let (views, now) = (self.client.scopes(), self.client.now());
                self.seen().history.note(&views, now);
            }
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
