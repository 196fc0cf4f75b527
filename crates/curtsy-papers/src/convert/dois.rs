//! PMIDs of DOIs that are not in PubMed Central: found by PubMed's search, confirmed by PubMed's record; found by Europe
//! PMC, confirmed by its own.

use std::collections::HashMap;

use super::{Conversion, note, records};
use crate::access::Access;
use crate::answer::Unavailable;
use crate::endpoint::Provider;
use crate::error::Error;
use crate::field::Field;
use crate::id::Doi;
use crate::pubmed::{esearch, summary};
use crate::query::Query;
use crate::source::{Ids, Unreadable, object};

/// The most DOIs of one question to Europe PMC: as many as a URL holds.
const MAX_QUERIED: usize = 20;

/// Who is asked, and how many DOIs at once.
#[derive(Clone, Copy)]
enum Asked {
    PubMed,
    EuropePmc,
}

pub(super) async fn ask(access: &Access, all: &mut [Conversion]) -> Result<(), Error> {
    for whom in [Asked::PubMed, Asked::EuropePmc] {
        let mut dois: Vec<Doi> = all.iter().filter_map(lacking).cloned().collect();
        dois.sort_unstable();
        dois.dedup();
        for some in dois.chunks(whom.most()) {
            let is_asked = |conversion: &Conversion| {
                lacking(conversion).is_some_and(|doi| some.binary_search(doi).is_ok())
            };
            match whom.ask(access, some).await? {
                Ok(found) => {
                    let by_doi: HashMap<_, _> =
                        found.iter().map(|ids| (ids.doi.as_ref(), ids)).collect();
                    for conversion in all.iter_mut().filter(|conversion| is_asked(conversion)) {
                        if let Some(ids) = by_doi.get(&conversion.ids.doi.as_ref()) {
                            conversion.ids.learn(ids);
                        }
                    }
                }
                Err(why) => note(all, is_asked, &why),
            }
        }
    }
    Ok(())
}

/// The DOI of a paper that has no PMID.
fn lacking(conversion: &Conversion) -> Option<&Doi> {
    conversion
        .ids
        .doi
        .as_ref()
        .filter(|_| conversion.ids.pmid.is_none())
}

impl Asked {
    fn most(self) -> usize {
        match self {
            Self::PubMed => esearch::MAX_DOIS,
            Self::EuropePmc => MAX_QUERIED,
        }
    }

    /// The works that are known by these DOIs.
    async fn ask(
        self,
        access: &Access,
        dois: &[Doi],
    ) -> Result<Result<Vec<Ids>, Unavailable>, Error> {
        match self {
            Self::PubMed => search(access, dois).await,
            Self::EuropePmc => {
                let answer = access.ask(Provider::EuropePmc, query(dois)).await?;
                let found = answer.read(read).settle(Provider::EuropePmc);
                Ok(found.map(Option::unwrap_or_default))
            }
        }
    }
}

/// The works whose own record has one of these DOIs.
async fn search(access: &Access, dois: &[Doi]) -> Result<Result<Vec<Ids>, Unavailable>, Error> {
    let answer = access
        .ask(Provider::Ncbi, esearch::query_dois(dois))
        .await?;
    let hits = match answer.read(esearch::read).settle(Provider::Ncbi) {
        Ok(hits) => hits.unwrap_or_default().pmids,
        Err(why) => return Ok(Err(why)),
    };
    let mut found = Vec::new();
    for some in hits.chunks(summary::MAX_IDS) {
        match records(access, some).await?.settle(Provider::Ncbi) {
            Ok(records) => found.extend(records.unwrap_or_default()),
            Err(why) => return Ok(Err(why)),
        }
    }
    found.retain(|ids| ids.doi.as_ref().is_some_and(|doi| dois.contains(doi)));
    Ok(Ok(found))
}

fn query(dois: &[Doi]) -> Query {
    let quoted = dois
        .iter()
        .map(|doi| format!("DOI:\"{}\"", doi.as_str().replace('"', " ")));
    let any = quoted.collect::<Vec<_>>().join(" OR ");
    Query::at("search")
        .pair("query", format!("({any}) AND SRC:MED"))
        .pair("resultType", "lite")
        .pair("pageSize", "100")
        .pair("format", "json")
}

/// Only a record of PubMed's has a PMID: a preprint's number is another.
pub(crate) fn read(body: &[u8]) -> Result<Vec<Ids>, Unreadable> {
    let answer = object(body)?;
    if !answer.part("resultList").is_object() {
        return Err(Unreadable);
    }
    let results = answer.part("resultList").list("result").iter();
    let of_pubmed = results.filter(|result| result.text("source").as_deref() == Some("MED"));
    Ok(of_pubmed
        .map(|result| Ids {
            doi: result.parse("doi"),
            pmid: result.parse("pmid").or_else(|| result.parse("id")),
            pmcid: result.parse("pmcid"),
            arxiv: None,
        })
        .filter(|ids| ids.doi.is_some() && ids.pmid.is_some())
        .collect())
}
