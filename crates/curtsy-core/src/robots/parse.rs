//! From lines to groups, and from groups to what applies to one crawler.

use super::body::{self, Body};
use super::delay::{Delays, MAX_DELAY, read_crawl_delay, read_request_rate};
use super::line::{self, Field, Line, Lines, Spelling};
use super::preferences::SitePreferences;
use super::rules::{Found, RuleSet};
use super::sitemap::Sitemaps;
use super::token::{ProductToken, names_everyone};
use super::warning::{WarningKind, Warnings};
use super::{Group, Robots};
use crate::time::duration_from_secs;

/// Reads a body for one crawler.
pub(super) fn parse(body: &[u8], token: &ProductToken) -> Robots {
    let body = body::prepare(body);
    let mut draft = Draft::new(token);
    draft.note_body(&body);
    let mut last = 1;
    for (number, line) in Lines::new(&body.text) {
        draft.read_line(number, line::content(line));
        last = number;
    }
    if body.cut {
        draft.warnings.add(last, WarningKind::Cut, b"");
    }
    draft.finish()
}

/// What has been read so far.
struct Draft<'a> {
    token: &'a ProductToken,
    step: Step,
    /// Whom the open group names: all agent lines since the last rule.
    group: Audience,
    /// Whom a delay would be for: the agent lines directly above. A delay closes no group (RFC 9309,
    /// 2.2.4), but agents that follow it have not been told it.
    delay_scope: Audience,
    named: bool,
    everyone_named: bool,
    ours: Side<'a>,
    everyones: Side<'a>,
    sitemaps: Sitemaps,
    warnings: Warnings,
}

/// What was read last, of all that matters to the next agent line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    BeforeAgents,
    AfterAgent,
    AfterDelay,
    AfterRule,
}

#[derive(Clone, Copy, Default)]
struct Audience {
    us: bool,
    everyone: bool,
}

/// What the groups of one audience hold, merged.
#[derive(Default)]
struct Side<'a> {
    rules: Vec<Found<'a>>,
    delays: Delays,
    preferences: SitePreferences,
}

impl<'a> Draft<'a> {
    fn new(token: &'a ProductToken) -> Self {
        Self {
            token,
            step: Step::BeforeAgents,
            group: Audience::default(),
            delay_scope: Audience::default(),
            named: false,
            everyone_named: false,
            ours: Side::default(),
            everyones: Side::default(),
            sitemaps: Sitemaps::default(),
            warnings: Warnings::default(),
        }
    }

    fn note_body(&mut self, body: &Body<'_>) {
        if body.utf16 {
            self.warnings.add(1, WarningKind::Utf16, b"");
        }
        if body::is_other_document(&body.text) {
            self.warnings.add(1, WarningKind::OtherDocument, b"");
        }
    }

    fn read_line(&mut self, at: u32, content: &'a [u8]) {
        let (field, value, spelling) = match line::read(content) {
            Line::Blank => return,
            Line::Record {
                field,
                value,
                spelling,
            } => (field, value, spelling),
            Line::Unknown => {
                return self.warnings.add(at, WarningKind::UnknownRecord, content);
            }
            Line::NoRecord => return self.warnings.add(at, WarningKind::NoRecord, content),
        };
        match spelling {
            Spelling::Exact => {}
            Spelling::Misspelt => self.warnings.add(at, WarningKind::Misspelt, content),
            Spelling::NoColon => self.warnings.add(at, WarningKind::NoColon, content),
        }
        let warning = match field {
            Field::UserAgent => self.open(value),
            Field::Allow => self.add_rule(true, at, content, value),
            Field::Disallow => self.add_rule(false, at, content, value),
            Field::CrawlDelay => self.add_crawl_delay(at, value),
            Field::RequestRate => self.add_request_rate(value),
            Field::Sitemap => self.sitemaps.add(value),
            Field::ContentUsage => self.add_wishes(|side| side.preferences.add_usage(value)),
            Field::ContentSignal => self.add_wishes(|side| side.preferences.add_signal(value)),
            Field::Reported => Some(WarningKind::NotObeyed),
        };
        if let Some(kind) = warning {
            self.warnings.add(at, kind, content);
        }
    }

    fn open(&mut self, agent: &[u8]) -> Option<WarningKind> {
        match self.step {
            Step::AfterAgent => {}
            Step::AfterDelay => self.delay_scope = Audience::default(),
            Step::BeforeAgents | Step::AfterRule => {
                self.group = Audience::default();
                self.delay_scope = Audience::default();
            }
        }
        self.step = Step::AfterAgent;
        if names_everyone(agent) {
            self.group.everyone = true;
            self.delay_scope.everyone = true;
            self.everyone_named = true;
        } else if self.token.is_named_by(agent) {
            self.group.us = true;
            self.delay_scope.us = true;
            self.named = true;
        }
        agent.is_empty().then_some(WarningKind::EmptyAgent)
    }

    fn add_rule(
        &mut self,
        allow: bool,
        line: u32,
        record: &'a [u8],
        pattern: &'a [u8],
    ) -> Option<WarningKind> {
        if self.step == Step::BeforeAgents {
            return Some(WarningKind::RuleBeforeAgent);
        }
        self.step = Step::AfterRule;
        let Audience { us, everyone } = self.audience();
        if !us && !everyone {
            return None;
        }
        match pattern.first() {
            // An empty pattern is legal and matches nothing.
            None => return None,
            Some(b'/' | b'*') => {}
            // Every path begins with a slash, so another first octet is never matched.
            Some(_) => return Some(WarningKind::NeverMatches),
        }
        let rule = Found {
            allow,
            line,
            record,
            pattern,
        };
        if us {
            self.ours.rules.push(rule);
        }
        if everyone {
            self.everyones.rules.push(rule);
        }
        None
    }

    /// Wishes are told to the agents above them, as rules are, but end no list of agents.
    fn add_wishes(
        &mut self,
        add: impl FnMut(&mut Side<'a>) -> Option<WarningKind>,
    ) -> Option<WarningKind> {
        if self.step == Step::BeforeAgents {
            return Some(WarningKind::RuleBeforeAgent);
        }
        self.sides(self.audience()).filter_map(add).last()
    }

    /// Whom a rule is kept for. Rules for everyone fall away where a group names us.
    fn audience(&self) -> Audience {
        Audience {
            us: self.group.us,
            everyone: self.group.everyone && !self.named,
        }
    }

    fn add_crawl_delay(&mut self, line: u32, value: &[u8]) -> Option<WarningKind> {
        let Some(scope) = self.begin_delay() else {
            return Some(WarningKind::DelayBeforeAgent);
        };
        let Some(secs) = read_crawl_delay(value) else {
            return Some(WarningKind::MalformedDelay);
        };
        for side in self.sides(scope) {
            side.delays.add_crawl_delay(line, secs);
        }
        (duration_from_secs(secs) > MAX_DELAY).then_some(WarningKind::ClampedDelay)
    }

    fn add_request_rate(&mut self, value: &[u8]) -> Option<WarningKind> {
        let Some(scope) = self.begin_delay() else {
            return Some(WarningKind::DelayBeforeAgent);
        };
        let Some(rate) = read_request_rate(value) else {
            return Some(WarningKind::MalformedRate);
        };
        for side in self.sides(scope) {
            side.delays.add_request_rate(rate);
        }
        (rate.interval > MAX_DELAY).then_some(WarningKind::ClampedDelay)
    }

    fn begin_delay(&mut self) -> Option<Audience> {
        match self.step {
            Step::BeforeAgents => return None,
            Step::AfterAgent | Step::AfterDelay => self.step = Step::AfterDelay,
            Step::AfterRule => {}
        }
        Some(self.delay_scope)
    }

    fn sides(&mut self, audience: Audience) -> impl Iterator<Item = &mut Side<'a>> {
        let ours = audience.us.then_some(&mut self.ours);
        ours.into_iter()
            .chain(audience.everyone.then_some(&mut self.everyones))
    }

    fn finish(mut self) -> Robots {
        let (group, side) = if self.named {
            (Group::Named, self.ours)
        } else if self.everyone_named {
            (Group::Everyone, self.everyones)
        } else {
            (Group::None, Side::default())
        };
        self.warnings.sort();
        Robots {
            group,
            rules: RuleSet::compile(&side.rules),
            delays: side.delays,
            preferences: side.preferences,
            sitemaps: self.sitemaps,
            warnings: self.warnings,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn read(file: &str) -> Robots {
        parse(file.as_bytes(), &ProductToken::from_user_agent("FernBot/1"))
    }

    #[test]
    fn a_delay_is_for_the_agents_directly_above_it() {
        for (file, expected) in [
            ("User-agent: FernBot\nCrawl-delay: 3", Some(3)),
            (
                "User-agent: FernBot\nUser-agent: MossBot\nCrawl-delay: 3",
                Some(3),
            ),
            ("User-agent: FernBot\nDisallow: /a\nCrawl-delay: 3", Some(3)),
            (
                "User-agent: FernBot\nCrawl-delay: 3\nUser-agent: MossBot\nCrawl-delay: 9",
                Some(3),
            ),
            (
                "User-agent: MossBot\nCrawl-delay: 3\nUser-agent: FernBot\nDisallow: /a",
                None,
            ),
            (
                "User-agent: MossBot\nCrawl-delay: x\nUser-agent: FernBot\nCrawl-delay: 9",
                Some(9),
            ),
            (
                "User-agent: FernBot\nSitemap: /x\nUser-agent: MossBot\nCrawl-delay: 3",
                Some(3),
            ),
            ("User-agent: *\nCrawl-delay: 3", Some(3)),
            (
                "User-agent: *\nCrawl-delay: 3\nUser-agent: FernBot\nDisallow:",
                None,
            ),
            ("Crawl-delay: 3\nUser-agent: FernBot", None),
            (
                "User-agent: FernBot\nCrawl-delay: 3\nCrawl-delay: 9\nCrawl-delay: 5",
                Some(9),
            ),
        ] {
            let expected = expected.map(Duration::from_secs);
            assert_eq!(read(file).crawl_delay(), expected, "{file:?}");
        }
    }

    #[test]
    fn a_delay_between_agents_closes_no_group() {
        let file = "User-agent: FernBot\nCrawl-delay: 3\nUser-agent: MossBot\nDisallow: /";
        assert!(!read(file).verdict_on_path(b"/x").allowed);
    }

    #[test]
    fn the_groups_that_apply_are_told() {
        for (file, expected) in [
            ("User-agent: *\nDisallow: /", Group::Everyone),
            (
                "User-agent: *\nDisallow: /\nUser-agent: fernbot",
                Group::Named,
            ),
            ("User-agent: MossBot\nDisallow: /", Group::None),
            ("", Group::None),
        ] {
            assert_eq!(read(file).group(), expected, "{file:?}");
        }
    }

    #[test]
    fn what_is_odd_is_told_with_its_line() {
        use WarningKind::*;
        for (file, expected) in [
            (
                "User-agent: *\nDisallow: /a # b\n\nAllow:\nSitemap: /x",
                vec![],
            ),
            ("Disallow: /\nUser-agent: *", vec![(1, RuleBeforeAgent)]),
            (
                "Crawl-delay: 1\r\rRequest-rate: 1/1",
                vec![(1, DelayBeforeAgent), (3, DelayBeforeAgent)],
            ),
            ("User-agent:\nDisallow: /", vec![(1, EmptyAgent)]),
            (
                "User-agent: *\nDisallow: a\nDisalow: /\nallow /",
                vec![(2, NeverMatches), (3, Misspelt), (4, NoColon)],
            ),
            ("User-agent: MossBot\nDisallow: not-for-us", vec![]),
            (
                "User-agent: *\nCrawl-delay: -1\nRequest-rate: 1/0",
                vec![(2, MalformedDelay), (3, MalformedRate)],
            ),
            (
                "User-agent: *\nCrawl-delay: 86400\nCrawl-delay: 86401",
                vec![(3, ClampedDelay)],
            ),
            (
                "Host: x\nMood: sunny\nwords\nSitemap:",
                vec![
                    (1, NotObeyed),
                    (2, UnknownRecord),
                    (3, NoRecord),
                    (4, EmptySitemap),
                ],
            ),
            ("<html>", vec![(1, OtherDocument), (1, NoRecord)]),
        ] {
            let robots = read(file);
            let told = robots
                .warnings()
                .iter()
                .map(|warning| (warning.line, warning.kind));
            assert_eq!(told.collect::<Vec<_>>(), expected, "{file:?}");
        }
    }

    #[test]
    fn a_file_that_is_too_large_says_where_it_was_cut() {
        let file = "User-agent: *\n".to_owned() + &"Disallow: /a\n".repeat(50_000);
        let robots = read(&file);
        let last = robots.warnings().last().unwrap();
        let expected = ((512_000 - 14) / 13 + 1, WarningKind::Cut);
        assert_eq!((last.line, last.kind), expected);
        let utf16 = "\u{FEFF}User-agent: *".encode_utf16();
        let utf16: Vec<u8> = utf16.flat_map(u16::to_le_bytes).collect();
        let robots = parse(&utf16, &ProductToken::from_user_agent("x"));
        assert_eq!(robots.warnings()[0].kind, WarningKind::Utf16);
        assert_eq!(robots.group(), Group::Everyone);
    }
}
