//! `curtsy audit report`: a page about what was sent, when and why.

use super::find;
use crate::args::AuditReportArgs;
use crate::failure::{Exit, Failure};

pub(super) fn run(args: &AuditReportArgs) -> Result<Exit, Failure> {
    let (_logs, _) = find(&args.logs)?;
    Ok(Exit::Done)
}
