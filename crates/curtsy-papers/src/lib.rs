//! From the identifier of a paper to a verified PDF of an open copy, over curtsy's engine.
//!
//! Everything here asks through one shared [`curtsy::Client`]: [`Access`] holds it, together with the contact, the
//! keys and the table of documented interfaces ([`Endpoint`]), whose published rates are caps of the client's policies.
//!
//! | for | see |
//! | --- | --- |
//! | one paper | [`PaperRetriever`](retrieve::PaperRetriever) |
//! | thousands of them | [`Batch`](batch::Batch) |
//! | a search | [`PubMedSearcher`](pubmed::PubMedSearcher) |
//! | what it cites and what cites it | [`ReferenceRetriever`](references::ReferenceRetriever) |
//! | its other names | [`convert_ids`](convert::convert_ids), [`doi_to_pmid`](convert::doi_to_pmid) |
//! | its citation | [`cite`] |
//! | whether a file is a whole PDF | [`pdf::verify`] |
//!
//! How the way to a paper is decided is in [`plan`], who is asked and what their answers say in [`source`].

mod access;
mod answer;
pub mod batch;
pub mod cite;
mod contact;
pub mod convert;
mod endpoint;
mod error;
mod field;
#[cfg(test)]
mod hostile;
mod id;
mod keys;
pub mod pdf;
mod plain;
pub mod plan;
pub mod pubmed;
mod query;
mod reason;
pub mod references;
pub mod retrieve;
pub mod source;

pub use access::{Access, AccessBuilder};
pub use answer::{Answer, Unavailable};
pub use contact::{Contact, ContactError};
pub use endpoint::{Endpoint, Endpoints, Pace, Provider, site_policy};
pub use error::{Error, ErrorKind};
pub use id::{
    ArxivId, Doi, Identifier, Mended, NotAnId, Pmcid, Pmid, ReadId, ShortDoi, decode_doi,
    encode_doi,
};
pub use keys::{Key, Keys};
pub use query::Query;
pub use reason::Reason;
