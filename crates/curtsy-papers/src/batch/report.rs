//! What became of a batch: the list of results, the report and the table of failures.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use curtsy::store::{Queue, UrlId, UrlState};
use serde::Serialize;
use serde_json::Value;

use super::{BAD, failed};
use crate::error::Error;
use crate::field::Field;
use crate::plan::Outcome;
use crate::reason::Reason;

/// The list of results: a line of JSON a paper, in the order of the input.
pub const PAPERS: &str = "papers.jsonl";
/// The report.
pub const REPORT: &str = "report.json";
/// The table of those that were not had.
pub const FAILURES: &str = "failures.csv";

/// Papers that are looked at at once.
const PAGE: usize = 500;
/// Papers that are listed as to be tried later; there may be as many as in the batch.
const MAX_LATER: usize = 100;

/// What became of a batch. `unique = pdf + had + not_open + failed + deferred + left`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Of this shape.
    pub schema: u32,
    /// Lines of the input of this run.
    pub lines: u64,
    /// Of them, those that name a paper that another one named.
    pub duplicates: u64,
    /// Lines without an identifier.
    pub bad_ids: u64,
    /// Papers, bad lines among them.
    pub unique: u64,
    /// Those whose PDF was fetched.
    pub pdf: u64,
    /// Those whose PDF was there.
    pub had: u64,
    /// Those without an open copy.
    pub not_open: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those that wait for a time.
    pub deferred: u64,
    /// Those that were not taken up, since it was stopped.
    pub left: u64,
    /// How many ended for which reason.
    pub by_reason: BTreeMap<String, u64>,
    /// How many PDFs came from which source.
    pub by_source: BTreeMap<String, u64>,
    /// How many papers each host refused or kept waiting.
    pub by_host: BTreeMap<String, u64>,
    /// Sources that were not asked, since their key is missing.
    pub not_asked: Vec<String>,
    /// The first papers that are to be tried again, and when.
    pub retry_later: Vec<Later>,
    /// Hosts that papers wait for, and until when those want to be left alone.
    pub hold: Vec<Held>,
    /// The first time at which a deferred paper is due.
    pub next: Option<String>,
}

/// A host that is left alone.
#[derive(Clone, Debug, Serialize)]
pub struct Held {
    /// Which.
    pub host: String,
    /// Until when.
    pub until: String,
}

/// A paper to be tried again.
#[derive(Clone, Debug, Serialize)]
pub struct Later {
    /// Its line.
    pub line: u64,
    /// Its identifier.
    pub id: String,
    /// From when on.
    pub at: String,
}

/// Writes the three files, each wholly or not at all.
pub(super) async fn write(
    queue: &dyn Queue,
    folder: &Path,
    input: (u64, u64),
) -> Result<Report, Error> {
    let disk = |error| Error::disk(format!("the results in {}", folder.display()), error);
    let mut files = Files::begin(folder).map_err(disk)?;
    let report = read(queue, Some(&mut files), input).await?;
    let mut text = serde_json::to_vec_pretty(&report).unwrap_or_default();
    text.push(b'\n');
    files.end(folder, &text).map_err(disk)?;
    Ok(report)
}

/// Goes through all papers of the queue. The input had so many lines, and so many of them named a paper again.
pub(super) async fn read(
    queue: &dyn Queue,
    mut files: Option<&mut Files>,
    (lines, duplicates): (u64, u64),
) -> Result<Report, Error> {
    let mut report = Report {
        schema: 1,
        lines,
        duplicates,
        ..Report::default()
    };
    let mut after: Option<UrlId> = None;
    loop {
        let page = queue.records(after, PAGE).await.map_err(failed)?;
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        for record in &page {
            report.unique += 1;
            report.bad_ids += u64::from(record.url.starts_with(BAD));
            let row: Option<Value> = record
                .line
                .as_deref()
                .and_then(|line| serde_json::from_str(line).ok());
            let Some(row) = row.filter(|_| record.state != UrlState::Pending) else {
                report.left += 1;
                continue;
            };
            report.take(&row);
            if let Some(files) = &mut files {
                let written = files.row(&row);
                written.map_err(|error| Error::disk("the results", error))?;
            }
        }
    }
    Ok(report)
}

impl Report {
    /// How many papers ended how, by the name of the outcome.
    #[must_use]
    pub fn totals(&self) -> BTreeMap<String, u64> {
        let all = [
            (Outcome::Pdf, self.pdf),
            (Outcome::Had, self.had),
            (Outcome::NotOpen, self.not_open),
            (Outcome::Failed, self.failed),
            (Outcome::Deferred, self.deferred),
        ];
        let some = all.into_iter().filter(|(_, count)| *count > 0);
        some.map(|(outcome, count)| (outcome.label().to_owned(), count))
            .collect()
    }

    fn note_hold(&mut self, host: String, at: &str) {
        match self.hold.iter_mut().find(|held| held.host == host) {
            Some(held) if *held.until < *at => at.clone_into(&mut held.until),
            Some(_) => {}
            None => self.hold.push(Held {
                host,
                until: at.to_owned(),
            }),
        }
    }

    fn take(&mut self, row: &Value) {
        let outcome = row.text("outcome").unwrap_or_default();
        match outcome.as_str() {
            "pdf" => self.pdf += 1,
            "had" => self.had += 1,
            "not_open" => self.not_open += 1,
            "deferred" => self.deferred += 1,
            _ => self.failed += 1,
        }
        if let Some(source) = row.text("source").filter(|_| outcome == "pdf") {
            *self.by_source.entry(source).or_default() += 1;
        }
        if let Some(reason) = row.text("reason") {
            *self.by_reason.entry(reason).or_default() += 1;
        }
        if let Some(host) = row.text("host") {
            *self.by_host.entry(host).or_default() += 1;
        }
        for source in row.list("not_asked").iter().filter_map(Value::as_str) {
            if !self.not_asked.iter().any(|known| known == source) {
                self.not_asked.push(source.to_owned());
            }
        }
        if outcome == "deferred"
            && let Some(at) = row.text("retry")
        {
            self.next = Some(
                self.next
                    .take()
                    .map_or_else(|| at.clone(), |next| next.min(at.clone())),
            );
            if let Some(host) = row.text("host") {
                self.note_hold(host, &at);
            }
            if self.retry_later.len() < MAX_LATER {
                let (line, id) = (
                    row.number("line").unwrap_or_default(),
                    row.text("id").unwrap_or_default(),
                );
                self.retry_later.push(Later { line, id, at });
            }
        }
    }
}

/// The files while they are written.
pub(super) struct Files {
    papers: BufWriter<File>,
    failures: csv::Writer<BufWriter<File>>,
}

/// The columns of the table of failures.
const COLUMNS: [&str; 9] = [
    "line", "given", "id", "reason", "retry", "host", "status", "detail", "open_at",
];

impl Files {
    fn begin(folder: &Path) -> std::io::Result<Self> {
        fs::create_dir_all(folder)?;
        let file = |name: &str| {
            Ok::<_, std::io::Error>(BufWriter::new(File::create(folder.join(part(name)))?))
        };
        let mut failures = csv::Writer::from_writer(file(FAILURES)?);
        failures.write_record(COLUMNS)?;
        Ok(Self {
            papers: file(PAPERS)?,
            failures,
        })
    }

    fn row(&mut self, row: &Value) -> std::io::Result<()> {
        writeln!(self.papers, "{row}")?;
        if let Some(reason) = row.text("reason") {
            let cell = |name: &str| row.text(name).unwrap_or_default();
            let detail = Reason::named(&reason).map_or("", Reason::explain);
            let cells = [
                cell("line"),
                cell("given"),
                cell("id"),
                reason,
                cell("retry"),
                cell("host"),
                cell("status"),
                detail.to_owned(),
                cell("link"),
            ];
            self.failures.write_record(cells.map(harmless))?;
        }
        Ok(())
    }

    fn end(mut self, folder: &Path, report: &[u8]) -> std::io::Result<()> {
        self.papers.flush()?;
        self.papers.get_ref().sync_all()?;
        self.failures.flush()?;
        self.failures.get_ref().get_ref().sync_all()?;
        fs::write(folder.join(part(REPORT)), report)?;
        for name in [PAPERS, FAILURES, REPORT] {
            fs::rename(folder.join(part(name)), folder.join(name))?;
        }
        Ok(())
    }
}

fn part(name: &str) -> String {
    format!(".{name}.curtsy-part")
}

/// A cell that no spreadsheet takes for a formula.
fn harmless(cell: String) -> String {
    match cell.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => format!("'{cell}"),
        false => cell,
    }
}
