//! `curtsy paper`.

mod getting;
mod lookup;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{AskingArgs, Options};
use crate::session::Asking;

pub(crate) use getting::{
    BatchArgs, CiteFileArgs, CopyArgs, FindArgs, LayoutArg, PaperGetArgs, PreferArg, ReportArgs,
    VerifyArgs,
};
pub(crate) use lookup::{CiteArgs, DateArg, EngineArg, IdsArgs, OrderArg, SearchArgs, WorksArgs};

/// `curtsy paper`.
#[derive(Args, Debug)]
#[command(arg_required_else_help = true, args_conflicts_with_subcommands = true)]
pub(crate) struct PaperArgs {
    /// What to do; `get` where nothing is said.
    #[command(subcommand)]
    pub(crate) command: Option<PaperCommand>,
    /// What `get` takes.
    #[command(flatten)]
    pub(crate) get: Box<PaperGetArgs>,
}

/// What `curtsy paper` does.
#[derive(Debug, Subcommand)]
pub(crate) enum PaperCommand {
    /// Get papers: of each the best open copy, verified; the default command
    Get(Box<PaperGetArgs>),
    /// Get thousands of papers, resumable; with a report of what failed and why
    Batch(Box<BatchArgs>),
    /// Find where the open copies are, and download none
    Find(Box<FindArgs>),
    /// Search PubMed or Europe PMC: a table, CSV, JSON Lines, or identifiers to pipe into `batch`
    Search(Box<SearchArgs>),
    /// List what a paper cites: of PubMed, Europe PMC and Crossref, each work once
    Refs(Box<WorksArgs>),
    /// List what cites a paper: of PubMed, Europe PMC and, with a key, OpenAlex, each work once
    CitedBy(Box<WorksArgs>),
    /// Find the other names of papers: DOI, PMID, PMCID, arXiv
    Ids(Box<IdsArgs>),
    /// Print citations: BibTeX, RIS, CSL-JSON or text
    Cite(Box<CiteArgs>),
    /// Look whether files are whole PDFs, and what their records say they are
    Verify(VerifyArgs),
    /// Show what became of a batch
    Report(ReportArgs),
    /// List the interfaces that are asked: their rates, where those come from, and which keys are at hand
    Sources(Box<SourcesArgs>),
}

/// `curtsy paper sources`.
#[derive(Args, Debug)]
pub(crate) struct SourcesArgs {
    /// Print JSON Lines instead
    #[arg(long)]
    pub(crate) json: bool,
    /// How providers are asked.
    #[command(flatten)]
    pub(crate) options: PaperOptions,
}

/// What every command about papers takes.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct PaperOptions {
    /// Consult robots.txt for the documented interfaces too
    #[arg(long, help_heading = "Pace")]
    pub(crate) respect_robots_txt: bool,
    /// Follow redirects from https to http too
    #[arg(long, help_heading = "Connection")]
    pub(crate) allow_http: bool,
    /// What it takes as the commands about one URL do.
    #[command(flatten)]
    pub(crate) common: AskingArgs,
}

impl PaperOptions {
    /// The same as options of `fetch`, which settings are merged from.
    pub(crate) fn options(&self) -> Options {
        Options {
            for_papers: true,
            ..self.common.options()
        }
    }

    /// What of it no setting has.
    pub(crate) fn asking(&self) -> Asking {
        Asking {
            respect_robots_txt: self.respect_robots_txt,
            allow_http: self.allow_http,
        }
    }

    /// The same with those about copies and about the log of what is done.
    pub(crate) fn options_of(&self, copies: &CopyArgs, audit: Option<&PathBuf>) -> Options {
        let mut options = self.options();
        options.copies = copies.clone();
        options.job.audit = audit.cloned();
        options
    }
}
