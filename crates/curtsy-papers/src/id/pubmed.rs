//! Identifiers of the National Library of Medicine: [`Pmid`] and [`Pmcid`].

use std::fmt;

/// The number of a record of PubMed: one to eight digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pmid(u32);

impl Pmid {
    /// Takes a number; 0 and more than eight digits are none.
    #[must_use]
    pub const fn new(number: u64) -> Option<Self> {
        match number {
            1..=99_999_999 => Some(Self(number as u32)),
            _ => None,
        }
    }

    pub(super) fn bare(text: &str) -> Option<Self> {
        Self::new(digits(text, 8)?)
    }
}

impl fmt::Display for Pmid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of an article in PubMed Central, and which version of it where that is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pmcid {
    number: u32,
    version: Option<u16>,
}

impl Pmcid {
    pub(super) fn bare(text: &str) -> Option<Self> {
        let (pmc, rest) = text.split_at_checked(3)?;
        if !pmc.eq_ignore_ascii_case("pmc") {
            return None;
        }
        let (number, version) = match rest.split_once('.') {
            Some((number, version)) => (number, Some(digits(version, 4)?)),
            None => (rest, None),
        };
        Some(Self {
            number: u32::try_from(digits(number, 9)?).ok().filter(|n| *n > 0)?,
            version: version.and_then(|version| u16::try_from(version).ok()),
        })
    }

    /// The same article, without a version.
    #[must_use]
    pub const fn article(self) -> Self {
        Self {
            version: None,
            ..self
        }
    }

    /// The same article in one of its versions.
    #[must_use]
    pub const fn with_version(self, version: u16) -> Self {
        Self {
            version: Some(version),
            ..self
        }
    }

    /// Which version; `None` where none is said.
    #[must_use]
    pub const fn version(self) -> Option<u16> {
        self.version
    }
}

/// `PMC9900042`, `PMC9900042.2`.
impl fmt::Display for Pmcid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PMC{}", self.number)?;
        match self.version {
            Some(version) => write!(f, ".{version}"),
            None => Ok(()),
        }
    }
}

/// A number of at most `most` ASCII digits and nothing else.
fn digits(text: &str, most: usize) -> Option<u64> {
    let fits = (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    fits.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_numbers_in_their_bounds_are_ids() {
        for text in ["", "0", "123456789", "12a", "+12", "１２"] {
            assert_eq!(Pmid::bare(text), None, "{text}");
        }
        for text in ["PMC", "PMC0", "PMC12.", "PMC12.x", "PMCx", "PM12", "ÄMC12"] {
            assert_eq!(Pmcid::bare(text), None, "{text}");
        }
        let pmcid = Pmcid::bare("pmc12.3").unwrap();
        assert_eq!(pmcid.article().to_string(), "PMC12");
        assert_eq!(pmcid.article().with_version(4).to_string(), "PMC12.4");
        assert_eq!(pmcid.version(), Some(3));
    }
}
