//! robots.txt as a client meets it: asked for once, kept in the store, consulted for every URL.
//!
//! The fetch is a departure like any other: it passes the gate, is on record and sets holds (O5).

mod fetch;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use curtsy_core::audit::{Entry, Event, Noted, RobotsRead, Subject};
use curtsy_core::robots::{
    Access, Fetched, Freshness, ProductToken, Reading, Unreachable, access, freshness, record,
};
use curtsy_core::{Bound, Decline, HostState, Kind, Origin, Policy, Preset, Reason, Timestamp};
use curtsy_store::host_store::MAX_VALUE_BYTES;
use curtsy_store::{Swap, Version};
use tokio::sync::Semaphore;
use url::Url;

use crate::client::Client;
use crate::error::{Error, ErrorKind};
use crate::hosts::Host;
use crate::transport::Guard;
use fetch::Ended;

/// Under this prefix stand the robots files in the store.
const ROBOTS_PREFIX: &str = "robots:";
/// From so many files on, those that nobody is asking about are let go of; the store still has them.
const MANY: usize = 4096;

/// Crawlers of other names whose reading of one file is kept.
const MOST_TOKENS: usize = 8;

/// The robots files of a client.
#[derive(Default)]
pub(crate) struct RobotsCache {
    origins: Mutex<HashMap<Origin, Arc<OriginFile>>>,
    /// How often a file was read for a crawler; departures cite the reading that lets them.
    readings: AtomicU64,
}

/// One origin's file.
struct OriginFile {
    /// Who asks for it; the others wait for that answer.
    turn: Semaphore,
    known: Mutex<Option<Known>>,
}

struct Known {
    fetched: Arc<Fetched>,
    /// What it says to whom.
    readings: Vec<Read>,
}

/// What a file says to one crawler.
#[derive(Clone)]
struct Read {
    token: ProductToken,
    access: Arc<Access>,
    /// Its number.
    reading: u64,
}

/// What is known of a file without asking anybody.
enum Current {
    Said(Consulted),
    /// It is known, but not what it says to this crawler.
    Unread(Arc<Fetched>),
}

/// What robots.txt lets a request do.
pub(crate) enum Consulted {
    /// Ask this, and cite the reading with this number.
    Access(Arc<Access>, u64),
    /// The file cannot be had for now.
    Deferred(Bound),
    /// The scope is suppressed.
    Declined(Decline),
    /// The host cannot be reached at all.
    Failed(Error),
}

impl RobotsCache {
    fn entry(&self, origin: &Origin) -> Arc<OriginFile> {
        let mut origins = self.origins.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = origins.get(origin) {
            return Arc::clone(known);
        }
        if origins.len() >= MANY {
            origins.retain(|_, file| Arc::strong_count(file) > 1);
        }
        let entry = origins.entry(origin.clone());
        Arc::clone(entry.or_insert_with(|| {
            Arc::new(OriginFile {
                turn: Semaphore::new(1),
                known: Mutex::default(),
            })
        }))
    }
}

impl OriginFile {
    /// The access where it is known and the file need not be asked for.
    fn current(
        &self,
        token: &ProductToken,
        reading: &Reading,
        is_held: bool,
        now: Timestamp,
    ) -> Option<Current> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.as_ref()?;
        let read = known.readings.iter().find(|read| read.token == *token);
        // A host that could not be reached is not waited for by each of its URLs anew.
        let stands = is_held
            && known
                .readings
                .iter()
                .any(|read| is_out_of_reach(&read.access));
        if freshness(&known.fetched, reading, now) == Freshness::Ask && !stands {
            return None;
        }
        Some(match read {
            Some(read) => Current::Said(consulted(&known.fetched, read)),
            None => Current::Unread(Arc::clone(&known.fetched)),
        })
    }

    fn know(&self, fetched: &Arc<Fetched>, read: Read) -> Consulted {
        let said = consulted(fetched, &read);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *known {
            Some(known) if Arc::ptr_eq(&known.fetched, fetched) => {
                if known.readings.len() == MOST_TOKENS {
                    known.readings.remove(0);
                }
                known.readings.push(read);
            }
            known => {
                *known = Some(Known {
                    fetched: Arc::clone(fetched),
                    readings: vec![read],
                });
            }
        }
        said
    }
}

fn reading(policy: &Policy) -> Reading {
    match policy.preset {
        Preset::HttpClient => Reading::HTTP_CLIENT,
        Preset::Compliant | Preset::Raw => Reading::COMPLIANT,
    }
}

/// Whether no answer of any kind came from the host.
fn is_out_of_reach(access: &Access) -> bool {
    matches!(access, Access::Unreachable { why, .. } if transport_kind(*why).is_some())
}

/// O3: a host that cannot be reached at all fails its URLs; one that answers 5xx or 429 defers them.
fn consulted(fetched: &Fetched, read: &Read) -> Consulted {
    let Access::Unreachable { retry_at, why } = &*read.access else {
        return Consulted::Access(Arc::clone(&read.access), read.reading);
    };
    match (fetched, transport_kind(*why)) {
        (Fetched::Failing { .. }, Some(kind)) => Consulted::Failed(Error::new(
            ErrorKind::Transport(kind),
            format!("its robots.txt cannot be reached: {}", why.as_str()),
        )),
        _ => Consulted::Deferred(Bound {
            not_before: *retry_at,
            reason: Reason::RobotsUnreachable,
        }),
    }
}

impl Client {
    /// What the robots.txt of `url`'s origin lets the crawler with this token do.
    pub(crate) async fn consult(
        &self,
        host: &Arc<Host>,
        url: &Url,
        token: &ProductToken,
        guard: Guard,
    ) -> Result<Consulted, Error> {
        let Some(origin) = Origin::of(url) else {
            return Err(Error::new(ErrorKind::InvalidUrl, "not an http(s) URL"));
        };
        let said = self.look_up(host, url, &origin, token, guard).await?;
        if let Consulted::Access(access, _) = &said {
            self.note_crawl_delay(host, &origin, access).await?;
        }
        Ok(said)
    }

    /// What is known of the file that governs a URL, once it has been consulted.
    pub(crate) fn known_robots(&self, url: &Url) -> Option<Arc<Fetched>> {
        let entry = self.shared.robots.entry(&Origin::of(url)?);
        let known = entry.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.as_ref().map(|known| Arc::clone(&known.fetched))
    }

    /// What that file lets the crawler with another token do.
    pub(crate) fn judge(&self, fetched: &Fetched, host: &Host, token: &ProductToken) -> Access {
        access(fetched, token, &reading(&host.policy), self.now())
    }

    /// From memory, else from the store, else from the server.
    async fn look_up(
        &self,
        host: &Host,
        url: &Url,
        origin: &Origin,
        token: &ProductToken,
        guard: Guard,
    ) -> Result<Consulted, Error> {
        let entry = self.shared.robots.entry(origin);
        let reading = reading(&host.policy);
        let current = || {
            let now = self.now();
            entry.current(token, &reading, host.is_held(now), now)
        };
        if let Some(Current::Said(said)) = current() {
            return Ok(said);
        }
        let Ok(_turn) = entry.turn.acquire().await else {
            return Err(Error::new(
                ErrorKind::Configuration,
                "the robots cache is closed",
            ));
        };
        let read = |fetched| self.read(&entry, host, url, origin, token, fetched);
        match current() {
            Some(Current::Said(said)) => return Ok(said),
            Some(Current::Unread(fetched)) => return read(fetched).await,
            None => {}
        }
        let key = format!("{ROBOTS_PREFIX}{origin}");
        let stored = self
            .shared
            .gate
            .patiently(|| async { Ok(self.store().load(&key).await?) })
            .await?;
        let (version, before) = match stored {
            // What cannot be read is no reason to stop: the file is asked for again.
            Some(stored) => (
                stored.version,
                serde_json::from_slice::<Fetched>(&stored.value).ok(),
            ),
            None => (Version::ABSENT, None),
        };
        if let Some(stored) = &before
            && freshness(stored, &reading, self.now()) != Freshness::Ask
            // The client's lifetime is the copy's, in the preset that says so.
            && !reading.lenient
        {
            return read(Arc::new(stored.clone())).await;
        }
        let validators = before.as_ref().and_then(Fetched::validators).cloned();
        // Boxed, since it is large and seldom needed.
        let answer = match Box::pin(self.fetch_robots(origin, validators, guard)).await? {
            Ended::Answer(answer) => answer,
            Ended::Stop(said) => return Ok(said),
        };
        let fetched = record(before, answer, &reading, self.now());
        self.keep(&key, version, &fetched).await?;
        read(Arc::new(fetched)).await
    }

    /// Reads a file for a crawler. It is on record before anybody can go by it.
    async fn read(
        &self,
        entry: &OriginFile,
        host: &Host,
        url: &Url,
        origin: &Origin,
        token: &ProductToken,
        fetched: Arc<Fetched>,
    ) -> Result<Consulted, Error> {
        let read = Read {
            token: token.clone(),
            access: Arc::new(self.judge(&fetched, host, token)),
            reading: 1 + self.shared.robots.readings.fetch_add(1, Ordering::Relaxed),
        };
        self.record_reading(url, origin, &read).await?;
        Ok(entry.know(&fetched, read))
    }

    async fn keep(&self, key: &str, version: Version, fetched: &Fetched) -> Result<(), Error> {
        let value = serde_json::to_vec(fetched).map_err(|error| {
            Error::new(ErrorKind::Configuration, "a robots.txt cannot be stored").caused_by(error)
        })?;
        if value.len() > MAX_VALUE_BYTES {
            // Octets that are no text take several times their number. This client knows it; the next one
            // asks for it.
            return Ok(());
        }
        let swap = || async {
            Ok(self
                .store()
                .compare_and_swap(key, version, value.clone())
                .await?)
        };
        // Another worker that stored one meanwhile asked for the same file: either copy will do.
        let (Swap::Stored(_) | Swap::Conflict(_)) = self.shared.gate.patiently(swap).await?;
        Ok(())
    }

    /// The Crawl-delay becomes part of the scope's state, for all workers and for the next run. Asked for
    /// at each request, since the state may have been reset and the file may name times of day.
    async fn note_crawl_delay(
        &self,
        host: &Arc<Host>,
        origin: &Origin,
        access: &Access,
    ) -> Result<(), Error> {
        let gate = &self.shared.gate;
        let delay = self.crawl_delay_of(access);
        let note = |state: &HostState| {
            // The common case costs no copy of the state.
            if delay.is_none() && state.crawl_delay().is_none() {
                return None;
            }
            let mut next = state.clone();
            next.note_crawl_delay(origin, delay).then_some(next)
        };
        let noted = Noted::CrawlDelay {
            origin: origin.clone(),
            delay_ms: delay.map(|delay| delay.as_secs_f64() * 1000.0),
        };
        gate.patiently(|| gate.hosts.note(host, &noted, note))
            .await?;
        Ok(())
    }

    async fn record_reading(&self, url: &Url, origin: &Origin, read: &Read) -> Result<(), Error> {
        if !self.shared.audit.is_on() {
            return Ok(());
        }
        let (label, rules) = match &*read.access {
            Access::Rules { robots, .. } => ("rules", robots.records()),
            Access::Allowed(_) => ("allowed", Vec::new()),
            Access::Forbidden(_) => ("forbidden", Vec::new()),
            Access::Unreachable { .. } => ("unreachable", Vec::new()),
        };
        let delay = self.crawl_delay_of(&read.access);
        let (scope, _) = self.address(url)?;
        let subject = Subject {
            scope: &scope,
            url,
            kind: Kind::Robots,
            attempt: 1,
            policy: &self.shared.policies.policy_of(&scope),
        };
        let event = Event::RobotsRead(RobotsRead {
            origin: origin.to_string(),
            access: label.to_owned(),
            crawl_delay_ms: delay.map(|delay| delay.as_secs_f64() * 1000.0),
            reading: read.reading,
            agent: read.token.to_string(),
            rules,
        });
        let entry = Entry::of(&subject, event);
        self.shared.audit.record([entry]).await
    }

    /// What an origin's robots.txt asks for between two requests at this time of day.
    pub(crate) fn crawl_delay_of(&self, access: &Access) -> Option<Duration> {
        match access {
            Access::Rules { robots, .. } => robots.delay(self.now()),
            _ => None,
        }
    }
}

/// The transport's word for why a host cannot be reached; `None` where it answered.
fn transport_kind(why: Unreachable) -> Option<crate::transport::TransportErrorKind> {
    use crate::transport::{Phase, TransportErrorKind as Kind};

    Some(match why {
        Unreachable::Dns => Kind::Dns,
        Unreachable::Refused => Kind::Refused,
        Unreachable::Reset => Kind::Reset,
        Unreachable::Timeout => Kind::Timeout(Phase::Head),
        Unreachable::Tls => Kind::Tls,
        Unreachable::Protocol => Kind::Protocol,
        _ => return None,
    })
}
