//! From one name of a paper to its others: DOI ↔ PMID ↔ PMCID ↔ arXiv, in bulk.
//!
//! 1. A short DOI is resolved by the registry; an arXiv paper and its DOI name each other.
//! 2. NCBI's ID converter, 200 a call: what is in PubMed Central.
//! 3. PMIDs that it does not know: PubMed's own records, 200 a call.
//! 4. DOIs that it does not know: a search of PubMed, 100 a call, every hit confirmed by its record; then Europe PMC,
//!    20 a call.
//!
//! "Not found" of the converter means not in PubMed Central and nothing about PubMed; and a first hit that nobody
//! confirmed is somebody else's paper.

pub(crate) mod dois;
mod one;

use std::collections::HashMap;

pub use one::{Lookup, doi_to_pmid, pmid_to_doi};

use crate::access::Access;
use crate::answer::{Answer, Unavailable};
use crate::endpoint::Provider;
use crate::error::Error;
use crate::id::{Doi, Identifier, Pmid};
use crate::pubmed::summary;
use crate::source::doi::{self, Handle};
use crate::source::{Ids, idconv};

/// One paper's names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// As it was given.
    pub given: Identifier,
    /// All that is known.
    pub ids: Ids,
    /// Who could not be asked, so that what is not known may still be.
    pub unavailable: Option<Unavailable>,
}

/// Finds the other names of papers. The answer has one entry for each that is given, in the same order; what could not
/// be asked is told there.
///
/// # Errors
/// The engine itself failed.
pub async fn convert_ids(access: &Access, given: &[Identifier]) -> Result<Vec<Conversion>, Error> {
    let mut all: Vec<Conversion> = given.iter().map(Conversion::start).collect();
    resolve_short(access, &mut all).await?;
    ask_converter(access, &mut all).await?;
    ask_records(access, &mut all).await?;
    dois::ask(access, &mut all).await?;
    Ok(all)
}

impl Conversion {
    fn start(given: &Identifier) -> Self {
        let mut ids = Ids::from(given);
        ids.arxiv = ids
            .arxiv
            .take()
            .or_else(|| ids.doi.as_ref().and_then(Doi::arxiv));
        Self {
            given: given.clone(),
            ids,
            unavailable: None,
        }
    }

    /// What the converter is asked about: what was given, or the DOI that stands for it.
    fn asked(&self) -> Option<Identifier> {
        match (&self.given, &self.ids.doi) {
            (Identifier::Pmid(_) | Identifier::Pmcid(_), _) => Some(self.given.clone()),
            (_, Some(doi)) => Some(Identifier::Doi(doi.clone())),
            _ => None,
        }
    }
}

/// The first that could not be asked is the one to tell of.
fn note(all: &mut [Conversion], of: impl Fn(&Conversion) -> bool, why: &Unavailable) {
    for conversion in all.iter_mut().filter(|conversion| of(conversion)) {
        conversion.unavailable.get_or_insert_with(|| why.clone());
    }
}

async fn resolve_short(access: &Access, all: &mut [Conversion]) -> Result<(), Error> {
    for conversion in all {
        if !matches!(conversion.given, Identifier::ShortDoi(_)) {
            continue;
        }
        let Some(query) = doi::handle_query(&conversion.given) else {
            continue;
        };
        let answer = access.ask(Provider::Doi, query).await?;
        match answer.read(doi::read_handle).settle(Provider::Doi) {
            Ok(Some(Handle::Alias(doi))) => {
                conversion
                    .ids
                    .learn(&Conversion::start(&Identifier::Doi(doi)).ids);
            }
            Ok(_) => {}
            Err(why) => conversion.unavailable = Some(why),
        }
    }
    Ok(())
}

async fn ask_converter(access: &Access, all: &mut [Conversion]) -> Result<(), Error> {
    let mut by_kind: HashMap<&'static str, Vec<Identifier>> = HashMap::new();
    for id in all.iter().filter_map(Conversion::asked) {
        by_kind.entry(id.kind()).or_default().push(id);
    }
    for kind in ["doi", "pmid", "pmcid"] {
        let mut ids = by_kind.remove(kind).unwrap_or_default();
        ids.sort_unstable();
        ids.dedup();
        for some in idconv::calls(&ids) {
            let Some(query) = idconv::query(some) else {
                continue;
            };
            let answer = access.ask(Provider::IdConverter, query).await?;
            let is_asked = |conversion: &Conversion| {
                conversion
                    .asked()
                    .is_some_and(|id| some.binary_search(&id).is_ok())
            };
            match answer.read(idconv::read).settle(Provider::IdConverter) {
                Ok(Some(found)) => {
                    for conversion in all.iter_mut().filter(|conversion| is_asked(conversion)) {
                        let ids = conversion.asked().and_then(|id| found.of(&id));
                        if let Some(ids) = ids.filter(|ids| !ids.contradict(&conversion.ids)) {
                            conversion.ids.learn(ids);
                        }
                    }
                }
                Ok(None) => {}
                Err(why) => note(all, is_asked, &why),
            }
        }
    }
    Ok(())
}

/// PubMed's records of those whose DOI is not known.
async fn ask_records(access: &Access, all: &mut [Conversion]) -> Result<(), Error> {
    let lacks = |conversion: &Conversion| conversion.ids.doi.is_none();
    let lacking = all.iter().filter(|conversion| lacks(conversion));
    let mut pmids: Vec<Pmid> = lacking
        .filter_map(|conversion| conversion.ids.pmid)
        .collect();
    pmids.sort_unstable();
    pmids.dedup();
    for some in pmids.chunks(summary::MAX_IDS) {
        let is_asked = |conversion: &Conversion| {
            let pmid = conversion.ids.pmid;
            lacks(conversion) && pmid.is_some_and(|pmid| some.binary_search(&pmid).is_ok())
        };
        match records(access, some).await?.settle(Provider::Ncbi) {
            Ok(records) => {
                let records = records.unwrap_or_default();
                let by_pmid: HashMap<_, _> = records.iter().map(|ids| (ids.pmid, ids)).collect();
                for conversion in all.iter_mut().filter(|conversion| is_asked(conversion)) {
                    if let Some(ids) = by_pmid.get(&conversion.ids.pmid) {
                        conversion.ids.learn(ids);
                    }
                }
            }
            Err(why) => note(all, is_asked, &why),
        }
    }
    Ok(())
}

async fn records(access: &Access, pmids: &[Pmid]) -> Result<Answer<Vec<Ids>>, Error> {
    let answer = access.ask(Provider::Ncbi, summary::query(pmids)).await?;
    let records = answer.read(summary::read);
    Ok(records.map(|records| records.into_iter().map(|record| record.ids).collect()))
}
