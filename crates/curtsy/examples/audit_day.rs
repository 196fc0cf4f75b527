//! A day of a crawl in virtual time, put on record as a real one is, and how long its log takes to prove:
//!
//! ```text
//! cargo run --release --example audit_day -- day.jsonl 1000000
//! ```
//!
//! The servers are of five kinds: silent ones, some that publish a quota, some that refuse with Retry-After
//! now and then, some that fail for a while, some with a Crawl-delay.

#![allow(clippy::print_stdout)]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use curtsy::clock::{Clock, ManualClock};
use curtsy::core::audit::{
    Because, Cited, Entry, Event, Heard, Noted, RobotsRead, StateRead, Subject, Turn,
};
use curtsy::core::{
    Answer, Ask, Attempt, Bound, Decision, Draw, HostState, Kind, Origin, Policy, PolicyValues,
    Scope, Timestamp, decide, observe, signal,
};
use curtsy::{Audit, Logs};
use http::HeaderMap;
use url::Url;

const SCOPES: usize = 200;
const START: Timestamp = Timestamp::from_secs(1_790_000_000);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = PathBuf::from(arguments.next().ok_or("which file?")?);
    let number: u64 = arguments.next().ok_or("how many departures?")?.parse()?;

    let begun = Instant::now();
    let (clock, hand) = Clock::manual(START);
    let mut day = Day {
        audit: Audit::append_rotating(&path, "day", clock, u64::MAX)?,
        hand,
        sites: (0..SCOPES).map(Site::new).collect(),
        events: BinaryHeap::new(),
        left: number,
    };
    day.begin().await?;
    day.run().await?;
    let length = std::fs::metadata(&path)?.len();
    println!(
        "{number} departures, {} MB, written in {:.1} s",
        length / 1_000_000,
        begun.elapsed().as_secs_f64()
    );

    let begun = Instant::now();
    let proof = Logs::find(&[path])?.verify(None)?;
    println!(
        "{} lines proved in {:.1} s: {} violations, {} decisions made again",
        proof.summary.lines,
        begun.elapsed().as_secs_f64(),
        proof.violations.len(),
        proof.summary.replayed
    );
    for violation in proof.violations.iter().take(5) {
        println!("line {}: {}", violation.at.line, violation.what);
    }
    Ok(())
}

struct Day {
    audit: Audit,
    hand: ManualClock,
    sites: Vec<Site>,
    /// When which site is looked at, for its next departure or for an answer.
    events: BinaryHeap<Reverse<(Timestamp, usize, Option<Flight>)>>,
    left: u64,
}

/// A server and what is known of it.
struct Site {
    kind: usize,
    scope: Scope,
    url: Url,
    policy: Arc<Policy>,
    state: HostState,
    turn: u64,
    noted: Vec<Noted>,
    /// Requests that it has answered.
    answered: u64,
    in_flight: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Flight {
    seq: u64,
    departed: Timestamp,
}

impl Day {
    async fn begin(&mut self) -> Result<(), Box<dyn Error>> {
        for (place, site) in self.sites.iter_mut().enumerate() {
            let delay = (site.kind == 4).then(|| Duration::from_secs(2));
            if let Some(origin) = Origin::of(&site.url)
                && site.state.note_crawl_delay(&origin, delay)
            {
                let delay_ms = delay.map(|delay| delay.as_secs_f64() * 1000.0);
                site.noted.push(Noted::CrawlDelay { origin, delay_ms });
            }
            let read = Event::RobotsRead(RobotsRead {
                origin: Origin::of(&site.url).map_or(String::new(), |origin| origin.to_string()),
                access: "rules".to_owned(),
                crawl_delay_ms: delay.map(|delay| delay.as_secs_f64() * 1000.0),
                reading: place as u64 + 1,
                agent: "curtsy".to_owned(),
                rules: vec![
                    (2, "Disallow: /private/".to_owned()),
                    (3, "Allow: /public/".to_owned()),
                ],
            });
            let entry = Entry::of(&site.subject(Kind::Robots), read);
            self.audit.record([entry]).await?;
            self.events.push(Reverse((START, place, None)));
        }
        Ok(())
    }

    async fn run(&mut self) -> Result<(), Box<dyn Error>> {
        while let Some(Reverse((now, place, flight))) = self.events.pop() {
            self.hand.advance_to(now);
            let site = &mut self.sites[place];
            if let Some(flight) = flight {
                let entries = site.land(flight, now);
                self.audit.record(entries).await?;
            }
            let mut wake = None;
            while self.left > 0 && site.in_flight < site.policy.per_host {
                let (entries, flight) = match site.depart(place as u64 + 1, now) {
                    Ok(departed) => departed,
                    Err(bound) => {
                        let late = Duration::from_micros(fastrand::u64(..1_000));
                        wake = Some(bound.not_before.after(late));
                        break;
                    }
                };
                self.audit.record(entries).await?;
                self.left -= 1;
                let latency = Duration::from_micros(fastrand::u64(20_000..200_000));
                let event = (flight.departed.after(latency), place, Some(flight));
                self.events.push(Reverse(event));
            }
            // While something is in flight, its answer wakes the site anyway.
            if let Some(at) = wake.filter(|_| site.in_flight == 0) {
                self.events.push(Reverse((at.max(now), place, None)));
            }
        }
        Ok(())
    }
}

impl Site {
    fn new(place: usize) -> Self {
        let mut values = PolicyValues::compliant();
        (values.rate, values.max_rate) = (Some(2.0), Some(5.0));
        let host = format!("host{place}.example");
        Self {
            kind: place % 5,
            scope: Scope::named(&host),
            url: parsed(&format!("https://{host}/public/a/page/with/a/path")),
            policy: Arc::new(built(values)),
            state: HostState::default(),
            turn: 0,
            noted: Vec::new(),
            answered: 0,
            in_flight: 0,
        }
    }

    fn subject(&self, kind: Kind) -> Subject<'_> {
        Subject {
            scope: &self.scope,
            url: &self.url,
            kind,
            attempt: 1,
            policy: &self.policy,
        }
    }

    fn turn(&mut self) -> Turn {
        self.turn += 1;
        let read = (self.turn == 1).then(|| {
            self.noted.clear();
            Box::new(StateRead {
                because: Because::Met,
                policy: 0,
                untold: Vec::new(),
                state: self.state.clone(),
            })
        });
        Turn {
            number: self.turn,
            noted: std::mem::take(&mut self.noted),
            read,
        }
    }

    fn depart(&mut self, reading: u64, now: Timestamp) -> Result<(Vec<Entry>, Flight), Bound> {
        let ask = Ask::page(now);
        let permit = match decide(&self.policy, &self.state, &ask, now, draw()) {
            Decision::Depart(permit) => permit,
            Decision::Wait(bound) | Decision::Defer(bound) => return Err(bound),
            Decision::Decline(_) => return Err(Bound::PAUSED),
        };
        let turn = self.turn();
        let cited = Cited {
            reading,
            line: Some(3),
        };
        let entries = Entry::departure(&self.subject(Kind::Page), &permit, Some(&cited), turn);
        self.state = permit.state;
        let departed = now.after(Duration::from_micros(fastrand::u64(50..400)));
        self.state.note_departed(permit.seq, departed);
        self.noted.push(Noted::Departed {
            departure: permit.seq,
            at: departed,
        });
        self.in_flight += 1;
        let seq = permit.seq;
        Ok((entries, Flight { seq, departed }))
    }

    fn land(&mut self, flight: Flight, now: Timestamp) -> Vec<Entry> {
        self.in_flight -= 1;
        self.answered += 1;
        let (status, headers) = self.answer(now);
        let signal = signal::read(status, &headers, now, None, None);
        let answer = Answer::Head {
            status,
            latency: now.since(flight.departed),
            signal: &signal,
        };
        let attempt = Attempt {
            seq: flight.seq,
            kind: Kind::Page,
            departed: flight.departed,
            host: self.scope.host(),
        };
        let draw = draw();
        let observed = observe(&self.policy, &self.state, &attempt, &answer, now, draw);
        let heard = Heard {
            attempt: &attempt,
            answer: &answer,
            at: now,
            draw,
        };
        self.turn += 1;
        let turn = Turn {
            number: self.turn,
            noted: std::mem::take(&mut self.noted),
            read: None,
        };
        let entries = Entry::outcome(&self.subject(Kind::Page), &heard, &observed, turn);
        self.state = observed.state;
        entries
    }

    fn answer(&self, now: Timestamp) -> (u16, HeaderMap) {
        let mut headers = HeaderMap::new();
        let mut tell = |name: &'static str, value: u64| headers.insert(name, value.into());
        match self.kind {
            1 => {
                let window = now.as_secs() % 60;
                tell("ratelimit-limit", 120);
                tell("ratelimit-remaining", 120 - 2 * window.min(59));
                tell("ratelimit-reset", 60 - window);
                (200, headers)
            }
            2 if self.answered.is_multiple_of(997) => {
                tell("retry-after", 30);
                (429, headers)
            }
            3 if self.answered % 2_000 < 2 => (503, headers),
            _ => (200, headers),
        }
    }
}

fn draw() -> Draw {
    Draw::new(f64::from(fastrand::u32(..=1_000_000)) / 1e6)
}

#[expect(clippy::expect_used, reason = "it is written down here")]
fn parsed(url: &str) -> Url {
    Url::parse(url).expect("a URL")
}

#[expect(clippy::expect_used, reason = "it is written down here")]
fn built(values: PolicyValues) -> Policy {
    values.build().expect("a policy")
}
