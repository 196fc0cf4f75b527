//! What a run tells the people who watch it (rule T5).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::{Alert, Bound, Scope, Timestamp};
use http::HeaderMap;
use url::Url;

use crate::error::Error;
use crate::transport::TransportError;

/// One thing worth telling.
#[derive(Debug)]
#[non_exhaustive]
pub enum Notice<'a> {
    /// A server refused for now: how long it wants to be left alone, and which header said so.
    Throttled {
        /// Whom it is about.
        scope: &'a Scope,
        /// The status.
        status: u16,
        /// How long nothing departs, and since which header; `None` where the backoff decides.
        told: Option<(Duration, &'a str)>,
        /// When the next departure is possible.
        until: Timestamp,
        /// All headers of the response, for who wants to see them where none was usable.
        headers: &'a HeaderMap,
    },
    /// No response came.
    Failed {
        /// Whom it is about.
        scope: &'a Scope,
        /// Why.
        error: &'a TransportError,
        /// When the next departure is possible.
        until: Option<Timestamp>,
    },
    /// A scope is suppressed after 403s.
    Suppressed {
        /// Whom it is about.
        scope: &'a Scope,
    },
    /// A breaker opened.
    BreakerOpened {
        /// Whom it is about.
        scope: &'a Scope,
        /// Until when.
        until: Timestamp,
    },
    /// A URL is disallowed by robots.txt.
    Disallowed {
        /// The URL.
        url: &'a Url,
        /// The rule and its line.
        rule: Option<(&'a str, u32)>,
    },
    /// A URL is put off.
    Deferred {
        /// The URL.
        url: &'a Url,
        /// Until when and why.
        bound: Bound,
    },
    /// T4: an alert was raised or cleared.
    Alert {
        /// Whom it is about.
        scope: &'a Scope,
        /// Which.
        alert: &'a Alert,
    },
    /// An alert could not be told.
    AlertLost {
        /// Through what: `webhook`, `command`.
        channel: &'static str,
        /// Why; `None` where too many wait already.
        error: Option<&'a Error>,
    },
    /// Nothing departs until it is resumed, or what was paused goes on.
    Paused {
        /// Whom it is about; `None`: everything.
        scope: Option<&'a Scope>,
        /// Which of the two.
        is_paused: bool,
    },
    /// A suppression or a breaker was ended by hand.
    Lifted {
        /// Whom it is about.
        scope: &'a Scope,
    },
    /// The store is lost: departures stop until it is back.
    StoreLost {
        /// What it said.
        error: &'a Error,
    },
    /// The store is back.
    StoreBack,
}

/// Who is told.
#[derive(Clone, Default)]
pub struct Notices(Option<Arc<Listener>>);

type Listener = dyn Fn(&Notice<'_>) + Send + Sync;

impl Notices {
    /// Tells each notice to `listener`, on the thread on which it happens: it must not block.
    pub fn to(listener: impl Fn(&Notice<'_>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listener)))
    }

    pub(crate) fn tell(&self, notice: Notice<'_>) {
        if let Some(listener) = &self.0 {
            listener(&notice);
        }
    }
}

impl fmt::Debug for Notices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() {
            "Notices(..)"
        } else {
            "Notices(none)"
        })
    }
}
