//! `curtsy plan`: what a list would come to, with what a job in its directory has done already taken off. Reads
//! robots.txt and stored state, and fetches nothing else.

mod json;
mod words;

use std::time::Duration;

use curtsy::core::{Forecast, Timestamp};
use curtsy::{JobOptions, Plan, Planner, ScopePlan};
use url::Url;

use crate::args::{GlobalArgs, PlanArgs};
use crate::failure::{Exit, Failure};
use crate::input::{Line, Listed, Reread};
use crate::notices::notices;
use crate::output::Results;
use crate::progress::{Screen, speaker};
use crate::session;
use crate::settings::{Flags, Settings};

/// URLs that are counted at once.
const BATCH: usize = 10_000;

pub(crate) fn run(args: &PlanArgs, global: &GlobalArgs) -> Result<Exit, Failure> {
    let settings = Settings::load(Flags {
        global,
        options: &args.options,
        json: args.json,
    })?;
    let list = args.input.as_deref().map(Reread::open).transpose()?;
    session::run(plan(args, list, &settings))
}

async fn plan(args: &PlanArgs, list: Option<Reread>, settings: &Settings) -> Result<Exit, Failure> {
    let screen = Screen::new(settings.fetch.verbosity);
    let notices = notices(settings.fetch.verbosity, speaker(&screen));
    let client = session::client(settings, notices).await?;
    let failed = |error: curtsy::Error| session::failure("plan", &error);

    let standing = session::standing(&settings.fetch).await?;
    let options = JobOptions {
        retry_failed: settings.fetch.retry_failed,
        refresh: settings.fetch.refresh,
        ..JobOptions::default()
    };
    let mut planner = Planner::new(client.clone());
    let (mut bad, mut origins) = (0_u64, 0);
    if let Some(queue) = &standing {
        let noted = planner.note_job(&**queue, &options).await;
        origins += noted.map_err(failed)?;
    }
    for url in urls(args, list.as_ref())? {
        match url? {
            Ok(url) => origins += usize::from(planner.note(&url).map_err(failed)?),
            Err(why) => {
                bad += 1;
                screen.say(&why);
            }
        }
    }
    let counter = screen.counter("robots.txt", origins);
    planner
        .read_robots(|count| counter.set(count))
        .await
        .map_err(failed)?;
    drop(counter);
    if let Some(queue) = &standing {
        let counted = planner.count_job(&**queue, &options).await;
        counted.map_err(failed)?;
    }
    let mut batch = Vec::new();
    for url in urls(args, list.as_ref())? {
        batch.extend(url?.ok());
        if batch.len() >= BATCH {
            planner
                .count(std::mem::take(&mut batch))
                .await
                .map_err(failed)?;
        }
    }
    planner.count(batch).await.map_err(failed)?;
    let plan = planner.plan().await.map_err(failed)?;

    let outlook = Outlook::of(&plan, settings.fetch.max_wait, bad);
    let mut out = Results::start();
    if args.json {
        json::write(&mut out, &plan, &outlook)?;
    } else {
        words::write(&mut out, &plan, &outlook, &client, settings.fetch.verbosity).await?;
    }
    out.finish()?;
    Ok(if bad > 0 { Exit::No } else { Exit::Done })
}

type Urls<'a> = Box<dyn Iterator<Item = Result<Result<Url, String>, Failure>> + 'a>;

/// The URLs of the command line and of the list; what is none, as it is told.
fn urls<'a>(args: &'a PlanArgs, list: Option<&Reread>) -> Result<Urls<'a>, Failure> {
    let given = args.urls.iter().map(|url| {
        let listed = Listed::url(url).map_err(|why| format!("{url:?} {why}"));
        Ok(listed.map(|listed| listed.url))
    });
    let listed = list.map(Reread::input).transpose()?.into_iter().flatten();
    let listed = listed.map(|line| {
        Ok(match line? {
            Line::Url(listed) => Ok(listed.url),
            Line::Bad(bad) => Err(format!("{}:{}: {}", bad.name, bad.number, bad.why)),
        })
    });
    Ok(Box::new(given.chain(listed)))
}

/// What a plan comes to in all.
struct Outlook {
    urls: u64,
    disallowed: u64,
    bad_lines: u64,
    /// URLs whose robots.txt cannot be had, or whose scope is suppressed.
    obstructed: u64,
    /// URLs of scopes that want to be left alone for longer than a job waits, and until when the first.
    deferred: u64,
    due: Option<Timestamp>,
    /// When the last of the others departs; `None` where there are none.
    end: Option<Timestamp>,
}

impl Outlook {
    fn of(plan: &Plan, max_wait: Duration, bad_lines: u64) -> Self {
        let mut outlook = Self {
            urls: 0,
            disallowed: 0,
            bad_lines,
            obstructed: 0,
            deferred: 0,
            due: None,
            end: None,
        };
        for scope in &plan.scopes {
            outlook.urls += scope.tally.urls;
            outlook.disallowed += scope.tally.disallowed;
            outlook.obstructed += scope.tally.obstructed;
            match scope.forecast {
                Forecast::Declined(_) => outlook.obstructed += scope.tally.to_fetch(),
                Forecast::Departs(course)
                    if course.is_deferred && course.first.not_before.since(plan.now) > max_wait =>
                {
                    outlook.deferred += scope.tally.to_fetch();
                    let due = course.first.not_before;
                    outlook.due = Some(outlook.due.map_or(due, |first| first.min(due)));
                }
                Forecast::Departs(_) => outlook.end = outlook.end.max(scope.end()),
            }
        }
        outlook
    }
}

/// How long from the plan to the end of a scope.
fn ends_in(plan: &Plan, scope: &ScopePlan) -> Option<Duration> {
    Some(scope.end()?.since(plan.now))
}
