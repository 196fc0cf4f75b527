//! What a file says about one URL, and by which line.

use std::borrow::Cow;

/// Whether a URL may be fetched, and the rule that said so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict<'a> {
    /// Whether the URL may be fetched.
    pub allowed: bool,
    /// The rule that won; `None` where none matched, which allows.
    pub rule: Option<Rule<'a>>,
}

impl<'a> Verdict<'a> {
    pub(super) const UNRULED: Self = Self {
        allowed: true,
        rule: None,
    };
}

/// A rule of the file, for telling people about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule<'a> {
    /// The octets of the record as the file has them, without its comment.
    pub record: &'a [u8],
    /// The line on which it stands, from 1.
    pub line: u32,
}

impl<'a> Rule<'a> {
    /// The record as text, such as `Disallow: /private/`; octets that are no UTF-8 are replaced.
    #[must_use]
    pub fn text(&self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.record)
    }
}
