//! The record beside a PDF: nine keys that other tools write and read too, and an object of curtsy's own.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use curtsy::core::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::paper::{Attempt, Paper};
use crate::id::{self, Identifier};
use crate::plan::{Outcome, Retry};
use crate::source::{HostType, Ids, SourceId, Version};

/// Which shape of [`Extra`] is written.
const SCHEMA: u32 = 1;
/// The largest record that is read.
const MAX_RECORD: u64 = 4 * 1024 * 1024;

/// The record of a paper.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Sidecar {
    /// Its DOI.
    pub doi: Option<String>,
    /// That, as in the name of the file.
    pub encoded_doi: Option<String>,
    /// Its PMID.
    pub pmid: Option<String>,
    /// The identifier that it was asked for by, as in the name of the file.
    pub id: Option<String>,
    /// Where the PDF came from; `None` where there is none.
    pub source_url: Option<String>,
    /// The PDFs that are known of.
    #[serde(default)]
    pub all_urls: Vec<String>,
    /// Whether there is a PDF.
    #[serde(default)]
    pub download_success: bool,
    /// Where that is, or `unavailable`.
    pub pdf_filepath: Option<String>,
    /// Whether a source calls the work open.
    #[serde(default)]
    pub open_access: bool,
    /// What only curtsy writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curtsy: Option<Extra>,
}

/// What only curtsy writes.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Extra {
    /// Of this object.
    pub schema: u32,
    /// What the user gave.
    pub requested_as: Option<String>,
    /// Its PMCID.
    pub pmcid: Option<String>,
    /// Its number on arXiv.
    pub arxiv: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// When it was published.
    pub year: Option<u16>,
    /// Who the copy came from.
    pub source: Option<String>,
    /// Who keeps it.
    pub host_type: Option<Value>,
    /// Which state of the text it is.
    pub version: Option<Value>,
    /// Its licence.
    pub license: Option<String>,
    /// Unpaywall's word for how it is open.
    pub oa_status: Option<String>,
    /// Whether it was retracted.
    pub retracted: Option<bool>,
    /// Where it came from, after redirects.
    pub final_url: Option<String>,
    /// What its server called it.
    pub content_type: Option<String>,
    /// Its length.
    pub bytes: Option<u64>,
    /// Its SHA-256.
    pub sha256: Option<String>,
    /// What was looked at.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub verified: Value,
    /// When it was had.
    pub retrieved_at: Option<String>,
    /// Why there is no PDF.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The same in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explain: Option<String>,
    /// When to try again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<String>,
    /// Who was not asked, since the key is missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_asked: Vec<String>,
    /// All that was asked and fetched.
    #[serde(default)]
    pub attempts: Vec<Value>,
}

/// Whose a record is.
pub(super) enum Owner {
    /// There is none.
    Nobody,
    /// It is a record of a paper: curtsy's, or of a tool that writes the nine keys.
    Known(Box<Sidecar>),
    /// It is something else, or damaged.
    Stranger,
}

impl Sidecar {
    /// The record of a paper that ended at `now`.
    pub(super) fn of(paper: &Paper, now: Timestamp) -> Self {
        let stored = paper.stored.as_ref();
        let urls = paper
            .locations
            .iter()
            .filter(|l| l.kind == crate::source::LocationKind::Pdf);
        Self {
            doi: paper.ids.doi.as_ref().map(ToString::to_string),
            encoded_doi: paper.ids.doi.as_ref().map(id::encode_doi),
            pmid: paper.ids.pmid.map(|pmid| pmid.to_string()),
            id: Some(match &paper.id {
                Identifier::Doi(doi) => id::encode_doi(doi),
                other => other.value(),
            }),
            source_url: paper.got.as_ref().map(|got| got.url.to_string()),
            all_urls: urls.map(|location| location.url.to_string()).collect(),
            download_success: stored.is_some(),
            pdf_filepath: Some(match stored {
                Some(stored) => stored.path.display().to_string(),
                None => "unavailable".to_owned(),
            }),
            open_access: paper.about.open,
            curtsy: Some(Extra::of(paper, now)),
        }
    }

    /// Reads the record at `path`.
    pub(super) fn read(path: &Path) -> io::Result<Owner> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // A link that leads nowhere is somebody's.
                let is_there = path.symlink_metadata().is_ok();
                return Ok(if is_there {
                    Owner::Stranger
                } else {
                    Owner::Nobody
                });
            }
            Err(error) => return Err(error),
        };
        let mut text = Vec::new();
        file.take(MAX_RECORD).read_to_end(&mut text)?;
        let value: Option<Value> = serde_json::from_slice(&text).ok();
        let is_record = value.as_ref().is_some_and(|value| {
            value.get("download_success").is_some() && value.get("pdf_filepath").is_some()
        });
        let sidecar = value
            .filter(|_| is_record)
            .and_then(|value| serde_json::from_value(value).ok());
        Ok(sidecar.map_or(Owner::Stranger, |sidecar| Owner::Known(Box::new(sidecar))))
    }

    /// Whether curtsy wrote it.
    pub(super) fn is_ours(&self) -> bool {
        self.curtsy.is_some()
    }

    /// The names that it tells.
    pub(super) fn ids(&self) -> Ids {
        fn parse<T: std::str::FromStr>(text: Option<&String>) -> Option<T> {
            text?.parse().ok()
        }
        let extra = self.curtsy.as_ref();
        Ids {
            doi: parse(self.doi.as_ref()),
            pmid: parse(self.pmid.as_ref()),
            pmcid: parse(extra.and_then(|extra| extra.pmcid.as_ref())),
            arxiv: parse(extra.and_then(|extra| extra.arxiv.as_ref())),
        }
    }

    /// As it is written: indented by four, with a line end.
    pub(super) fn to_text(&self) -> String {
        let mut text = Vec::new();
        let format = serde_json::ser::PrettyFormatter::with_indent(b"    ");
        let mut serializer = serde_json::Serializer::with_formatter(&mut text, format);
        // Texts, numbers and lists can all be written.
        let _ = self.serialize(&mut serializer);
        text.push(b'\n');
        String::from_utf8_lossy(&text).into_owned()
    }
}

impl Extra {
    fn of(paper: &Paper, now: Timestamp) -> Self {
        let (got, stored, about) = (paper.got.as_ref(), paper.stored.as_ref(), &paper.about);
        let verdict = &paper.verdict;
        let value = |value: Option<Value>| value.filter(|value| !value.is_null());
        let attempts = paper.attempts.iter();
        Self {
            schema: SCHEMA,
            requested_as: Some(paper.given.clone()),
            pmcid: paper.ids.pmcid.map(|pmcid| pmcid.to_string()),
            arxiv: paper.ids.arxiv.as_ref().map(ToString::to_string),
            title: about.title.clone(),
            year: about.year,
            source: paper.source().map(|source| source.label().to_owned()),
            host_type: value(got.map(|got| to_value::<Option<HostType>>(&got.host_type))),
            version: value(got.map(|got| to_value::<Option<Version>>(&got.version))),
            license: got.and_then(|got| got.license.clone()),
            oa_status: about.oa_status.clone(),
            retracted: about.retracted,
            final_url: stored.and_then(|stored| stored.url.clone()),
            content_type: stored.and_then(|stored| stored.content_type.clone()),
            bytes: stored.map(|stored| stored.bytes),
            sha256: stored.map(|stored| stored.sha256.clone()),
            verified: stored.map_or(Value::Null, |stored| {
                serde_json::json!({
                    "magic": true,
                    "tail": true,
                    "pages": stored.pages,
                    "md5_matches_source": stored.md5_matches,
                    "encrypted": stored.encrypted,
                })
            }),
            retrieved_at: Some(now.to_rfc3339()),
            reason: verdict.reason.map(|reason| reason.label().to_owned()),
            explain: verdict.reason.map(|reason| reason.explain().to_owned()),
            retry: verdict.retry.map(|retry: Retry| retry.to_string()),
            not_asked: paper
                .not_asked
                .iter()
                .map(|source: &SourceId| source.label().to_owned())
                .collect(),
            attempts: attempts.map(to_value::<Attempt>).collect(),
        }
    }
}

impl Paper {
    /// Its row in a list of results, as JSON.
    #[must_use]
    pub fn row(&self, line: u64) -> Value {
        let Self {
            ids,
            verdict,
            stored,
            ..
        } = self;
        serde_json::json!({
            "line": line,
            "given": self.given,
            "id": self.id,
            "doi": ids.doi,
            "pmid": ids.pmid,
            "pmcid": ids.pmcid,
            "arxiv": ids.arxiv,
            "outcome": verdict.outcome,
            "reason": verdict.reason.map(|reason| reason.label()),
            "retry": verdict.retry,
            "source": self.source(),
            "file": stored.as_ref().map(|stored| stored.path.display().to_string()),
            "sha256": stored.as_ref().map(|stored| stored.sha256.clone()).filter(|sum| !sum.is_empty()),
            "attempts": self.requests(),
            "host": verdict.host,
            "status": verdict.status,
            "not_asked": self.not_asked,
            "link": match verdict.outcome {
                Outcome::Pdf | Outcome::Had => self.id.link(),
                _ => self.link(),
            },
        })
    }
}

fn to_value<T: Serialize>(of: &T) -> Value {
    serde_json::to_value(of).unwrap_or_default()
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every field of a record with each of these in its place.
    fn changed(document: &Value) -> Vec<Value> {
        let strange = [
            Value::Null,
            7.into(),
            (-1.5).into(),
            true.into(),
            "x".into(),
            Value::Array(vec![Value::Null, 7.into()]),
            serde_json::json!({"x": []}),
        ];
        let mut places = Vec::new();
        for (name, value) in document.as_object().into_iter().flatten() {
            places.push(format!("/{name}"));
            let inner = value.as_object().into_iter().flatten();
            places.extend(inner.map(|(inner, _)| format!("/{name}/{inner}")));
        }
        let mut all = Vec::new();
        for place in places {
            for value in &strange {
                let mut document = document.clone();
                if let Some(at) = document.pointer_mut(&place) {
                    *at = value.clone();
                }
                all.push(document);
            }
        }
        all
    }

    #[test]
    fn a_record_with_anything_wrong_in_it_is_read_or_somebody_elses() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("record.json");
        let (mut known, mut strangers) = (0, 0);
        for text in [
            include_str!("../../testdata/out_sidecar_success.json"),
            include_str!("../../testdata/out_sidecar_failure.json"),
        ] {
            for document in changed(&serde_json::from_str(text).unwrap()) {
                std::fs::write(&path, document.to_string()).unwrap();
                match Sidecar::read(&path).unwrap() {
                    Owner::Known(record) => {
                        known += 1;
                        let _ = (record.ids(), record.is_ours());
                        let again: Value = serde_json::from_str(&record.to_text()).unwrap();
                        assert!(again.get("download_success").is_some());
                    }
                    Owner::Stranger => strangers += 1,
                    Owner::Nobody => panic!("it is there"),
                }
            }
            for end in (0..text.trim_end().len()).step_by(7) {
                std::fs::write(&path, &text[..end]).unwrap();
                assert!(matches!(Sidecar::read(&path).unwrap(), Owner::Stranger));
            }
        }
        assert!(known > 50 && strangers > 50, "{known} {strangers}");
    }
}
