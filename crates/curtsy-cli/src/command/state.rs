//! `curtsy state`: where it is stored, what is stored of scopes, and how to end a suppression or forget.

use curtsy::core::{Breaker, HostState, Scope, Suppression, Timestamp};
use curtsy::{Client, Notices};
use serde_json::json;

use crate::args::{GlobalArgs, Options, StateCommand, StoreArgs};
use crate::failure::{Exit, Failure};
use crate::notices::{clock, short};
use crate::output::Results;
use crate::session;
use crate::settings::{Flags, Settings};
use crate::value::{StateUrl, Value};

pub(crate) fn run(
    command: &StateCommand,
    store: &StoreArgs,
    global: &GlobalArgs,
) -> Result<Exit, Failure> {
    let options = Options {
        store: store.clone(),
        ..Options::default()
    };
    let settings = Settings::load(Flags {
        global,
        options: &options,
        json: false,
    })?;
    session::run(async {
        let client = async || session::client(&settings, Notices::default()).await;
        match command {
            StateCommand::Init => init(&settings.fetch.state).await,
            StateCommand::Show { scope, json } => {
                show(&client().await?, scope.as_deref(), *json).await
            }
            StateCommand::Lift { scope } => lift(&client().await?, scope).await,
            StateCommand::Reset { scope, yes } => reset(&client().await?, scope, *yes).await,
        }
    })
}

async fn init(state: &StateUrl) -> Result<Exit, Failure> {
    let told = session::State::create(state).await?;
    let mut out = Results::start();
    let url = state.show();
    out.line(&format!(
        "{} is ready{told}",
        url.as_str().unwrap_or_default()
    ))?;
    out.finish()?;
    Ok(Exit::Done)
}

async fn show(client: &Client, scope: Option<&str>, json: bool) -> Result<Exit, Failure> {
    let failed = |error: curtsy::Error| session::failure("state", &error);
    let known = client.stored_scopes().await.map_err(failed)?;
    let wanted = match scope {
        None => known,
        Some(name) => {
            let scope = Scope::named(name);
            if !known.contains(&scope) {
                return Err(Failure::new(
                    Exit::No,
                    scope,
                    "nothing is stored of this scope",
                ));
            }
            vec![scope]
        }
    };
    let mut out = Results::start();
    for scope in &wanted {
        let state = client.state(scope).await.map_err(failed)?;
        if json {
            out.line(&json!({ "scope": scope.as_str(), "state": state }).to_string())?;
        } else {
            out.line(scope.as_str())?;
            for line in describe(&state, client.now()) {
                out.line(&format!("  {line}"))?;
            }
        }
    }
    out.finish()?;
    Ok(Exit::Done)
}

async fn lift(client: &Client, scope: &str) -> Result<Exit, Failure> {
    let scope = Scope::named(scope);
    if client
        .lift(&scope)
        .await
        .map_err(|error| session::failure("state", &error))?
    {
        return Ok(Exit::Done);
    }
    Err(Failure::new(
        Exit::No,
        scope,
        "neither suppressed nor broken; a server's hold ends by itself",
    ))
}

async fn reset(client: &Client, scope: &str, yes: bool) -> Result<Exit, Failure> {
    if !yes {
        return Err(Failure::usage(
            "state reset",
            "forgets all that was learned of the scope, holds included; say --yes",
        ));
    }
    let scope = Scope::named(scope);
    if client
        .forget(&scope)
        .await
        .map_err(|error| session::failure("state", &error))?
    {
        return Ok(Exit::Done);
    }
    Err(Failure::new(
        Exit::No,
        scope,
        "nothing is stored of this scope",
    ))
}

fn describe(state: &HostState, now: Timestamp) -> Vec<String> {
    let ago = |at: Timestamp| format!("{} ago", short(now.since(at)));
    let mut lines = Vec::new();
    let last = state.last_departure().map_or("never".to_owned(), ago);
    lines.push(format!(
        "departures     {}, the last {last}",
        state.departures()
    ));
    if let Some(delay) = state.crawl_delay() {
        lines.push(format!("Crawl-delay    {}", short(delay)));
    }
    if let Some(rate) = state.rate() {
        let newest = state.quotas().iter().map(|quota| quota.read_at()).max();
        let learned = newest.map_or(String::new(), |at| format!(", learned {}", ago(at)));
        lines.push(format!(
            "rate           {rate:.2}/s, by its published quota{learned}"
        ));
    }
    for quota in state.quotas() {
        let number = |value: Option<u64>| value.map_or("?".to_owned(), |value| value.to_string());
        lines.push(format!(
            "quota          {}: {} of {} left, read {}",
            quota.key,
            number(quota.remaining),
            number(quota.limit),
            ago(quota.read_at())
        ));
    }
    if let Some(pace) = state.learned_pace() {
        lines.push(format!(
            "learned rate   {:.2}/s; it refused {:.2}/s {}",
            pace.rate,
            pace.refused,
            ago(pace.learned_at)
        ));
    }
    if let Some(most) = state.learned_concurrency() {
        lines.push(format!("concurrency    {most} at once, as far as it bears"));
    }
    if let Some(hold) = state.hold(now) {
        lines.push(format!(
            "hold           until {} (in {}; {}, set {})",
            clock(hold.until),
            short(hold.until.since(now)),
            hold.source,
            ago(hold.since)
        ));
    }
    if !state.dynamic_delay().is_zero() {
        let until = state
            .backoff_until(now)
            .map(|until| format!(", nothing before {}", clock(until)))
            .unwrap_or_default();
        let raised = state
            .overloaded_at()
            .map_or(String::new(), |at| format!(", raised {}", ago(at)));
        lines.push(format!(
            "dynamic delay  {}{raised}{until}",
            short(state.dynamic_delay())
        ));
    }
    match state.breaker() {
        Breaker::Closed => {}
        Breaker::Open { until, .. } => {
            lines.push(format!(
                "breaker        open until {} (in {})",
                clock(until),
                short(until.since(now))
            ));
        }
        Breaker::HalfOpen { .. } => {
            lines.push("breaker        half-open: one probe is under way".to_owned())
        }
    }
    match state.suppression() {
        Suppression::None { .. } => {}
        Suppression::Active { since, until } => {
            let until = until
                .map(|until| format!(", until {}", clock(until)))
                .unwrap_or_default();
            lines.push(format!("suppressed     {} after 403s{until}", ago(since)));
        }
        Suppression::Probing { .. } => {
            lines.push("suppressed     expired: one probe is under way".to_owned())
        }
    }
    if let Some(p95) = state.latency_percentile_95() {
        lines.push(format!("latency        95 % under {}", short(p95)));
    }
    lines
}
