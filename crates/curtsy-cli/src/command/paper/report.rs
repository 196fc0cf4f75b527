//! `curtsy paper report`: what became of a batch.

use std::io::ErrorKind;
use std::path::Path;

use curtsy::store::SqliteQueue;
use curtsy_papers::batch::{self, PAPERS, REPORT};
use serde_json::Value;

use super::batch::QUEUE;
use crate::args::{GlobalArgs, Options, ReportArgs};
use crate::failure::{Exit, Failure, one_line};
use crate::lines::Lines;
use crate::output::Results;
use crate::session;

/// The longest row, in bytes.
const LONGEST_ROW: usize = 64 * 1024;

pub(crate) fn run(args: &ReportArgs, global: &GlobalArgs) -> Result<Exit, Failure> {
    let folder = match &args.folder {
        Some(folder) => folder.clone(),
        None => super::settings(&Options::default(), global)?.papers.out_dir,
    };
    let mut out = Results::start();
    if args.failures || args.retry_later {
        list(args, &folder, &mut out)?;
    } else {
        let report = read(&folder)?;
        if args.json {
            out.line(&report.to_string())?;
        } else {
            sums(&report, &folder, &mut out)?;
        }
    }
    out.finish()?;
    Ok(Exit::Done)
}

/// As the batch wrote it when it ended, or from its queue where it runs or was killed.
fn read(folder: &Path) -> Result<Value, Failure> {
    let (path, queue) = (folder.join(REPORT), folder.join(QUEUE));
    match std::fs::read_to_string(&path) {
        Ok(text) => serde_json::from_str(&text).map_err(|why| Failure::usage(path.display(), why)),
        Err(why) if why.kind() == ErrorKind::NotFound && queue.exists() => session::run(async {
            let queue = SqliteQueue::open(&queue).await;
            let queue = queue.map_err(|error| session::store_failure("the queue", &error))?;
            let report = batch::report(&queue).await;
            let report = report.map_err(|error| session::paper_failure(&error))?;
            Ok(serde_json::to_value(&report).unwrap_or_default())
        }),
        Err(why) => Err(Failure::usage(
            path.display(),
            format_args!("{why}: no batch has run in {}", folder.display()),
        )),
    }
}

/// A line for each number.
pub(super) fn sums(report: &Value, folder: &Path, out: &mut Results) -> Result<(), Failure> {
    let number = |name: &str| report[name].as_u64().unwrap_or_default();
    let (unique, pdf, had) = (number("unique"), number("pdf"), number("had"));
    out.line(&format!(
        "{unique} papers in {}: {pdf} PDFs fetched, {had} there already",
        folder.display()
    ))?;
    for (name, what) in [
        ("not_open", "not open"),
        ("failed", "failed"),
        ("deferred", "to be tried again later"),
        ("left", "not taken up yet"),
        ("duplicates", "lines that name a paper again"),
    ] {
        if number(name) > 0 {
            out.line(&format!("{:>8} {what}", number(name)))?;
        }
    }
    for (name, what) in [("by_reason", "for"), ("by_source", "from")] {
        for (of, count) in report[name].as_object().into_iter().flatten() {
            out.line(&format!(
                "{:>8} {what} {of}",
                count.as_u64().unwrap_or_default()
            ))?;
        }
    }
    let not_asked: Vec<&str> = report["not_asked"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if !not_asked.is_empty() {
        out.line(&format!(
            "not asked, since the key is missing: {}",
            not_asked.join(", ")
        ))?;
    }
    for held in report["hold"].as_array().into_iter().flatten() {
        let text = |name: &str| held[name].as_str().unwrap_or_default().to_owned();
        out.line(&format!(
            "{} is left alone until {}",
            text("host"),
            text("until")
        ))?;
    }
    if let Some(next) = report["next"].as_str() {
        out.line(&format!("run the same again after {next}"))?;
    }
    Ok(())
}

fn list(args: &ReportArgs, folder: &Path, out: &mut Results) -> Result<(), Failure> {
    let mut lines = Lines::open(&folder.join(PAPERS), LONGEST_ROW)?;
    while let Some(line) = lines.next()? {
        // A line that is torn is told of by the next run.
        let Some(row) = line
            .ok()
            .and_then(|line| serde_json::from_str::<Value>(line).ok())
        else {
            continue;
        };
        let text = |name: &str| match &row[name] {
            Value::String(text) => one_line(text),
            Value::Null => String::new(),
            other => other.to_string(),
        };
        let retry = text("retry");
        let is_wanted = if args.failures {
            matches!(text("outcome").as_str(), "failed" | "not_open" | "deferred")
        } else {
            text("outcome") == "deferred" || retry == "later"
        };
        if !is_wanted {
            continue;
        }
        if args.json {
            out.line(&row.to_string())?;
        } else {
            let cells = [
                text("line"),
                text("given"),
                text("reason"),
                retry,
                text("host"),
                text("link"),
            ];
            out.line(&cells.join("\t"))?;
        }
    }
    Ok(())
}
