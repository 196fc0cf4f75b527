//! The DOI system itself: whether a DOI exists, what a short one stands for, and the record of a work in the
//! form that is asked for.
//!
//! <https://www.doi.org/the-identifier/resources/factsheets/doi-resolution-documentation>: the handle API, and
//! content negotiation, which leads on to the agency that registered the DOI.

use url::Url;

use super::{Unreadable, object};
use crate::field::{Field, as_text, as_url};
use crate::id::{Doi, Identifier};
use crate::query::Query;

/// The media type of a record as CSL-JSON, to be asked for in `Accept`.
pub const CSL_JSON: &str = "application/vnd.citationstyles.csl+json";

/// Asks the handle API about a DOI or a short one; `None` for every other identifier.
#[must_use]
pub fn handle_query(id: &Identifier) -> Option<Query> {
    let name = match id {
        Identifier::Doi(doi) => doi.in_path(),
        Identifier::ShortDoi(short) => short.to_string(),
        _ => return None,
    };
    Some(Query::at("api/handles").then(&name))
}

/// Asks where the DOI leads: to the page of the work or, with [`CSL_JSON`] accepted, to its record.
#[must_use]
pub fn query(doi: &Doi) -> Query {
    Query::at("").then(&doi.in_path())
}

/// What the registry knows of a handle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Handle {
    /// It is registered, and leads there where it leads anywhere.
    Registered(Option<Url>),
    /// It stands for another DOI.
    Alias(Doi),
    /// Nobody registered it.
    Unknown,
}

/// Reads the answer of the handle API, also of one with status 404.
///
/// # Errors
/// It is none, or tells of a failure.
pub fn read_handle(body: &[u8]) -> Result<Handle, Unreadable> {
    let answer = object(body)?;
    match answer.number("responseCode") {
        Some(1) => {
            let of_type = |wanted: &str| {
                answer.list("values").iter().find_map(|value| {
                    let is_wanted = value.text("type").is_some_and(|t| t == wanted);
                    is_wanted.then(|| value.part("data").part("value"))
                })
            };
            let alias = of_type("HS_ALIAS")
                .and_then(as_text)
                .and_then(|text| text.parse().ok());
            Ok(match alias {
                Some(doi) => Handle::Alias(doi),
                None => Handle::Registered(of_type("URL").and_then(as_url)),
            })
        }
        Some(100) => Ok(Handle::Unknown),
        _ => Err(Unreadable),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_registered_an_alias_or_unknown() {
        let body = include_bytes!("../../testdata/doi_handle.json");
        let Ok(Handle::Registered(Some(url))) = read_handle(body) else {
            panic!("registered")
        };
        assert_eq!(url.as_str(), "https://journal.example.org/articles/0042");
        let alias =
            br#"{"responseCode":1,"values":[{"type":"HS_ALIAS","data":{"value":"10.5555/X"}}]}"#;
        assert_eq!(
            read_handle(alias),
            Ok(Handle::Alias("10.5555/x".parse().unwrap()))
        );
        assert_eq!(read_handle(br#"{"responseCode":100}"#), Ok(Handle::Unknown));
        assert_eq!(read_handle(br#"{"responseCode":2}"#), Err(Unreadable));
    }

    #[test]
    fn addresses_keep_what_the_doi_is_made_of() {
        let base = Url::parse("https://doi.example/").unwrap();
        let doi: Doi = "10.5555/a#b?c".parse().unwrap();
        assert_eq!(
            query(&doi).url(&base),
            "https://doi.example/10.5555/a%23b%3Fc"
        );
        let short = "10/abc12".parse().unwrap();
        let url = handle_query(&short).unwrap().url(&base);
        assert_eq!(url, "https://doi.example/api/handles/10/abc12");
    }
}
