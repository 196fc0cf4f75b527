//! The Content-Usage and Content-Signal records of a robots.txt.

use super::dictionary;
use super::wishes::{Vocabulary, Wishes};
use crate::robots::pattern::matches;
use crate::robots::spelling::{spell_path, spell_pattern};
use crate::robots::warning::WarningKind;

/// The most Content-Usage records that are kept for one crawler: enough for the sites that there are, and
/// little work for a URL.
const MAX_RULES: usize = 256;

/// The records that apply to one crawler.
#[derive(Clone, Debug)]
pub(in crate::robots) struct SitePreferences {
    usage: Vec<UsageRule>,
    signal: Wishes,
}

/// A Content-Usage record, `[path] key=y|n, …`.
#[derive(Clone, Debug)]
struct UsageRule {
    /// Spelt; empty where the record has no path and means all of them.
    pattern: Box<[u8]>,
    anchored: bool,
    /// Octets of the path, which decide.
    octets: u32,
    wishes: Wishes,
}

impl Default for SitePreferences {
    fn default() -> Self {
        Self {
            usage: Vec::new(),
            signal: Wishes::none(Vocabulary::ContentSignal),
        }
    }
}

impl SitePreferences {
    /// Adds the value of a Content-Usage. What is no statement of preference is told and ignored.
    pub(in crate::robots) fn add_usage(&mut self, value: &[u8]) -> Option<WarningKind> {
        if self.usage.len() == MAX_RULES {
            return Some(WarningKind::TooManyPreferences);
        }
        let (path, statement) = split(value);
        let Some(wishes) = dictionary::read(Vocabulary::ContentUsage, statement) else {
            return Some(WarningKind::MalformedPreference);
        };
        let mut pattern = Vec::with_capacity(path.len());
        let spelt = spell_pattern(path, &mut pattern);
        self.usage.push(UsageRule {
            pattern: pattern.into(),
            anchored: spelt.anchored,
            octets: spelt.octets,
            wishes,
        });
        None
    }

    /// Adds the value of a Content-Signal, likewise.
    pub(in crate::robots) fn add_signal(&mut self, value: &[u8]) -> Option<WarningKind> {
        match dictionary::read(Vocabulary::ContentSignal, value) {
            Some(wishes) => self.signal.add(wishes),
            None => return Some(WarningKind::MalformedPreference),
        }
        None
    }

    /// What is wished for a path with its query: by the longest record that matches, by all of them where
    /// several are as long. A shorter one plays no part.
    pub(in crate::robots) fn usage(&self, path: &[u8]) -> Wishes {
        let mut wishes = Wishes::none(Vocabulary::ContentUsage);
        if self.usage.is_empty() {
            return wishes;
        }
        // Of no more records than are kept, the work needs no bound of its own.
        let (path, mut longest, mut work) = (spell_path(path), 0, 0);
        for rule in &self.usage {
            if rule.octets < longest || !matches(&rule.pattern, rule.anchored, &path, &mut work) {
                continue;
            }
            if rule.octets > longest {
                longest = rule.octets;
                wishes = Wishes::none(Vocabulary::ContentUsage);
            }
            wishes.add(rule.wishes);
        }
        wishes
    }

    pub(in crate::robots) fn signal(&self) -> Wishes {
        self.signal
    }
}

/// Path and statement. Only a slash begins a path, which ends at the first blank.
fn split(value: &[u8]) -> (&[u8], &[u8]) {
    if value.first() != Some(&b'/') {
        return (&[], value);
    }
    let blank = value.iter().position(|octet| matches!(octet, b' ' | b'\t'));
    let (path, statement) = value.split_at(blank.unwrap_or(value.len()));
    (path, statement.trim_ascii_start())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robots::{ProductToken, Robots};

    fn read(file: &str) -> Robots {
        let token = ProductToken::from_user_agent("FernBot/1");
        Robots::parse(file.as_bytes(), &token)
    }

    fn wishes(robots: &Robots, path: &str) -> String {
        let url = url::Url::parse(&format!("https://orchard.example{path}")).unwrap();
        let told = robots.content_usage(&url);
        let told = told.told().map(|(key, word)| format!("{key}={word}"));
        told.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_longest_path_decides_and_equal_ones_combine() {
        let robots = read(
            "User-agent: *\n\
             Content-Usage: train-ai=n\n\
             Content-Usage: /open/ train-ai=y\n\
             Content-Usage: /open/\tsearch=y # a comment\n\
             Content-Usage: /open/shut train-ai=n, search=n\n\
             Content-Usage: /open/shut train-ai=y\n\
             Content-Usage: /*.pdf$   search=n\n\
             Content-Usage: /caf%c3%a9 search=y\n",
        );
        for (path, expected) in [
            ("/", "train-ai=n"),
            ("/open", "train-ai=n"),
            ("/open/", "train-ai=y search=y"),
            ("/open/shut", "train-ai=n search=n"),
            ("/a.pdf", "search=n"),
            ("/a.pdf?b", "train-ai=n"),
            ("/café", "search=y"),
        ] {
            assert_eq!(wishes(&robots, path), expected, "{path}");
        }
        assert_eq!(robots.warnings(), []);
    }

    #[test]
    fn a_record_is_for_the_groups_of_the_crawler_and_ends_no_list_of_agents() {
        for (file, expected, allowed) in [
            (
                "User-agent: *\nContent-Usage: train-ai=n\nUser-agent: FernBot\nDisallow: /x",
                "",
                true,
            ),
            (
                "User-agent: FernBot\nContent-Usage: train-ai=n\nUser-agent: MossBot\nDisallow: /",
                "train-ai=n",
                false,
            ),
            (
                "User-agent: MossBot\nContent-Usage: train-ai=n\nUser-agent: FernBot\nDisallow: /",
                "",
                false,
            ),
            (
                "User-agent: FernBot\nAllow: /\nContent-Usage: train-ai=y\nUser-agent: fernbot\n\
                 Content-Usage: train-ai=n\nUser-agent: *\nDisallow: /",
                "train-ai=n",
                true,
            ),
            ("Content-Usage: train-ai=n\nUser-agent: *", "", true),
        ] {
            let robots = read(file);
            assert_eq!(wishes(&robots, "/a"), expected, "{file:?}");
            let verdict = robots.verdict_on_path(b"/a");
            assert_eq!(verdict.allowed, allowed, "{file:?}");
        }
    }

    #[test]
    fn a_signal_is_for_its_group_and_a_no_of_it_stands() {
        for (file, expected) in [
            (
                "User-agent: *\nContent-Signal: search=yes, ai-train=no\nAllow: /",
                "search=yes ai-train=no",
            ),
            (
                "User-agent: *\nContent-Signals: ai-train=no\nContent-Signal: ai-train=yes",
                "ai-train=no",
            ),
            (
                "User-agent: *\nContent-Signal: ai-train=no\nUser-agent: FernBot\nAllow: /",
                "",
            ),
            ("User-agent: *\nContent-Signal: /a ai-train=no", ""),
        ] {
            let told = read(file).content_signal();
            let told = told.told().map(|(key, word)| format!("{key}={word}"));
            assert_eq!(told.collect::<Vec<_>>().join(" "), expected, "{file:?}");
        }
    }

    #[test]
    fn what_is_no_preference_is_told_with_its_line() {
        use WarningKind::*;
        let robots = read(
            "Content-Usage: train-ai=n\nUser-agent: *\nContent-Usage: /a train ai=n\n\
             Content-Usage: /a\nContent-Signal: train ai\nAllow: /\nUser-agent: MossBot\nContent-Usage: ===",
        );
        let told = robots.warnings().iter();
        let told: Vec<_> = told.map(|warning| (warning.line, warning.kind)).collect();
        let expected = [
            (1, RuleBeforeAgent),
            (3, MalformedPreference),
            (5, MalformedPreference),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn more_records_than_are_kept_are_told_and_leave_the_rest_as_it_was() {
        let many: String = (0..20_000)
            .map(|n| format!("Content-Usage: /{n}/*a*a*a*b train-ai=n\n"))
            .collect();
        let robots = read(&format!("User-agent: *\nDisallow: /shut\n{many}"));
        let last = robots.warnings().last().map(|warning| warning.kind);
        assert_eq!(last, Some(WarningKind::TooManyPreferences));
        assert_eq!(wishes(&robots, "/0/aaab"), "train-ai=n");
        assert_eq!(wishes(&robots, "/9999/aaab"), "");
        assert!(!robots.verdict_on_path(b"/shut").allowed);
    }
}
