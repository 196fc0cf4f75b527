//! [`Planner`]: what a list of URLs would come to, before anything of it is fetched.
//!
//! The list is gone through twice: first for its origins, whose robots.txt are then read through the gate
//! as ever, many at once; then for its URLs, which are counted. So what is held is by origins and scopes,
//! not by URLs, but for eight bytes a URL by which a second one is known.

mod standing;
mod tally;

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::robots::Access;
use curtsy_core::{Bound, Forecast, Origin, Policy, Scope, Timestamp, forecast};
use tokio::task::JoinSet;
use url::Url;

use crate::client::Client;
use crate::error::{Error, ErrorKind};
use crate::robots::Consulted;
use crate::transport::Guard;
pub use tally::{Obstacle, RuleCount, Tally};

/// URLs that are told from others by a digest of 8 bytes; of more, each one counts.
const MAX_DISTINCT: usize = 4_000_000;
/// robots.txt files that are asked for at once. How many are in flight is the client's matter.
const AT_ONCE: usize = 256;

/// A robots.txt is waited for no longer than this where its server wants to be left alone.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often that is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// Makes a plan of a list of URLs.
pub struct Planner {
    client: Client,
    origins: HashMap<Origin, Known>,
    scopes: HashMap<Scope, Tally>,
    seen: HashSet<u64>,
    /// Those of a job that has them already.
    of_job: HashSet<u64>,
    hasher: RandomState,
    duplicates: u64,
    done: u64,
}

/// What is known of an origin's robots.txt.
enum Known {
    /// Nothing yet; a URL of the origin.
    Unread(Url),
    /// It is not asked for.
    NotAsked,
    /// It can be consulted.
    Readable,
    /// Nothing may be fetched from there for now.
    Closed(Obstacle),
}

/// What a list comes to.
#[derive(Debug)]
pub struct Plan {
    /// When it was made.
    pub now: Timestamp,
    /// The scopes, those that end last first.
    pub scopes: Vec<ScopePlan>,
    /// URLs that were there already, which are fetched once.
    pub duplicates: u64,
    /// URLs of the job that are done with, which are planned for no more.
    pub done: u64,
    /// Whether there were so many URLs that those that are there twice were no longer known.
    pub is_rough: bool,
}

/// What a list comes to in one scope.
#[derive(Debug)]
pub struct ScopePlan {
    /// Which.
    pub scope: Scope,
    /// Its policy.
    pub policy: Arc<Policy>,
    /// Its URLs, and those that would not be fetched.
    pub tally: Tally,
    /// How the others would depart.
    pub forecast: Forecast,
}

impl ScopePlan {
    /// When the last of its requests departs; `None` where none does.
    #[must_use]
    pub fn end(&self) -> Option<Timestamp> {
        match self.forecast {
            Forecast::Departs(course) if self.tally.to_fetch() > 0 => Some(course.end),
            _ => None,
        }
    }
}

impl Planner {
    /// A plan for what this client would do.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self {
            client,
            origins: HashMap::new(),
            scopes: HashMap::new(),
            seen: HashSet::new(),
            of_job: HashSet::new(),
            hasher: RandomState::new(),
            duplicates: 0,
            done: 0,
        }
    }

    /// The first time through: notes the URL's origin. Whether it is a new one.
    ///
    /// # Errors
    /// It is no http(s) URL.
    pub fn note(&mut self, url: &Url) -> Result<bool, Error> {
        let origin = origin_of(url)?;
        if self.origins.contains_key(&origin) {
            return Ok(false);
        }
        let (scope, _) = self.client.address(url)?;
        let policy = self.client.shared.policies.policy_of(&scope);
        let known = if policy.polite && policy.respect_robots {
            Known::Unread(url.clone())
        } else {
            Known::NotAsked
        };
        self.origins.insert(origin, known);
        Ok(true)
    }

    /// Between the two: reads the robots.txt of all origins that were noted. `told` is called with how many
    /// have been read.
    ///
    /// # Errors
    /// The store or the audit log failed.
    pub async fn read_robots(&mut self, mut told: impl FnMut(usize)) -> Result<(), Error> {
        let unread = self
            .origins
            .iter()
            .filter_map(|(origin, known)| match known {
                Known::Unread(url) => Some((origin.clone(), url.clone())),
                _ => None,
            });
        let mut unread = unread.collect::<Vec<_>>().into_iter();
        let mut reading: JoinSet<(Origin, Result<Known, Error>)> = JoinSet::new();
        let mut count = 0;
        loop {
            while reading.len() < AT_ONCE
                && let Some((origin, url)) = unread.next()
            {
                let client = self.client.clone();
                reading.spawn(async move { (origin, read(&client, &url).await) });
            }
            let Some(read) = reading.join_next().await else {
                return Ok(());
            };
            let (origin, known) = read.map_err(panicked)?;
            self.origins.insert(origin, known?);
            count += 1;
            told(count);
        }
    }

    /// The second time through: counts these URLs. A few thousand at once are cheapest.
    ///
    /// # Errors
    /// One is no http(s) URL; the store or the audit log failed.
    pub async fn count(&mut self, urls: Vec<Url>) -> Result<(), Error> {
        let mut by_origin: HashMap<Origin, Vec<Url>> = HashMap::new();
        for url in urls {
            if self.of_job.contains(&self.digest(&url)) {
                continue;
            }
            if self.remember(&url) {
                by_origin.entry(origin_of(&url)?).or_default().push(url);
            } else {
                self.duplicates += 1;
            }
        }
        for (origin, urls) in by_origin {
            let access = match self.origins.get(&origin) {
                Some(Known::Readable) => consult(&self.client, &urls[0]).await?,
                Some(Known::Closed(obstacle)) => Err(obstacle.clone()),
                Some(Known::NotAsked) => Ok(None),
                Some(Known::Unread(_)) | None => {
                    let why = "its robots.txt was not read before its URLs were counted";
                    return Err(Error::new(ErrorKind::Configuration, why));
                }
            };
            for url in &urls {
                let (scope, _) = self.client.address(url)?;
                let tally = self.scopes.entry(scope).or_default();
                match &access {
                    Ok(None) => tally.add(),
                    Ok(Some(access)) => tally.judge(url, access),
                    Err(obstacle) => tally.obstruct(obstacle),
                }
            }
        }
        Ok(())
    }

    /// The plan, by what the store remembers of each scope.
    ///
    /// # Errors
    /// The store failed.
    pub async fn plan(self) -> Result<Plan, Error> {
        let hosts = &self.client.shared.gate.hosts;
        let now = self.client.now();
        let mut scopes = Vec::with_capacity(self.scopes.len());
        for (scope, tally) in self.scopes {
            let host = hosts.host(&scope);
            let state = hosts.reload(&host).await?;
            scopes.push(ScopePlan {
                forecast: forecast(&host.policy, &state, tally.to_fetch(), now),
                policy: Arc::clone(&host.policy),
                scope,
                tally,
            });
        }
        scopes.sort_by(|a, b| b.end().cmp(&a.end()).then_with(|| a.scope.cmp(&b.scope)));
        Ok(Plan {
            now,
            scopes,
            duplicates: self.duplicates,
            done: self.done,
            is_rough: self.seen.len().max(self.of_job.len()) >= MAX_DISTINCT,
        })
    }

    /// Whether the URL is a new one, as far as is known.
    fn remember(&mut self, url: &Url) -> bool {
        let digest = self.digest(url);
        if self.seen.len() >= MAX_DISTINCT {
            return !self.seen.contains(&digest);
        }
        self.seen.insert(digest)
    }

    fn digest(&self, url: &Url) -> u64 {
        self.hasher.hash_one(url.as_str())
    }
}

impl std::fmt::Debug for Planner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Planner").finish_non_exhaustive()
    }
}

/// Reads an origin's robots.txt, but does not wait for it where its server wants to be left alone.
async fn read(client: &Client, url: &Url) -> Result<Known, Error> {
    let (scope, _) = client.address(url)?;
    let consulted = tokio::select! {
        consulted = consult(client, url) => consulted?,
        bound = held(client, &scope) => Err(Obstacle::Deferred(bound)),
    };
    Ok(match consulted {
        Ok(_) => Known::Readable,
        Err(obstacle) => Known::Closed(obstacle),
    })
}

/// Waits until a request to this scope is seen to wait for long.
async fn held(client: &Client, scope: &Scope) -> Bound {
    let host = client.shared.gate.hosts.host(scope);
    loop {
        let now = client.now();
        if let Some(bound) = host.waits_for()
            && bound.not_before.since(now) > PATIENCE
        {
            return bound;
        }
        client.until(now.after(LOOK)).await;
    }
}

/// What the robots.txt of this URL's origin says, or what is in the way of it.
async fn consult(
    client: &Client,
    url: &Url,
) -> Result<Result<Option<Arc<Access>>, Obstacle>, Error> {
    let said = client
        .consult(&client.host_of(url)?, url, &client.shared.token, Guard::Any)
        .await?;
    Ok(match said {
        Consulted::Access(access, _) => Ok(Some(access)),
        Consulted::Deferred(bound) => Err(Obstacle::Deferred(bound)),
        Consulted::Declined(_) => Err(Obstacle::Suppressed),
        Consulted::Failed(error) => Err(Obstacle::Failed(error.to_string())),
    })
}

fn origin_of(url: &Url) -> Result<Origin, Error> {
    Origin::of(url).ok_or_else(|| Error::new(ErrorKind::InvalidUrl, "not an http(s) URL"))
}

fn panicked(error: tokio::task::JoinError) -> Error {
    Error::new(
        ErrorKind::Configuration,
        "reading a robots.txt ended in a panic",
    )
    .caused_by(error)
}
