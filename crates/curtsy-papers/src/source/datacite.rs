//! DataCite: the records of DOIs of repositories, and the file where a repository registered one.
//!
//! <https://support.datacite.org/docs/api>. Most records have a page only, which is taken as one where the
//! licence is Creative Commons.

use super::{Finding, HostType, Ids, Location, SourceId, Unreadable, object, title, year};
use crate::field::{Field, as_url};
use crate::id::Doi;
use crate::query::Query;

/// Asks for a DOI's record.
#[must_use]
pub fn query(doi: &Doi) -> Query {
    Query::at("dois").then(&doi.in_query())
}

/// What a record says.
///
/// # Errors
/// It is none.
pub fn read(body: &[u8]) -> Result<Finding, Unreadable> {
    let value = object(body)?;
    let record = value.part("data").part("attributes");
    let rights = record.list("rightsList").iter();
    let mut license = rights.filter_map(|right| {
        let id = right.text("rightsIdentifier")?.to_lowercase();
        id.starts_with("cc").then_some(id)
    });
    let license = license.next_back();
    let mut finding = Finding {
        ids: Ids {
            doi: Some(record.parse("doi").ok_or(Unreadable)?),
            ..Ids::default()
        },
        title: record
            .list("titles")
            .iter()
            .find_map(|t| title(t.text("title"))),
        year: year(record.number("publicationYear")),
        open: license.is_some().then_some(true),
        ..Finding::default()
    };
    let content = record.part("contentUrl");
    let files = content
        .as_array()
        .map_or(std::slice::from_ref(content), Vec::as_slice);
    let files = files.iter().filter_map(as_url);
    let pdfs = files.filter(|url| url.path().to_ascii_lowercase().ends_with(".pdf"));
    let pdfs = pdfs.map(|url| Location::pdf(url, SourceId::DataCite));
    let page = record.url("url").filter(|_| license.is_some());
    let page = page.map(|url| Location::landing(url, SourceId::DataCite));
    for location in pdfs.chain(page) {
        finding.add(Location {
            host_type: Some(HostType::Repository),
            license: license.clone(),
            ..location
        });
    }
    Ok(finding)
}

#[cfg(test)]
mod tests {
    use super::super::LocationKind;
    use super::*;

    const RECORD: &str = include_str!("../../testdata/datacite_doi.json");

    #[test]
    fn a_licensed_record_gives_its_page() {
        let finding = read(RECORD.as_bytes()).unwrap();
        assert_eq!(finding.locations.len(), 1);
        assert_eq!(finding.locations[0].kind, LocationKind::Landing);
        assert_eq!(finding.locations[0].license.as_deref(), Some("cc-by-4.0"));
        assert_eq!(finding.title.as_deref(), Some("Heron queue observations"));
    }

    #[test]
    fn a_registered_pdf_comes_before_the_page() {
        for files in [
            "\"https://r.example/77.pdf\"",
            "[\"https://r.example/77.zip\", \"https://r.example/77.pdf\"]",
        ] {
            let record =
                RECORD.replace("\"contentUrl\": null", &format!("\"contentUrl\": {files}"));
            let finding = read(record.as_bytes()).unwrap();
            assert_eq!(finding.locations[0].url.path(), "/77.pdf");
        }
    }

    #[test]
    fn a_slash_in_the_doi_is_no_slash_of_the_path() {
        let base = url::Url::parse("https://d.example/").unwrap();
        let url = query(&"10.5555/data.77".parse().unwrap()).url(&base);
        assert_eq!(url, "https://d.example/dois/10.5555%2Fdata.77");
    }
}
