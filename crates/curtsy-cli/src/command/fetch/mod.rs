//! `curtsy fetch`: a list of URLs, each host as fast as it permits and no faster.

mod report;
mod watching;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use curtsy::core::audit::{Entry, Event};
use curtsy::{
    Bodies, ErrorKind, Feed, Job, JobDir, JobOptions, NewEntry, Outcome, Stopper, Summary,
};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::args::{FetchArgs, GlobalArgs, WorkArgs};
use crate::failure::{Exit, Failure};
use crate::input::{Input, Line, Listed};
use crate::progress::Screen;
use crate::record;
use crate::session::{self, State};
use crate::settings::{Flags, Settings};
use crate::value::QueueUrl;
use watching::Watching;

/// The most URLs that are added to the queue at once: of a long list as many as have been read, of a slow
/// one each as it comes.
const BATCH: usize = 10_000;

pub(crate) fn run(args: &FetchArgs, global: &GlobalArgs) -> Result<Exit, Failure> {
    let settings = Settings::load(Flags {
        global,
        options: &args.options,
        json: args.json,
    })?;
    // A list that cannot be read is found out before anything is made.
    let input = args.input.as_deref().map(Input::open).transpose()?;
    let list = Given {
        urls: args.urls.clone(),
        input,
    };
    session::run(fetch(Source::List(list), &settings))
}

pub(crate) fn work(args: &WorkArgs, global: &GlobalArgs) -> Result<Exit, Failure> {
    let settings = Settings::load(Flags {
        global,
        options: &args.options,
        json: args.json,
    })?;
    if settings.fetch.queue == QueueUrl::Sqlite {
        return Err(Failure::usage(
            "work",
            "name the queue that workers share: --queue redis://HOST",
        ));
    }
    session::run(fetch(Source::Queue { stays: args.stay }, &settings))
}

/// Where the URLs come from.
enum Source {
    /// A list.
    List(Given),
    /// A queue that others fill; waited for where it `stays`, also when all are done.
    Queue { stays: bool },
}

/// The list of URLs as the command line gives it.
struct Given {
    urls: Vec<String>,
    input: Option<Input<crate::lines::Reader>>,
}

/// Fetches a list, or what others have put into the queue.
async fn fetch(source: Source, settings: &Settings) -> Result<Exit, Failure> {
    let (given, stays) = match source {
        Source::List(given) => (Some(given), false),
        Source::Queue { stays } => (None, stays),
    };
    let fetch = &settings.fetch;
    let screen = Screen::new(fetch.verbosity);
    warn(settings, &screen);
    let dir = JobDir::open(&fetch.out).map_err(|error| session::failure("fetch", &error))?;
    let queue = session::queue(fetch, &dir).await?;
    let state = State::beside(&*queue, &fetch.state).await?;
    let audit = record::of_job(fetch, &*queue, &dir, &state.clock).await?;
    let watching = Watching::new(settings)?;
    let clock = state.clock.clone();
    let ears = watching.ears(audit.clone(), &screen, clock, fetch.verbosity);
    let client = session::client_with(settings, state, ears)?;
    let options = JobOptions {
        bodies: match &fetch.warc {
            Some(file) => Bodies::Warc(file.clone()),
            None if fetch.no_body => Bodies::Dropped,
            None => Bodies::Files,
        },
        max_wait: fetch.max_wait,
        retry_failed: fetch.retry_failed,
        refresh: fetch.refresh,
        lease: fetch.lease,
        awaits_urls: given.is_none(),
        stays,
        ..JobOptions::default()
    };
    let writes_files = options.bodies == Bodies::Files;
    let failed = |error: curtsy::Error| session::failure("fetch", &error);
    let job = Job::open(client.clone(), Arc::clone(&queue), dir, options)
        .await
        .map_err(failed)?;

    let bad_lines = Arc::new(AtomicU64::new(0));
    let notes = Notes {
        bad_lines: Arc::clone(&bad_lines),
        names: writes_files || fetch.verbosity == 0,
        screen: screen.clone(),
    };
    let feeding = given.map(|given| {
        let list = read(given, notes);
        tokio::spawn(feed(job.feed(), list, job.stopper()))
    });
    audit
        .record([record::started(settings)])
        .await
        .map_err(failed)?;
    let stopping = tokio::spawn(stop_on_signal(job.stopper(), screen.clone()));
    let servers = watching.serve(fetch, &client, &job.progress(), &screen)?;
    let alerting = watching.alerts.watch(&client);
    let display = screen.show(job.progress(), client);
    let ended = job.run().await;
    display.finish();
    if let Some(alerting) = alerting {
        alerting.finish().await;
    }
    for server in servers {
        server.finish().await;
    }
    stopping.abort();
    let summary = ended.map_err(failed)?;
    match feeding {
        Some(feeding) if feeding.is_finished() => feeding
            .await
            .map_err(|error| Failure::new(Exit::Usage, "the list", error))??,
        Some(feeding) => {
            // Stopped, perhaps while it waited for a line that never comes.
            feeding.abort();
            screen.say("the list was not read to its end: give it again with the next run");
        }
        None => {}
    }
    let bad_lines = bad_lines.load(Ordering::Relaxed);
    if summary.total == 0 && !summary.interrupted {
        screen.say("the list is empty: nothing to fetch");
    }
    audit
        .record([Entry::of_run(Event::RunEnded {
            totals: summary.outcomes.clone(),
        })])
        .await
        .map_err(failed)?;
    audit.keep_tail(&*queue).await.map_err(failed)?;
    report::write(&summary, bad_lines, fetch)?;
    Ok(exit(&summary, bad_lines))
}

fn warn(settings: &Settings, screen: &Screen) {
    if settings.fetch.verbosity == 0 {
        return;
    }
    for warning in &settings.warnings {
        screen.say(warning);
    }
    if settings.policy.polite && settings.fetch.contact.is_none() {
        screen.say("no contact is configured: give --contact you@yours.org, so that site operators can reach you");
    }
}

/// The URLs of the command line and of the list, as they are read.
struct List {
    urls: mpsc::Receiver<NewEntry>,
    reader: JoinHandle<Result<(), Failure>>,
}

/// What is told of a list as it is read.
struct Notes {
    /// How many lines were bad so far.
    bad_lines: Arc<AtomicU64>,
    /// Whether files that lines name are written, or it has been said that they are not.
    names: bool,
    screen: Screen,
}

/// Reads in a thread of its own: neither a slow pipe nor a long file keeps what is fetched waiting.
fn read(Given { urls, input }: Given, mut notes: Notes) -> List {
    let (sender, receiver) = mpsc::channel(BATCH);
    let reader = tokio::task::spawn_blocking(move || {
        let given = urls.iter().map(|url| {
            Ok(match Listed::url(url) {
                Ok(listed) => Ok(listed),
                Err(why) => Err(format!("{url:?} {why}")),
            })
        });
        let listed = input.into_iter().flatten().map(|line| {
            Ok(match line? {
                Line::Url(listed) => Ok(listed),
                Line::Bad(line) => Err(format!("{}:{}: {}", line.name, line.number, line.why)),
            })
        });
        for line in given.chain(listed) {
            match line? {
                Ok(listed) => {
                    if listed.out.is_some() && !notes.names {
                        notes.names = true;
                        notes.screen.say(
                            "no file is written for a body: \"out\" in the list has no effect",
                        );
                    }
                    if sender.blocking_send(entry(listed)).is_err() {
                        // The job was stopped.
                        break;
                    }
                }
                Err(why) => {
                    notes.bad_lines.fetch_add(1, Ordering::Relaxed);
                    notes.screen.say(&why);
                }
            }
        }
        Ok(())
    });
    List {
        urls: receiver,
        reader,
    }
}

/// Adds what is read until all of it is, or the job has been stopped. A list that cannot be read to its end
/// stops the job.
async fn feed(feed: Feed, mut list: List, stopper: Stopper) -> Result<(), Failure> {
    let mut batch = Vec::new();
    while list.urls.recv_many(&mut batch, BATCH).await > 0 {
        match feed.add(std::mem::take(&mut batch)).await {
            Err(error) if error.kind() == ErrorKind::Closed => return Ok(()),
            Err(error) => {
                stopper.stop();
                return Err(session::failure("fetch", &error));
            }
            Ok(_) => {}
        }
    }
    let read = list
        .reader
        .await
        .unwrap_or_else(|error| Err(Failure::new(Exit::Usage, "the list", error)));
    if read.is_err() {
        stopper.stop();
    }
    read
}

fn entry(listed: Listed) -> NewEntry {
    let secret = !listed.url.username().is_empty() || listed.url.password().is_some();
    let headers = (!listed.headers.is_empty()).then(|| {
        let pairs = listed.headers.iter().map(|header| {
            (
                header.name.to_string(),
                String::from_utf8_lossy(header.value.as_bytes()).into_owned(),
            )
        });
        serde_json::Value::from_iter(pairs).to_string()
    });
    NewEntry {
        url: if secret {
            listed.url.into()
        } else {
            listed.given
        },
        out: listed.out.map(|out| out.as_str().to_owned()),
        headers,
    }
}

/// The first Ctrl-C lets what is in flight finish; the second ends at once.
async fn stop_on_signal(stopper: Stopper, screen: Screen) {
    session::told_to_stop().await;
    screen.say("stopping: requests in flight finish; Ctrl-C again ends at once");
    stopper.stop();
    session::told_to_stop().await;
    std::process::exit(130);
}

fn exit(summary: &Summary, bad_lines: u64) -> Exit {
    let any = |outcomes: &[Outcome]| outcomes.iter().any(|outcome| summary.count(*outcome) > 0);
    if summary.interrupted {
        Exit::Interrupted
    } else if any(&[Outcome::Deferred]) {
        Exit::Deferred
    } else if bad_lines > 0 || any(&[Outcome::Failed, Outcome::HttpError, Outcome::Suppressed]) {
        Exit::No
    } else {
        Exit::Done
    }
}
