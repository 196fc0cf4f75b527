//! The commands about papers that download some, and those that look at what was downloaded.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use curtsy_papers::cite::Format;
use curtsy_papers::source::SourceId;

use super::PaperOptions;
use crate::value::{ResolverText, Size, read};

/// `curtsy paper get`, and `curtsy paper` alone.
#[derive(Args, Debug)]
pub(crate) struct PaperGetArgs {
    /// Papers: DOIs, PMIDs, PMCIDs or arXiv ids, or URLs with one in them
    #[arg(value_name = "ID")]
    pub(crate) given: Vec<String>,
    /// A DOI
    #[arg(long, value_name = "DOI")]
    pub(crate) doi: Vec<String>,
    /// A PMID
    #[arg(long, value_name = "PMID")]
    pub(crate) pmid: Vec<String>,
    /// Name of the file of the one paper, in the folder [default: by its identifier, in a folder of its own]
    #[arg(long, alias = "filename", value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Fetch although it is there
    #[arg(long, alias = "override")]
    pub(crate) again: bool,
    /// Print JSON Lines
    #[arg(long)]
    pub(crate) json: bool,
    /// Audit log, JSON Lines [default: DIR/.curtsy/audit.jsonl]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) audit: Option<PathBuf>,
    /// Only `false` is possible: curtsy fetches what may be fetched
    #[arg(long, value_name = "BOOL", hide = true)]
    pub(crate) allow_scihub: Option<String>,
    /// Which citations.
    #[command(flatten)]
    pub(crate) cite: CiteFileArgs,
    /// Which copies.
    #[command(flatten)]
    pub(crate) copies: CopyArgs,
    /// How providers are asked.
    #[command(flatten)]
    pub(crate) options: PaperOptions,
}

/// `curtsy paper batch`.
#[derive(Args, Debug)]
pub(crate) struct BatchArgs {
    /// Files with one identifier a line, tables (.csv, .tsv) with a column doi, pmid, pmcid, arxiv or id, or exports of
    /// reference managers (.bib, .ris, .json); - is standard input; identifiers
    #[arg(value_name = "FILE", required = true)]
    pub(crate) given: Vec<String>,
    /// Papers under way at once, over all hosts; each host has its own pace whatever this says [default: 256]
    #[arg(short = 'j', long, value_name = "N", value_parser = read::<u32>)]
    pub(crate) jobs: Option<u32>,
    /// Take papers up again that failed: all of them, or those that failed for these reasons
    #[arg(long, value_name = "REASON", num_args = 0.., value_delimiter = ',', require_equals = true)]
    pub(crate) retry_failed: Option<Vec<String>>,
    /// Wait for papers that have to wait, however long that takes
    #[arg(long)]
    pub(crate) wait: bool,
    /// Say how many requests each host would get and how long that would take, and ask nobody
    #[arg(long)]
    pub(crate) plan: bool,
    /// Print the report as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Audit log, JSON Lines [default: DIR/.curtsy/audit.jsonl]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) audit: Option<PathBuf>,
    /// With --no-polite-mode: say that all hosts are your own
    #[arg(long)]
    pub(crate) i_own_these_hosts: bool,
    /// Which citations.
    #[command(flatten)]
    pub(crate) cite: CiteFileArgs,
    /// Which copies.
    #[command(flatten)]
    pub(crate) copies: CopyArgs,
    /// How providers are asked.
    #[command(flatten)]
    pub(crate) options: PaperOptions,
}

/// `curtsy paper find`.
#[derive(Args, Debug)]
pub(crate) struct FindArgs {
    /// Papers, or files of them as `batch` takes them
    #[arg(value_name = "ID", required = true)]
    pub(crate) given: Vec<String>,
    /// Print JSON Lines
    #[arg(long)]
    pub(crate) json: bool,
    /// Which copies.
    #[command(flatten)]
    pub(crate) copies: CopyArgs,
    /// How providers are asked.
    #[command(flatten)]
    pub(crate) options: PaperOptions,
}

/// `curtsy paper verify`.
#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// PDFs, or folders of them
    #[arg(value_name = "PATH", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,
    /// Print JSON Lines
    #[arg(long)]
    pub(crate) json: bool,
}

/// `curtsy paper report`.
#[derive(Args, Debug)]
pub(crate) struct ReportArgs {
    /// The folder of a batch [default: PDFs]
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,
    /// List the papers that were not had, instead of the sums
    #[arg(long, conflicts_with = "retry_later")]
    pub(crate) failures: bool,
    /// List the papers to be tried again later, with when
    #[arg(long)]
    pub(crate) retry_later: bool,
    /// Print JSON Lines
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which citations are written of the papers that are had.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct CiteFileArgs {
    /// Write a citation beside each PDF that has none: bibtex, ris, csl-json or text [default: none]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) cite: Option<Format>,
    /// With --cite: write all citations into this file instead
    #[arg(long, value_name = "FILE", requires = "cite", value_hint = ValueHint::FilePath)]
    pub(crate) cite_file: Option<PathBuf>,
}

/// Which copies are taken, and where they go.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Copies")]
pub(crate) struct CopyArgs {
    /// Folder for the papers [default: PDFs]
    #[arg(
        short = 'o',
        long,
        alias = "dwn-dir",
        value_name = "DIR",
        value_hint = ValueHint::DirPath
    )]
    pub(crate) out_dir: Option<PathBuf>,
    /// How files lie in the folder [default: seed]
    #[arg(long, value_enum)]
    pub(crate) layout: Option<LayoutArg>,
    /// Ask only these sources, as arxiv,pmc-cloud,unpaywall [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = read::<SourceId>)]
    pub(crate) source: Vec<SourceId>,
    /// Which of several copies is tried first [default: soonest]
    #[arg(long, value_enum)]
    pub(crate) prefer: Option<PreferArg>,
    /// Take only copies with one of these licences, as cc-by,cc0
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) license: Vec<String>,
    /// Look for a PDF on the paper's page although no source calls it open
    #[arg(long)]
    pub(crate) try_landing: bool,
    /// Leave out works that were retracted
    #[arg(long)]
    pub(crate) skip_retracted: bool,
    /// Refuse a PDF whose metadata names another DOI; it is kept as NAME.suspect.pdf
    #[arg(long)]
    pub(crate) check_identity: bool,
    /// Largest PDF, in bytes, or with a unit [default: 200MB]
    #[arg(long, value_name = "SIZE", value_parser = read::<Size>)]
    pub(crate) max_size: Option<Size>,
    /// A resolver of your own: a URL with {doi} in it; with ` -> /json/pointer` or ` -> css selector` behind it, what
    /// names the PDF in its answer; may be given several times
    #[arg(long, value_name = "URL", value_parser = read::<ResolverText>)]
    pub(crate) resolver: Vec<ResolverText>,
}

/// How files lie in the folder.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LayoutArg {
    /// Each paper in a folder of its own
    Seed,
    /// All papers beside one another
    Flat,
    /// Folders of papers by the prefix of their DOI
    Tree,
}

/// Which copy is tried first.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PreferArg {
    /// One in a repository before one at a publisher
    Soonest,
    /// The published version before the manuscript
    Published,
    /// One whose licence is known
    Licensed,
}
