//! How the way to a paper ended.

use std::fmt;

use curtsy::core::Timestamp;
use jiff::civil::Date;
use serde::{Serialize, Serializer};

use super::{Miss, Plan, Standing};
use crate::reason::Reason;
use crate::source::SourceId;

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// In one word.
    pub outcome: Outcome,
    /// Why there is no PDF; `None` where there is one.
    pub reason: Option<Reason>,
    /// When to try again.
    pub retry: Option<Retry>,
    /// The host that is to blame, where one is.
    pub host: Option<String>,
    /// Its status.
    pub status: Option<u16>,
}

/// The end of a paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// A PDF was fetched.
    Pdf,
    /// It was there already.
    Had,
    /// There is no open copy, as far as all who were asked know.
    NotOpen,
    /// It was not had.
    Failed,
    /// It has to wait.
    Deferred,
}

/// When to try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// It would end the same way.
    Never,
    /// A person can open it.
    ByHand,
    /// In a while.
    Later,
    /// With another option.
    WithOption,
    /// From then on.
    At(Timestamp),
    /// From that day on.
    On(Date),
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Pdf,
        Self::Had,
        Self::NotOpen,
        Self::Failed,
        Self::Deferred,
    ];

    /// The stable label.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Pdf => "pdf",
            Self::Had => "had",
            Self::NotOpen => "not_open",
            Self::Failed => "failed",
            Self::Deferred => "deferred",
        }
    }

    /// The one of that label.
    #[must_use]
    pub fn named(label: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|outcome| outcome.label() == label)
    }
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.label())
    }
}

impl fmt::Display for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("never"),
            Self::ByHand => f.write_str("by hand"),
            Self::Later => f.write_str("later"),
            Self::WithOption => f.write_str("with option"),
            Self::At(time) => f.write_str(&time.to_rfc3339()),
            Self::On(date) => date.fmt(f),
        }
    }
}

impl Serialize for Retry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Verdict {
    /// A paper that ended before anybody was asked.
    #[must_use]
    pub fn failed(reason: Reason) -> Self {
        Self {
            outcome: Outcome::Failed,
            reason: Some(reason),
            retry: Some(retry(reason)),
            host: None,
            status: None,
        }
    }

    /// A paper that is there.
    #[must_use]
    pub fn there(outcome: Outcome) -> Self {
        Self {
            outcome,
            reason: None,
            retry: None,
            host: None,
            status: None,
        }
    }

    fn deferred(reason: Reason, until: Timestamp, host: &str, status: Option<u16>) -> Self {
        Self {
            outcome: Outcome::Deferred,
            reason: Some(reason),
            retry: Some(Retry::At(until)),
            host: Some(host.to_owned()),
            status,
        }
    }

    /// Not before then.
    #[must_use]
    pub fn until(&self) -> Option<Timestamp> {
        match self.retry {
            Some(Retry::At(time)) => Some(time),
            _ => None,
        }
    }
}

impl Plan {
    /// How it ends where there is no more to do.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        if self.got.is_some() {
            return Verdict::there(Outcome::Pdf);
        }
        if self.wishes.skip_retracted && self.about.retracted == Some(true) {
            return Verdict::failed(Reason::RetractedSkipped);
        }
        if let Some(deferred) = self.deferred() {
            return deferred;
        }
        // What nobody could be asked about may be open elsewhere, and what fails now may come later.
        let unproven = self.failed_source();
        let worst = self
            .copies
            .misses()
            .min_by_key(|miss| severity(miss.reason));
        if let Some(Miss {
            reason,
            host,
            status,
            ..
        }) = worst
        {
            let is_passing = self
                .copies
                .misses()
                .any(|miss| retry(miss.reason) == Retry::Later);
            let verdict = Verdict::failed(*reason);
            return Verdict {
                retry: if is_passing || unproven.is_some() {
                    Some(Retry::Later)
                } else {
                    verdict.retry
                },
                host: Some(host.clone()),
                status: *status,
                ..verdict
            };
        }
        if self.copies.lacks_license(&self.wishes) {
            return Verdict::failed(Reason::License);
        }
        if let Some(failed) = unproven {
            let verdict = Verdict::failed(Reason::Unavailable);
            return Verdict {
                host: failed.map(|why| why.host.clone()),
                status: failed.and_then(|why| why.status),
                ..verdict
            };
        }
        if self.about.open {
            return Verdict::failed(Reason::NoPdf);
        }
        if self.registered == Some(false) {
            return Verdict::failed(Reason::UnknownId);
        }
        self.not_open()
    }

    fn not_open(&self) -> Verdict {
        let (reason, retry) = match self.about.embargoed_until {
            Some(date) => (Reason::Embargoed, Retry::On(date)),
            None => (Reason::Closed, Retry::Never),
        };
        Verdict {
            outcome: Outcome::NotOpen,
            reason: Some(reason),
            retry: Some(retry),
            host: None,
            status: None,
        }
    }

    /// The first time at which somebody may be asked again who has put the paper off.
    fn deferred(&self) -> Option<Verdict> {
        let copies = self.copies.misses().filter_map(|miss| {
            let until = miss.until?;
            Some((
                until,
                Verdict::deferred(miss.reason, until, &miss.host, miss.status),
            ))
        });
        let sources = self
            .standings
            .values()
            .filter_map(|standing| match standing {
                Standing::Failed(Some(why)) => {
                    let until = why.until?;
                    Some((
                        until,
                        Verdict::deferred(why.reason, until, &why.host, why.status),
                    ))
                }
                _ => None,
            });
        let first = copies.chain(sources).min_by_key(|(until, _)| *until);
        first.map(|(_, verdict)| verdict)
    }

    /// Whether a source failed to say what it knows, and how. One without its key was not asked, and does not count;
    /// nor does the page, whose failure is that of a copy.
    fn failed_source(&self) -> Option<Option<&crate::answer::Unavailable>> {
        self.standings
            .iter()
            .find_map(|(source, standing)| match standing {
                Standing::Failed(Some(why)) if why.reason == Reason::NeedsKey => None,
                Standing::Failed(_) if *source == SourceId::LandingPage => None,
                Standing::Failed(why) => Some(why.as_ref()),
                _ => None,
            })
    }
}

/// When a reason may have gone away.
fn retry(reason: Reason) -> Retry {
    match reason {
        Reason::Closed | Reason::BadId | Reason::UnknownId => Retry::Never,
        Reason::NoPdf
        | Reason::Walled
        | Reason::Robots
        | Reason::RefusedTarget
        | Reason::RedirectLoop => Retry::ByHand,
        Reason::NeedsKey | Reason::License | Reason::RetractedSkipped | Reason::TooLarge => {
            Retry::WithOption
        }
        _ => Retry::Later,
    }
}

/// Which of several reasons says most: what a person can do something about comes first.
fn severity(reason: Reason) -> u8 {
    match reason {
        Reason::Walled => 0,
        Reason::Robots => 1,
        Reason::TooLarge => 2,
        Reason::WrongPaper | Reason::Checksum => 3,
        Reason::Truncated | Reason::Empty => 4,
        Reason::HtmlInstead | Reason::NotPdf => 5,
        Reason::RefusedTarget | Reason::RedirectLoop => 6,
        _ => 7,
    }
}
