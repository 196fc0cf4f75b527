//! robots.txt (RFC 9309): what a file says to one crawler, and what is done when there is none.
//!
//! Supported: groups, product tokens, longest match, `*` and `$`, percent-encoding, the size limit and
//! byte order marks of the RFC; Crawl-delay with a delay scope of its own, Request-rate with times of
//! day, Sitemap; the usual typing errors. Everything works on octets and each match is bounded by the
//! lengths of pattern and path: nothing backtracks. So is the work of a verdict; a file that exhausts it
//! forbids what it may forbid.
//!
//! Not supported, and why: cutting long lines (it turns a rule into a wider one), a directory allowed
//! because its `index.html` is (no rule of the RFC), regular expressions. Visit-time, Host,
//! Clean-param and Noindex forbid nothing here; they are reported as [`Warning`]s with their line.
//! Content-Usage and Content-Signal are read and reported ([`Preferences`]); they forbid no fetching
//! either.
//!
//! The way of one file: a fetch ends in an [`Answer`], which [`record`] folds into what is stored of
//! the origin ([`Fetched`]); [`freshness`] says when to ask again, [`access`] what holds meanwhile.

mod access;
mod body;
mod delay;
mod expiry;
mod fetched;
mod line;
mod parse;
mod pattern;
mod place;
mod preferences;
mod record;
mod rules;
mod scan;
mod sitemap;
mod spelling;
mod token;
mod verdict;
mod warning;

use std::time::Duration;

use url::{Position, Url};

pub use access::{Access, Open, Reading, access};
pub use body::{MAX_BODY, cut_to_limit};
pub use delay::{MAX_DELAY, RequestRate};
pub use expiry::{Freshness, MAX_AGE, MAX_STALE, freshness, retry_after};
pub use fetched::{Failing, Fetched, StoredCopy, Unreachable, Validators};
pub use place::{read_url, robots_url};
pub use preferences::{Preferences, RobotsTag, Vocabulary, Wishes};
pub use record::{Answer, record};
pub use token::ProductToken;
pub use verdict::{Rule, Verdict};
pub use warning::{Warning, WarningKind};

use crate::time::Timestamp;
use delay::Delays;
use preferences::SitePreferences;
use rules::RuleSet;
use sitemap::Sitemaps;
use spelling::spell_path;
use warning::Warnings;

/// What a robots.txt says to one crawler.
#[derive(Clone, Debug)]
pub struct Robots {
    group: Group,
    rules: RuleSet,
    delays: Delays,
    preferences: SitePreferences,
    sitemaps: Sitemaps,
    warnings: Warnings,
}

/// Whose groups of a file apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Those that name the crawler's token; the ones for `*` are then void.
    Named,
    /// Those for `*`.
    Everyone,
    /// None: the file says nothing to this crawler.
    None,
}

impl Robots {
    /// Reads a file for one crawler. Whatever the octets are, this does not fail: every line that
    /// parses counts, and what was odd is in [`warnings`](Self::warnings). At most [`MAX_BODY`] octets
    /// are read, to the end of the last whole line.
    #[must_use]
    pub fn parse(body: &[u8], token: &ProductToken) -> Self {
        parse::parse(body, token)
    }

    /// Whether the file lets the crawler fetch a URL, by path and query. The host is not looked at: the
    /// caller asks the file of the URL's own origin (see [`robots_url`]).
    #[must_use]
    pub fn verdict(&self, url: &Url) -> Verdict<'_> {
        self.verdict_on_path(url[Position::BeforePath..Position::AfterQuery].as_bytes())
    }

    /// [`verdict`](Self::verdict) on a path with its query, as octets and in any spelling.
    #[must_use]
    pub fn verdict_on_path(&self, path: &[u8]) -> Verdict<'_> {
        let path = if path.is_empty() { b"/" } else { path };
        let Some(hit) = self.rules.first_match(path) else {
            return Verdict::UNRULED;
        };
        // RFC 9309, 2.2.2: "The /robots.txt URL is implicitly allowed."
        if !hit.allow && *spell_path(path) == *b"/robots.txt" {
            return Verdict::UNRULED;
        }
        let rule = Rule {
            record: hit.record,
            line: hit.line,
        };
        Verdict {
            allowed: hit.allow,
            rule: Some(rule),
        }
    }

    /// The rules in the order of the file: the line of each, and its record. Octets beyond ASCII are
    /// percent-encoded, which a match takes for the same.
    #[must_use]
    pub fn records(&self) -> Vec<(u32, String)> {
        self.rules.records()
    }

    /// A file that has these [`records`](Self::records), on the same lines, for every crawler.
    #[must_use]
    pub fn of_records(records: &[(u32, String)]) -> Self {
        let mut text = String::from("User-agent: *");
        let mut line = 1;
        for (number, record) in records {
            // No file that is read has more lines than octets.
            let to = (*number).min(MAX_BODY as u32).max(line + 1);
            (line..to).for_each(|_| text.push('\n'));
            text.push_str(record);
            line = to;
        }
        Self::parse(text.as_bytes(), &ProductToken::from_user_agent(""))
    }

    /// Whose groups apply to the crawler.
    #[must_use]
    pub fn group(&self) -> Group {
        self.group
    }

    /// The interval that the file asks for at `now`: the larger of its Crawl-delay and of those of its
    /// Request-rates that apply at this time of day, each at most [`MAX_DELAY`]. `None` where it has
    /// neither.
    #[must_use]
    pub fn delay(&self, now: Timestamp) -> Option<Duration> {
        self.delays.at(now)
    }

    /// The Crawl-delay alone, at most [`MAX_DELAY`]; of several the largest. Zero is a value.
    #[must_use]
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.delays.crawl_delay()
    }

    /// The Crawl-delay in seconds as the file tells it, however large: for reports, not for waiting.
    #[must_use]
    pub fn told_crawl_delay_secs(&self) -> Option<f64> {
        self.delays.told_secs()
    }

    /// The line of that Crawl-delay, from 1.
    #[must_use]
    pub fn crawl_delay_line(&self) -> Option<u32> {
        self.delays.crawl_delay_line()
    }

    /// The Request-rates as intervals.
    #[must_use]
    pub fn request_rates(&self) -> &[RequestRate] {
        self.delays.request_rates()
    }

    /// What the Content-Usage records wish for a URL. Says nothing about fetching.
    #[must_use]
    pub fn content_usage(&self, url: &Url) -> Wishes {
        let path = &url[Position::BeforePath..Position::AfterQuery];
        self.preferences.usage(path.as_bytes())
    }

    /// What the Content-Signal records wish for the whole site. Says nothing about fetching.
    #[must_use]
    pub fn content_signal(&self) -> Wishes {
        self.preferences.signal()
    }

    /// The sitemaps in the order of the file, each once; relative ones are resolved against `base`, the
    /// URL of the file.
    #[must_use]
    pub fn sitemaps(&self, base: &Url) -> Vec<String> {
        self.sitemaps.resolve(base)
    }

    /// What was noticed, by line; at most 64 of it.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        self.warnings.kept()
    }

    /// How many more warnings there were.
    #[must_use]
    pub fn warnings_left_off(&self) -> u32 {
        self.warnings.left_off()
    }
}
