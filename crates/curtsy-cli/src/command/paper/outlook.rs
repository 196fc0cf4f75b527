//! `curtsy paper batch --plan`: what a batch would ask of whom, and how long that would take; nobody is asked.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use curtsy_papers::source::idconv;
use curtsy_papers::{Identifier, Provider};
use serde_json::json;

use super::given::AllGiven;
use crate::args::BatchArgs;
use crate::failure::{Exit, Failure};
use crate::notices::short;
use crate::output::Results;
use crate::settings::Settings;

/// Lines that are read at once.
const CHUNK: usize = 1_000;
/// What arXiv's robots.txt says, as looked at with the table of interfaces: it is asked at the start of a batch.
const ARXIV_DELAY: Duration = Duration::from_secs(15);

/// Counts the papers by kind. What is not known before anybody is asked, is given as the most that there can be.
pub(super) fn show(args: &BatchArgs, settings: &Settings) -> Result<Exit, Failure> {
    let mut seen = HashSet::new();
    let (mut kinds, mut bad) = (BTreeMap::<&str, u64>::new(), 0_u64);
    let mut all = AllGiven::of(&args.given);
    loop {
        let some = all.next(CHUNK)?;
        if some.is_empty() {
            break;
        }
        for given in some {
            match given.id {
                Ok(id) if seen.insert(key(&id)) => *kinds.entry(id.kind()).or_default() += 1,
                Ok(_) => {}
                Err(_) => bad += 1,
            }
        }
    }
    let of = |kind| kinds.get(kind).copied().unwrap_or_default();
    let (dois, pmids, pmcids) = (of("doi") + of("shortdoi"), of("pmid"), of("pmcid"));
    let calls = |papers: u64| papers.div_ceil(idconv::MAX_IDS as u64);
    let searched = dois + pmids + pmcids;
    let rows = [
        (
            Provider::IdConverter,
            calls(dois) + calls(pmids),
            "all identifiers, 200 at once",
        ),
        (
            Provider::PmcCloud,
            3 * searched,
            "three for each paper in PubMed Central, at most",
        ),
        (
            Provider::Unpaywall,
            dois + pmids,
            "each paper that is not there, at most",
        ),
        (
            Provider::EuropePmc,
            searched,
            "each paper that Unpaywall has no copy of, at most",
        ),
        (Provider::Crossref, dois + pmids, "the same, at most"),
        (Provider::Arxiv, of("arxiv"), "each paper on arXiv"),
    ];
    let mut out = Results::start();
    let mut longest = Duration::ZERO;
    for (provider, requests, what) in rows {
        if requests == 0 {
            continue;
        }
        let interval = match provider {
            Provider::Arxiv => ARXIV_DELAY.max(provider.endpoint().pace.interval()),
            provider => provider.endpoint().pace.interval(),
        };
        let takes =
            interval.saturating_mul(u32::try_from(requests.saturating_sub(1)).unwrap_or(u32::MAX));
        longest = longest.max(takes);
        let base = settings.papers.endpoints.base(provider);
        let host = base.host_str().unwrap_or_default();
        out.line(&if args.json {
            let takes_s = takes.as_secs();
            json!({"host": host, "name": provider.name(), "requests": requests, "takes_s": takes_s})
                .to_string()
        } else {
            format!("{host}: {requests} requests, {}: {what}", short(takes))
        })?;
    }
    if !args.json {
        let unique = seen.len();
        out.line(&format!(
            "{unique} papers, {bad} lines without an identifier; the interfaces take {} at most, and publishers and \
             repositories what their own pace takes: two seconds a paper where nothing is said",
            short(longest)
        ))?;
    }
    out.finish()?;
    Ok(Exit::Done)
}

/// A hash would do, but a batch of ten thousand is small.
fn key(id: &Identifier) -> String {
    id.to_string()
}
