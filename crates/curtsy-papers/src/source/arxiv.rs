//! arXiv: the PDF of a paper stands at an address that follows from its identifier.
//!
//! Not used: its API, which knows nothing about a copy that the identifier does not say, and would have to be
//! asked at one request in three seconds.

use url::Url;

use super::{HostType, Location, SourceId};
use crate::id::ArxivId;
use crate::query::Query;

/// The PDF of a paper, in the version that the identifier names or else the last one, below arXiv's `base`.
#[must_use]
pub fn pdf(base: &Url, id: &ArxivId) -> Option<Location> {
    let url = Url::parse(&Query::at("pdf").then(&id.to_string()).url(base)).ok()?;
    Some(Location {
        host_type: Some(HostType::Repository),
        ..Location::pdf(url, SourceId::Arxiv)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_follows_from_the_identifier() {
        let base = Url::parse("https://arxiv.org/").unwrap();
        for (id, url) in [
            ("2401.99999", "https://arxiv.org/pdf/2401.99999"),
            ("math.PR/0101001v2", "https://arxiv.org/pdf/math/0101001v2"),
        ] {
            assert_eq!(pdf(&base, &id.parse().unwrap()).unwrap().url.as_str(), url);
        }
    }
}
