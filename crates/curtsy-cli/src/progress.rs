//! How a job comes on, on standard error: bars on a terminal, a line now and then elsewhere.

use std::collections::VecDeque;
use std::io::IsTerminal;
use std::sync::Arc;
use std::time::{Duration, Instant};

use curtsy::core::{Breaker, Reason, Suppression, Timestamp};
use curtsy::{Client, Outcome, Progress, ProgressView, ScopeView};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::task::JoinHandle;

use crate::notices::short;
use crate::output;

/// Between two pictures on a terminal.
const FRAME: Duration = Duration::from_millis(150);
/// Between two lines elsewhere.
const LINE: Duration = Duration::from_secs(10);
/// The rate is that of the last so much time.
const RATE_OVER: Duration = Duration::from_secs(15);
/// Scopes that have a line of their own.
const SCOPES: usize = 6;

/// Where lines of a run go: above the bars, where there are any. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Screen {
    bars: Option<MultiProgress>,
    quiet: bool,
}

/// What keeps the picture up to date.
pub(crate) struct Display {
    screen: Screen,
    task: Option<JoinHandle<()>>,
}

impl Screen {
    /// Standard error: with bars on a terminal, silent at verbosity 0.
    pub(crate) fn new(verbosity: u8) -> Self {
        let bars = std::io::stderr().is_terminal() && verbosity > 0;
        let bars =
            bars.then(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(10)));
        Self {
            bars,
            quiet: verbosity == 0,
        }
    }

    /// Says one line.
    pub(crate) fn say(&self, line: &str) {
        match &self.bars {
            Some(bars) => bars.suspend(|| output::say(line)),
            None => output::say(line),
        }
    }

    /// Shows the progress of a job until the display is finished.
    pub(crate) fn show(&self, view: ProgressView, client: Client) -> Display {
        let meter = Meter::default();
        let task = match &self.bars {
            _ if self.quiet => None,
            Some(bars) => Some(tokio::spawn(draw(bars.clone(), view, client, meter))),
            None => Some(tokio::spawn(tell(view, client, meter))),
        };
        Display {
            screen: self.clone(),
            task,
        }
    }
}

impl Display {
    /// Takes the picture away.
    pub(crate) fn finish(self) {
        if let Some(task) = self.task {
            task.abort();
        }
        if let Some(bars) = &self.screen.bars {
            let _ = bars.clear();
        }
    }
}

async fn draw(bars: MultiProgress, view: ProgressView, client: Client, mut meter: Meter) {
    let style = |template: &str| {
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
    };
    let overall =
        bars.add(ProgressBar::new(0).with_style(style("{bar:24.green} {pos}/{len} {wide_msg}")));
    let line = style("  {wide_msg}");
    let mut lines: Vec<ProgressBar> = Vec::new();
    loop {
        let progress = view.now();
        meter.note(&progress);
        overall.set_length(progress.total);
        overall.set_position(ended(&progress));
        overall.set_message(meter.describe(&progress));
        let scopes = busiest(&client);
        let now = client.now();
        while lines.len() > scopes.len() {
            if let Some(bar) = lines.pop() {
                bar.finish_and_clear();
                bars.remove(&bar);
            }
        }
        while lines.len() < scopes.len() {
            lines.push(bars.add(ProgressBar::new(0).with_style(line.clone())));
        }
        for (bar, scope) in lines.iter().zip(&scopes) {
            bar.set_message(describe(scope, now));
        }
        tokio::time::sleep(FRAME).await;
    }
}

async fn tell(view: ProgressView, client: Client, mut meter: Meter) {
    loop {
        meter.note(&view.now());
        tokio::time::sleep(LINE).await;
        let progress = view.now();
        meter.note(&progress);
        output::say(&format!(
            "{}/{} {}",
            ended(&progress),
            progress.total,
            meter.describe(&progress)
        ));
        let now = client.now();
        for scope in busiest(&client).iter().take(3) {
            output::say(&format!("  {}", describe(scope, now)));
        }
    }
}

/// The rate of the last while, and what is left at that rate.
#[derive(Default)]
struct Meter(VecDeque<(Instant, u64)>);

impl Meter {
    fn note(&mut self, progress: &Progress) {
        let now = Instant::now();
        self.0.push_back((now, progress.ended_now));
        while self.0.len() > 2
            && self
                .0
                .front()
                .is_some_and(|(at, _)| now.duration_since(*at) > RATE_OVER)
        {
            self.0.pop_front();
        }
    }

    fn rate(&self) -> Option<f64> {
        let ((from, before), (to, after)) = (self.0.front()?, self.0.back()?);
        let seconds = to.duration_since(*from).as_secs_f64();
        (seconds > 0.5 && after > before).then(|| (after - before) as f64 / seconds)
    }

    fn describe(&self, progress: &Progress) -> String {
        let count = |outcome| progress.ended.get(&outcome).copied().unwrap_or(0);
        let mut parts = vec![format!("{} fetched", count(Outcome::Fetched))];
        for (outcome, name) in [
            (Outcome::HttpError, "http errors"),
            (Outcome::Failed, "failed"),
            (Outcome::Disallowed, "disallowed"),
            (Outcome::Suppressed, "suppressed"),
        ] {
            if count(outcome) > 0 {
                parts.push(format!("{} {name}", count(outcome)));
            }
        }
        if let Some(rate) = self.rate() {
            parts.push(format!("{rate:.1}/s"));
            let left = progress.total.saturating_sub(ended(progress));
            if left > 0 {
                parts.push(format!(
                    "ETA {}",
                    short(Duration::from_secs_f64((left as f64 / rate).min(1e9)))
                ));
            }
        }
        parts.join(" · ")
    }
}

fn ended(progress: &Progress) -> u64 {
    progress.ended.values().sum()
}

fn busiest(client: &Client) -> Vec<ScopeView> {
    let mut scopes: Vec<ScopeView> = client
        .scopes()
        .into_iter()
        .filter(|view| view.waits_for.is_some() || in_flight(view) > 0)
        .collect();
    scopes.sort_by_key(|view| {
        (
            std::cmp::Reverse(view.state.as_ref().map_or(0, |state| state.departures())),
            view.scope.clone(),
        )
    });
    scopes.truncate(SCOPES);
    scopes
}

fn in_flight(view: &ScopeView) -> usize {
    view.state.as_ref().map_or(0, |state| state.in_flight())
}

/// One scope in one line: what it does, how long it waits and why.
fn describe(view: &ScopeView, now: Timestamp) -> String {
    let state = view.state.as_ref();
    let doing = match (
        state.map(|state| (state.suppression(), state.breaker())),
        view.waits_for,
    ) {
        (Some((Suppression::Active { .. }, _)), _) => "suppressed".to_owned(),
        (Some((_, Breaker::Open { .. })), _) => "broken".to_owned(),
        (_, Some(bound)) => format!(
            "waits {}: {}",
            short(bound.not_before.since(now)),
            bound.reason.sentence()
        ),
        _ => "flows".to_owned(),
    };
    let rate = state
        .and_then(|state| curtsy::core::pace(&view.policy, state))
        // A ceiling that nobody set and the server does not know is no news.
        .filter(|(_, reason)| *reason == Reason::Quota || view.policy.rate.is_some())
        .map(|(rate, _)| format!(" · {rate:.1}/s"))
        .unwrap_or_default();
    let left = state
        .and_then(|state| state.quotas().first())
        .and_then(|quota| quota.remaining)
        .map(|left| format!(" · quota left {left}"))
        .unwrap_or_default();
    format!(
        "{:<24} {doing}{rate}{left} · {} in flight",
        view.scope.as_str(),
        in_flight(view)
    )
}

/// Lets a listener say lines on the screen.
pub(crate) fn speaker(screen: &Screen) -> impl Fn(&str) + Send + Sync + 'static {
    let screen = Arc::new(screen.clone());
    move |line| screen.say(line)
}
