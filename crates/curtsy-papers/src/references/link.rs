//! `elink`: the papers of PubMed that cite one.

use super::{MOST, Reference};
use crate::access::Access;
use crate::answer::Answer;
use crate::endpoint::Provider;
use crate::error::Error;
use crate::field::{Field, as_text};
use crate::id::Pmid;
use crate::pubmed::summary::{self, Summary};
use crate::query::Query;
use crate::source::{Unreadable, object};

const CITED_IN: &str = "pubmed_pubmed_citedin";

pub(super) async fn fetch_citing(
    access: &Access,
    pmid: Pmid,
) -> Result<Answer<Vec<Reference>>, Error> {
    let query = Query::at("elink.fcgi")
        .pair("dbfrom", "pubmed")
        .pair("db", "pubmed")
        .pair("linkname", CITED_IN)
        .pair("retmode", "json")
        .pair("id", pmid.to_string());
    let pmids = match access.ask(Provider::Ncbi, query).await?.read(read) {
        Answer::Found(pmids) => pmids,
        other => return Ok(other.map(|_| Vec::new())),
    };
    let mut all = Vec::new();
    for some in pmids.chunks(summary::MAX_IDS) {
        let answer = access.ask(Provider::Ncbi, summary::query(some)).await?;
        match answer.read(summary::read) {
            Answer::Found(records) => {
                all.extend(some.iter().map(|pmid| reference(*pmid, &records)))
            }
            other => return Ok(other.map(|_| Vec::new())),
        }
    }
    Ok(Answer::Found(all))
}

/// A paper that cites is one, also where its record says nothing.
fn reference(pmid: Pmid, records: &[Summary]) -> Reference {
    let record = records.iter().find(|record| record.ids.pmid == Some(pmid));
    let record = record.cloned().unwrap_or_default();
    Reference {
        pmid: Some(pmid),
        doi: record.ids.doi,
        pmcid: record.ids.pmcid,
        title: record.title,
        authors: record.authors,
        journal: record.journal,
        year: record.year,
        ..Reference::default()
    }
}

/// Where nothing cites it, there are no lists at all.
pub(crate) fn read(body: &[u8]) -> Result<Vec<Pmid>, Unreadable> {
    let answer = object(body)?;
    if !answer.part("linksets").is_array() {
        return Err(Unreadable);
    }
    let lists = answer
        .list("linksets")
        .iter()
        .flat_map(|set| set.list("linksetdbs"));
    let links = lists
        .filter(|list| list.text("linkname").as_deref() == Some(CITED_IN))
        .flat_map(|list| list.list("links"));
    let pmids = links.filter_map(|link| as_text(link).or_else(|| link.text("id")));
    Ok(pmids
        .filter_map(|text| text.parse().ok())
        .take(MOST)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_there_or_not() {
        let some = read(include_bytes!("../../testdata/eutils_elink_citedin.json")).unwrap();
        assert_eq!(
            some.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["39900101", "39900102"]
        );
        assert_eq!(
            read(include_bytes!("../../testdata/eutils_elink_none.json")),
            Ok(Vec::new())
        );
        assert_eq!(
            read(include_bytes!("../../testdata/eutils_429.json")),
            Err(Unreadable)
        );
    }
}
