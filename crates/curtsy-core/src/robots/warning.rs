//! What was noticed in a file: parsing never fails, but it may have something to say.

use std::fmt;

/// One thing noticed in a robots.txt.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warning {
    /// The line it concerns, from 1; the last line that was read where it concerns what follows.
    pub line: u32,
    /// What it is.
    pub kind: WarningKind,
    /// The line without its comment, at most 80 octets of it; empty where the whole file is meant.
    pub text: String,
}

/// What can be noticed. None of it stops the rest of the file from being obeyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WarningKind {
    /// The body is over [`MAX_BODY`](super::MAX_BODY); what follows this line was not read.
    Cut,
    /// The body was UTF-16 with a mark; the RFC wants UTF-8.
    Utf16,
    /// The body looks like a web page or JSON.
    OtherDocument,
    /// A record with a name that is not known.
    UnknownRecord,
    /// A record that is known, has no say over access and is not obeyed: Host, Clean-param,
    /// Visit-time, Noindex and the like.
    NotObeyed,
    /// A line that is no record.
    NoRecord,
    /// A record name with a usual typing error; obeyed.
    Misspelt,
    /// A record without its colon; obeyed.
    NoColon,
    /// A rule, a Content-Usage or a Content-Signal before the first agent line; ignored.
    RuleBeforeAgent,
    /// A Crawl-delay or Request-rate before the first agent line; ignored.
    DelayBeforeAgent,
    /// An agent line that names nobody; the rules under it apply to nobody.
    EmptyAgent,
    /// A rule for us whose pattern begins with neither `/` nor `*`, so that it never matches.
    NeverMatches,
    /// A Crawl-delay that is no number of seconds; ignored.
    MalformedDelay,
    /// A Request-rate that cannot be understood; ignored.
    MalformedRate,
    /// A delay over [`MAX_DELAY`](super::MAX_DELAY); cut to it.
    ClampedDelay,
    /// A Sitemap without a value.
    EmptySitemap,
    /// A Content-Usage or Content-Signal for us that is no statement of preference; ignored.
    MalformedPreference,
    /// A Content-Usage for us beyond the 256 that are kept; ignored.
    TooManyPreferences,
}

impl WarningKind {
    /// The stable name, for logs and JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cut => "cut",
            Self::Utf16 => "utf16",
            Self::OtherDocument => "other_document",
            Self::UnknownRecord => "unknown_record",
            Self::NotObeyed => "not_obeyed",
            Self::NoRecord => "no_record",
            Self::Misspelt => "misspelt",
            Self::NoColon => "no_colon",
            Self::RuleBeforeAgent => "rule_before_agent",
            Self::DelayBeforeAgent => "delay_before_agent",
            Self::EmptyAgent => "empty_agent",
            Self::NeverMatches => "never_matches",
            Self::MalformedDelay => "malformed_delay",
            Self::MalformedRate => "malformed_rate",
            Self::ClampedDelay => "clamped_delay",
            Self::EmptySitemap => "empty_sitemap",
            Self::MalformedPreference => "malformed_preference",
            Self::TooManyPreferences => "too_many_preferences",
        }
    }

    fn describe(self) -> &'static str {
        match self {
            Self::Cut => "the file is too large; what follows was not read",
            Self::Utf16 => "the file is UTF-16",
            Self::OtherDocument => "the file looks like a web page or JSON",
            Self::UnknownRecord => "unknown record",
            Self::NotObeyed => "record noted, not obeyed",
            Self::NoRecord => "not a record",
            Self::Misspelt => "misspelt name, obeyed",
            Self::NoColon => "colon missing, obeyed",
            Self::RuleBeforeAgent => "rule before any agent line, ignored",
            Self::DelayBeforeAgent => "delay before any agent line, ignored",
            Self::EmptyAgent => "agent line that names nobody",
            Self::NeverMatches => "pattern begins with neither / nor *, never matches",
            Self::MalformedDelay => "not a number of seconds, ignored",
            Self::MalformedRate => "not a request rate, ignored",
            Self::ClampedDelay => "delay of more than a day, cut to a day",
            Self::EmptySitemap => "sitemap without a value",
            Self::MalformedPreference => "not a statement of preference, ignored",
            Self::TooManyPreferences => "more than 256 statements of preference, ignored",
        }
    }
}

impl fmt::Display for WarningKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.describe())
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.kind)?;
        if self.text.is_empty() {
            Ok(())
        } else {
            write!(f, ": {:?}", self.text)
        }
    }
}

/// The warnings of one file, bounded, since a web page of 500 KiB would have one a line.
#[derive(Clone, Debug, Default)]
pub(super) struct Warnings {
    kept: Vec<Warning>,
    left_off: u32,
}

impl Warnings {
    const MAX: usize = 64;
    const MAX_TEXT: usize = 80;

    pub(super) fn add(&mut self, line: u32, kind: WarningKind, text: &[u8]) {
        if self.kept.len() == Self::MAX {
            self.left_off = self.left_off.saturating_add(1);
            return;
        }
        let text = &text[..text.len().min(Self::MAX_TEXT)];
        let text = String::from_utf8_lossy(text).into_owned();
        self.kept.push(Warning { line, kind, text });
    }

    pub(super) fn sort(&mut self) {
        self.kept.sort_by_key(|warning| warning.line);
    }

    pub(super) fn kept(&self) -> &[Warning] {
        &self.kept
    }

    pub(super) fn left_off(&self) -> u32 {
        self.left_off
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_bounded_and_the_rest_is_counted() {
        let mut warnings = Warnings::default();
        for line in 0..100 {
            warnings.add(line, WarningKind::NoRecord, &[b'x'; 1000]);
        }
        assert_eq!(warnings.kept().len(), Warnings::MAX);
        assert_eq!(warnings.left_off(), 100 - Warnings::MAX as u32);
        assert!(
            warnings
                .kept()
                .iter()
                .all(|warning| warning.text.len() == Warnings::MAX_TEXT)
        );
    }

    #[test]
    fn a_warning_reads_as_a_sentence_with_its_line() {
        let mut warnings = Warnings::default();
        warnings.add(7, WarningKind::UnknownRecord, b"Mood: sunny");
        assert_eq!(
            warnings.kept()[0].to_string(),
            "line 7: unknown record: \"Mood: sunny\""
        );
    }
}
