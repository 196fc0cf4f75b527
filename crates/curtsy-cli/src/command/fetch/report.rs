//! What a job came to, when it has ended.

use std::time::Duration;

use curtsy::core::Reason;
use curtsy::{Outcome, ReasonCount, ScopeSummary, Summary};

use crate::failure::{Exit, Failure, one_line};
use crate::notices::short;
use crate::output::{Results, bytes, width};
use crate::settings::FetchSettings;
use crate::table::{Align, Table, cut};

/// Scopes that have a row.
const ROWS: usize = 10;
/// Reasons that have a line.
const REASONS: usize = 10;

/// Writes the summary to standard output, in words or as JSON.
///
/// # Errors
/// Standard output cannot be written.
pub(super) fn write(
    summary: &Summary,
    bad_lines: u64,
    fetch: &FetchSettings,
) -> Result<(), Failure> {
    let mut out = Results::start();
    if fetch.json {
        let mut json = serde_json::to_value(summary)
            .map_err(|error| Failure::new(Exit::Output, "the summary", error))?;
        json["bad_lines"] = bad_lines.into();
        json["out"] = fetch.out.display().to_string().into();
        out.line(&json.to_string())?;
        return out.finish();
    }
    let wide = width().unwrap_or(usize::MAX);
    let scopes = scopes(&summary.scopes, wide);
    let reasons = reasons(&summary.reasons, wide);
    for part in [&scopes, &reasons] {
        for line in part {
            out.line(line)?;
        }
        if !part.is_empty() {
            out.line("")?;
        }
    }
    out.line(&in_all(summary, bad_lines))?;
    match &summary.next_due {
        _ if summary.interrupted => out.line("stopped: run it again to go on")?,
        Some(due) => out.line(&format!("run it again after {due} for what is left"))?,
        None => {}
    }
    out.line(&format!("{}", fetch.out.join("manifest.jsonl").display()))?;
    out.finish()
}

fn in_all(summary: &Summary, bad_lines: u64) -> String {
    let mut parts: Vec<String> = summary
        .outcomes
        .iter()
        .map(|(outcome, count)| format!("{count} {}", outcome.replace('_', " ")))
        .collect();
    if bad_lines > 0 {
        parts.push(format!("{bad_lines} bad lines"));
    }
    let said = if parts.is_empty() {
        "nothing".to_owned()
    } else {
        parts.join(", ")
    };
    let elapsed = Duration::from_secs_f64(summary.elapsed_s);
    format!(
        "{} URLs: {said}; {} in {}",
        summary.total,
        bytes(summary.bytes),
        short(elapsed)
    )
}

/// A row for each of the busiest scopes, and one for the others.
fn scopes(scopes: &[ScopeSummary], width: usize) -> Vec<String> {
    if scopes.is_empty() {
        return Vec::new();
    }
    let outcomes = [
        Outcome::Fetched.label(),
        Outcome::HttpError.label(),
        Outcome::Failed.label(),
        Outcome::Deferred.label(),
        Outcome::Disallowed.label(),
        Outcome::Suppressed.label(),
        "pending",
    ];
    let names = outcomes.map(|outcome| outcome.replace('_', " "));
    let mut head = vec![("host", Align::Left)];
    head.extend(names.iter().map(|name| (name.as_str(), Align::Right)));
    head.extend([("bytes", Align::Right), ("pace", Align::Right)]);
    let mut table = Table::new(&head);
    let mut row = |summary: &ScopeSummary| {
        let mut cells = vec![match &summary.scope {
            Some(scope) => scope.clone(),
            None => format!("{} more", summary.scopes),
        }];
        cells.extend(outcomes.map(|outcome| {
            let count = summary.outcomes.get(outcome);
            count.map_or(String::new(), u64::to_string)
        }));
        cells.push(bytes(summary.bytes));
        cells.push(
            summary
                .rate
                .map_or(String::new(), |rate| format!("{rate:.2}/s")),
        );
        table.row(cells);
    };
    // The last may be several already.
    let (shown, rest) = scopes.split_at(ROWS.min(scopes.len()));
    shown.iter().for_each(&mut row);
    match rest {
        [] => {}
        [one] => row(one),
        several => row(&together(several)),
    }
    table.lines(width)
}

fn together(several: &[ScopeSummary]) -> ScopeSummary {
    let mut sum = ScopeSummary::default();
    for summary in several {
        sum.scopes += summary.scopes;
        sum.total += summary.total;
        sum.bytes += summary.bytes;
        for (outcome, count) in &summary.outcomes {
            *sum.outcomes.entry(outcome.clone()).or_default() += count;
        }
    }
    sum
}

/// A line for each of the most frequent reasons why something was not fetched.
fn reasons(reasons: &[ReasonCount], width: usize) -> Vec<String> {
    let (shown, rest) = reasons.split_at(REASONS.min(reasons.len()));
    let mut lines: Vec<String> = shown
        .iter()
        .map(|reason| cut(&one_line(&told(reason)), width))
        .collect();
    if !rest.is_empty() {
        let count: u64 = rest.iter().map(|reason| reason.count).sum();
        lines.push(format!(
            "{count} for {} other reasons: see the manifest",
            rest.len()
        ));
    }
    lines
}

fn told(counted: &ReasonCount) -> String {
    // A wait is on record by its label.
    let wait = serde_json::from_value::<Reason>(counted.reason.as_str().into());
    let reason = match (&wait, counted.reason.as_str()) {
        (Ok(wait), _) => wait.sentence(),
        (_, "not_tried") => "not tried yet",
        (_, reason) => reason,
    };
    let outcome = counted.outcome.label().replace('_', " ");
    format!(
        "{} {outcome}: {reason}, as {}",
        counted.count, counted.example
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_told_with_its_first_url() {
        let count = |outcome, reason: &str| ReasonCount {
            outcome,
            reason: reason.to_owned(),
            count: 3,
            example: "http://a.example/x".to_owned(),
        };
        for (reason, expected) in [
            (
                count(Outcome::Disallowed, "robots.txt line 4: Disallow: /x"),
                "3 disallowed: robots.txt line 4: Disallow: /x, as http://a.example/x",
            ),
            (
                count(Outcome::Deferred, "server_hold"),
                "3 deferred: it asked to be left alone until then, as http://a.example/x",
            ),
            (
                count(Outcome::HttpError, "status 404"),
                "3 http error: status 404, as http://a.example/x",
            ),
        ] {
            assert_eq!(told(&reason), expected);
        }
    }

    #[test]
    fn more_scopes_than_have_a_row_are_summed() {
        let scope = |n: u64| ScopeSummary {
            scope: Some(format!("{n}.example")),
            scopes: 1,
            total: 1,
            outcomes: [("fetched".to_owned(), 1)].into(),
            bytes: 10,
            rate: None,
        };
        let lines = scopes(&(0..15).map(scope).collect::<Vec<_>>(), 80);
        assert_eq!(lines.len(), 1 + ROWS + 1);
        assert_eq!(lines[0], "host       fetched  bytes");
        assert_eq!(lines[ROWS + 1], "5 more           5   50 B");
    }
}
