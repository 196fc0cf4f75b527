//! The connection: calls over it, and how it comes back.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use curtsy_core::Timestamp;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, IntoConnectionInfo, ProtocolVersion};
use redis::{ParsingError, PushInfo, PushKind, RedisError, RedisResult, Value, from_redis_value};
use tokio::time::Instant;

use super::failure::{
    REPLICA, TOO_OLD, is_lost, is_no_script, is_refusal, of_dial, of_redis, told,
};
use super::script::Call;
use super::watched::Watched;
use crate::error::{StoreError, StoreErrorKind};
use crate::redis_url::RedisUrl;
use crate::shared_clock::{Reading, SharedClock};

/// An answer that takes longer is lost; a connection that takes longer is none.
const TIMEOUT: Duration = Duration::from_secs(1);
/// So long a call is repeated whose answer was lost.
const REPEATED: Duration = Duration::from_secs(4);
/// How finely Redis tells its time.
const RESOLUTION: Duration = Duration::from_micros(1);
/// The waits between two attempts to connect.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(25), Duration::from_secs(2));

/// A Redis. Calls that are made at once go out together, and their answers come in the same order.
pub(super) struct Link {
    client: Client,
    url: RedisUrl,
    clock: Arc<SharedClock>,
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
    pub(super) connection: MultiplexedConnection,
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
        let failed = |error| of_redis(url, error);
        let info = url.with_password().clone().into_connection_info();
        let info = info.map_err(|error| {
            let what = "is no URL that can be connected to";
            told(url, StoreErrorKind::Invalid, what).caused_by(error)
        })?;
        let settings = info.redis_settings().clone();
        let settings = settings.set_protocol(ProtocolVersion::RESP3);
        let info = info.set_redis_settings(settings.set_skip_set_lib_name());
        let client = Client::open(info).map_err(failed)?;
        let mut insistence = Insistence::default();
        let reading = loop {
            match look(url, &client).await {
                Ok(reading) => break reading,
                Err(error) => insistence.goes_on(error).await?,
            }
        };
        Ok(Arc::new(Self {
            client,
            url: url.clone(),
            clock: Arc::new(SharedClock::new(reading)),
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
        let mut insistence = Insistence::default();
        loop {
            let is_repeated = insistence.is_repeated();
            match self.ask(call).await {
                Ok(value) => return Ok(Answer { value, is_repeated }),
                Err(error) => insistence.goes_on(error).await?,
            }
        }
    }

    /// Sends one command that is safe to repeat, and answers what came of it.
    pub(super) async fn send(self: &Arc<Self>, command: &Cmd) -> Result<Value, StoreError> {
        let mut insistence = Insistence::default();
        loop {
            match self.try_to_send(command).await {
                Ok(value) => return Ok(value),
                Err(error) => insistence.goes_on(error).await?,
            }
        }
    }

    async fn try_to_send(self: &Arc<Self>, command: &Cmd) -> Result<Value, StoreError> {
        let mut line = self.line().await?;
        let sent = command.query_async(&mut line.connection).await;
        self.heard(&line, sent)
    }

    async fn ask(self: &Arc<Self>, call: &Call<'_>) -> Result<Value, StoreError> {
        let mut line = self.line().await?;
        let mut asked = Instant::now();
        let mut answer = call.by_hash().query_async(&mut line.connection).await;
        if answer.as_ref().is_err_and(is_no_script) {
            asked = Instant::now();
            answer = call.by_text().query_async(&mut line.connection).await;
        }
        let answered = Instant::now();
        let (time, answer) = from_redis_value::<(Value, Value)>(self.heard(&line, answer)?)
            .and_then(|(time, answer)| Ok((timestamp(time)?, answer)))
            .map_err(|error| of_redis(&self.url, RedisError::from(error)))?;
        self.clock.read(Reading {
            time,
            resolution: RESOLUTION,
            asked,
            answered,
        });
        Ok(answer)
    }

    /// What was answered over a line, which is given up where nothing was.
    fn heard<T>(&self, line: &Line, answer: RedisResult<T>) -> Result<T, StoreError> {
        answer.map_err(|error| {
            if is_lost(&error) {
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
                *self.lock() = Some(line.clone());
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
        let config = AsyncConnectionConfig::new().set_push_sender(move |push: PushInfo| {
            if let Some(link) = link.upgrade() {
                link.pushed(number, push);
            }
            Ok::<(), redis::aio::SendError>(())
        });
        let dialled = dial(&self.client, config).await;
        let connection = dialled.map_err(|error| of_dial(&self.url, error))?;
        Ok(Line { number, connection })
    }

    fn hang_up(&self, number: u64) {
        self.lock().take_if(|line| line.number == number);
    }

    fn pushed(self: Arc<Self>, number: u64, push: PushInfo) {
        match push.kind {
            PushKind::Message => self.watched.published(&push.data),
            PushKind::Disconnection => {
                self.hang_up(number);
                // Nobody tells them of changes any more.
                self.watched.tell_all();
                if !self.watched.is_empty() {
                    tokio::spawn(reconnect(Arc::downgrade(&self)));
                }
            }
            _ => {}
        }
    }

    fn standing(&self) -> Option<Line> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Line>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
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

/// Connects for once, to find out whether this is a Redis to work with, and what time it is there.
async fn look(url: &RedisUrl, client: &Client) -> Result<Reading, StoreError> {
    let dialled = dial(client, AsyncConnectionConfig::new()).await;
    let mut connection = dialled.map_err(|error| of_dial(url, error))?;
    check(url, &mut connection).await?;
    let reading = time(&mut connection).await;
    reading.map_err(|error| of_redis(url, error))
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

async fn dial(
    client: &Client,
    config: AsyncConnectionConfig,
) -> RedisResult<MultiplexedConnection> {
    let config = config
        .set_connection_timeout(Some(TIMEOUT))
        .set_response_timeout(Some(TIMEOUT));
    client
        .get_multiplexed_async_connection_with_config(&config)
        .await
}

/// Refuses a server that is too old, and one that takes no writes.
async fn check(url: &RedisUrl, connection: &mut MultiplexedConnection) -> Result<(), StoreError> {
    let hello = redis::cmd("HELLO").query_async(connection).await;
    let hello: std::collections::HashMap<String, Value> =
        hello.map_err(|error| of_redis(url, error))?;
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
    if text("role").is_some_and(|role| role != "master") {
        return Err(told(url, StoreErrorKind::ReadOnly, REPLICA));
    }
    Ok(())
}

async fn time(connection: &mut MultiplexedConnection) -> RedisResult<Reading> {
    let asked = Instant::now();
    let time = redis::cmd("TIME").query_async(connection).await?;
    Ok(Reading {
        time: timestamp(time)?,
        resolution: RESOLUTION,
        asked,
        answered: Instant::now(),
    })
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
