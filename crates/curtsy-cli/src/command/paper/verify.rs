//! `curtsy paper verify`: are these whole PDFs, and what their records say they are?

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use curtsy_papers::pdf::{self, Verified};
use serde_json::{Value, json};

use crate::args::VerifyArgs;
use crate::failure::{Exit, Failure};
use crate::output::Results;

pub(crate) fn run(args: &VerifyArgs) -> Result<Exit, Failure> {
    let mut out = Results::start();
    let mut exit = Exit::Done;
    for path in &args.paths {
        let mut waiting = vec![path.clone()];
        while let Some(path) = waiting.pop() {
            if path.is_dir() {
                waiting.extend(pdfs_in(&path)?);
                continue;
            }
            let row = look(&path)?;
            if row["whole"] != true || row["matches"] == false {
                exit = Exit::No;
            }
            out.line(&if args.json {
                row.to_string()
            } else {
                sentence(&row)
            })?;
        }
    }
    out.finish()?;
    Ok(exit)
}

/// The PDFs and folders of a folder, the last one first; nothing that is hidden.
fn pdfs_in(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unreadable = |why: std::io::Error| Failure::usage(folder.display(), why);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let path = entry.path();
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        let is_pdf = path
            .extension()
            .is_some_and(|end| end.eq_ignore_ascii_case("pdf"));
        // A link to a folder may lead back here.
        let is_folder = entry.file_type().map_err(unreadable)?.is_dir();
        if !is_hidden && (is_pdf || is_folder) {
            found.push(path);
        }
    }
    found.sort();
    found.reverse();
    Ok(found)
}

fn look(path: &Path) -> Result<Value, Failure> {
    let unreadable = |why: std::io::Error| Failure::usage(path.display(), why);
    let file = File::open(path).map_err(unreadable)?;
    let verified = pdf::verify(BufReader::new(file)).map_err(unreadable)?;
    Ok(match verified {
        Ok(verified) => json!({
            "path": path.display().to_string(),
            "whole": true,
            "pages": verified.pages,
            "encrypted": verified.encrypted,
            "bytes": verified.bytes,
            "matches": matches(path, &verified),
        }),
        Err(why) => json!({
            "path": path.display().to_string(),
            "whole": false,
            "reason": why.reason().label(),
            "what": why.to_string(),
            "matches": null,
        }),
    })
}

/// Whether it is the file that its record tells of; `None` where there is no record with a sum.
fn matches(path: &Path, verified: &Verified) -> Option<bool> {
    let record = fs::read(path.with_extension("json")).ok()?;
    let record: Value = serde_json::from_slice(&record).ok()?;
    let sum: String = verified
        .sha256
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Some(record["curtsy"]["sha256"].as_str()? == sum)
}

fn sentence(row: &Value) -> String {
    let path = row["path"].as_str().unwrap_or_default();
    match (row["whole"].as_bool(), row["matches"].as_bool()) {
        (Some(true), Some(false)) => format!("{path}: a whole PDF, but not the one of its record"),
        (Some(true), matches) => {
            let pages = row["pages"]
                .as_u64()
                .map_or("encrypted".to_owned(), |pages| match pages {
                    1 => "1 page".to_owned(),
                    pages => format!("{pages} pages"),
                });
            let record = if matches.is_some() {
                ", as its record says"
            } else {
                ""
            };
            format!("{path}: a whole PDF, {pages}{record}")
        }
        _ => format!("{path}: {}", row["what"].as_str().unwrap_or_default()),
    }
}
