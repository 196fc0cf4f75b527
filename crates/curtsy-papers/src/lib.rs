//! From the identifier of a paper to a verified PDF of an open copy, over curtsy's engine.
//!
//! Everything here asks through one shared [`curtsy::Client`]: [`Access`] holds it, together with the contact, the
//! keys and the table of documented [interfaces](endpoint), whose published rates are caps of the client's policies.

mod access;
mod answer;
pub mod batch;
pub mod cite;
mod contact;
mod convert;
pub mod endpoint;
mod error;
mod field;
#[cfg(test)]
mod hostile;
pub mod id;
mod keys;
pub mod pdf;
mod plain;
pub mod plan;
pub mod pubmed;
mod query;
mod reason;
mod references;
pub mod retrieve;
pub mod source;

pub use access::{Access, AccessBuilder};
pub use answer::{Answer, Unavailable};
pub use batch::{Batch, BatchOptions};
pub use contact::{Contact, ContactError};
pub use convert::{Conversion, Lookup, convert_ids, doi_to_pmid, pmid_to_doi};
pub use endpoint::{Endpoint, Endpoints, Provider};
pub use error::{Error, ErrorKind};
pub use id::{ArxivId, Doi, Identifier, NotAnId, Pmcid, Pmid, ShortDoi};
pub use keys::{Key, Keys};
pub use pubmed::{PubMedSearcher, SearchOptions};
pub use query::Query;
pub use reason::Reason;
pub use references::{Reference, ReferenceRetriever, ReferenceRetrieverBuilder, References};
pub use retrieve::{Order, Paper, PaperRetriever};
