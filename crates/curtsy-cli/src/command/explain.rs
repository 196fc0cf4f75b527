//! `curtsy explain`: which bound holds the next departure, and what robots.txt says.

use curtsy::core::{Bound, Reason, Scope};
use curtsy::{Explanation, RobotsSay};
use serde_json::{Value as Json, json};

use crate::args::{ExplainArgs, GlobalArgs};
use crate::evidence::{evidence, rate_key};
use crate::failure::{Exit, Failure, one_line};
use crate::notices::{clock, notices, short};
use crate::output::{Results, say};
use crate::session;
use crate::settings::{Flags, Settings};

pub(crate) fn run(args: &ExplainArgs, global: &GlobalArgs) -> Result<Exit, Failure> {
    let options = args.asking.options();
    let settings = Settings::load(Flags {
        global,
        options: &options,
        json: args.json,
    })?;
    session::run(explain(args, &settings))
}

async fn explain(args: &ExplainArgs, settings: &Settings) -> Result<Exit, Failure> {
    let notices = notices(settings.fetch.verbosity, say);
    let client = session::client(settings, notices).await?;
    let explained = client
        .explain(&args.url)
        .await
        .map_err(|error| session::failure("explain", &error))?;
    let mut out = Results::start();
    if args.json {
        out.line(&in_json(&explained, settings).to_string())?;
    } else {
        for line in in_words(&explained, settings) {
            // A rule may hold terminal escapes.
            out.line(&one_line(&line))?;
        }
    }
    out.finish()?;
    Ok(if is_no(&explained.robots) {
        Exit::No
    } else {
        Exit::Done
    })
}

fn is_no(robots: &RobotsSay) -> bool {
    !matches!(robots, RobotsSay::NotAsked | RobotsSay::Allowed(_))
}

fn in_words(explained: &Explanation, settings: &Settings) -> Vec<String> {
    let mut lines = vec![
        format!("scope        {}", explained.scope),
        format!("robots.txt   {}", robots_in_words(&explained.robots)),
    ];
    let latest = explained.bounds.latest();
    for (name, bound) in times(explained) {
        let mark = if bound == latest && latest.reason != Reason::Free {
            "  <- binds"
        } else {
            ""
        };
        lines.push(format!(
            "{name:<12} {}{mark}",
            bound_in_words(explained, settings, bound)
        ));
    }
    let wait = latest.not_before.since(explained.now);
    lines.push(match wait.is_zero() {
        true => "next         now".to_owned(),
        false => format!(
            "next         in {}, at {}",
            short(wait),
            clock(latest.not_before)
        ),
    });
    lines
}

fn times(explained: &Explanation) -> [(&'static str, Bound); 4] {
    let bounds = explained.bounds;
    [
        ("Crawl-delay", bounds.crawl_delay),
        ("configured", bounds.configured),
        ("dynamic", bounds.dynamic),
        ("server", bounds.server),
    ]
}

fn bound_in_words(explained: &Explanation, settings: &Settings, bound: Bound) -> String {
    let evidence = evidence_of(explained, settings, bound.reason)
        .map(|evidence| format!(" ({evidence})"))
        .unwrap_or_default();
    let wait = bound.not_before.since(explained.now);
    match bound.reason {
        Reason::Free => "-".to_owned(),
        reason if wait.is_zero() => format!("past: {}{evidence}", reason.sentence()),
        reason => format!("in {}: {}{evidence}", short(wait), reason.sentence()),
    }
}

/// Where the bound comes from: the header, the line of the file, the setting.
fn evidence_of(explained: &Explanation, settings: &Settings, reason: Reason) -> Option<String> {
    let (policy, state) = (&explained.policy, &explained.state);
    let found = evidence(policy, state, reason, explained.now)?;
    let source = |key| source_of(settings, &explained.scope, key);
    let from = match reason {
        Reason::CrawlDelay => {
            let line = explained.crawl_delay_line;
            line.map_or_else(String::new, |line| format!(", line {line}"))
        }
        Reason::Rate => source(rate_key(policy, state)),
        Reason::DayCap => source("day_cap"),
        Reason::ConfiguredDelay => source("delay"),
        _ => String::new(),
    };
    Some(found + &from)
}

/// Where a setting of a scope comes from: its own section, else what holds for all.
fn source_of(settings: &Settings, scope: &Scope, key: &str) -> String {
    let shown = &settings.shown;
    let own = shown.scopes.iter().filter(|(section, _)| section == scope);
    let setting = own
        .flat_map(|(_, section)| section)
        .chain(&shown.policy)
        .find(|setting| setting.key == key);
    setting.map_or_else(String::new, |setting| format!(" by {}", setting.source))
}

fn robots_in_words(robots: &RobotsSay) -> String {
    match robots {
        RobotsSay::NotAsked => "not asked".to_owned(),
        RobotsSay::Allowed(None) => "allowed: no rule forbids it".to_owned(),
        RobotsSay::Allowed(Some((rule, line))) => format!("allowed by line {line}: {rule}"),
        RobotsSay::Disallowed(None) => "disallowed: the whole site is".to_owned(),
        RobotsSay::Disallowed(Some((rule, line))) => format!("disallowed by line {line}: {rule}"),
        RobotsSay::Unreachable(bound) => format!(
            "cannot be read for now; asked again not before {}",
            clock(bound.not_before)
        ),
        RobotsSay::Suppressed => "not asked: the scope is suppressed after 403s".to_owned(),
        RobotsSay::Failed(why) => format!("the host cannot be reached: {why}"),
    }
}

fn in_json(explained: &Explanation, settings: &Settings) -> Json {
    let wait_ms = |bound: Bound| bound.not_before.since(explained.now).as_secs_f64() * 1000.0;
    let bound = |bound: Bound| {
        json!({
            "reason": bound.reason.label(),
            "wait_ms": wait_ms(bound),
            "evidence": evidence_of(explained, settings, bound.reason),
        })
    };
    let latest = explained.bounds.latest();
    let (allowed, rule) = match &explained.robots {
        RobotsSay::Allowed(rule) => (Some(true), rule.clone()),
        RobotsSay::Disallowed(rule) => (Some(false), rule.clone()),
        RobotsSay::NotAsked => (None, None),
        _ => (Some(false), None),
    };
    let times = times(explained)
        .map(|(name, time)| (name.to_ascii_lowercase().replace('-', "_"), bound(time)));
    json!({
        "scope": explained.scope.as_str(),
        "robots": {
            "allowed": allowed,
            "rule": rule.as_ref().map(|(rule, _)| rule),
            "line": rule.as_ref().map(|(_, line)| line),
            "said": robots_in_words(&explained.robots),
        },
        "times": Json::from_iter(times),
        "binds": bound(latest),
        "not_before": (latest.reason != Reason::Free).then(|| latest.not_before.to_rfc3339()),
    })
}
