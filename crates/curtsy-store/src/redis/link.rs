//! The connection: calls over it, and how it comes back.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use curtsy_core::Timestamp;
use redis::{Client, Cmd, ConnectionInfo, IntoConnectionInfo, ParsingError, ProtocolVersion};
use redis::{PushInfo, PushKind, RedisResult, Value, from_redis_value};
use tokio::time::Instant;

use super::connection::{Connection, Peer};
use super::failure::{
    REPLICA, TOO_OLD, is_lost, is_no_script, is_refusal, of_dial, of_redis, told,
};
use super::script::{Call, Script};
use super::watched::Watched;
use crate::error::{StoreError, StoreErrorKind};
use crate::redis_url::RedisUrl;
use crate::shared_clock::{Reading, SharedClock};

/// So long a call is repeated whose answer was lost.
const REPEATED: Duration = Duration::from_secs(4);
/// How finely Redis tells its time.
const RESOLUTION: Duration = Duration::from_micros(1);
/// The waits between two attempts to connect.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(25), Duration::from_secs(2));
/// A cluster has the clock of the node that has this key. Nothing is kept under it.
const CLOCK: &str = "curtsy:clock";
/// So old its reading may be: by then, clocks have drifted apart by a tenth of a millisecond.
const CLOCK_AGE: Duration = Duration::from_secs(1);

static TIME: LazyLock<Script> = LazyLock::new(|| Script::new("", "return 0"));

/// A Redis. Calls that are made at once go out together, and their answers come in the same order.
pub(super) struct Link {
    peer: Peer,
    url: RedisUrl,
    clock: Arc<SharedClock>,
    /// When the clock was last read.
    read: Mutex<Instant>,
    line: Mutex<Option<Line>>,
    lines: AtomicU64,
    /// Held by who connects; what came of the last attempt, where it failed.
    dialing: tokio::sync::Mutex<Option<Failed>>,
    pub(super) watched: Watched,
}

/// A connection that stands.
#[derive(Clone)]
pub(super) struct Line {
    pub(super) number: u64,
    pub(super) connection: Connection,
}

/// What a call came to.
pub(super) struct Answer {
    pub(super) value: Value,
    /// Whether it may have run more than once.
    pub(super) is_repeated: bool,
}

struct Failed {
    error: StoreError,
    pause: Duration,
    until: Instant,
}

impl Link {
    /// Connects, and finds out whether this is a Redis to work with.
    pub(super) async fn open(url: &RedisUrl) -> Result<Arc<Self>, StoreError> {
        let info = url.with_password().clone().into_connection_info();
        let info = info.map_err(|error| {
            let what = "is no URL that can be connected to";
            told(url, StoreErrorKind::Invalid, what).caused_by(error)
        })?;
        let settings = info.redis_settings().clone();
        let settings = settings.set_protocol(ProtocolVersion::RESP3);
        let info = info.set_redis_settings(settings.set_skip_set_lib_name());
        let (peer, reading) = insist(|_| look(url, &info)).await?;
        Ok(Arc::new(Self {
            peer,
            url: url.clone(),
            clock: Arc::new(SharedClock::new(reading)),
            read: Mutex::new(reading.answered),
            // Dialled anew by the first call, with somebody who is told of what is published.
            line: Mutex::default(),
            lines: AtomicU64::new(0),
            dialing: tokio::sync::Mutex::default(),
            watched: Watched::default(),
        }))
    }

    pub(super) fn clock(&self) -> &Arc<SharedClock> {
        &self.clock
    }

    /// Calls a script, again where its answer is lost: it must be safe to repeat.
    pub(super) async fn call(self: &Arc<Self>, call: &Call<'_>) -> Result<Answer, StoreError> {
        insist(|is_repeated| async move {
            let value = self.ask(call).await?;
            Ok(Answer { value, is_repeated })
        })
        .await
    }

    /// Sends one command that is safe to repeat, and answers what came of it.
    pub(super) async fn send(self: &Arc<Self>, command: &Cmd) -> Result<Value, StoreError> {
        insist(|_| self.try_to_send(command)).await
    }

    async fn try_to_send(self: &Arc<Self>, command: &Cmd) -> Result<Value, StoreError> {
        let mut line = self.line().await?;
        let sent = line.connection.send(command).await;
        self.heard(&line, sent)
    }

    /// All keys that match, some perhaps twice.
    pub(super) async fn scan(self: &Arc<Self>, pattern: &str) -> Result<Vec<String>, StoreError> {
        insist(|_| self.try_to_scan(pattern)).await
    }

    async fn try_to_scan(self: &Arc<Self>, pattern: &str) -> Result<Vec<String>, StoreError> {
        let mut line = self.line().await?;
        let scanned = line.connection.scan(pattern).await;
        self.heard(&line, scanned)
    }

    async fn ask(self: &Arc<Self>, call: &Call<'_>) -> Result<Value, StoreError> {
        let mut line = self.line().await?;
        if self.peer.is_cluster() && lock(&self.read).elapsed() > CLOCK_AGE {
            let time = ask(&mut line.connection, &TIME.call(CLOCK)).await;
            let (reading, _) = self.heard(&line, time)?;
            self.clock.read(reading);
            *lock(&self.read) = reading.answered;
        }
        let answer = ask(&mut line.connection, call).await;
        let (reading, answer) = self.heard(&line, answer)?;
        if !self.peer.is_cluster() {
            self.clock.read(reading);
        }
        Ok(answer)
    }

    /// What was answered over a line, which is given up where nothing was.
    fn heard<T>(&self, line: &Line, answer: RedisResult<T>) -> Result<T, StoreError> {
        answer.map_err(|error| {
            if is_lost(&error) && !self.peer.is_cluster() {
                self.hang_up(line.number);
            }
            of_redis(&self.url, error)
        })
    }

    /// The error of a call whose answer was lost, and of which cannot be told any more whether it ran.
    pub(super) fn unknown(&self) -> StoreError {
        let what = "lost an answer, and others have written since";
        told(&self.url, StoreErrorKind::Unavailable, what)
    }

    /// The line that calls go over; one is connected where there is none.
    pub(super) async fn line(self: &Arc<Self>) -> Result<Line, StoreError> {
        if let Some(line) = self.standing() {
            return Ok(line);
        }
        let mut last = self.dialing.lock().await;
        if let Some(line) = self.standing() {
            return Ok(line);
        }
        if let Some(failed) = last.as_ref().filter(|last| Instant::now() < last.until) {
            return Err(failed.error.clone());
        }
        match self.dial().await {
            Ok(line) => {
                *last = None;
                *lock(&self.line) = Some(line.clone());
                drop(last);
                self.resubscribe();
                Ok(line)
            }
            Err(error) => {
                let pause = last.as_ref().map_or(BACKOFF.0, |last| last.pause * 2);
                let pause = pause.min(BACKOFF.1);
                *last = Some(Failed {
                    error: error.clone(),
                    pause,
                    until: Instant::now() + pause,
                });
                Err(error)
            }
        }
    }

    async fn dial(self: &Arc<Self>) -> Result<Line, StoreError> {
        let number = self.lines.fetch_add(1, Ordering::Relaxed);
        let link = Arc::downgrade(self);
        let dialled = self.peer.dial(move |push: PushInfo| {
            if let Some(link) = link.upgrade() {
                link.pushed(number, push);
            }
            Ok::<(), redis::aio::SendError>(())
        });
        let dialled = dialled.await;
        let connection = dialled.map_err(|error| of_dial(&self.url, error))?;
        Ok(Line { number, connection })
    }

    fn hang_up(&self, number: u64) {
        lock(&self.line).take_if(|line| line.number == number);
    }

    fn pushed(self: Arc<Self>, number: u64, push: PushInfo) {
        match push.kind {
            PushKind::Message => self.watched.published(&push.data),
            PushKind::Disconnection => {
                // Nobody tells them of changes any more.
                self.watched.tell_all();
                if self.peer.is_cluster() {
                    return;
                }
                self.hang_up(number);
                if !self.watched.is_empty() {
                    tokio::spawn(reconnect(Arc::downgrade(&self)));
                }
            }
            _ => {}
        }
    }

    fn standing(&self) -> Option<Line> {
        lock(&self.line).clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Attempts it again as long as its answer is lost. An attempt is told whether there was one before it, which may
/// have run.
async fn insist<T, F>(attempt: impl Fn(bool) -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let mut insistence = Insistence::default();
    loop {
        match attempt(insistence.is_repeated()).await {
            Ok(answer) => return Ok(answer),
            Err(error) => insistence.goes_on(error).await?,
        }
    }
}

/// How long attempts go on whose answers are lost.
#[derive(Default)]
struct Insistence {
    /// When the first failed.
    since: Option<Instant>,
}

impl Insistence {
    /// Whether there was an attempt before, which may have run.
    fn is_repeated(&self) -> bool {
        self.since.is_some()
    }

    /// Lets the next attempt be made, unless this error is to be told. Where nobody listens to the first,
    /// nothing has run, and that is told at once.
    async fn goes_on(&mut self, error: StoreError) -> Result<(), StoreError> {
        let is_lost = error.kind() == StoreErrorKind::Unavailable;
        match self.since {
            None if is_lost && !is_refusal(&error) => {
                // At once: others may write meanwhile.
                self.since = Some(Instant::now());
                Ok(())
            }
            Some(since) if is_lost && since.elapsed() < REPEATED => {
                tokio::time::sleep(BACKOFF.0).await;
                Ok(())
            }
            _ => Err(error),
        }
    }
}

/// Connects for once, to find out what there is to work with, and what time it is there.
async fn look(url: &RedisUrl, info: &ConnectionInfo) -> Result<(Peer, Reading), StoreError> {
    let server = Client::open(info.clone()).map_err(|error| of_redis(url, error))?;
    let mut peer = Peer::Server(server);
    let nobody = |_| Ok::<(), redis::aio::SendError>(());
    let dialled = peer.dial(nobody).await;
    let mut connection = dialled.map_err(|error| of_dial(url, error))?;
    if is_cluster(url, &mut connection).await? {
        peer = Peer::Cluster(info.clone());
        let dialled = peer.dial(nobody).await;
        connection = dialled.map_err(|error| of_redis(url, error))?;
    }
    let time = ask(&mut connection, &TIME.call(CLOCK)).await;
    let (reading, _) = time.map_err(|error| of_redis(url, error))?;
    Ok((peer, reading))
}

/// Whether a server is a node of a cluster. Refuses one that is too old, and one that takes no writes.
async fn is_cluster(url: &RedisUrl, connection: &mut Connection) -> Result<bool, StoreError> {
    let hello = connection.send(&redis::cmd("HELLO")).await;
    let hello = hello.and_then(|hello| Ok(from_redis_value::<HashMap<String, Value>>(hello)?));
    let hello = hello.map_err(|error| of_redis(url, error))?;
    let text = |name: &str| {
        let value = hello.get(name)?.clone();
        from_redis_value::<String>(value).ok()
    };
    let version = text("version").unwrap_or_default();
    let major = version
        .split('.')
        .next()
        .and_then(|n| n.parse::<u32>().ok());
    if major.is_some_and(|major| major < 6) {
        return Err(told(url, StoreErrorKind::Foreign, TOO_OLD));
    }
    if text("mode").is_some_and(|mode| mode == "cluster") {
        return Ok(true);
    }
    if text("role").is_some_and(|role| role != "master") {
        return Err(told(url, StoreErrorKind::ReadOnly, REPLICA));
    }
    Ok(false)
}

/// Calls a script once: the time of the server that ran it, and what it answered.
async fn ask(connection: &mut Connection, call: &Call<'_>) -> RedisResult<(Reading, Value)> {
    let mut asked = Instant::now();
    let mut answer = connection.send(&call.by_hash()).await;
    if answer.as_ref().is_err_and(is_no_script) {
        asked = Instant::now();
        answer = connection.send(&call.by_text()).await;
    }
    let answered = Instant::now();
    let (time, answer) = from_redis_value::<(Value, Value)>(answer?)?;
    let reading = Reading {
        time: timestamp(time)?,
        resolution: RESOLUTION,
        asked,
        answered,
    };
    Ok((reading, answer))
}

/// Who listens has nothing to ask, so that nobody else would notice that the connection is back.
async fn reconnect(link: Weak<Link>) {
    while let Some(link) = link.upgrade() {
        match link.line().await {
            Err(error) if error.kind() == StoreErrorKind::Unavailable => {}
            _ => return,
        }
        drop(link);
        tokio::time::sleep(BACKOFF.0).await;
    }
}

/// Seconds and microseconds, as `TIME` answers.
fn timestamp(time: Value) -> Result<Timestamp, ParsingError> {
    let (secs, micros): (u64, u64) = from_redis_value(time)?;
    Ok(Timestamp::from_secs(secs).after(Duration::from_micros(micros)))
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}
