//! [`ArxivId`]: `2401.99999v2`, and of before April 2007 `math/0101001`.
//!
//! <https://info.arxiv.org/help/arxiv_identifier.html>

use std::fmt;

use super::Doi;
use super::doi::ARXIV_PREFIX;

/// The archives that papers before April 2007 were filed under.
const ARCHIVES: [&str; 39] = [
    "acc-phys", "adap-org", "alg-geom", "ao-sci", "astro-ph", "atom-ph", "bayes-an", "chao-dyn",
    "chem-ph", "cmp-lg", "comp-gas", "cond-mat", "cs", "dg-ga", "econ", "eess", "funct-an",
    "gr-qc", "hep-ex", "hep-lat", "hep-ph", "hep-th", "math", "math-ph", "mtrl-th", "nlin",
    "nucl-ex", "nucl-th", "patt-sol", "physics", "plasm-ph", "q-alg", "q-bio", "q-fin", "quant-ph",
    "solv-int", "stat", "supr-con", "test",
];

/// A paper on arXiv, and which version of it where that is said.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArxivId {
    paper: Box<str>,
    version: Option<u16>,
}

impl ArxivId {
    pub(super) fn bare(text: &str) -> Option<Self> {
        let text = text.to_ascii_lowercase();
        let (paper, version) = match text.rsplit_once('v') {
            Some((paper, version)) if number(version, 1..=4) => (paper, version.parse().ok()),
            _ => (text.as_str(), None),
        };
        let paper = match paper.split_once('/') {
            Some((archive, serial)) => before_2007(archive, serial)?,
            None => since_2007(paper)?,
        };
        Some(Self {
            paper: paper.into(),
            version,
        })
    }

    /// Without the version.
    #[must_use]
    pub fn paper(&self) -> &str {
        &self.paper
    }

    /// Which version; `None` where none is said.
    #[must_use]
    pub const fn version(&self) -> Option<u16> {
        self.version
    }

    /// Its DOI, which every paper on arXiv has.
    #[must_use]
    pub fn doi(&self) -> Doi {
        let doi = Doi::bare(&format!("{ARXIV_PREFIX}{}", self.paper));
        doi.expect("the prefix of arXiv before digits is a DOI")
    }
}

impl fmt::Display for ArxivId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.paper)?;
        match self.version {
            Some(version) => write!(f, "v{version}"),
            None => Ok(()),
        }
    }
}

/// `2401.99999`: year and month, then four digits, or five since 2015.
fn since_2007(paper: &str) -> Option<String> {
    let (date, serial) = paper.split_once('.')?;
    let fits = number(date, 4..=4) && is_month(&date[2..]) && number(serial, 4..=5);
    fits.then(|| paper.to_owned())
}

/// `math.PR/0101001`, whose class of subjects is dropped.
fn before_2007(archive: &str, serial: &str) -> Option<String> {
    let (archive, class) = match archive.split_once('.') {
        Some((archive, class)) => (archive, class.len() == 2),
        None => (archive, true),
    };
    let fits = class && ARCHIVES.contains(&archive) && number(serial, 7..=7);
    (fits && is_month(&serial[2..4])).then(|| format!("{archive}/{serial}"))
}

fn number(text: &str, len: std::ops::RangeInclusive<usize>) -> bool {
    len.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
}

fn is_month(digits: &str) -> bool {
    matches!(digits.parse(), Ok(1..=12))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_arxiv_gives_out_is_an_id() {
        for text in [
            "2413.00001",
            "240.00001",
            "2401.123",
            "2401.123456",
            "math/010100",
            "maths/0101001",
            "math.PRX/0101001",
            "v2",
            "",
        ] {
            assert_eq!(ArxivId::bare(text), None, "{text}");
        }
        let id = ArxivId::bare("math.PR/0101001v3").unwrap();
        assert_eq!((id.paper(), id.version()), ("math/0101001", Some(3)));
        assert_eq!(id.doi().as_str(), "10.48550/arxiv.math/0101001");
        assert_eq!(id.doi().arxiv().unwrap().paper(), "math/0101001");
    }
}
