//! A plan for people: a row a scope, those that end last first, and what it comes to.

use std::time::Duration;

use curtsy::core::{Course, Decline, Forecast, HostState, Timestamp};
use curtsy::{Client, Obstacle, Plan, ScopePlan};

use super::{Outlook, ends_in};
use crate::evidence::evidence;
use crate::failure::{Failure, one_line};
use crate::notices::{clock, short};
use crate::output::{Results, width};
use crate::session;
use crate::table::{Align, Table};

/// Rows on a terminal where not more is asked for.
const ROWS: usize = 20;

pub(super) async fn write(
    out: &mut Results,
    plan: &Plan,
    outlook: &Outlook,
    client: &Client,
    verbosity: u8,
) -> Result<(), Failure> {
    let wide = width();
    let rows = if wide.is_some() && verbosity < 2 {
        ROWS
    } else {
        usize::MAX
    };
    let mut table = Table::new(&[
        ("host", Align::Left),
        ("URLs", Align::Right),
        ("disallowed", Align::Right),
        ("pace", Align::Left),
        ("ends in", Align::Left),
        ("because", Align::Left),
    ]);
    let mut notes = Vec::new();
    for scope in plan.scopes.iter().take(rows) {
        let state = client
            .state(&scope.scope)
            .await
            .map_err(|error| session::failure("plan", &error))?;
        table.row(row(plan, scope, &state));
        if verbosity >= 2 {
            notes.extend(disallowed(scope));
        }
    }
    if let Some(rest) = plan.scopes.get(rows..).filter(|rest| !rest.is_empty()) {
        table.row(summed(plan, rest));
    }
    if !plan.scopes.is_empty() {
        for line in table.lines(wide.unwrap_or(usize::MAX)) {
            out.line(&line)?;
        }
        out.line("")?;
    }
    for note in notes.into_iter().chain(in_all(plan, outlook)) {
        // A rule may hold terminal escapes.
        out.line(&one_line(&note))?;
    }
    Ok(())
}

fn row(plan: &Plan, scope: &ScopePlan, state: &HostState) -> Vec<String> {
    let (pace, because) = match scope.forecast {
        _ if scope.tally.to_fetch() == 0 => (String::new(), obstacle(scope)),
        Forecast::Departs(course) => (pace(&course), because(plan, scope, &course, state)),
        Forecast::Declined(Decline::Suppressed { until }) => (
            String::new(),
            match until {
                Some(until) => format!("suppressed after 403s until {}", clock(until)),
                None => "suppressed after 403s".to_owned(),
            },
        ),
    };
    vec![
        scope.scope.to_string(),
        scope.tally.urls.to_string(),
        some(scope.tally.disallowed),
        pace,
        ends_in(plan, scope).map_or(String::new(), short),
        because,
    ]
}

/// The pace in the long run.
fn pace(course: &Course) -> String {
    match course.interval {
        Duration::ZERO => "no limit".to_owned(),
        interval if interval < Duration::from_secs(1) => {
            format!("{:.1}/s", interval.as_secs_f64().recip())
        }
        interval => format!("every {}", short(interval)),
    }
}

/// What makes the pace, after what is in force now where that is something else.
fn because(plan: &Plan, scope: &ScopePlan, course: &Course, state: &HostState) -> String {
    let said = |reason| {
        let found = evidence(&scope.policy, state, reason, plan.now);
        found.unwrap_or_else(|| reason.sentence().to_owned())
    };
    let steady = said(course.reason);
    let wait = course.first.not_before.since(plan.now);
    let mut text = if wait.is_zero() || course.first.reason == course.reason {
        steady
    } else {
        let what = if course.is_deferred {
            "deferred"
        } else {
            "waits"
        };
        format!(
            "{what} {}: {}; then {steady}",
            short(wait),
            said(course.first.reason)
        )
    };
    if scope.tally.obstructed > 0 {
        text = format!(
            "{text}; {} more: {}",
            scope.tally.obstructed,
            obstacle(scope)
        );
    }
    text
}

/// Why nothing is fetched.
fn obstacle(scope: &ScopePlan) -> String {
    match &scope.tally.obstacle {
        None if scope.tally.disallowed > 0 => "all disallowed by robots.txt".to_owned(),
        None => "its robots.txt cannot be read".to_owned(),
        Some(Obstacle::Failed(why)) => why.clone(),
        Some(Obstacle::Suppressed) => "suppressed after 403s".to_owned(),
        Some(Obstacle::Deferred(bound)) => format!(
            "deferred until {}: {}",
            clock(bound.not_before),
            bound.reason.sentence()
        ),
    }
}

fn summed(plan: &Plan, rest: &[ScopePlan]) -> Vec<String> {
    let sum = |count: fn(&ScopePlan) -> u64| rest.iter().map(count).sum::<u64>();
    vec![
        format!("{} more", rest.len()),
        sum(|scope| scope.tally.urls).to_string(),
        some(sum(|scope| scope.tally.disallowed)),
        String::new(),
        rest.first()
            .and_then(|first| ends_in(plan, first))
            .map_or(String::new(), short),
        "-v shows them all".to_owned(),
    ]
}

fn disallowed(scope: &ScopePlan) -> impl Iterator<Item = String> {
    let told: u64 = scope.tally.rules.iter().map(|rule| rule.urls).sum();
    let rules = scope.tally.rules.iter().map(|rule| {
        format!(
            "{}: {} disallowed by line {}: {}",
            scope.scope, rule.urls, rule.line, rule.rule
        )
    });
    let others = scope.tally.disallowed - told;
    let others = (others > 0).then(|| format!("{}: {others} disallowed otherwise", scope.scope));
    rules.chain(others)
}

/// What it comes to in all.
fn in_all(plan: &Plan, outlook: &Outlook) -> Vec<String> {
    let mut lines = Vec::new();
    let hosts = match plan.scopes.len() {
        1 => "1 host".to_owned(),
        hosts => format!("{hosts} hosts"),
    };
    let mut first = format!("{} URLs, {hosts}", outlook.urls);
    for (count, what) in [
        (plan.done, "done already"),
        (plan.duplicates, "there twice"),
        (outlook.disallowed, "disallowed by robots.txt"),
        (outlook.obstructed, "out of reach"),
        (outlook.deferred, "deferred"),
    ] {
        if count > 0 {
            first.push_str(&format!(", {count} {what}"));
        }
    }
    lines.push(first);
    if plan.is_rough {
        lines.push("So many URLs that some that are there twice are counted twice.".to_owned());
    }
    lines.push(match outlook.end.map(|end| (end, end.since(plan.now))) {
        None => "Nothing would be fetched now.".to_owned(),
        Some((_, Duration::ZERO)) => "It would take as long as the answers take.".to_owned(),
        Some((end, left)) => format!(
            "It would end in {}, at {}, if all is answered well and at once.",
            short(left),
            clock(end)
        ),
    });
    if let Some(due) = outlook.due {
        lines.push(later(due));
    }
    lines
}

fn later(due: Timestamp) -> String {
    format!("What is deferred is due from {} on.", clock(due))
}

/// A number, or nothing where it is none.
fn some(count: u64) -> String {
    if count == 0 {
        String::new()
    } else {
        count.to_string()
    }
}
