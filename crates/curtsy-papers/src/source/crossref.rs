//! Crossref: links to full text, with the licence that lets one follow them.
//!
//! <https://api.crossref.org/swagger-ui/index.html>. A link is taken where a Creative Commons licence of that
//! version of the text, or of none in particular, has started: without one, links for text mining mostly lead
//! to a subscription. Links for similarity checking are meant for another service and never taken.

use jiff::civil::Date;
use serde_json::Value;

use super::{Finding, HostType, Ids, Location, SourceId, Unreadable, Version, object, title, year};
use crate::field::{Field, as_number, as_text};
use crate::id::Doi;
use crate::query::Query;

/// Asks for a work's record.
#[must_use]
pub fn query(doi: &Doi) -> Query {
    Query::at("works").then(&doi.in_path())
}

/// What a record says on the day `today`.
///
/// # Errors
/// It is none.
pub fn read(body: &[u8], today: Date) -> Result<Finding, Unreadable> {
    let value = object(body)?;
    let work = value.part("message");
    let doi: Doi = work.parse("DOI").ok_or(Unreadable)?;
    let retracted = work
        .list("update-to")
        .iter()
        .chain(work.list("updated-by").iter());
    let retracted = retracted
        .filter_map(|update| update.text("type"))
        .any(|t| t == "retraction");
    let mut finding = Finding {
        ids: Ids {
            doi: Some(doi),
            ..Ids::default()
        },
        title: title(work.list("title").iter().find_map(as_text)),
        year: year(date_parts(work.part("issued")).first().copied()),
        retracted: retracted.then_some(true),
        ..Finding::default()
    };
    let licenses: Vec<License> = work
        .list("license")
        .iter()
        .filter_map(License::read)
        .collect();
    for link in work.list("link").iter() {
        let purpose = link.text("intended-application");
        let is_pdf = link
            .text("content-type")
            .is_some_and(|t| t == "application/pdf");
        let Some(url) = link.url("URL") else { continue };
        if !is_pdf || purpose.is_some_and(|purpose| purpose == "similarity-checking") {
            continue;
        }
        let version = version(link);
        let license = licenses
            .iter()
            .find(|license| license.covers(version, today));
        if let Some(license) = license {
            finding.open = Some(true);
            finding.add(Location {
                host_type: Some(HostType::Publisher),
                version,
                license: Some(license.url.clone()),
                ..Location::pdf(url, SourceId::Crossref)
            });
        }
    }
    if finding.open.is_none() {
        let open = licenses.iter().filter(|license| license.is_open());
        finding.embargoed_until = open
            .filter_map(|l| l.start)
            .filter(|start| *start > today)
            .min();
    }
    Ok(finding)
}

struct License {
    url: String,
    start: Option<Date>,
    version: Option<Version>,
    /// Of the text as it may be mined, and no licence to read.
    is_tdm: bool,
}

impl License {
    fn read(field: &Value) -> Option<Self> {
        let parts = date_parts(field.part("start"));
        let part = |at: usize| parts.get(at).copied().unwrap_or(1);
        let start = match (
            i16::try_from(part(0)),
            i8::try_from(part(1)),
            i8::try_from(part(2)),
        ) {
            (Ok(year), Ok(month), Ok(day)) if !parts.is_empty() => Date::new(year, month, day).ok(),
            _ => None,
        };
        Some(Self {
            url: field.text("URL")?,
            start,
            version: version(field),
            is_tdm: field.text("content-version").is_some_and(|v| v == "tdm"),
        })
    }

    fn is_open(&self) -> bool {
        let address = self
            .url
            .split_once("://")
            .map_or(&*self.url, |(_, rest)| rest);
        let address = address.strip_prefix("www.").unwrap_or(address);
        address.starts_with("creativecommons.org/") && !self.is_tdm
    }

    fn covers(&self, version: Option<Version>, today: Date) -> bool {
        let has_started = self.start.is_some_and(|start| start <= today);
        self.is_open() && has_started && (self.version.is_none() || self.version == version)
    }
}

fn version(of: &Value) -> Option<Version> {
    match &*of.text("content-version")? {
        "vor" => Some(Version::Published),
        "am" => Some(Version::Accepted),
        _ => None,
    }
}

/// Year, month and day, as far as they are given.
fn date_parts(date: &Value) -> Vec<u64> {
    let parts = date.list("date-parts").first().and_then(Value::as_array);
    let parts = parts.into_iter().flatten();
    parts.map_while(as_number).take(3).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    const WORK: &str = include_str!("../../testdata/crossref_work.json");

    #[test]
    fn a_link_is_taken_once_its_licence_has_started() {
        let finding = read(WORK.as_bytes(), date(2026, 12, 1)).unwrap();
        let urls: Vec<_> = finding.locations.iter().map(|l| l.url.as_str()).collect();
        assert_eq!(urls, ["https://journal.example.org/tdm/0042.pdf"]);
        assert_eq!(finding.year, Some(2024));
        let early = read(WORK.as_bytes(), date(2024, 2, 2)).unwrap();
        assert_eq!(early.locations, []);
        assert_eq!(early.embargoed_until, Some(date(2024, 2, 3)));
    }

    #[test]
    fn a_link_without_an_open_licence_of_its_version_is_left() {
        for (from, to) in [
            ("creativecommons.org/licenses", "publisher.example/terms"),
            (
                "creativecommons.org/licenses",
                "creativecommons.org.evil.example/x",
            ),
            (
                "\"content-version\": \"vor\",\n        \"delay-in-days\"",
                "\"content-version\": \"am\",\n        \"delay-in-days\"",
            ),
            (
                "\"content-version\": \"vor\",\n        \"delay-in-days\"",
                "\"content-version\": \"tdm\",\n        \"delay-in-days\"",
            ),
        ] {
            let work = WORK.replace(from, to);
            assert_ne!(work, WORK, "{to}");
            let finding = read(work.as_bytes(), date(2026, 12, 1)).unwrap();
            assert_eq!(finding.locations, [], "{to}");
        }
    }

    #[test]
    fn plain_text_is_no_record() {
        assert_eq!(
            read(b"Resource not found.", date(2026, 12, 1)),
            Err(Unreadable)
        );
    }
}
