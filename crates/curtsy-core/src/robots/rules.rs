//! The rules that apply to one crawler, in the order in which they win, and the search among them.

use std::borrow::Cow;
use std::ops::Range;

use super::pattern::matches;
use super::spelling::{spell_path, spell_pattern, spell_query_values};

/// The most octets of paths that stars are tried on for one verdict, about 40 ms of work. A path of 500
/// octets meets 16,000 rules with stars before that, one of 8,000 meets 1,000.
const MAX_WORK: usize = 8 << 20;

/// A rule as it stands in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found<'a> {
    pub(super) allow: bool,
    pub(super) line: u32,
    /// The record without its comment.
    pub(super) record: &'a [u8],
    /// The path pattern; not empty.
    pub(super) pattern: &'a [u8],
}

/// Rules ready to be asked, the longest first and `Allow` before `Disallow` where they are equal, so
/// that the first hit is the verdict.
#[derive(Clone, Debug, Default)]
pub(super) struct RuleSet {
    /// One a rule, apart from the rest, so that the search runs over little memory.
    sieves: Vec<Sieve>,
    rules: Vec<Rule>,
    /// Records and spelt patterns of all rules.
    text: Vec<u8>,
    /// Whether any rule is compared with the other spelling of query values.
    asks_query_values: bool,
}

#[derive(Clone, Debug)]
struct Rule {
    record: Range<u32>,
    pattern: Range<u32>,
    line: u32,
    allow: bool,
    anchored: bool,
    query_values: bool,
}

/// The rule that decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hit<'a> {
    pub(super) allow: bool,
    pub(super) line: u32,
    pub(super) record: &'a [u8],
}

impl RuleSet {
    pub(super) fn compile(found: &[Found<'_>]) -> Self {
        let mut set = Self {
            rules: Vec::with_capacity(found.len()),
            text: Vec::with_capacity(found.iter().map(|rule| rule.record.len()).sum()),
            ..Self::default()
        };
        let mut ranks = Vec::with_capacity(found.len());
        for rule in found {
            set.add(rule, &mut ranks);
        }
        ranks.sort_unstable();
        set.arrange(&ranks);
        set
    }

    /// The rule that wins for a path with its query. Where that costs more than [`MAX_WORK`], the next
    /// `Disallow` that may match counts as matching: what is forbidden is never allowed to save time.
    pub(super) fn first_match(&self, path: &[u8]) -> Option<Hit<'_>> {
        if self.rules.is_empty() {
            return None;
        }
        let path = spell_path(path);
        let query_values = if self.asks_query_values {
            spell_query_values(&path).map(Cow::Owned)
        } else {
            None
        };
        let query_values = query_values.unwrap_or(Cow::Borrowed(&*path));
        let holds = Holds::of(&path);
        let mut work = 0;
        let winner = self.sieves.iter().zip(&self.rules).find(|(sieve, rule)| {
            if !sieve.may_match(&holds) {
                return false;
            }
            if work > MAX_WORK {
                return !rule.allow;
            }
            let path = if rule.query_values {
                &query_values
            } else {
                &path
            };
            matches(self.slice(&rule.pattern), rule.anchored, path, &mut work)
        });
        winner.map(|(_, rule)| Hit {
            allow: rule.allow,
            line: rule.line,
            record: self.slice(&rule.record),
        })
    }

    /// Every rule once, in the order of the file.
    pub(super) fn records(&self) -> Vec<(u32, String)> {
        let rules = self.rules.iter().filter(|rule| !rule.query_values);
        let mut records: Vec<_> = rules
            .map(|rule| (rule.line, in_ascii(self.slice(&rule.record))))
            .collect();
        records.sort_unstable();
        records
    }

    fn add(&mut self, found: &Found<'_>, ranks: &mut Vec<u64>) {
        let record = self.append(found.record);
        let begin = self.text.len();
        let spelt = spell_pattern(found.pattern, &mut self.text);
        let mut pattern = range(begin, self.text.len());
        let values = spell_query_values(self.slice(&pattern));
        if self.text[begin..] == *found.pattern && found.record.ends_with(found.pattern) {
            // Mostly the spelling changes nothing, and the end of the record serves.
            self.text.truncate(begin);
            pattern = range(begin - found.pattern.len(), begin);
        }
        let rule = Rule {
            record,
            pattern,
            line: found.line,
            allow: found.allow,
            anchored: spelt.anchored,
            query_values: false,
        };
        if let Some(values) = values {
            let twin = Rule {
                pattern: self.append(&values),
                query_values: true,
                ..rule.clone()
            };
            self.asks_query_values = true;
            ranks.push(rank(spelt.octets, rule.allow, self.rules.len()));
            self.rules.push(twin);
        }
        ranks.push(rank(spelt.octets, rule.allow, self.rules.len()));
        self.rules.push(rule);
    }

    /// Puts the rules in the order of their ranks, and a sieve before each.
    fn arrange(&mut self, ranks: &[u64]) {
        let ranked = ranks.iter().map(|rank| &self.rules[place(*rank)]);
        let rules: Vec<Rule> = ranked.cloned().collect();
        let sieves = rules.iter().map(|rule| {
            if rule.query_values {
                // A sieve looks at the plain spelling of a path, which is not what this is for.
                Sieve::OPEN
            } else {
                Sieve::of(self.slice(&rule.pattern))
            }
        });
        self.sieves = sieves.collect();
        self.rules = rules;
    }

    fn append(&mut self, octets: &[u8]) -> Range<u32> {
        let begin = self.text.len();
        self.text.extend_from_slice(octets);
        range(begin, self.text.len())
    }

    fn slice(&self, range: &Range<u32>) -> &[u8] {
        &self.text[range.start as usize..range.end as usize]
    }
}

/// A record with the octets beyond ASCII percent-encoded.
fn in_ascii(record: &[u8]) -> String {
    record.iter().fold(String::new(), |mut text, octet| {
        match octet {
            0x80.. => text.push_str(&format!("%{octet:02X}")),
            _ => text.push(char::from(*octet)),
        }
        text
    })
}

/// Where a rule comes among the others, the winner first: the precedence of RFC 9309, 2.2.2, and then
/// the order of the file. One number, since files of 20,000 rules are sorted by it.
fn rank(octets: u32, allow: bool, place: usize) -> u64 {
    let shortness = u64::from(u32::MAX - octets);
    shortness << 32 | u64::from(!allow) << 31 | place as u64
}

/// The place of a rule before ranking.
fn place(rank: u64) -> usize {
    (rank & 0x7FFF_FFFF) as usize
}

/// What a path must hold for a rule to be worth a closer look: three compares turn most rules away.
#[derive(Clone, Copy, Debug)]
struct Sieve {
    /// The first octets before any star, and which of them there are.
    head: u64,
    mask: u64,
    /// A bit for every pair of neighbouring octets in the pattern.
    pairs: u64,
}

impl Sieve {
    const OPEN: Self = Self {
        head: 0,
        mask: 0,
        pairs: 0,
    };

    fn of(pattern: &[u8]) -> Self {
        let literal = pattern.iter().take(8).take_while(|octet| **octet != b'*');
        let (head, mask) = literal
            .enumerate()
            .fold((0, 0), |(head, mask), (at, &octet)| {
                (head | u64::from(octet) << (8 * at), mask | 0xFF << (8 * at))
            });
        let mut pairs = 0;
        for pair in pattern.array_windows::<2>() {
            if !pair.contains(&b'*') {
                pairs |= pair_bit(*pair);
            }
        }
        Self { head, mask, pairs }
    }

    fn may_match(&self, holds: &Holds) -> bool {
        (holds.head ^ self.head) & self.mask == 0 && self.pairs & !holds.pairs == 0
    }
}

/// What a path holds, in the terms of [`Sieve`].
struct Holds {
    head: u64,
    pairs: u64,
}

impl Holds {
    fn of(path: &[u8]) -> Self {
        let head = path.iter().take(8).enumerate();
        Self {
            head: head.fold(0, |head, (at, &octet)| head | u64::from(octet) << (8 * at)),
            pairs: path
                .array_windows::<2>()
                .fold(0, |pairs, pair| pairs | pair_bit(*pair)),
        }
    }
}

fn pair_bit([first, second]: [u8; 2]) -> u64 {
    1 << ((first.wrapping_mul(7) ^ second.wrapping_mul(31)) % 64)
}

fn range(begin: usize, end: usize) -> Range<u32> {
    // A body has at most `MAX_BODY` octets, and each is spelt in three at most.
    let narrow = |at| u32::try_from(at).unwrap_or(u32::MAX);
    narrow(begin)..narrow(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(lines: &[&'static str]) -> RuleSet {
        let found = lines.iter().zip(1..).map(|(record, line)| {
            let (name, pattern) = record.split_once(": ").unwrap();
            Found {
                allow: name == "Allow",
                line,
                record: record.as_bytes(),
                pattern: pattern.as_bytes(),
            }
        });
        RuleSet::compile(&found.collect::<Vec<_>>())
    }

    #[test]
    fn the_longest_pattern_wins_and_allow_wins_a_tie() {
        let rules = rules(&[
            "Disallow: /",
            "Allow: /a",
            "Disallow: /a*",
            "Allow: /ab",
            "Disallow: /x$",
            "Allow: /x*",
            "Disallow: /café",
            "Allow: /caf%c3%a9",
        ]);
        for (path, line) in [
            ("/b", 1),
            ("/a", 3),
            ("/abc", 4),
            ("/x", 6),
            ("/café", 8),
            ("/CAF", 1),
        ] {
            let hit = rules.first_match(path.as_bytes()).unwrap();
            assert_eq!(hit.line, line, "{path}");
        }
    }

    #[test]
    fn equal_rules_are_told_by_the_first_line() {
        let rules = rules(&["Disallow: /a", "Disallow: /a", "Allow: /b", "Allow: /b"]);
        for (path, line) in [("/a", 1), ("/b", 3)] {
            let hit = rules.first_match(path.as_bytes()).unwrap();
            assert_eq!(hit.line, line, "{path}");
        }
        assert_eq!(rules.first_match(b"/c"), None);
    }

    #[test]
    fn a_query_value_is_equal_in_both_spellings_and_behind_a_star() {
        let rules = rules(&[
            "Disallow: /t?u=https%3A%2F%2Fx",
            "Disallow: /*?v=/in",
            "Disallow: /*w=/",
        ]);
        for (path, line) in [
            ("/t?u=https://x/y", Some(1)),
            ("/t?u=https%3a%2F%2fx", Some(1)),
            ("/q?v=/in", Some(2)),
            ("/q?v=%2Fin", Some(2)),
            ("/q?w=/", Some(3)),
            ("/q?x=%2F", None),
            ("/t?u=https", None),
        ] {
            let hit = rules.first_match(path.as_bytes());
            assert_eq!(hit.map(|hit| hit.line), line, "{path}");
        }
    }

    #[test]
    fn beyond_the_bound_of_work_what_may_be_forbidden_is() {
        for (record, octets, allowed) in [
            ("Disallow: /*a*b", 500, true),
            ("Disallow: /*a*b", 8000, false),
            ("Allow: /*a*b", 8000, true),
            ("Disallow: /ab*b", 8000, true),
        ] {
            let path = "/".to_owned() + &"a".repeat(octets);
            let hit = rules(&[record; 5000])
                .first_match(path.as_bytes())
                .map(|hit| hit.allow);
            assert_eq!(hit.unwrap_or(true), allowed, "{record} {octets}");
        }
    }

    #[test]
    fn the_sieve_lets_through_whatever_matches() {
        for (pattern, path) in [
            ("/a", "/a"),
            ("/abcdefgh", "/abcdefghi"),
            ("/abcdefgh*ij", "/abcdefgh-ij"),
            ("/a*b", "/a/b"),
            ("*z", "/z"),
            ("/é$", "/é"),
        ] {
            let (mut spelt, path) = (Vec::new(), spell_path(path.as_bytes()));
            spell_pattern(pattern.as_bytes(), &mut spelt);
            assert!(Sieve::of(&spelt).may_match(&Holds::of(&path)), "{pattern}");
        }
        let holds = Holds::of(b"/short");
        assert!(!Sieve::of(b"/shore").may_match(&holds), "head");
        assert!(!Sieve::of(b"/short-and").may_match(&holds), "longer");
        assert!(!Sieve::of(b"*zq").may_match(&holds), "pairs");
    }
}
