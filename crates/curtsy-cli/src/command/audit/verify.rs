//! `curtsy audit verify`: whether every rule was kept.

use curtsy::Logs;
use curtsy::core::audit::verify::{Place, Proof, Rule, Summary};
use serde_json::{Value, json};

use super::find;
use crate::args::AuditVerifyArgs;
use crate::failure::{Exit, Failure, one_line};
use crate::output::Results;
use crate::session;

/// So many violations are told one by one; of a damaged log the first ones say what is wrong.
const MOST_TOLD: usize = 100;

pub(super) fn run(args: &AuditVerifyArgs) -> Result<Exit, Failure> {
    let (logs, kept) = find(&args.logs)?;
    let proof = logs
        .verify(kept.as_ref())
        .map_err(|error| session::failure("audit", &error))?;
    let told = Told {
        logs: &logs,
        proof: &proof,
        is_tail_known: kept.is_some(),
    };
    let mut out = Results::start();
    if args.json {
        out.line(&told.json().to_string())?;
    } else {
        for line in told.lines() {
            out.line(&one_line(&line))?;
        }
    }
    out.finish()?;
    Ok(if told.holds() { Exit::Done } else { Exit::No })
}

/// What is told.
struct Told<'a> {
    logs: &'a Logs,
    proof: &'a Proof,
    is_tail_known: bool,
}

impl Told<'_> {
    fn holds(&self) -> bool {
        self.proof.violations.is_empty()
    }

    fn place(&self, at: Place) -> String {
        let file = self.logs.file(at.file).display();
        format!("{file}:{}", at.line)
    }

    fn json(&self) -> Value {
        let violations = self.proof.violations.iter().map(|violation| {
            json!({
                "file": self.logs.file(violation.at.file).display().to_string(),
                "line": violation.at.line,
                "rule": violation.rule,
                "what": violation.what,
            })
        });
        let tails = self.proof.tails.iter();
        let tails = tails.map(|(name, (seq, hash))| (name, json!({ "seq": seq, "hash": hash })));
        json!({
            "holds": self.holds(),
            "violations": violations.collect::<Vec<_>>(),
            "more_violations": self.proof.more_violations,
            "summary": self.proof.summary,
            "tail_compared": self.is_tail_known,
            "tails": tails.collect::<std::collections::BTreeMap<_, _>>(),
        })
    }

    fn lines(&self) -> Vec<String> {
        let violations = &self.proof.violations;
        let mut lines: Vec<String> = violations
            .iter()
            .take(MOST_TOLD)
            .map(|violation| {
                let place = self.place(violation.at);
                format!("{place}: {}: {}", violation.rule, violation.what)
            })
            .collect();
        let more = self.proof.more_violations as usize + violations.len().saturating_sub(MOST_TOLD);
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        if !lines.is_empty() {
            lines.push(String::new());
        }
        let summary = &self.proof.summary;
        lines.extend(read(summary, self.logs.files().len()));
        if self.holds() {
            lines.push(String::new());
            let rules = Rule::ALL.iter();
            lines.extend(rules.map(|rule| format!("proved: {}", rule.sentence())));
        }
        lines.extend(
            notes(summary)
                .into_iter()
                .map(|note| format!("note: {note}")),
        );
        if !self.is_tail_known {
            lines.push("note: whether lines are missing at the end is not known; --job DIR compares it with the job's database".to_owned());
        }
        if !self.holds() {
            lines.push("It does not prove that every rule was kept.".to_owned());
        }
        lines
    }
}

fn read(summary: &Summary, files: usize) -> Vec<String> {
    let count = |number: u64, one: &str, many: &str| {
        format!("{number} {}", if number == 1 { one } else { many })
    };
    let mut lines = vec![format!(
        "{} in {}, {}, {}: {}, {}, {}, {} disallowed by robots.txt",
        count(summary.lines, "line", "lines"),
        count(files as u64, "file", "files"),
        count(summary.pipelines, "run", "runs"),
        count(summary.scopes, "scope", "scopes"),
        count(summary.departures, "departure", "departures"),
        count(summary.outcomes, "outcome", "outcomes"),
        count(summary.holds, "hold", "holds"),
        count(summary.disallowed, "URL", "URLs"),
    )];
    if let (Some(first), Some(last)) = (&summary.first, &summary.last) {
        lines.push(format!("from {first} to {last}"));
    }
    lines
}

/// What limits the proof, where something does.
fn notes(summary: &Summary) -> Vec<String> {
    let notes = [
        (
            summary.torn_lines,
            "lines torn by a crash, each told of or at the end",
        ),
        (
            summary.cut_off,
            "events at the end of a process that was cut off, not to be replayed",
        ),
        (
            summary.not_replayed,
            "events after a caller had gone away, not to be replayed",
        ),
        (
            summary.verdicts_without_query,
            "departures with a query, which is not on record: robots.txt was asked without it",
        ),
        (summary.unruled, "departures with the rules switched off"),
        (
            summary.departures_of_others,
            "departures to these scopes by others, whose logs are not here",
        ),
        (
            summary.states_set_back,
            "states that were found set back or forgotten",
        ),
    ];
    let some = notes.into_iter().filter(|(number, _)| *number > 0);
    some.map(|(number, what)| format!("{what}: {number}"))
        .collect()
}
