//! The commands that fetch, and those about what fetching left behind.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueHint};

use super::{ConnectionArgs, CopyArgs, PaceArgs, StoreArgs, WatchingArgs};
use crate::value::{JobName, QueueUrl, Size, read};

/// `curtsy fetch`.
#[derive(Args, Debug)]
pub(crate) struct FetchArgs {
    /// URLs to fetch
    #[arg(value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) urls: Vec<String>,
    /// File of URLs, one a line, or JSON Lines {"url","out","headers"}; - is standard input
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) input: Option<PathBuf>,
    /// Print the summary as JSON
    #[arg(long, help_heading = "Job")]
    pub(crate) json: bool,
    /// The rest.
    #[command(flatten)]
    pub(crate) options: Options,
}

/// `curtsy work`: `fetch` without a list.
#[derive(Args, Debug)]
pub(crate) struct WorkArgs {
    /// When the job is done, wait for further URLs until stopped
    #[arg(long, help_heading = "Job")]
    pub(crate) stay: bool,
    /// Print the summary as JSON
    #[arg(long, help_heading = "Job")]
    pub(crate) json: bool,
    /// The rest.
    #[command(flatten)]
    pub(crate) options: Options,
}

/// What `curtsy job` does.
#[derive(Debug, Subcommand)]
pub(crate) enum JobCommand {
    /// List the jobs, and how far each has come
    List {
        /// Print JSON Lines instead
        #[arg(long)]
        json: bool,
    },
    /// Show how far a job has come, host by host, and who works on it
    Show {
        /// The job
        #[arg(default_value = "default")]
        name: String,
        /// Print JSON instead, without the hosts
        #[arg(long)]
        json: bool,
    },
    /// Print the manifest of the whole job, in the order of the input
    Export {
        /// The job
        #[arg(default_value = "default")]
        name: String,
    },
    /// Forget a job with all its URLs and results: its workers stop
    Cancel {
        /// The job
        name: String,
    },
}

/// Every option of `fetch` that may also stand in a file.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Options {
    /// About the job.
    #[command(flatten)]
    pub(crate) job: JobArgs,
    /// About pace.
    #[command(flatten)]
    pub(crate) pace: PaceArgs,
    /// About connections.
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
    /// About stored state.
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// About being watched.
    #[command(flatten)]
    pub(crate) watching: WatchingArgs,
    /// They are for papers, which have defaults of their own.
    #[arg(skip)]
    pub(crate) for_papers: bool,
    /// Which copies of papers.
    #[arg(skip)]
    pub(crate) copies: CopyArgs,
}

/// The options about the job as a whole.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Job")]
pub(crate) struct JobArgs {
    /// Where bodies and the job's own files go [default: curtsy-out]
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Requests in flight at once, over all hosts [default: 64]
    #[arg(short, long, value_name = "N", value_parser = read::<u32>)]
    pub(crate) concurrency: Option<u32>,
    /// When only deferred URLs are left: longest wait for the next one [default: --max-retry-after]
    #[arg(long, value_name = "DUR", value_parser = read::<Duration>)]
    pub(crate) max_wait: Option<Duration>,
    /// Take up again what failed in an earlier run
    #[arg(long)]
    pub(crate) retry_failed: bool,
    /// Ask again for what an earlier run fetched; what has not changed costs no body
    #[arg(long)]
    pub(crate) refresh: bool,
    /// Record responses in this file, WARC 1.1 with gzip, instead of a file for each body [default:
    /// none]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "no_body")]
    pub(crate) warc: Option<PathBuf>,
    /// Keep no bodies: read and drop them
    #[arg(long)]
    pub(crate) no_body: bool,
    /// Where the job's URLs wait: sqlite:, or redis://HOST where several workers share the job [default: sqlite:,
    /// in DIR]
    #[arg(long, value_name = "URL", value_parser = read::<QueueUrl>)]
    pub(crate) queue: Option<QueueUrl>,
    /// Name of the job in a queue that workers share [default: default]
    #[arg(long, value_name = "NAME", value_parser = read::<JobName>)]
    pub(crate) job: Option<JobName>,
    /// How long the scopes of a worker that died are left to it; at least 1s [default: 60s]
    #[arg(long, value_name = "DUR", value_parser = read::<Duration>)]
    pub(crate) lease: Option<Duration>,
    /// Audit log, JSON Lines [default: DIR/.curtsy/audit.jsonl]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) audit: Option<PathBuf>,
    /// Size at which the audit log goes on in another file, and this one is compressed [default: 256MiB]
    #[arg(long, value_name = "SIZE", value_parser = read::<Size>)]
    pub(crate) audit_size: Option<Size>,
}

/// `curtsy plan`: takes the options of `fetch`, to tell what they would come to.
#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    /// URLs to plan for
    #[arg(value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) urls: Vec<String>,
    /// File of URLs as `fetch` takes it; - is standard input
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) input: Option<PathBuf>,
    /// Print JSON instead, with every host
    #[arg(long)]
    pub(crate) json: bool,
    /// The options whose effect is told.
    #[command(flatten)]
    pub(crate) options: Options,
}

/// `curtsy get`.
#[derive(Args, Debug)]
pub(crate) struct GetArgs {
    /// URL to fetch
    #[arg(value_hint = ValueHint::Url)]
    pub(crate) url: String,
    /// File to write the body to [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) out: Option<PathBuf>,
    /// How it is asked.
    #[command(flatten)]
    pub(crate) asking: AskingArgs,
}

/// What the commands about one URL take, and those about papers.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct AskingArgs {
    /// About pace.
    #[command(flatten)]
    pub(crate) pace: PaceArgs,
    /// About connections.
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
    /// About stored state.
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

impl AskingArgs {
    /// The same as options of `fetch`, which settings are merged from.
    pub(crate) fn options(&self) -> Options {
        Options {
            pace: self.pace.clone(),
            connection: self.connection.clone(),
            store: self.store.clone(),
            ..Options::default()
        }
    }
}

/// `curtsy explain`.
#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// URL to explain
    #[arg(value_hint = ValueHint::Url)]
    pub(crate) url: String,
    /// Print JSON instead
    #[arg(long)]
    pub(crate) json: bool,
    /// How it is asked.
    #[command(flatten)]
    pub(crate) asking: AskingArgs,
}

/// `curtsy robots`.
#[derive(Args, Debug)]
pub(crate) struct RobotsArgs {
    /// URL that is asked about
    #[arg(required_unless_present = "jsonl", value_hint = ValueHint::Url)]
    pub(crate) url: Option<String>,
    /// Read this robots.txt instead of the site's own, without network; - is standard input
    #[arg(long, value_name = "ROBOTS", value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    /// Crawler that is judged: its product token or whole User-Agent [default: the one of --user-agent]
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Print JSON instead
    #[arg(long)]
    pub(crate) json: bool,
    /// Answer lines {"robots" or "robots_b64" or "robots_parts", "user_agent", "url"} of a file, or of
    /// standard input, with one JSON line each
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        default_missing_value = "-",
        value_hint = ValueHint::FilePath,
        conflicts_with_all = ["url", "file", "agent", "json"]
    )]
    pub(crate) jsonl: Option<PathBuf>,
    /// How the site is asked.
    #[command(flatten)]
    pub(crate) asking: AskingArgs,
}

/// What `curtsy state` does.
#[derive(Debug, Subcommand)]
pub(crate) enum StateCommand {
    /// Make what a store needs, as a table of DynamoDB; what is there already stays as it is
    Init,
    /// Show delays, holds, suppressions and breakers
    Show {
        /// Only this scope, as example.org or example.org:8080
        scope: Option<String>,
        /// Print JSON instead
        #[arg(long)]
        json: bool,
    },
    /// End a suppression or a breaker, never a server's hold
    Lift {
        /// The scope, as example.org or example.org:8080
        scope: String,
    },
    /// Forget all that was learned about a scope
    Reset {
        /// The scope, as example.org or example.org:8080
        scope: String,
        /// Confirm it
        #[arg(long)]
        yes: bool,
    },
}
