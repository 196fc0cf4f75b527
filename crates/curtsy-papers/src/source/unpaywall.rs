//! Unpaywall, version 2: the open copies of a DOI.
//!
//! <https://unpaywall.org/products/api>. Status 404 says that it does not know the DOI, 422 that it does not
//! take the contact address, which concerns every paper.

use super::{Finding, HostType, Ids, Location, SourceId, Unreadable, Version, object, title, year};
use crate::field::Field;
use crate::id::Doi;
use crate::query::Query;

/// Asks for a DOI's record.
#[must_use]
pub fn query(doi: &Doi) -> Query {
    Query::at("").then(&doi.in_path())
}

/// What a record says: all its copies, those too of which only the page is known.
///
/// # Errors
/// It is none.
pub fn read(body: &[u8]) -> Result<Finding, Unreadable> {
    let record = object(body)?;
    let embargoes = record.list("oa_locations_embargoed").iter();
    let mut finding = Finding {
        ids: Ids {
            doi: Some(record.parse("doi").ok_or(Unreadable)?),
            ..Ids::default()
        },
        title: title(record.text("title")),
        year: year(record.number("year")),
        oa_status: record.text("oa_status"),
        open: record.flag("is_oa"),
        embargoed_until: embargoes.filter_map(|place| place.parse("oa_date")).min(),
        ..Finding::default()
    };
    let best = record.list("best_oa_location").iter();
    for place in record.list("oa_locations").iter().chain(best) {
        let landing = ["url_for_landing_page", "url"];
        let known = Location {
            host_type: HostType::of(place),
            version: Version::of(place),
            license: place.text("license"),
            ..match place.url("url_for_pdf") {
                Some(url) => Location::pdf(url, SourceId::Unpaywall),
                None => match landing.into_iter().find_map(|key| place.url(key)) {
                    Some(url) => Location::landing(url, SourceId::Unpaywall),
                    None => continue,
                },
            }
        };
        finding.add(known);
    }
    Ok(finding)
}

#[cfg(test)]
mod tests {
    use super::super::LocationKind;
    use super::*;

    #[test]
    fn all_copies_are_taken_in_the_order_of_the_service() {
        let finding = read(include_bytes!("../../testdata/unpaywall_v2_gold.json")).unwrap();
        let hosts: Vec<_> = finding
            .locations
            .iter()
            .map(|l| l.url.host_str().unwrap())
            .collect();
        assert_eq!(
            hosts,
            ["journal.example.org", "europepmc.org", "repo.example.edu"]
        );
        assert!(
            finding
                .locations
                .iter()
                .all(|l| l.kind == LocationKind::Pdf)
        );
        assert_eq!(finding.locations[0].license.as_deref(), Some("cc-by"));
        assert_eq!(finding.locations[2].version, Some(Version::Accepted));
        assert_eq!((finding.open, finding.year), (Some(true), Some(2024)));
    }

    #[test]
    fn a_copy_of_which_only_the_page_is_known_is_a_landing_page() {
        let finding = read(include_bytes!(
            "../../testdata/unpaywall_v2_bronze_landing_only.json"
        ))
        .unwrap();
        assert_eq!(finding.locations.len(), 1);
        assert_eq!(finding.locations[0].kind, LocationKind::Landing);
    }

    #[test]
    fn a_closed_record_is_an_answer_and_an_error_is_none() {
        let finding = read(include_bytes!(
            "../../testdata/unpaywall_v2_closed_old_authors.json"
        ))
        .unwrap();
        assert_eq!((finding.open, finding.locations.len()), (Some(false), 0));
        let error = include_bytes!("../../testdata/unpaywall_v2_404.json");
        assert_eq!(read(error), Err(Unreadable));
    }

    #[test]
    fn the_end_of_an_embargo_is_told() {
        let body = br#"{"doi":"10.5555/x","oa_locations":null,"oa_locations_embargoed":[{"oa_date":"2027-05-01"},{"oa_date":7}]}"#;
        let finding = read(body).unwrap();
        assert_eq!(finding.embargoed_until, Some(jiff::civil::date(2027, 5, 1)));
    }
}
