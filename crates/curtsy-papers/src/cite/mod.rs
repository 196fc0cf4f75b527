//! Citations: a work's record from whoever registered it, in the form that is wanted.
//!
//! The record is asked of Crossref, then of DataCite, then by content negotiation of the agency that the DOI resolver
//! leads to; of PubMed where a paper has no DOI. Every form is rendered here from that one [`Item`], since what the
//! agencies render themselves differs and is often broken.

mod bibliography;
mod bibtex;
mod item;
mod key;
pub(crate) mod read;
mod ris;
mod text;

pub use bibliography::{Bibliography, Format, UnknownFormat};
pub use item::{Issued, Item, ItemType, Name};

use crate::access::Access;
use crate::answer::Answer;
use crate::convert::convert_ids;
use crate::endpoint::Provider;
use crate::error::Error;
use crate::id::{Doi, Identifier, Pmid};
use crate::pubmed::efetch;
use crate::source::{crossref, datacite, doi as resolver};

/// Whoever registers the DOIs of arXiv, and most of data.
const ARXIV_PREFIX: &str = "10.48550";

/// The record of a paper.
///
/// # Errors
/// The engine itself failed.
pub async fn fetch(access: &Access, id: &Identifier) -> Result<Answer<Item>, Error> {
    let Some(conversion) = names(access, id).await? else {
        return Ok(Answer::NotFound);
    };
    match (
        conversion.ids.doi,
        conversion.ids.pmid,
        conversion.unavailable,
    ) {
        (Some(doi), ..) => of_doi(access, &doi).await,
        (None, Some(pmid), _) => of_pmid(access, pmid).await,
        (None, None, Some(why)) => Ok(Answer::Unavailable(why)),
        (None, None, None) => Ok(Answer::NotFound),
    }
}

/// A DOI needs no other names.
async fn names(
    access: &Access,
    id: &Identifier,
) -> Result<Option<crate::convert::Conversion>, Error> {
    if matches!(id, Identifier::Doi(_) | Identifier::Arxiv(_)) {
        return Ok(Some(crate::convert::Conversion {
            given: id.clone(),
            ids: id.into(),
            unavailable: None,
        }));
    }
    Ok(convert_ids(access, std::slice::from_ref(id)).await?.pop())
}

/// The first that knows the work. Who could not be asked does not keep the next from being asked.
async fn of_doi(access: &Access, doi: &Doi) -> Result<Answer<Item>, Error> {
    let mut agencies = [Provider::Crossref, Provider::DataCite, Provider::Doi];
    if doi.prefix() == ARXIV_PREFIX {
        agencies.swap(0, 1);
    }
    let mut failed = None;
    for agency in agencies {
        let answer = match agency {
            Provider::Crossref => {
                let answer = access.ask(agency, crossref::query(doi)).await?;
                answer.read(read::crossref)
            }
            Provider::DataCite => {
                let answer = access.ask(agency, datacite::query(doi)).await?;
                answer.read(read::datacite)
            }
            _ => {
                let query = resolver::query(doi).accept(resolver::CSL_JSON);
                access.ask(agency, query).await?.read(read::csl_json)
            }
        };
        match answer {
            Answer::Found(item) => return Ok(Answer::Found(item)),
            Answer::NotFound => {}
            other => failed = failed.or(Some(other)),
        }
    }
    Ok(failed.unwrap_or(Answer::NotFound))
}

async fn of_pmid(access: &Access, pmid: Pmid) -> Result<Answer<Item>, Error> {
    let answer = access.ask(Provider::Ncbi, efetch::query(&[pmid])).await?;
    Ok(answer.read(efetch::read).and_then(|articles| {
        let own = articles
            .into_iter()
            .find(|article| article.pmid == Some(pmid));
        own.map_or(Answer::NotFound, |article| {
            Answer::Found(Item::from(&article))
        })
    }))
}
