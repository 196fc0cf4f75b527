//! The books of an origin: its referee, its workers, and every arrival.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{HeaderMap, Request, Version};

use crate::arrival::{Arrival, Protocol, Verdict, as_micros};
use crate::clock::Clock;
use crate::log::LogWriter;
use crate::referee::{Referee, Ruling};
use crate::reply::Chosen;
use crate::script::{Page, Robots, Script, Series};
use crate::service::Workers;

pub(super) struct Ledger {
    pub(super) script: Script,
    pub(super) clock: Clock,
    books: Mutex<Books>,
}

struct Books {
    referee: Referee,
    workers: Workers,
    /// How many requests each entry of the pages has answered.
    turns: HashMap<String, usize>,
    seq: u64,
    governed: u32,
    open: BTreeMap<u64, Arrival>,
    finished: Vec<Arrival>,
    unkept: u64,
    bounds: Bounds,
    log: Option<LogWriter>,
}

/// How much is remembered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) arrivals: usize,
    pub(super) headers: usize,
}

impl Ledger {
    pub(super) fn open(
        script: Script,
        clock: Clock,
        bounds: Bounds,
        log: Option<LogWriter>,
    ) -> Arc<Self> {
        let books = Books {
            referee: Referee::new(&script, clock.epoch_at(Duration::ZERO)),
            workers: Workers::new(script.service),
            turns: HashMap::new(),
            seq: 0,
            governed: 0,
            open: BTreeMap::new(),
            finished: Vec::new(),
            unkept: 0,
            bounds,
            log,
        };
        Arc::new(Self {
            script,
            clock,
            books: Mutex::new(books),
        })
    }

    /// Enters a request whose head had been read at `at`, and judges it.
    pub(super) fn enter<B>(
        self: &Arc<Self>,
        request: &Request<B>,
        connection: u64,
        at: Duration,
    ) -> Underway {
        let uri = request.uri();
        let path = match uri.path_and_query() {
            Some(path) => path.as_str().to_owned(),
            // CONNECT names an authority and no path.
            None => uri.to_string(),
        };
        let text = |name| text(request.headers(), name);
        let host = uri
            .authority()
            .map(ToString::to_string)
            .or_else(|| text("host"));
        let (entry, exempt) = self.choose(&path);
        let books = &mut *self.books();
        books.seq += 1;
        let ruling = (!exempt).then(|| books.referee.rule(&path, at));
        books.governed += u32::from(!exempt);
        let chosen = match (&ruling, entry) {
            (None, entry) => Some(books.turn(entry)),
            (Some(ruling), entry) if ruling.verdict == Verdict::Ok => Some(books.turn(entry)),
            _ => None,
        };
        let arrival = Arrival {
            seq: books.seq,
            at,
            epoch_us: as_micros(self.clock.epoch_at(at)),
            answered: None,
            done: None,
            whole: false,
            connection,
            protocol: match request.version() {
                Version::HTTP_2 => Protocol::Http2,
                Version::HTTP_10 => Protocol::Http10,
                _ => Protocol::Http11,
            },
            method: request.method().to_string(),
            host,
            path,
            user_agent: text("user-agent"),
            verdict: ruling
                .as_ref()
                .map_or(Verdict::Exempt, |ruling| ruling.verdict),
            status: None,
            hold_until: None,
            in_flight: u32::try_from(books.open.len() + 1).unwrap_or(u32::MAX),
            headers: if books.seq <= books.bounds.headers as u64 {
                fields(request.headers())
            } else {
                Vec::new()
            },
        };
        let seq = arrival.seq;
        books.open.insert(seq, arrival);
        Underway {
            ledger: Arc::clone(self),
            seq,
            ruling,
            chosen: chosen.unwrap_or_else(|| Chosen {
                page: self.script.page.clone(),
                rest: String::new(),
            }),
        }
    }

    /// All arrivals that are kept, in order.
    pub(super) fn arrivals(&self) -> Vec<Arrival> {
        let books = self.books();
        let mut all: Vec<_> = books
            .finished
            .iter()
            .chain(books.open.values())
            .cloned()
            .collect();
        all.sort_unstable_by_key(|arrival| arrival.seq);
        all
    }

    /// How many arrivals came, and how many of those are not kept.
    pub(super) fn count(&self) -> (u64, u64) {
        let books = self.books();
        (books.seq, books.unkept)
    }

    pub(super) fn take_log(&self) -> Option<LogWriter> {
        self.books().log.take()
    }

    /// The entry for a path, and whether the path is exempt.
    fn choose(&self, path: &str) -> (Entry<'_>, bool) {
        if !path.starts_with('/') {
            // CONNECT, or `OPTIONS *`: nothing that a script speaks of.
            return (Entry::One(Page::new(501, "")), true);
        }
        let bare = path.split('?').next().unwrap_or(path);
        let is_robots = bare == "/robots.txt";
        let spared = is_robots && !self.script.robots_governed;
        if let Some((key, series, rest)) = self.script.pages.find(path) {
            let exempt = spared || series.page(0).exempt;
            let rest = rest.to_owned();
            return (Entry::Named { key, series, rest }, exempt);
        }
        if is_robots {
            return (Entry::One(robots(self.script.robots.as_ref())), spared);
        }
        let page = self.script.page.clone();
        let exempt = page.exempt;
        (Entry::One(page), exempt)
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Entry<'a> {
    Named {
        key: &'a str,
        series: &'a Series,
        rest: String,
    },
    One(Page),
}

impl Books {
    /// The page whose turn it is.
    fn turn(&mut self, entry: Entry<'_>) -> Chosen {
        match entry {
            Entry::One(page) => Chosen {
                page,
                rest: String::new(),
            },
            Entry::Named { key, series, rest } => {
                // Only entries of the script are counted, so the map is as small as the script.
                let turn = match self.turns.get_mut(key) {
                    Some(turn) => turn,
                    None => self.turns.entry(key.to_owned()).or_default(),
                };
                let page = series.page(*turn).clone();
                *turn = turn.saturating_add(1);
                Chosen { page, rest }
            }
        }
    }
}

/// A request from its arrival until its answer has gone; dropping it ends it, however that came about.
pub(super) struct Underway {
    ledger: Arc<Ledger>,
    seq: u64,
    pub(super) ruling: Option<Ruling>,
    pub(super) chosen: Chosen,
}

impl Underway {
    /// When the answer is ready, for a request that gets its page.
    pub(super) fn ready_at(&self) -> Duration {
        let books = &mut *self.ledger.books();
        let Some(arrival) = books.open.get(&self.seq) else {
            return Duration::ZERO;
        };
        match &self.ruling {
            Some(ruling) if ruling.verdict == Verdict::Ok => {
                let ready = arrival.at + ruling.turn;
                let in_flight = books.governed;
                books
                    .workers
                    .serve(self.chosen.page.latency, in_flight, ready)
            }
            // Neither quotas nor workers concern it; the latency of its own page does.
            None => arrival.at + self.chosen.page.latency.unwrap_or_default(),
            Some(_) => arrival.at,
        }
    }

    /// Lets an outage that has begun while the request was served [overtake](Referee::overtake) it.
    pub(super) fn overtake(&mut self, now: Duration) {
        let Some(ruling) = &mut self.ruling else {
            return;
        };
        let books = &mut *self.ledger.books();
        books.referee.overtake(ruling, now);
        if let Some(arrival) = books.open.get_mut(&self.seq) {
            arrival.verdict = ruling.verdict;
        }
    }

    /// Enters what is about to be answered.
    pub(super) fn mark_answered(
        &self,
        status: Option<u16>,
        hold_until: Option<Duration>,
        at: Duration,
    ) {
        if let Some(arrival) = self.ledger.books().open.get_mut(&self.seq) {
            arrival.answered = Some(at);
            arrival.status = status;
            arrival.hold_until = hold_until;
        }
    }

    /// Enters that all of the answer has been handed over.
    pub(super) fn mark_whole(&mut self) {
        if let Some(arrival) = self.ledger.books().open.get_mut(&self.seq) {
            arrival.whole = true;
        }
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        let now = self.ledger.clock.now();
        let books = &mut *self.ledger.books();
        if let Some(ruling) = &self.ruling {
            books.referee.release(ruling);
            books.governed = books.governed.saturating_sub(1);
        }
        let Some(mut arrival) = books.open.remove(&self.seq) else {
            return;
        };
        arrival.done = Some(now);
        if let Some(log) = &mut books.log {
            log.write(&arrival);
        }
        if books.finished.len() < books.bounds.arrivals {
            books.finished.push(arrival);
        } else {
            books.unkept += 1;
        }
    }
}

fn robots(robots: Option<&Robots>) -> Page {
    match robots {
        Some(Robots::Text(text)) => Page::new(200, text.clone()),
        Some(Robots::Status(status)) => Page::new(*status, ""),
        None => Page::new(404, "no robots.txt\n"),
    }
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    let value = headers.get(name)?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

fn fields(headers: &HeaderMap) -> Vec<(String, String)> {
    headers
        .iter()
        .map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.as_str().to_owned(), value)
        })
        .collect()
}
