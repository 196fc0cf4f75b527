//! The channels that somebody listens to.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use redis::{Value, from_redis_value_ref};
use tokio::sync::watch;

use super::link::Link;
use crate::host_store::Version;
use crate::watch::Watch;

/// Who listens to what, and what the server has been told of it.
#[derive(Default)]
pub(super) struct Watched {
    wanted: Mutex<HashMap<String, Listened>>,
    /// The line, and the channels that it is subscribed to.
    subscribed: tokio::sync::Mutex<(u64, HashSet<String>)>,
}

struct Listened {
    changes: watch::Sender<Version>,
    listeners: usize,
}

/// One who listens, until this is dropped.
struct Subscription {
    link: Weak<Link>,
    channel: String,
}

impl Link {
    /// Listens to a channel.
    pub(super) fn watch(self: &Arc<Self>, channel: String) -> Watch {
        let changes = {
            let mut wanted = self.watched.lock();
            let listened = wanted.entry(channel.clone()).or_insert_with(|| Listened {
                changes: watch::Sender::new(Version::ABSENT),
                listeners: 0,
            });
            listened.listeners += 1;
            listened.changes.subscribe()
        };
        self.resubscribe();
        let link = Arc::downgrade(self);
        Watch::new(changes, Subscription { link, channel })
    }

    /// Brings the server to send what is listened to, and no more.
    pub(super) fn resubscribe(self: &Arc<Self>) {
        let link = Arc::clone(self);
        tokio::spawn(async move {
            let mut subscribed = link.watched.subscribed.lock().await;
            while link.subscribe_once(&mut subscribed).await {}
        });
    }

    /// Makes one difference good; false where there is none, or the server cannot be told now. Then it is
    /// told when it is connected to again.
    async fn subscribe_once(
        self: &Arc<Self>,
        (line, channels): &mut (u64, HashSet<String>),
    ) -> bool {
        if channels.is_empty() && self.watched.is_empty() {
            return false;
        }
        let Ok(mut standing) = self.line().await else {
            return false;
        };
        if *line != standing.number {
            *line = standing.number;
            channels.clear();
        }
        let (missing, surplus) = {
            let wanted = self.watched.lock();
            let missing = wanted.keys().filter(|&channel| !channels.contains(channel));
            let surplus = channels
                .iter()
                .filter(|&channel| !wanted.contains_key(channel));
            let missing: Vec<String> = missing.cloned().collect();
            (missing, surplus.cloned().collect::<Vec<String>>())
        };
        if !surplus.is_empty() && standing.connection.unsubscribe(&surplus).await.is_ok() {
            surplus
                .iter()
                .for_each(|channel| _ = channels.remove(channel));
            return true;
        }
        if !missing.is_empty() && standing.connection.subscribe(&missing).await.is_ok() {
            // What was published before is not known.
            missing
                .iter()
                .for_each(|channel| self.watched.tell(channel, Version::ABSENT));
            channels.extend(missing);
            return true;
        }
        false
    }
}

impl Watched {
    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Takes a message of the server: channel, payload.
    pub(super) fn published(&self, message: &[Value]) {
        let [channel, Value::BulkString(payload)] = message else {
            return;
        };
        let payload = payload.as_slice().try_into().map_or(0, u64::from_be_bytes);
        if let Ok(channel) = from_redis_value_ref::<String>(channel) {
            self.tell(&channel, Version::from_number(payload));
        }
    }

    /// Tells all who listen that they may miss something.
    pub(super) fn tell_all(&self) {
        for listened in self.lock().values() {
            listened.changes.send_replace(Version::ABSENT);
        }
    }

    fn tell(&self, channel: &str, version: Version) {
        if let Some(listened) = self.lock().get(channel) {
            listened.changes.send_replace(version);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Listened>> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let Some(link) = self.link.upgrade() else {
            return;
        };
        {
            let mut wanted = link.watched.lock();
            if let Some(listened) = wanted.get_mut(&self.channel) {
                listened.listeners -= 1;
                if listened.listeners == 0 {
                    wanted.remove(&self.channel);
                }
            }
        }
        // Outside of a runtime the connection is at its end too.
        if tokio::runtime::Handle::try_current().is_ok() {
            link.resubscribe();
        }
    }
}
