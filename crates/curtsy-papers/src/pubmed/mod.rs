//! PubMed.

pub(crate) mod esearch;
pub(crate) mod summary;
