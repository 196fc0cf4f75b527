//! The commands about papers that download none.

use clap::{Args, ValueEnum};
use curtsy_papers::cite::Format;

use super::PaperOptions;
use crate::value::{Off, read};

/// `curtsy paper search`.
#[derive(Args, Debug)]
pub(crate) struct SearchArgs {
    /// What to search for, in the engine's own syntax; several words are one query
    #[arg(value_name = "QUERY", required = true)]
    pub(crate) query: Vec<String>,
    /// Who searches
    #[arg(long, value_enum, default_value_t = EngineArg::Pubmed)]
    pub(crate) engine: EngineArg,
    /// So many hits at most, or `none` for all; beyond 9,999 PubMed is asked by ranges of dates [default: 20]
    #[arg(short = 'n', long, value_name = "N", value_parser = read::<Off<u32>>)]
    pub(crate) count: Option<Off<u32>>,
    /// First date, as 2024, 2024-02 or 2024-02-03 [default: any]
    #[arg(long, value_name = "DATE")]
    pub(crate) from: Option<String>,
    /// Last date [default: any]
    #[arg(long, value_name = "DATE")]
    pub(crate) to: Option<String>,
    /// Which date
    #[arg(long, value_enum, default_value_t = DateArg::Published)]
    pub(crate) date: DateArg,
    /// Which hits come first
    #[arg(long, value_enum, default_value_t = OrderArg::Newest)]
    pub(crate) order: OrderArg,
    /// Only what can be read freely
    #[arg(long)]
    pub(crate) open_access: bool,
    /// Only case reports
    #[arg(long)]
    pub(crate) case_reports: bool,
    /// Print identifiers alone, one a line, as `batch` takes them
    #[arg(long, conflicts_with_all = ["csv", "json"])]
    pub(crate) ids: bool,
    /// Print CSV with all columns
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Print JSON Lines
    #[arg(long)]
    pub(crate) json: bool,
    /// How providers are asked.
    #[command(flatten)]
    pub(crate) options: PaperOptions,
}

/// `curtsy paper refs` and `curtsy paper cited-by`.
#[derive(Args, Debug)]
pub(crate) struct WorksArgs {
    /// The paper: a DOI, PMID, PMCID or arXiv id, or a URL with one in it
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Print identifiers alone, one a line; works without any are left out
    #[arg(long, conflicts_with = "json")]
    pub(crate) ids: bool,
    /// Print JSON Lines
    #[arg(long)]
    pub(crate) json: bool,
    /// How providers are asked.
    #[command(flatten)]
    pub(crate) options: PaperOptions,
}

/// `curtsy paper ids`.
#[derive(Args, Debug)]
pub(crate) struct IdsArgs {
    /// Identifiers, or files of them as `batch` takes them; - is standard input
    #[arg(value_name = "ID|FILE", required = true)]
    pub(crate) given: Vec<String>,
    /// Print JSON Lines
    #[arg(long)]
    pub(crate) json: bool,
    /// How providers are asked.
    #[command(flatten)]
    pub(crate) options: PaperOptions,
}

/// `curtsy paper cite`.
#[derive(Args, Debug)]
pub(crate) struct CiteArgs {
    /// Identifiers, or files of them as `batch` takes them; - is standard input
    #[arg(value_name = "ID|FILE", required = true)]
    pub(crate) given: Vec<String>,
    /// Form of the citations: bibtex, ris, csl-json or text
    #[arg(short, long, value_name = "FORMAT", default_value_t = Format::Bibtex)]
    pub(crate) format: Format,
    /// How providers are asked.
    #[command(flatten)]
    pub(crate) options: PaperOptions,
}

/// Who searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineArg {
    /// PubMed
    Pubmed,
    /// Europe PMC, which has preprints too
    Europepmc,
}

/// Which date of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DateArg {
    /// Of publication
    Published,
    /// When the record came into PubMed
    Entered,
    /// When the record was changed last
    Modified,
}

/// Which hits come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OrderArg {
    /// The newest
    Newest,
    /// Those that fit best
    Relevance,
}
