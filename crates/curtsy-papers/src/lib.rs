//! From the identifier of a paper to a verified PDF of an open copy, over curtsy's engine.

pub mod id;

pub use id::{ArxivId, Doi, Identifier, NotAnId, Pmcid, Pmid, ShortDoi};
