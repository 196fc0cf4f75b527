//! Alerts (rule T4): which scopes a person ought to look at, told through the log, a webhook, a command.
//!
//! When an alert is raised and cleared is the core's ([`curtsy_core::Watched`]). Here the scopes in trouble
//! are watched: those that something on record is about that may make a condition hold, and those where one
//! does. Whoever is told is told by a task of its own from a queue that is bounded: fetching waits for none
//! of it.

mod command;
mod message;
mod outbox;
mod watch;
mod webhook;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use curtsy_core::audit::{Event, Record};
use curtsy_core::{AlertRules, Scope};
use tokio::sync::Notify;
use url::Url;

use crate::client::{Client, Request};
use crate::error::{Error, ErrorKind};
pub use watch::AlertWatch;

/// What is alerted of, and through what. The log is always told.
#[derive(Clone, Debug, Default)]
pub struct AlertOptions {
    /// When.
    pub rules: AlertRules,
    /// The URL that is sent each alert as JSON, by POST. User and password in it become its
    /// `Authorization`.
    pub webhook: Option<String>,
    /// The program, with its arguments, that is run for each alert; no shell is between.
    pub command: Vec<String>,
}

/// The alerts of a client. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Alerts(Option<Arc<Shared>>);

#[derive(Debug)]
struct Shared {
    rules: AlertRules,
    webhook: Option<Request>,
    command: Vec<String>,
    troubles: Mutex<Troubles>,
    /// Tells that there is trouble that nobody has looked at.
    noted: Notify,
}

/// What is known from the record.
#[derive(Debug, Default)]
struct Troubles {
    /// The scopes that something has happened to since they were last looked at.
    touched: HashSet<Scope>,
    /// The origins whose robots.txt cannot be read, by scope.
    unreachable: HashMap<Scope, HashSet<String>>,
}

impl Alerts {
    /// Nothing is alerted of.
    #[must_use]
    pub fn off() -> Self {
        Self(None)
    }

    /// Alerts as `options` say, once they are [watched for](Self::watch).
    ///
    /// # Errors
    /// `InvalidUrl`: the webhook is no http(s) URL.
    pub fn new(options: AlertOptions) -> Result<Self, Error> {
        let webhook = options.webhook.as_deref().map(|url| {
            Request::new(http::Method::POST, url).map_err(|error| {
                Error::new(ErrorKind::InvalidUrl, "the webhook is no http(s) URL").caused_by(error)
            })
        });
        Ok(Self(Some(Arc::new(Shared {
            rules: options.rules,
            webhook: webhook.transpose()?,
            command: options.command,
            troubles: Mutex::default(),
            noted: Notify::new(),
        }))))
    }

    /// Watches the scopes of `client`, which is to be the one that was built with these alerts, until the
    /// watch is finished or dropped.
    #[must_use]
    pub fn watch(&self, client: &Client) -> Option<AlertWatch> {
        let shared = self.0.as_ref()?;
        Some(AlertWatch::start(Arc::clone(shared), client.clone()))
    }

    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// This goes on record.
    pub(crate) fn note(&self, record: &Record) {
        let (Some(shared), Some(scope)) = (&self.0, &record.scope) else {
            return;
        };
        let robots = match &record.event {
            Event::RobotsRead(read) => Some((&read.origin, read.access == "unreachable")),
            Event::RateAdjusted { .. }
            | Event::DynamicDelayApplied { .. }
            | Event::BreakerOpened { .. }
            | Event::BreakerHalfOpen {}
            | Event::BreakerClosed {}
            | Event::ScopeSuppressed { .. }
            | Event::SuppressionLifted {}
            | Event::Deferred { .. } => None,
            _ => return,
        };
        let mut troubles = shared.troubles();
        if let Some((origin, is_unreachable)) = robots
            && !troubles.note_robots(scope, origin, is_unreachable)
        {
            return;
        }
        troubles.touched.insert(scope.clone());
        drop(troubles);
        shared.noted.notify_one();
    }
}

impl Shared {
    fn troubles(&self) -> MutexGuard<'_, Troubles> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Troubles {
    /// Whether that changed anything.
    fn note_robots(&mut self, scope: &Scope, origin: &str, is_unreachable: bool) -> bool {
        if is_unreachable {
            let origins = self.unreachable.entry(scope.clone()).or_default();
            return origins.insert(origin.to_owned());
        }
        let Some(origins) = self.unreachable.get_mut(scope) else {
            return false;
        };
        let changed = origins.remove(origin);
        if origins.is_empty() {
            self.unreachable.remove(scope);
        }
        changed
    }
}

/// A URL without what may be secret in it, for messages.
fn shown(url: &Url) -> String {
    let path = if url.path() == "/" { "" } else { "/…" };
    format!("{}{path}", url.origin().ascii_serialization())
}
