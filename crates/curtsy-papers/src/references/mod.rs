//! What a paper cites, and what cites it: from several sources, each work once.
//!
//! References are of PubMed's record (all its lists), of Europe PMC and of Crossref; citing works are of PubMed's
//! links, of Europe PMC and, with a key, of OpenAlex.

pub(crate) mod crossref;
pub(crate) mod europe_pmc;
pub(crate) mod link;
mod merge;
mod open_alex;

use serde::Serialize;

use crate::access::Access;
use crate::answer::{Answer, Unavailable};
use crate::cite::{self, Item};
use crate::contact::Contact;
use crate::convert::convert_ids;
use crate::endpoint::Provider;
use crate::error::Error;
use crate::id::{Doi, Identifier, Pmcid, Pmid};
use crate::pubmed::{Citation, efetch};
use crate::source::Ids;

/// The most works of one source: nobody cites more, and no more is kept.
const MOST: usize = 20_000;

/// Finds what a paper cites, and what cites it.
///
/// ```no_run
/// # async fn references() -> Result<(), Box<dyn std::error::Error>> {
/// use curtsy_papers::references::ReferenceRetriever;
///
/// let retriever = ReferenceRetriever::builder("rae@university.edu".parse()?)
///     .doi("10.5555/curtsy.2024.0042".parse()?)
///     .build()?;
/// for reference in retriever.fetch_references().await?.works {
///     println!("{:?} {:?}", reference.doi, reference.title);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ReferenceRetriever {
    access: Access,
    id: Identifier,
    ids: Option<Ids>,
    merge: bool,
}

/// Collects the parts of a [`ReferenceRetriever`].
#[derive(Debug)]
#[must_use]
pub struct ReferenceRetrieverBuilder {
    contact: Contact,
    access: Option<Access>,
    id: Option<Identifier>,
    ids: Option<Ids>,
    merge: bool,
}

/// A work as a list of references, or of citing works, has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Reference {
    /// In the DOI system.
    pub doi: Option<Doi>,
    /// In PubMed.
    pub pmid: Option<Pmid>,
    /// In PubMed Central.
    pub pmcid: Option<Pmcid>,
    /// As the first source has it.
    pub title: Option<String>,
    /// As the source writes them.
    pub authors: Vec<String>,
    /// The journal or book that it is in.
    pub journal: Option<String>,
    /// Of publication.
    pub year: Option<u16>,
    /// The entry as it stands, where a source has no more than that.
    pub text: Option<String>,
    /// Who knows of it.
    pub sources: Vec<&'static str>,
}

/// The works that were found, and who could not be asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct References {
    /// In the order of the first source that knows them.
    pub works: Vec<Reference>,
    /// So many entries there were in all sources together.
    pub entries: usize,
    /// Who could not be asked, so that there may be more.
    pub unavailable: Vec<Unavailable>,
}

impl ReferenceRetriever {
    /// Starts a retriever for whoever reads mail at `contact`.
    pub fn builder(contact: Contact) -> ReferenceRetrieverBuilder {
        ReferenceRetrieverBuilder {
            contact,
            access: None,
            id: None,
            ids: None,
            merge: true,
        }
    }

    /// What the paper cites.
    ///
    /// # Errors
    /// The engine itself failed.
    pub async fn fetch_references(&self) -> Result<References, Error> {
        let mut found = Found::default();
        let ids = self.ids(&mut found).await?;
        if let Some(pmid) = ids.pmid {
            let listed = self.listed(pmid).await?;
            found.take(Provider::Ncbi, listed);
            let theirs =
                europe_pmc::fetch(&self.access, pmid, europe_pmc::List::References).await?;
            found.take(Provider::EuropePmc, theirs);
        }
        if let Some(doi) = &ids.doi {
            found.take(
                Provider::Crossref,
                crossref::fetch(&self.access, doi).await?,
            );
        }
        Ok(found.finish(self.merge))
    }

    /// What cites the paper.
    ///
    /// # Errors
    /// The engine itself failed.
    pub async fn fetch_cited_by(&self) -> Result<References, Error> {
        let mut found = Found::default();
        let ids = self.ids(&mut found).await?;
        if let Some(pmid) = ids.pmid {
            found.take(
                Provider::Ncbi,
                link::fetch_citing(&self.access, pmid).await?,
            );
            let theirs = europe_pmc::fetch(&self.access, pmid, europe_pmc::List::Citations).await?;
            found.take(Provider::EuropePmc, theirs);
        }
        if self.access.may_ask(Provider::OpenAlex) {
            let theirs = open_alex::fetch_citing(&self.access, &ids).await?;
            found.take(Provider::OpenAlex, theirs);
        }
        Ok(found.finish(self.merge))
    }

    /// What the paper itself is.
    ///
    /// # Errors
    /// The engine itself failed.
    pub async fn get_paper_metadata(&self) -> Result<Answer<Item>, Error> {
        cite::fetch(&self.access, &self.id).await
    }

    /// The paper's names. Who cannot tell them leaves whole sources unasked.
    async fn ids(&self, found: &mut Found) -> Result<Ids, Error> {
        if let Some(known) = &self.ids {
            return Ok(known.clone());
        }
        let Some(conversion) = convert_ids(&self.access, std::slice::from_ref(&self.id))
            .await?
            .pop()
        else {
            return Ok(Ids::default());
        };
        found.unavailable.extend(conversion.unavailable);
        Ok(conversion.ids)
    }

    /// The lists of PubMed's record.
    async fn listed(&self, pmid: Pmid) -> Result<Answer<Vec<Reference>>, Error> {
        let answer = self
            .access
            .ask(Provider::Ncbi, efetch::query(&[pmid]))
            .await?;
        Ok(answer.read(efetch::read).map(|articles| {
            let own = articles
                .into_iter()
                .find(|article| article.pmid == Some(pmid));
            let citations = own.map(|article| article.references).unwrap_or_default();
            citations.into_iter().map(Reference::from).collect()
        }))
    }
}

impl ReferenceRetrieverBuilder {
    /// The paper, by its DOI.
    pub fn doi(self, doi: Doi) -> Self {
        self.id(Identifier::Doi(doi))
    }

    /// The paper, by its PMID.
    pub fn pmid(self, pmid: Pmid) -> Self {
        self.id(Identifier::Pmid(pmid))
    }

    /// The paper, by any name.
    pub fn id(mut self, id: Identifier) -> Self {
        self.id = Some(id);
        self
    }

    /// All names of the paper, where they are known: nobody is asked for them then.
    pub fn ids(mut self, ids: Ids) -> Self {
        self.ids = Some(ids);
        self
    }

    /// Whether entries of several sources about one work become one. Default: yes.
    pub fn standardize(mut self, merge: bool) -> Self {
        self.merge = merge;
        self
    }

    /// The client that is shared with others. Default: one of its own.
    pub fn http_client(mut self, access: Access) -> Self {
        self.access = Some(access);
        self
    }

    /// Makes the retriever.
    ///
    /// # Errors
    /// `Configuration`: no paper is named, or no client can be built.
    pub fn build(self) -> Result<ReferenceRetriever, Error> {
        let id = self.id.ok_or_else(|| {
            Error::configuration("name a paper: by its DOI, PMID, PMCID or arXiv id")
        })?;
        let access = match self.access {
            Some(access) => access,
            None => Access::builder(self.contact).build()?,
        };
        Ok(ReferenceRetriever {
            access,
            id,
            ids: self.ids,
            merge: self.merge,
        })
    }
}

/// What the sources said so far.
#[derive(Default)]
struct Found {
    entries: Vec<Reference>,
    unavailable: Vec<Unavailable>,
}

impl Found {
    fn take(&mut self, provider: Provider, answer: Answer<Vec<Reference>>) {
        match answer.settle(provider) {
            Ok(entries) => {
                let entries = entries.unwrap_or_default().into_iter().take(MOST);
                self.entries.extend(entries.map(|mut entry| {
                    entry.sources = vec![provider.name()];
                    entry
                }));
            }
            Err(why) => self.unavailable.push(why),
        }
    }

    fn finish(self, merge: bool) -> References {
        References {
            entries: self.entries.len(),
            works: if merge {
                merge::merge(self.entries)
            } else {
                self.entries
            },
            unavailable: self.unavailable,
        }
    }
}

impl From<Citation> for Reference {
    fn from(citation: Citation) -> Self {
        let doi = citation.doi.or_else(|| doi_in(citation.text.as_deref()?));
        Self {
            doi,
            pmid: citation.pmid,
            pmcid: citation.pmcid,
            text: citation.text,
            ..Self::default()
        }
    }
}

/// The DOI that stands in an entry, where it has no field for one.
fn doi_in(text: &str) -> Option<Doi> {
    let words = text.split_whitespace().filter(|word| word.contains("10."));
    words
        .filter_map(|word| word.parse().ok())
        .find_map(|id| match id {
            Identifier::Doi(doi) => Some(doi),
            Identifier::Arxiv(arxiv) => Some(arxiv.doi()),
            _ => None,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doi_in_an_entry_is_read_to_its_end() {
        for (text, doi) in [
            (
                "Doe J. Patience. 2011;3:1-9. doi: 10.5555/ref.one.1.",
                Some("10.5555/ref.one.1"),
            ),
            (
                "Doe J. https://doi.org/10.5555/ref.one.1, 2011",
                Some("10.5555/ref.one.1"),
            ),
            ("Anon. Version 10.2 of the heron book.", None),
        ] {
            assert_eq!(doi_in(text).as_ref().map(Doi::as_str), doi, "{text}");
        }
    }
}
