//! Why there is no PDF.

use std::fmt;

/// Why a paper, one of its copies or a look-up failed. The labels are public interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reason {
    /// All asked sources answered; none knows an open copy.
    Closed,
    /// It is open from a date on.
    Embargoed,
    /// What was given is no identifier.
    BadId,
    /// The registry does not know the identifier.
    UnknownId,
    /// An open page is known, and no PDF on it.
    NoPdf,
    /// 401, 402, 403 or 451, a login page, a challenge page, or a host that is left alone after one.
    Walled,
    /// robots.txt disallows the URL.
    Robots,
    /// A web page came in the place of a PDF.
    HtmlInstead,
    /// Something else came in the place of a PDF.
    NotPdf,
    /// The PDF has no end.
    Truncated,
    /// Nothing came.
    Empty,
    /// The PDF is of another work.
    WrongPaper,
    /// It is larger than allowed.
    TooLarge,
    /// It is not what its source says it is.
    Checksum,
    /// The server wants to be asked less often.
    RateLimited,
    /// What may be asked of the server in a day or so has been asked.
    QuotaSpent,
    /// The server failed.
    ServerError,
    /// The server took too long.
    Timeout,
    /// The server could not be reached, or what it sent is no HTTP.
    Network,
    /// The server could not prove who it is.
    Tls,
    /// The address is one that no server elsewhere may lead to.
    RefusedTarget,
    /// The redirects go in a circle, or there are too many of them.
    RedirectLoop,
    /// It has to wait longer than patience allows.
    Deferred,
    /// The source is asked only with a key.
    NeedsKey,
    /// The licence is none of those that were asked for.
    License,
    /// The work is retracted, and such are not wanted.
    RetractedSkipped,
    /// A source could not be asked, so that nobody knows that there is no open copy.
    Unavailable,
}

impl Reason {
    /// The stable label: snake_case.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Embargoed => "embargoed",
            Self::BadId => "bad_id",
            Self::UnknownId => "unknown_id",
            Self::NoPdf => "no_pdf",
            Self::Walled => "walled",
            Self::Robots => "robots",
            Self::HtmlInstead => "html_instead",
            Self::NotPdf => "not_pdf",
            Self::Truncated => "truncated",
            Self::Empty => "empty",
            Self::WrongPaper => "wrong_paper",
            Self::TooLarge => "too_large",
            Self::Checksum => "checksum",
            Self::RateLimited => "rate_limited",
            Self::QuotaSpent => "quota_spent",
            Self::ServerError => "server_error",
            Self::Timeout => "timeout",
            Self::Network => "network",
            Self::Tls => "tls",
            Self::RefusedTarget => "refused_target",
            Self::RedirectLoop => "redirect_loop",
            Self::Deferred => "deferred",
            Self::NeedsKey => "needs_key",
            Self::License => "license",
            Self::RetractedSkipped => "retracted_skipped",
            Self::Unavailable => "unavailable",
        }
    }
}

impl Reason {
    /// All of them.
    pub const ALL: [Self; 27] = [
        Self::Closed,
        Self::Embargoed,
        Self::BadId,
        Self::UnknownId,
        Self::NoPdf,
        Self::Walled,
        Self::Robots,
        Self::HtmlInstead,
        Self::NotPdf,
        Self::Truncated,
        Self::Empty,
        Self::WrongPaper,
        Self::TooLarge,
        Self::Checksum,
        Self::RateLimited,
        Self::QuotaSpent,
        Self::ServerError,
        Self::Timeout,
        Self::Network,
        Self::Tls,
        Self::RefusedTarget,
        Self::RedirectLoop,
        Self::Deferred,
        Self::NeedsKey,
        Self::License,
        Self::RetractedSkipped,
        Self::Unavailable,
    ];

    /// The one of that label.
    #[must_use]
    pub fn named(label: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.label() == label)
    }

    /// The reason in a sentence, for people.
    #[must_use]
    pub const fn explain(self) -> &'static str {
        match self {
            Self::Closed => "No source knows an open copy.",
            Self::Embargoed => "It is open from a date on.",
            Self::BadId => "There is no identifier in this line.",
            Self::UnknownId => "The registry does not know this DOI.",
            Self::NoPdf => "An open page is known, and no PDF on it.",
            Self::Walled => "A refusal, a login page or a challenge page came in place of the PDF.",
            Self::Robots => "The site's robots.txt disallows it.",
            Self::HtmlInstead => "A web page came in place of the PDF.",
            Self::NotPdf => "What came is no PDF.",
            Self::Truncated => "The PDF broke off, also when the rest was asked for.",
            Self::Empty => "Nothing came in place of the PDF.",
            Self::WrongPaper => "The PDF is of another work.",
            Self::TooLarge => "The PDF is larger than allowed.",
            Self::Checksum => "The PDF is not the one whose checksum the source gives.",
            Self::RateLimited => "The server wants to be left alone until then.",
            Self::QuotaSpent => "What the server grants for now has been used.",
            Self::ServerError => "The server failed.",
            Self::Timeout => "The server took too long.",
            Self::Network => "The server could not be reached.",
            Self::Tls => "The server could not prove who it is.",
            Self::RefusedTarget => "The address is one that no source may lead to.",
            Self::RedirectLoop => "The redirects have no end.",
            Self::Deferred => "It has to wait longer than allowed.",
            Self::NeedsKey => "The source is asked only with a key.",
            Self::License => "No copy has one of the licences that are wanted.",
            Self::RetractedSkipped => "The work was retracted.",
            Self::Unavailable => {
                "A source could not be asked, so nobody knows whether there is an open copy."
            }
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}
