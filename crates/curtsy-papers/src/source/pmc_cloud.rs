//! The PMC Cloud Service: a public bucket with one PDF for each version of an article, for programs.
//!
//! <https://pmc.ncbi.nlm.nih.gov/tools/pmcaws/>. It holds the open access subset, author manuscripts and
//! historical scans, but not what is free to read only. First the versions of an article are listed, then the
//! last one's metadata is read: licence, retraction, and the address of the PDF with its MD5. An address that
//! leads out of the bucket or to another article is not followed.
//!
//! Not used: article pages of PubMed Central, which may not be fetched by programs, and its former file
//! service, which went away in 2026.

use quick_xml::Reader;
use quick_xml::events::Event;
use url::Url;

use super::{Finding, HostType, Ids, Location, SourceId, Unreadable, Version, object, title};
use crate::field::Field;
use crate::id::Pmcid;
use crate::query::Query;

/// The bucket's name, as its addresses have it.
const BUCKET: &str = "s3://pmc-oa-opendata/";

/// Asks for the list of an article's versions. The dot at the prefix's end keeps `PMC99` from matching
/// `PMC9900042`.
#[must_use]
pub fn versions_query(pmcid: Pmcid) -> Query {
    let list = Query::at("").pair("list-type", "2").pair("delimiter", "/");
    list.pair("prefix", format!("{}.", pmcid.article()))
}

/// Asks for the metadata of one version.
#[must_use]
pub fn metadata_query(version: Pmcid) -> Query {
    Query::at("metadata").then(&format!("{version}.json"))
}

/// The last version in a list; `None` where the bucket has none.
///
/// # Errors
/// It is no list.
pub fn read_versions(body: &[u8], pmcid: Pmcid) -> Result<Option<Pmcid>, Unreadable> {
    let text = std::str::from_utf8(body).map_err(|_| Unreadable)?;
    let mut reader = Reader::from_str(text);
    let (mut depth, mut in_common, mut in_prefix, mut is_list) = (0_u32, false, false, false);
    let mut last: Option<Pmcid> = None;
    loop {
        match reader.read_event().map_err(|_| Unreadable)? {
            Event::Start(start) => {
                depth += 1;
                match start.local_name().as_ref() {
                    "ListBucketResult" if depth == 1 => is_list = true,
                    "CommonPrefixes" => in_common = true,
                    "Prefix" => in_prefix = in_common,
                    _ => {}
                }
            }
            Event::Text(text) if in_prefix => {
                let found: Option<Pmcid> = text.trim_end_matches('/').parse().ok();
                let found = found.filter(|found| found.article() == pmcid.article());
                last = last.max(found.filter(|found| found.version().is_some()));
            }
            Event::End(end) => {
                depth = depth.saturating_sub(1);
                match end.local_name().as_ref() {
                    "CommonPrefixes" => in_common = false,
                    "Prefix" => in_prefix = false,
                    _ => {}
                }
            }
            Event::Eof if is_list && depth == 0 => return Ok(last),
            Event::Eof => return Err(Unreadable),
            _ => {}
        }
    }
}

/// What the metadata of a version says.
///
/// # Errors
/// It is none, or of another article.
pub fn read_metadata(body: &[u8], base: &Url, version: Pmcid) -> Result<Finding, Unreadable> {
    let article = object(body)?;
    let pmcid: Pmcid = article.parse("pmcid").ok_or(Unreadable)?;
    if pmcid.article() != version.article() {
        return Err(Unreadable);
    }
    let license = article.text("license_code");
    let is_manuscript = article.flag("is_manuscript").unwrap_or(false);
    let mut finding = Finding {
        ids: Ids {
            doi: article.parse("doi"),
            pmid: article.parse("pmid"),
            pmcid: Some(pmcid.article()),
            arxiv: None,
        },
        title: title(article.text("title")),
        retracted: article.flag("is_retracted"),
        ..Finding::default()
    };
    let pdf = article.text("pdf_url");
    if let Some((url, md5)) = pdf.and_then(|address| in_bucket(&address, base, version)) {
        finding.open = Some(true);
        finding.add(Location {
            host_type: Some(HostType::Repository),
            version: Some(if is_manuscript {
                Version::Accepted
            } else {
                Version::Published
            }),
            license,
            md5,
            ..Location::pdf(url, SourceId::PmcCloud)
        });
    }
    Ok(finding)
}

/// An address in the bucket and under the article, as one of `base`, with the MD5 of its query.
fn in_bucket(address: &str, base: &Url, version: Pmcid) -> Option<(Url, Option<[u8; 16]>)> {
    let path = address.strip_prefix(BUCKET)?;
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let folder = format!("{}.", version.article());
    let is_plain = path.split('/').all(|part| !matches!(part, "" | "." | ".."));
    if !path.starts_with(&folder) || !is_plain || path.contains(['%', '\\', '#']) {
        return None;
    }
    let md5 = query.split('&').find_map(|pair| pair.strip_prefix("md5="));
    Some((
        Url::parse(&Query::at(path).url(base)).ok()?,
        md5.and_then(hex),
    ))
}

fn hex(text: &str) -> Option<[u8; 16]> {
    let mut bytes = [0; 16];
    if text.len() != 32 || !text.is_ascii() {
        return None;
    }
    for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base() -> Url {
        Url::parse("https://bucket.example/").unwrap()
    }

    fn pmcid(text: &str) -> Pmcid {
        text.parse().unwrap()
    }

    #[test]
    fn the_highest_version_is_taken() {
        let list = include_bytes!("../../testdata/pmc_cloud_list_versions.xml");
        let last = read_versions(list, pmcid("PMC9900042")).unwrap();
        assert_eq!(last, Some(pmcid("PMC9900042.2")));
        let ten = String::from_utf8_lossy(list).replace("PMC9900042.1/", "PMC9900042.10/");
        let last = read_versions(ten.as_bytes(), pmcid("PMC9900042")).unwrap();
        assert_eq!(
            last,
            Some(pmcid("PMC9900042.10")),
            "as numbers, not as texts"
        );
        assert_eq!(
            read_versions(list, pmcid("PMC99")),
            Ok(None),
            "of another article"
        );
    }

    #[test]
    fn an_empty_list_is_an_answer_and_an_error_is_none() {
        let empty = include_bytes!("../../testdata/pmc_cloud_list_empty.xml");
        assert_eq!(read_versions(empty, pmcid("PMC9900099")), Ok(None));
        let error = include_bytes!("../../testdata/pmc_cloud_nosuchkey.xml");
        let former = include_bytes!("../../testdata/pmc_oa_fcgi_legacy.xml");
        let refused = include_bytes!("../../testdata/pmc_oa_fcgi_legacy_not_oa.xml");
        for body in [&error[..], b"", b"{}", &empty[..200], former, refused] {
            assert_eq!(read_versions(body, pmcid("PMC9900099")), Err(Unreadable));
        }
    }

    #[test]
    fn metadata_gives_the_pdf_its_sum_and_its_licence() {
        let body = include_bytes!("../../testdata/pmc_cloud_metadata.json");
        let finding = read_metadata(body, &base(), pmcid("PMC9900042.2")).unwrap();
        let pdf = &finding.locations[0];
        assert_eq!(
            pdf.url.as_str(),
            "https://bucket.example/PMC9900042.2/PMC9900042.2.pdf"
        );
        assert_eq!(pdf.md5.unwrap()[..2], [0xe3, 0x10]);
        assert_eq!(pdf.license.as_deref(), Some("CC BY"));
        assert_eq!(finding.retracted, Some(false));
        assert_eq!(finding.ids.pmid.unwrap().to_string(), "39900042");
    }

    #[test]
    fn a_retracted_manuscript_without_a_pdf_is_told_as_that() {
        let body = include_bytes!("../../testdata/pmc_cloud_metadata_no_pdf.json");
        let finding = read_metadata(body, &base(), pmcid("PMC9900050.1")).unwrap();
        assert_eq!(finding.retracted, Some(true));
        assert_eq!(finding.locations, []);
        assert_eq!(
            read_metadata(body, &base(), pmcid("PMC9900042.1")),
            Err(Unreadable)
        );
    }

    #[test]
    fn no_address_leads_out_of_the_bucket_or_the_article() {
        for address in [
            "https://evil.example/PMC9900042.2/x.pdf",
            "s3://other/PMC9900042.2/x.pdf",
            "s3://pmc-oa-opendata/PMC9900099.1/x.pdf",
            "s3://pmc-oa-opendata/PMC9900042.2/../PMC9900099.1/x.pdf",
            "s3://pmc-oa-opendata/PMC9900042.2/%2e%2e/x.pdf",
            "s3://pmc-oa-opendata//evil.example/x.pdf",
        ] {
            assert_eq!(
                in_bucket(address, &base(), pmcid("PMC9900042.2")),
                None,
                "{address}"
            );
        }
    }
}
