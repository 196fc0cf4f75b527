//! The server: sockets, time and HTTP around the pure parts.

mod body;
mod connection;
mod content;
mod ledger;
mod stopping;
mod tls;
mod wire;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};

pub use content::sized_body;
pub use tls::Tls;

use crate::arrival::Arrival;
use crate::clock::Clock;
use crate::error::{Error, ErrorKind};
use crate::log::LogWriter;
use crate::script::Script;
use ledger::{Bounds, Ledger};
use stopping::Stopping;

/// How an origin is run; what it does is its [`Script`].
#[derive(Debug)]
pub struct Options {
    /// Where it listens. Default 127.0.0.1 and a free port; another machine can reach it only where
    /// an address is given here that it can reach.
    pub bind: SocketAddr,
    /// The certificate with which it speaks TLS. Default none: plain HTTP.
    pub tls: Option<Tls>,
    /// The clock. Default one that starts with the origin.
    pub clock: Option<Clock>,
    /// How long it lives before it stops by itself. Default until it is stopped or dropped.
    pub life: Option<Duration>,
    /// How long a stop waits for requests under way. Default 1 s.
    pub grace: Duration,
    /// Connections at a time, from 1; more wait to be accepted. Default 1024.
    pub max_connections: usize,
    /// Finished arrivals that are kept (the first ones; the rest are counted and logged). Default
    /// 1,000,000, which is about 300 MB when it is full.
    pub max_arrivals: usize,
    /// Of how many arrivals, the first ones, the header fields are kept. Default 10,000.
    pub keep_headers: usize,
    /// Where each arrival is written when it is finished. Default nowhere.
    pub log: Option<LogWriter>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            tls: None,
            clock: None,
            life: None,
            grace: Duration::from_secs(1),
            max_connections: 1024,
            max_arrivals: 1_000_000,
            keep_headers: 10_000,
            log: None,
        }
    }
}

/// A running origin. Dropped, it ends at once.
pub struct Origin {
    addr: SocketAddr,
    scheme: &'static str,
    ledger: Arc<Ledger>,
    connections: Arc<AtomicU64>,
    stop: watch::Sender<bool>,
    task: Option<JoinHandle<()>>,
}

impl Origin {
    /// Starts one at `bind`; port 0 takes a free port. Any number of them may run side by side, on
    /// several ports or on several addresses of 127.0.0.0/8.
    ///
    /// # Errors
    /// As [`start_with`](Self::start_with).
    pub async fn start(script: Script, bind: impl Into<SocketAddr>) -> Result<Self, Error> {
        let options = Options {
            bind: bind.into(),
            ..Options::default()
        };
        Self::start_with(script, options).await
    }

    /// Starts one on the runtime that this is called on.
    ///
    /// # Errors
    /// [`ErrorKind::Script`] for a value out of its bounds, [`ErrorKind::Listen`] for an address that
    /// cannot be listened on.
    pub async fn start_with(script: Script, options: Options) -> Result<Self, Error> {
        script.check()?;
        let listen = |error| Error::new(ErrorKind::Listen, error);
        let listener = TcpListener::bind(options.bind).await.map_err(listen)?;
        let addr = listener.local_addr().map_err(listen)?;
        let ledger = Ledger::open(
            script,
            options.clock.unwrap_or_else(Clock::start),
            Bounds {
                arrivals: options.max_arrivals,
                headers: options.keep_headers,
            },
            options.log,
        );
        let (stop, stopping) = Stopping::channel();
        let connections = Arc::new(AtomicU64::new(0));
        let scheme = if options.tls.is_some() {
            "https"
        } else {
            "http"
        };
        let house = House {
            listener,
            tls: options.tls,
            ledger: Arc::clone(&ledger),
            connections: Arc::clone(&connections),
            places: Arc::new(Semaphore::new(options.max_connections.max(1))),
            life: options.life,
            grace: options.grace,
            stop: stop.clone(),
        };
        Ok(Self {
            addr,
            scheme,
            ledger,
            connections,
            stop,
            task: Some(tokio::spawn(house.run(stopping))),
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The URL of a path that begins with `/`.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.addr)
    }

    /// The script that it follows.
    #[must_use]
    pub fn script(&self) -> &Script {
        &self.ledger.script
    }

    /// The clock of its arrivals.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.ledger.clock
    }

    /// Every arrival so far that is kept, in order, those under way included.
    #[must_use]
    pub fn arrivals(&self) -> Vec<Arrival> {
        self.ledger.arrivals()
    }

    /// How many requests have arrived.
    #[must_use]
    pub fn arrived(&self) -> u64 {
        self.ledger.count().0
    }

    /// How many finished arrivals were not kept, since there were too many.
    #[must_use]
    pub fn unkept(&self) -> u64 {
        self.ledger.count().1
    }

    /// How many connections it has accepted.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }

    /// Stops: it accepts no more, lets requests under way end within the grace, and closes the log.
    /// Its arrivals can still be asked for. A second stop does nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Log`] where the log could not be written in full.
    pub async fn stop(&mut self) -> Result<(), Error> {
        self.stop.send_replace(true);
        self.ended().await
    }

    /// Waits until it has stopped by itself at the end of its life.
    ///
    /// # Errors
    /// As [`stop`](Self::stop).
    pub async fn ended(&mut self) -> Result<(), Error> {
        if let Some(task) = &mut self.task {
            // It neither panics nor is it aborted while there is somebody to wait for it.
            let _ = task.await;
            self.task = None;
        }
        match self.ledger.take_log() {
            Some(log) => log.close(),
            None => Ok(()),
        }
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        // The streams of HTTP/2 are tasks of their own, and go by the word.
        self.stop.send_replace(true);
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl std::fmt::Debug for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Origin")
            .field("addr", &self.addr)
            .finish_non_exhaustive()
    }
}

/// What accepts connections.
struct House {
    listener: TcpListener,
    tls: Option<Tls>,
    ledger: Arc<Ledger>,
    connections: Arc<AtomicU64>,
    places: Arc<Semaphore>,
    life: Option<Duration>,
    grace: Duration,
    stop: watch::Sender<bool>,
}

impl House {
    async fn run(self, stopping: Stopping) {
        let mut guests = JoinSet::new();
        let mut hear = stopping.clone();
        let life = async {
            match self.life {
                Some(life) => tokio::time::sleep(life).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.welcome(&mut guests, stopping) => {}
            () = hear.told() => {}
            () = life => {}
        }
        self.stop.send_replace(true);
        drop(self.listener);
        let leaving = async { while guests.join_next().await.is_some() {} };
        // Who stays longer than the grace is put out when the set is dropped.
        let _ = tokio::time::timeout(self.grace, leaving).await;
    }

    async fn welcome(&self, guests: &mut JoinSet<()>, stopping: Stopping) {
        loop {
            while guests.try_join_next().is_some() {}
            let Ok(place) = Arc::clone(&self.places).acquire_owned().await else {
                return;
            };
            let tcp = match self.listener.accept().await {
                Ok((tcp, _)) => tcp,
                // Out of descriptors, or the peer has gone: neither is for good.
                Err(_) => {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    continue;
                }
            };
            let number = self.connections.fetch_add(1, Ordering::Relaxed) + 1;
            let tls = self.tls.as_ref().map(Tls::acceptor);
            let served =
                connection::serve(tcp, tls, Arc::clone(&self.ledger), number, stopping.clone());
            guests.spawn(async move {
                // A client that breaks off is no error of the origin's; its arrivals tell.
                let _ = served.await;
                drop(place);
            });
        }
    }
}
