//! One name of one paper.

use super::convert_ids;
use crate::access::Access;
use crate::answer::Unavailable;
use crate::error::Error;
use crate::id::{Doi, Identifier, Pmid};
use crate::source::Ids;

/// Another name of a paper. That PubMed has no such paper is known only where everybody could be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup<T> {
    /// It is called so, which its own record confirms.
    Found(T),
    /// PubMed does not have it, or not under such a name.
    NotInPubMed,
    /// Nobody knows: somebody could not be asked.
    Unavailable(Unavailable),
}

/// The PMID of a DOI.
///
/// # Errors
/// The engine itself failed.
pub async fn doi_to_pmid(access: &Access, doi: &Doi) -> Result<Lookup<Pmid>, Error> {
    look_up(access, Identifier::Doi(doi.clone()), |ids| ids.pmid).await
}

/// The DOI of a PMID.
///
/// # Errors
/// The engine itself failed.
pub async fn pmid_to_doi(access: &Access, pmid: Pmid) -> Result<Lookup<Doi>, Error> {
    look_up(access, Identifier::Pmid(pmid), |ids| ids.doi).await
}

async fn look_up<T>(
    access: &Access,
    id: Identifier,
    name: impl FnOnce(Ids) -> Option<T>,
) -> Result<Lookup<T>, Error> {
    let Some(conversion) = convert_ids(access, &[id]).await?.pop() else {
        return Ok(Lookup::NotInPubMed);
    };
    Ok(match (name(conversion.ids), conversion.unavailable) {
        (Some(name), _) => Lookup::Found(name),
        (None, None) => Lookup::NotInPubMed,
        (None, Some(why)) => Lookup::Unavailable(why),
    })
}
