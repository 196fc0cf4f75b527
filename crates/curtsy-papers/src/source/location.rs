//! [`Location`]: where a copy of a paper is.

use serde::Serialize;
use url::Url;

use super::SourceId;
use serde_json::Value;

use crate::field::Field;

/// A copy of a paper, or the page on which one may be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Where.
    pub url: Url,
    /// Whether that is the copy or a page about it.
    pub kind: LocationKind,
    /// Who said so.
    pub source: SourceId,
    /// Who keeps it.
    pub host_type: Option<HostType>,
    /// Which state of the text it is.
    pub version: Option<Version>,
    /// Its licence, as the source spells it.
    pub license: Option<String>,
    /// The MD5 of the file, where the source gives one.
    pub md5: Option<[u8; 16]>,
}

impl Location {
    /// A PDF of which no more is known.
    #[must_use]
    pub fn pdf(url: Url, source: SourceId) -> Self {
        Self {
            url,
            kind: LocationKind::Pdf,
            source,
            host_type: None,
            version: None,
            license: None,
            md5: None,
        }
    }

    /// A page of which no more is known.
    #[must_use]
    pub fn landing(url: Url, source: SourceId) -> Self {
        Self {
            kind: LocationKind::Landing,
            ..Self::pdf(url, source)
        }
    }
}

/// What is at a [`Location`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LocationKind {
    /// A PDF, by the word of the source.
    Pdf,
    /// A page about the paper.
    Landing,
}

/// Who keeps a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HostType {
    /// Whoever published it.
    Publisher,
    /// A repository of an institution or a field.
    Repository,
}

/// A state of the text, the last one the greatest. Spelt as by Unpaywall (the DRIVER vocabulary).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Version {
    /// Before review.
    #[serde(rename = "submittedVersion")]
    Submitted,
    /// After review, before typesetting.
    #[serde(rename = "acceptedVersion")]
    Accepted,
    /// As published.
    #[serde(rename = "publishedVersion")]
    Published,
}

impl HostType {
    /// The member `host_type` of a place.
    pub(super) fn of(place: &Value) -> Option<Self> {
        match &*place.text("host_type")? {
            "publisher" => Some(Self::Publisher),
            "repository" => Some(Self::Repository),
            _ => None,
        }
    }
}

impl Version {
    /// The member `version` of a place.
    pub(super) fn of(place: &Value) -> Option<Self> {
        match &*place.text("version")? {
            "submittedVersion" => Some(Self::Submitted),
            "acceptedVersion" => Some(Self::Accepted),
            "publishedVersion" => Some(Self::Published),
            _ => None,
        }
    }
}
