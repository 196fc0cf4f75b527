//! A paper on its way, and at its end.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use super::Order;
use super::fetch::{Fetched, Pdf};
use super::folder::Had;
use super::sidecar::hex;
use crate::answer::Answer;
use crate::id::Identifier;
use crate::plan::{About, Outcome, Plan, Question, Verdict};
use crate::reason::Reason;
use crate::source::{Finding, Ids, Location, SourceId};

/// A paper, and how the way to it ended.
#[derive(Clone, Debug)]
pub struct Paper {
    /// Its identifier as it was given.
    pub given: String,
    /// That, read.
    pub id: Identifier,
    /// All its names that are known.
    pub ids: Ids,
    /// What is known of the work.
    pub about: About,
    /// How it ended.
    pub verdict: Verdict,
    /// The copies that are known, in the order in which they were or would be tried.
    pub locations: Vec<Location>,
    /// The copy that was had.
    pub got: Option<Location>,
    /// The PDF, where there is one.
    pub stored: Option<Stored>,
    /// All that was asked and fetched.
    pub attempts: Vec<Attempt>,
    /// Who was not asked, since the key is missing.
    pub not_asked: Vec<SourceId>,
}

/// A PDF in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Where it is.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256, in hex.
    pub sha256: String,
    /// How many pages it has.
    pub pages: Option<u32>,
    /// Whether it is encrypted.
    pub encrypted: bool,
    /// Whether its MD5 is the one that the source gives; `None` where that gives none.
    pub md5_matches: Option<bool>,
    /// Where it came from, after redirects.
    pub url: Option<String>,
    /// What its server called it.
    pub content_type: Option<String>,
}

/// A question or a download, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Attempt {
    /// Which it was, from 1.
    pub n: u32,
    /// Whom it was to.
    pub source: SourceId,
    /// Which copy was fetched; without its query. `None` of a question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The last status, where there was an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// What came of it, in one word.
    pub outcome: &'static str,
    /// How many requests departed, robots.txt not counted.
    pub requests: u32,
    /// How long it took, with its waits, in milliseconds.
    pub took_ms: u64,
}

/// A paper on its way.
#[derive(Debug)]
pub(super) struct Way {
    pub(super) plan: Plan,
    attempts: Vec<Attempt>,
}

impl Way {
    pub(super) fn new(plan: Plan) -> Self {
        Self {
            plan,
            attempts: Vec::new(),
        }
    }

    /// Takes an answer, and how many requests were made for it: none where it came with that of another paper.
    pub(super) fn note(
        &mut self,
        question: &Question,
        answer: &Answer<Finding>,
        requests: u32,
        took: Duration,
    ) {
        let (outcome, status, requests) = match answer {
            Answer::Found(finding) => (told(question, finding), Some(200), requests),
            Answer::NotFound => (unknown(question), None, requests),
            Answer::Rejected(status) => ("rejected", Some(status.as_u16()), requests),
            Answer::Malformed(_) => ("malformed", Some(200), requests),
            Answer::Unavailable(why) => {
                let departed = why.until.is_none() && why.reason != Reason::NeedsKey;
                (
                    why.reason.label(),
                    why.status,
                    requests.min(u32::from(departed)),
                )
            }
        };
        self.push(question.source(), None, status, outcome, requests, took);
    }

    pub(super) fn note_fetch(&mut self, location: &Location, fetched: &Fetched, took: Duration) {
        let outcome = match &fetched.end {
            Ok(_) => "pdf",
            Err(miss) => miss.reason.label(),
        };
        let url = curtsy::core::audit::redacted(&location.url);
        let Fetched {
            status, requests, ..
        } = fetched;
        self.push(
            location.source,
            Some(url),
            *status,
            outcome,
            *requests,
            took,
        );
    }

    fn push(
        &mut self,
        source: SourceId,
        url: Option<String>,
        status: Option<u16>,
        outcome: &'static str,
        requests: u32,
        took: Duration,
    ) {
        self.attempts.push(Attempt {
            n: u32::try_from(self.attempts.len() + 1).unwrap_or(u32::MAX),
            source,
            url,
            status,
            outcome,
            requests,
            took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        });
    }

    /// The paper as its plan leaves it.
    pub(super) fn end(self, order: &Order) -> Paper {
        let plan = self.plan;
        Paper {
            given: order.given.clone(),
            id: order.id.clone(),
            ids: plan.ids().clone(),
            about: plan.about().clone(),
            verdict: plan.verdict(),
            locations: plan.locations().into_iter().cloned().collect(),
            got: plan.got().cloned(),
            stored: None,
            attempts: self.attempts,
            not_asked: plan.not_asked(),
        }
    }
}

/// In the words of the sidecar.
fn told(question: &Question, finding: &Finding) -> &'static str {
    match question {
        Question::Unpaywall(_) if finding.locations.is_empty() => "closed",
        Question::EuropePmc(_) if finding.locations.is_empty() => "no_open_full_text",
        _ => "ok",
    }
}

fn unknown(question: &Question) -> &'static str {
    match question {
        Question::Convert(_) | Question::PmcVersions(_) => "not_in_pmc",
        Question::Page(_) => "no_pdf",
        _ => "unknown_there",
    }
}

impl Paper {
    pub(super) fn had(order: Order, had: &Had) -> Self {
        let record = &had.sidecar;
        let extra = record.curtsy.as_ref();
        let mut ids = Ids::from(&order.id);
        ids.learn(&record.ids());
        Self {
            stored: Some(Stored {
                path: had.path.clone(),
                bytes: extra.and_then(|extra| extra.bytes).unwrap_or_default(),
                sha256: extra
                    .and_then(|extra| extra.sha256.clone())
                    .unwrap_or_default(),
                pages: None,
                encrypted: false,
                md5_matches: None,
                url: record.source_url.clone(),
                content_type: None,
            }),
            about: About {
                title: extra.and_then(|extra| extra.title.clone()),
                year: extra.and_then(|extra| extra.year),
                retracted: extra.and_then(|extra| extra.retracted),
                open: record.open_access,
                ..About::default()
            },
            given: order.given,
            id: order.id,
            ids,
            verdict: Verdict::there(Outcome::Had),
            locations: Vec::new(),
            got: None,
            attempts: Vec::new(),
            not_asked: Vec::new(),
        }
    }

    /// Who the copy came from.
    #[must_use]
    pub fn source(&self) -> Option<SourceId> {
        self.got.as_ref().map(|got| got.source)
    }

    /// Where a person opens it: an open copy or page that is known, or else where the identifier leads.
    #[must_use]
    pub fn link(&self) -> String {
        let known = self
            .locations
            .first()
            .map(|location| location.url.to_string());
        known.unwrap_or_else(|| self.id.link())
    }

    /// How many requests departed for it, robots.txt not counted.
    #[must_use]
    pub fn requests(&self) -> u32 {
        self.attempts.iter().map(|attempt| attempt.requests).sum()
    }
}

impl Stored {
    pub(super) fn new(path: &Path, pdf: &Pdf) -> Self {
        Self {
            path: path.to_owned(),
            bytes: pdf.verified.bytes,
            sha256: hex(&pdf.verified.sha256),
            pages: pdf.verified.pages,
            encrypted: pdf.verified.encrypted,
            md5_matches: pdf.md5_matches,
            url: Some(pdf.url.to_string()),
            content_type: pdf.content_type.clone(),
        }
    }
}
