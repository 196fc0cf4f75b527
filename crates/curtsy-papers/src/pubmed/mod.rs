//! PubMed: searches of any size, and the records of what they find.

mod article;
mod dates;
pub(crate) mod efetch;
pub(crate) mod esearch;
pub(crate) mod europe_pmc;
mod follow;
mod hits;
mod search;
pub(crate) mod summary;
mod tree;

pub use article::{Article, Author, Citation, Kind, Section};
pub use dates::{BadDates, DateRange, DateType};
pub use hits::Hits;
pub use search::{Engine, Order, PubMedSearcher, PubMedSearcherBuilder, SearchOptions};
