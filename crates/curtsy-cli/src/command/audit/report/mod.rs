//! `curtsy audit report`: a page about what was sent, when and why.
//!
//! One file that asks nobody for anything. What it shows is gathered in one pass over the logs, in which they
//! are proved too; what it takes grows with the number of scopes, and not with that of the lines.

mod escape;
mod gather;
mod histogram;
mod page;
mod picture;
mod questions;
mod series;

use std::io::Write;
use std::path::Path;

use super::find;
use crate::args::AuditReportArgs;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::session;
use gather::Book;

pub(super) fn run(args: &AuditReportArgs) -> Result<Exit, Failure> {
    let (logs, kept) = find(&args.logs)?;
    let mut book = Book::default();
    let proof = logs
        .verify_telling(kept.as_ref(), |record, verifier| {
            book.note(record, verifier)
        })
        .map_err(|error| session::failure("audit", &error))?;
    let page = page::write(&book, &proof, &logs);
    write(&args.output, page.as_bytes())
        .map_err(|error| Failure::new(Exit::Output, args.output.display(), error))?;
    if !proof.violations.is_empty() {
        output::say(
            "not every rule was kept: the page says which, and so does `curtsy audit verify`",
        );
        return Ok(Exit::No);
    }
    Ok(Exit::Done)
}

/// Writes a file that is there as a whole or not at all.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let parent = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let mut file = tempfile::NamedTempFile::new_in(parent)?;
    file.write_all(bytes)?;
    #[cfg(unix)]
    {
        // As any file that this user makes, and not for this user alone.
        use std::os::unix::fs::PermissionsExt;
        file.as_file()
            .set_permissions(std::fs::Permissions::from_mode(0o644))?;
    }
    file.persist(path)?;
    Ok(())
}
