//! [`Doi`], and its spelling in paths, queries and file names.

use std::fmt;
use std::str::FromStr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use sha2::{Digest, Sha256};

use super::{ArxivId, Identifier, NotAnId};

/// The longest DOI that is read, in bytes. The standard sets no bound; the longest registered ones have some
/// hundreds.
const MAX_DOI: usize = 2_048;
/// The longest stem of a file name, in bytes: file systems take 255, and an extension follows.
const MAX_STEM: usize = 200;
/// What the DOI of an arXiv paper starts with.
pub(super) const ARXIV_PREFIX: &str = "10.48550/arxiv.";

/// All but RFC 3986's unreserved characters.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
/// A path keeps its slashes.
const PATH: &AsciiSet = &COMPONENT.remove(b'/');
/// In file names dots and dashes are escaped too, as other tools do.
const NAME: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_').remove(b'~');

/// A DOI in its normal spelling: ASCII letters in lower case, since DOIs are compared without case (DOI
/// Handbook 2.4), and nothing around it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Doi(Box<str>);

impl Doi {
    /// Takes `10.PREFIX/SUFFIX` as it stands.
    pub(super) fn bare(text: &str) -> Result<Self, NotAnId> {
        let suffix_at = split(text).ok_or(NotAnId::Unknown)?;
        if suffix_at >= text.len() {
            return Err(NotAnId::NoSuffix);
        }
        if text.len() > MAX_DOI || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(NotAnId::Malformed);
        }
        Ok(Self(text.to_ascii_lowercase().into()))
    }

    /// The DOI.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What names the registrant: `10.5555`.
    #[must_use]
    pub fn prefix(&self) -> &str {
        self.0.split_once('/').map_or(&self.0, |(prefix, _)| prefix)
    }

    /// Percent-encoded for the path of a URL. Slashes stay, but in a DOI with a segment `.` or `..`, which
    /// would climb out of the path.
    #[must_use]
    pub fn in_path(&self) -> String {
        let climbs = self.0.split('/').any(|part| part == "." || part == "..");
        let set = if climbs { COMPONENT } else { PATH };
        utf8_percent_encode(&self.0, set).to_string()
    }

    /// Percent-encoded for one value of a query, or one segment of a path.
    #[must_use]
    pub fn in_query(&self) -> String {
        utf8_percent_encode(&self.0, COMPONENT).to_string()
    }

    /// The arXiv paper it names, if it is of arXiv.
    #[must_use]
    pub fn arxiv(&self) -> Option<ArxivId> {
        ArxivId::bare(self.0.strip_prefix(ARXIV_PREFIX)?)
    }
}

impl fmt::Display for Doi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A DOI of arXiv stays a DOI here.
impl FromStr for Doi {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        match text.parse()? {
            Identifier::Doi(doi) => Ok(doi),
            Identifier::Arxiv(arxiv) if text.contains("10.48550") => Ok(arxiv.doi()),
            _ => Err(NotAnId::OtherKind),
        }
    }
}

/// A short DOI, `10/abc12`: an alias that <https://doi.org> gives out and resolves. Services that take DOIs
/// refuse it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShortDoi(Box<str>);

impl ShortDoi {
    pub(super) fn bare(text: &str) -> Option<Self> {
        let code = text.strip_prefix("10/")?;
        let fits =
            (1..=16).contains(&code.len()) && code.bytes().all(|b| b.is_ascii_alphanumeric());
        fits.then(|| Self(text.to_ascii_lowercase().into()))
    }
}

impl fmt::Display for ShortDoi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A DOI as part of a file name: all but letters, digits, `_` and `~` percent-encoded.
#[must_use]
pub fn encode_doi(doi: &Doi) -> String {
    encode(&doi.0)
}

/// The DOI that [`encode_doi`] encoded.
///
/// # Errors
/// What was encoded is no DOI.
pub fn decode_doi(encoded: &str) -> Result<Doi, NotAnId> {
    let decoded = percent_decode_str(encoded).decode_utf8();
    Doi::bare(&decoded.map_err(|_| NotAnId::Malformed)?)
}

pub(super) fn encode(text: &str) -> String {
    utf8_percent_encode(text, NAME).to_string()
}

/// Cuts a long stem of a name and ends it in a hash of the whole.
pub(crate) fn fit(stem: &str) -> String {
    if stem.len() <= MAX_STEM {
        return stem.to_owned();
    }
    let digest = Sha256::digest(stem.as_bytes());
    let hash: String = digest.iter().take(8).map(|b| format!("{b:02x}")).collect();
    let mut end = MAX_STEM - 1 - hash.len();
    while !stem.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}-{hash}", &stem[..end])
}

/// Where the suffix starts in a text that starts as a DOI does: `10.`, four to nine digits, and perhaps
/// further parts; the end of the text if no slash follows.
pub(super) fn split(text: &str) -> Option<usize> {
    let registrant = text.strip_prefix("10.")?;
    let end = registrant.find('/').unwrap_or(registrant.len());
    let mut parts = registrant[..end].split('.');
    let code = parts.next()?;
    let number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let fits = (4..=9).contains(&code.len()) && number(code) && parts.all(number);
    fits.then_some(3 + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_survives_path_query_and_name() {
        let doi = Doi::bare("10.5555/(SICI)1:1<135::AID>3.0.CO;2-#?a+b%41é").unwrap();
        let path = doi.in_path();
        assert!(path.starts_with("10.5555/%28sici%29"), "{path}");
        for encoded in [path, doi.in_query(), encode_doi(&doi)] {
            assert!(!encoded.contains(['#', '?', '+', '<', ';']), "{encoded}");
            assert_eq!(decode_doi(&encoded).unwrap(), doi);
        }
    }

    #[test]
    fn a_doi_does_not_climb_out_of_its_path() {
        let doi = Doi::bare("10.5555/../../etc").unwrap();
        let base = url::Url::parse("https://api.example.org/v2/").unwrap();
        let url = base.join(&format!("./{}", doi.in_path())).unwrap();
        assert_eq!(url.path(), "/v2/10.5555%2F..%2F..%2Fetc");
    }

    #[test]
    fn what_is_no_doi_is_none() {
        for (text, error) in [
            ("10.5555", NotAnId::NoSuffix),
            ("10.5555/", NotAnId::NoSuffix),
            ("10.555/x", NotAnId::Unknown),
            ("10.5555x/x", NotAnId::Unknown),
            ("11.5555/x", NotAnId::Unknown),
            ("10.5555/a b", NotAnId::Malformed),
        ] {
            assert_eq!(Doi::bare(text), Err(error), "{text}");
        }
        assert!(Doi::bare("10.1000.10/x").is_ok());
    }
}
