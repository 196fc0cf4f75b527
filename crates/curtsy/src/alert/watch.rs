//! The task that watches scopes and tells alerts.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use curtsy_core::audit::{Entry, Event};
use curtsy_core::{Alert, AlertKind, Scope, Timestamp, Watched};
use tokio::task::JoinHandle;

use super::message::Message;
use super::outbox::{Outbox, Put};
use super::webhook::Webhook;
use super::{Shared, command};
use crate::client::Client;
use crate::error::{Error, ErrorKind};
use crate::notice::{Notice, Notices};

/// How often scopes in trouble are looked at without anything happening to them; where there are very many, as
/// many times longer than a look takes.
const LOOK_AFTER: (Duration, u32) = (Duration::from_secs(1), 50);
/// What has not been told by the end is waited for so long.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// The alerts of a client are told while this lives.
#[must_use]
pub struct AlertWatch {
    task: JoinHandle<()>,
    watcher: Watcher,
}

#[derive(Clone)]
struct Watcher {
    shared: Arc<Shared>,
    client: Client,
    outboxes: Arc<Mutex<Vec<Outbox>>>,
    watched: Arc<Mutex<HashMap<Scope, Watched>>>,
}

impl AlertWatch {
    pub(super) fn start(shared: Arc<Shared>, client: Client) -> Self {
        let watcher = Watcher {
            outboxes: Arc::new(Mutex::new(outboxes(&shared, &client))),
            watched: Arc::default(),
            shared,
            client,
        };
        let watching = watcher.clone();
        Self {
            task: tokio::spawn(async move { watching.watch().await }),
            watcher,
        }
    }

    /// The alerts that are raised and not cleared, and since when each holds.
    #[must_use]
    pub fn raised(&self) -> BTreeMap<Scope, Vec<(AlertKind, Timestamp)>> {
        let watched = lock(&self.watcher.watched);
        let raised = watched.iter().map(|(scope, watched)| {
            let alerts: Vec<_> = watched.raised().collect();
            (scope.clone(), alerts)
        });
        raised.filter(|(_, alerts)| !alerts.is_empty()).collect()
    }

    /// Looks a last time, and waits a little until all is told.
    pub async fn finish(self) {
        self.task.abort();
        self.watcher.look().await;
        let outboxes = std::mem::take(&mut *lock(&self.watcher.outboxes));
        for outbox in outboxes {
            let channel = outbox.channel;
            if !outbox.finish(LAST_WORDS).await {
                let why = "the end came before";
                let untold = Err(Error::new(ErrorKind::Output, why));
                tell_failure(&self.watcher.client.shared.gate.notices, channel, untold);
            }
        }
    }
}

impl Drop for AlertWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Watcher {
    async fn watch(&self) {
        let mut pause = LOOK_AFTER.0;
        loop {
            let is_quiet = lock(&self.watched).values().all(Watched::is_quiet);
            let noted = self.shared.noted.notified();
            if is_quiet {
                noted.await;
            } else {
                // What lasts is told when it has lasted, and what has ended may have ended unseen.
                let _ = tokio::time::timeout(pause, noted).await;
            }
            let begun = Instant::now();
            self.look().await;
            pause = LOOK_AFTER.0.max(begun.elapsed() * LOOK_AFTER.1);
        }
    }

    /// Looks at every scope that may be in trouble.
    async fn look(&self) {
        for (scope, alert) in self.find() {
            self.tell(&scope, &alert).await;
        }
    }

    fn find(&self) -> Vec<(Scope, Alert)> {
        let mut watched = lock(&self.watched);
        let scopes: HashMap<Scope, bool> = {
            let mut troubles = self.shared.troubles();
            let touched = std::mem::take(&mut troubles.touched);
            let lasting = watched.iter().filter(|(_, watched)| !watched.is_quiet());
            let lasting = lasting.map(|(scope, _)| scope.clone());
            let scopes = touched.into_iter().chain(lasting);
            let with_robots = |scope: Scope| {
                let is_unreachable = troubles.unreachable.contains_key(&scope);
                (scope, is_unreachable)
            };
            scopes.map(with_robots).collect()
        };
        let (shared, now) = (&self.client.shared, self.client.now());
        let mut found = Vec::new();
        for (scope, is_unreachable) in scopes {
            // What was let go of is at rest.
            let met = shared.gate.hosts.met(&scope);
            let (policy, state) = met.unwrap_or_else(|| (shared.policies.policy_of(&scope), None));
            let of_scope = watched.entry(scope.clone()).or_default();
            let rules = &self.shared.rules;
            let state = state.unwrap_or_default();
            let alerts = of_scope.look(rules, &policy, &state, is_unreachable, now);
            found.extend(alerts.into_iter().map(|alert| (scope.clone(), alert)));
        }
        watched.retain(|_, watched| !watched.is_forgotten(now));
        found
    }

    async fn tell(&self, scope: &Scope, alert: &Alert) {
        let shared = &self.client.shared;
        shared.gate.notices.tell(Notice::Alert { scope, alert });
        let event = Event::Alert {
            alert: alert.kind,
            state: alert.state,
            since: alert.since,
        };
        // Where the log cannot be written, the next departure says so.
        let entry = Entry::of_scope(scope, event, alert.kind.label());
        let _ = shared.audit.record([entry]).await;
        let message = Arc::new(Message::new(scope, alert, self.client.now()));
        for outbox in &*lock(&self.outboxes) {
            if outbox.put(&message) == Put::FirstLost {
                shared.gate.notices.tell(Notice::AlertLost {
                    channel: outbox.channel,
                    error: None,
                });
            }
        }
    }
}

fn outboxes(shared: &Shared, client: &Client) -> Vec<Outbox> {
    let notices = &client.shared.gate.notices;
    let mut outboxes = Vec::new();
    if let Some(request) = &shared.webhook {
        let webhook = Arc::new(tokio::sync::Mutex::new(Webhook::new(client, request)));
        let notices = notices.clone();
        outboxes.push(Outbox::start("webhook", move |message| {
            let (webhook, notices) = (Arc::clone(&webhook), notices.clone());
            async move {
                let told = webhook.lock().await.deliver(&message).await;
                tell_failure(&notices, "webhook", told);
            }
        }));
    }
    if !shared.command.is_empty() {
        let (program, notices) = (shared.command.clone(), notices.clone());
        outboxes.push(Outbox::start("command", move |message| {
            let (program, notices) = (program.clone(), notices.clone());
            async move {
                let told = command::run(&program, &message).await;
                tell_failure(&notices, "command", told);
            }
        }));
    }
    outboxes
}

fn tell_failure(notices: &Notices, channel: &'static str, told: Result<(), Error>) {
    if let Err(error) = told {
        notices.tell(Notice::AlertLost {
            channel,
            error: Some(&error),
        });
    }
}

fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
