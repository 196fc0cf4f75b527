//! The options of `curtsy audit`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

/// What `curtsy audit` does.
#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Prove from audit logs that every rule was kept: replays every decision; exit 1 and each violation where
    /// not
    Verify(AuditVerifyArgs),
    /// Write a page about what was sent, when and why: for whoever runs a server that was asked
    Report(AuditReportArgs),
}

/// Which logs.
#[derive(Args, Clone, Debug)]
pub(crate) struct LogArgs {
    /// Audit logs, those of a fleet's workers together; of a log that goes on in several files all are read,
    /// those with gzip too
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, required_unless_present = "job")]
    pub(crate) files: Vec<PathBuf>,
    /// Directory of a job: its log, where no FILE is given, and the line up to which its database knows of it
    /// [default: none]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) job: Option<PathBuf>,
}

/// `curtsy audit verify`.
#[derive(Args, Debug)]
pub(crate) struct AuditVerifyArgs {
    /// What is read.
    #[command(flatten)]
    pub(crate) logs: LogArgs,
    /// Print JSON instead
    #[arg(long)]
    pub(crate) json: bool,
}

/// `curtsy audit report`.
#[derive(Args, Debug)]
pub(crate) struct AuditReportArgs {
    /// What is read.
    #[command(flatten)]
    pub(crate) logs: LogArgs,
    /// Page to write, in HTML
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
}
