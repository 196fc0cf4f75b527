//! `curtsy demo`: the main job without any network. Two servers on loopback limit their rates each in its
//! own way, curtsy fetches from both, and the servers' own logs say how it behaved.

mod plot;

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use curtsy::clock::Clock;
use curtsy::store::MemoryQueue;
use curtsy::{Audit, Client, Job, JobDir, JobOptions, NewEntry, Outcome, Summary};
use curtsy_origin::{Arrival, Origin, Script, Verdict, judge};

use crate::args::GlobalArgs;
use crate::failure::{Exit, Failure};
use crate::notices::{notices, short};
use crate::output::Results;
use crate::progress::{Screen, speaker};
use crate::session;
use plot::plot;

/// A server with a published quota of 20 in 2 s, and an outage that it announces.
const QUOTA: &str = r#"{
  "policies": [{"kind": "fixed_window", "limit": 20, "window_s": 2}],
  "dialect": "draft8",
  "refuse": {"status": 429, "retry_after": "seconds"},
  "service": {"latency_ms": 30},
  "outages": [{"at_s": 5, "for_s": 3, "status": 503, "retry_after": "seconds"}],
  "robots": "User-agent: *\nDisallow: /private/\n"
}"#;
/// A server that says nothing about quotas, and asks for half a second between requests.
const CRAWL_DELAY: &str = r#"{
  "service": {"latency_ms": 20},
  "robots": "User-agent: *\nCrawl-delay: 0.5\n"
}"#;
const QUOTA_PAGES: usize = 130;
const SLOW_PAGES: usize = 30;

pub(crate) fn run(global: &GlobalArgs) -> Result<Exit, Failure> {
    session::run(demo(global))
}

async fn demo(global: &GlobalArgs) -> Result<Exit, Failure> {
    let screen = Screen::new(if global.quiet { 0 } else { 1 });
    let quota = start(QUOTA).await?;
    let slow = start(CRAWL_DELAY).await?;
    let dir = tempfile::tempdir()
        .map_err(|error| Failure::new(Exit::Output, "a temporary directory", error))?;

    let clock = Clock::system();
    let failed = |error: curtsy::Error| session::failure("demo", &error);
    let client = Client::builder()
        .clock(clock)
        .audit(Audit::off())
        .notices(notices(1, speaker(&screen)))
        .build()
        .map_err(failed)?;
    let lock = JobDir::open(dir.path()).map_err(failed)?;
    let job = Job::open(
        client.clone(),
        Arc::new(MemoryQueue::new()),
        lock,
        JobOptions::default(),
    )
    .await
    .map_err(failed)?;
    job.add(urls(&quota, &slow)).await.map_err(failed)?;
    screen.say("two servers on loopback, fetched from at once:");
    screen.say(&format!(
        "{} publishes a quota of 20 in 2 s, and will fail for 3 s",
        quota.addr()
    ));
    screen.say(&format!("{} asks for 0.5 s between requests", slow.addr()));
    let display = screen.show(job.progress(), client);
    let summary = job.run().await;
    display.finish();
    let summary = summary.map_err(failed)?;
    let (quota, slow) = (
        Judged::of(quota, QUOTA_PAGES).await?,
        Judged::of(slow, SLOW_PAGES).await?,
    );
    report(&summary, &quota, &slow)?;
    Ok(
        if summary.count(Outcome::Fetched) == (QUOTA_PAGES + SLOW_PAGES) as u64 {
            Exit::Done
        } else {
            Exit::No
        },
    )
}

async fn start(script: &str) -> Result<Origin, Failure> {
    let failed = |error: curtsy_origin::Error| {
        Failure::new(
            Exit::Usage,
            "the demo's server",
            crate::failure::chain(&error),
        )
    };
    let script = Script::from_json(script).map_err(failed)?;
    Origin::start(script, (Ipv4Addr::LOCALHOST, 0))
        .await
        .map_err(failed)
}

fn urls(quota: &Origin, slow: &Origin) -> Vec<NewEntry> {
    let private = (0..3).map(|n| quota.url(&format!("/private/{n}")));
    let open = (0..QUOTA_PAGES).map(|n| quota.url(&format!("/{n}")));
    let slow = (0..SLOW_PAGES).map(|n| slow.url(&format!("/{n}")));
    private
        .chain(open)
        .chain(slow)
        .map(|url| NewEntry {
            url,
            ..NewEntry::default()
        })
        .collect()
}

/// What a server saw.
struct Judged {
    name: String,
    arrivals: Vec<Arrival>,
    verdict: curtsy_origin::Judgement,
}

impl Judged {
    async fn of(mut origin: Origin, pages: usize) -> Result<Self, Failure> {
        origin
            .stop()
            .await
            .map_err(|error| Failure::new(Exit::Output, "the demo's server", error))?;
        let paths: Vec<String> = (0..pages).map(|n| format!("/{n}")).collect();
        let arrivals = origin.arrivals();
        let verdict = judge(origin.script(), &arrivals, &paths);
        Ok(Self {
            name: origin.addr().to_string(),
            arrivals,
            verdict,
        })
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.arrivals
            .iter()
            .filter(|arrival| arrival.verdict == verdict)
            .count()
    }

    /// From the first governed arrival to the last.
    fn span(&self) -> Duration {
        let mut governed = self
            .arrivals
            .iter()
            .filter(|arrival| arrival.verdict != Verdict::Exempt)
            .map(|arrival| arrival.at);
        let first = governed.next().unwrap_or_default();
        governed.next_back().unwrap_or(first).saturating_sub(first)
    }
}

fn report(summary: &Summary, quota: &Judged, slow: &Judged) -> Result<(), Failure> {
    let mut out = Results::start();
    let elapsed = Duration::from_secs_f64(summary.elapsed_s);
    out.line("")?;
    out.line(&format!(
        "{} of {} URLs fetched in {}; {} disallowed by robots.txt and left alone.",
        summary.count(Outcome::Fetched),
        summary.total,
        short(elapsed),
        summary.count(Outcome::Disallowed)
    ))?;
    out.line("What the servers' own logs say:")?;
    out.line("")?;
    let pace =
        |judged: &Judged| judged.verdict.served as f64 / judged.span().as_secs_f64().max(0.001);
    out.line(&format!(
        "  {} (20 in 2 s published; down for 3 s, and says so)",
        quota.name
    ))?;
    out.line(&format!(
        "    {} pages served at {:.1}/s over all; {} refused by the quota; {} met the outage before it was known,",
        quota.verdict.served,
        pace(quota),
        quota.verdict.refused,
        quota.count(Verdict::Outage)
    ))?;
    out.line(&format!(
        "    {} arrived in the time in which it had asked to be left alone.",
        quota.verdict.in_hold
    ))?;
    out.line("")?;
    for line in plot(&quota.arrivals) {
        out.line(&format!("    {line}"))?;
    }
    out.line("")?;
    out.line(&format!("  {} (Crawl-delay: 0.5)", slow.name))?;
    let least = slow
        .verdict
        .least_gap_s
        .map_or("-".to_owned(), |gap| format!("{gap:.3} s"));
    out.line(&format!(
        "    {} pages served; the shortest gap between two requests was {least}.",
        slow.verdict.served
    ))?;
    out.line("")?;
    for line in plot(&slow.arrivals) {
        out.line(&format!("    {line}"))?;
    }
    out.finish()
}
