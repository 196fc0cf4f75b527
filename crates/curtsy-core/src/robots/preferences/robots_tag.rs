//! X-Robots-Tag: words about indexing and the like.

use crate::robots::token::{ProductToken, names_everyone};
use crate::signal::read_date;
use crate::time::Timestamp;

/// The words without a value that are known. `index`, `follow` and `all` ask for nothing.
const WORDS: [&str; 9] = [
    "noindex",
    "nofollow",
    "noarchive",
    "nosnippet",
    "noimageindex",
    "notranslate",
    "indexifembedded",
    "noai",
    "noimageai",
];
/// What `none` stands for.
const NONE: [bool; WORDS.len()] = {
    let mut none = [false; WORDS.len()];
    (none[0], none[1]) = (true, true);
    none
};
/// The values of `max-image-preview`, the strictest first.
const IMAGE_PREVIEWS: [&str; 3] = ["none", "standard", "large"];
/// The longest date that is kept, in octets.
const MAX_DATE: usize = 64;

/// What the X-Robots-Tag fields of a response ask of one crawler: those for everyone and those for its
/// token together, of each directive the strictest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RobotsTag {
    words: [bool; WORDS.len()],
    /// Characters of text, `u64::MAX` for any number, which is written `-1`.
    max_snippet: Option<u64>,
    /// Index into [`IMAGE_PREVIEWS`].
    max_image_preview: Option<usize>,
    /// Seconds of video, as `max_snippet`.
    max_video_preview: Option<u64>,
    unavailable_after: Option<After>,
}

/// A date as told, and when it is where that can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct After {
    at: Option<Timestamp>,
    text: String,
}

impl RobotsTag {
    /// Adds the value of one field. A name with a colon, of a crawler and not of a directive with a value,
    /// makes what follows it that crawler's; what is not this one's is passed over, and so is every word
    /// that is not known.
    pub fn add(&mut self, value: &[u8], token: &ProductToken, now: Timestamp) {
        let text = String::from_utf8_lossy(value);
        let mut parts = text.split(',').map(str::trim).peekable();
        let mut is_for_us = true;
        while let Some(mut part) = parts.next() {
            while let Some((agent, rest)) = split_agent(part) {
                is_for_us = names_everyone(agent.as_bytes()) || token.is_named_by(agent.as_bytes());
                part = rest;
            }
            let Some((name, argument)) = part.split_once(':') else {
                if is_for_us {
                    self.add_word(part);
                }
                continue;
            };
            let mut argument = argument.trim().to_owned();
            if is(name, "unavailable_after") {
                // A comma behind the weekday or the day is the date's own. No directive begins with a digit.
                while let Some(more) =
                    parts.next_if(|part| part.starts_with(|first: char| first.is_ascii_digit()))
                {
                    argument = argument + ", " + more;
                }
            }
            if is_for_us {
                self.add_valued(name, &argument, now);
            }
        }
    }

    /// The directives in a fixed order, as `noindex` and `max-snippet:20`; at most one of each.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let limit = |name: &str, limit: u64| match limit {
            u64::MAX => format!("{name}:-1"),
            limit => format!("{name}:{limit}"),
        };
        let words = WORDS.iter().zip(self.words).filter(|(_, said)| *said);
        let valued = [
            self.max_snippet.map(|most| limit("max-snippet", most)),
            self.max_image_preview
                .map(|most| format!("max-image-preview:{}", IMAGE_PREVIEWS[most])),
            self.max_video_preview
                .map(|most| limit("max-video-preview", most)),
            self.unavailable_after
                .as_ref()
                .map(|after| format!("unavailable_after:{}", after.text)),
        ];
        words
            .map(|(word, _)| (*word).to_owned())
            .chain(valued.into_iter().flatten())
            .collect()
    }

    fn add_word(&mut self, word: &str) {
        if word.eq_ignore_ascii_case("none") {
            for (said, none) in self.words.iter_mut().zip(NONE) {
                *said |= none;
            }
        }
        let known = WORDS
            .iter()
            .position(|known| word.eq_ignore_ascii_case(known));
        if let Some(place) = known {
            self.words[place] = true;
        }
    }

    fn add_valued(&mut self, name: &str, argument: &str, now: Timestamp) {
        if is(name, "max-snippet") {
            self.max_snippet = stricter(self.max_snippet, read_limit(argument));
        } else if is(name, "max-video-preview") {
            self.max_video_preview = stricter(self.max_video_preview, read_limit(argument));
        } else if is(name, "max-image-preview") {
            let known = IMAGE_PREVIEWS.iter();
            let known = known
                .copied()
                .position(|known| argument.eq_ignore_ascii_case(known));
            self.max_image_preview = stricter(self.max_image_preview, known);
        } else if is(name, "unavailable_after") && is_printable(argument) {
            self.add_date(argument, now);
        }
    }

    /// The earliest is the strictest; one that cannot be read counts only where none can.
    fn add_date(&mut self, text: &str, now: Timestamp) {
        let at = read_date(text, now);
        let is_stricter = match &self.unavailable_after {
            None => true,
            Some(After { at: None, .. }) => at.is_some(),
            Some(After { at: Some(told), .. }) => at.is_some_and(|at| at < *told),
        };
        if is_stricter {
            let text = text.to_owned();
            self.unavailable_after = Some(After { at, text });
        }
    }
}

/// The crawler that a part begins with, and what it is told.
fn split_agent(part: &str) -> Option<(&str, &str)> {
    let (name, rest) = part.split_once(':')?;
    let name = name.trim_end();
    let is_directive = name
        .get(..4)
        .is_some_and(|head| head.eq_ignore_ascii_case("max-"))
        || is(name, "unavailable_after");
    let is_agent = !name.is_empty() && !name.contains(char::is_whitespace) && !is_directive;
    is_agent.then_some((name, rest.trim_start()))
}

fn is(name: &str, known: &str) -> bool {
    name.trim_end().eq_ignore_ascii_case(known)
}

fn stricter<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

fn read_limit(text: &str) -> Option<u64> {
    if text == "-1" {
        return Some(u64::MAX);
    }
    let digits = !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

fn is_printable(date: &str) -> bool {
    let printable = |octet| matches!(octet, b' '..=b'~');
    !date.is_empty() && date.len() <= MAX_DATE && date.bytes().all(printable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(values: &[&str]) -> String {
        let token = ProductToken::from_user_agent("FernBot/1");
        let mut tag = RobotsTag::default();
        for value in values {
            tag.add(
                value.as_bytes(),
                &token,
                Timestamp::from_secs(1_716_000_000),
            );
        }
        tag.words().join(" | ")
    }

    #[test]
    fn a_field_is_a_list_of_words_for_everyone_or_one_crawler() {
        for (values, expected) in [
            (&["noindex"][..], "noindex"),
            (&[" NoIndex ,nofollow"], "noindex | nofollow"),
            (&["none"], "noindex | nofollow"),
            (&["all", "index, follow"], ""),
            (&["noai, noimageai, nocache, "], "noai | noimageai"),
            (&["noarchive", "noindex"], "noindex | noarchive"),
            (&["fernbot: noindex, nofollow"], "noindex | nofollow"),
            (&["FernBot:noindex"], "noindex"),
            (&["*: noindex"], "noindex"),
            (&["mossbot: noindex, nofollow"], ""),
            (&["fern: noindex"], ""),
            (&["noarchive, mossbot: noindex, nofollow"], "noarchive"),
            (
                &["mossbot: noindex, fernbot: nofollow, noai"],
                "nofollow | noai",
            ),
            (
                &["nofollow", "fernbot: noindex", "mossbot: noai"],
                "noindex | nofollow",
            ),
            (&["no index, noindex nofollow"], ""),
            (&["", ",,", ":", "::", "fernbot:", "fernbot::noindex"], ""),
            (&["naïve, noindex"], "noindex"),
        ] {
            assert_eq!(words(values), expected, "{values:?}");
        }
    }

    #[test]
    fn the_colon_of_a_value_names_no_crawler_and_the_strictest_wins() {
        for (values, expected) in [
            (
                &["max-snippet:20, max-image-preview: standard, max-video-preview :-1"][..],
                "max-snippet:20 | max-image-preview:standard | max-video-preview:-1",
            ),
            (&["fernbot: max-snippet: 20"], "max-snippet:20"),
            (&["mossbot: max-snippet: 20"], ""),
            (&["max-snippet:-1", "max-snippet:0"], "max-snippet:0"),
            (
                &["max-snippet:7", "fernbot: max-snippet:70"],
                "max-snippet:7",
            ),
            (
                &["max-image-preview:large, max-image-preview:None"],
                "max-image-preview:none",
            ),
            (
                &["max-snippet:-2, max-snippet:x, max-snippet:, max-snippet:99999999999999999999"],
                "",
            ),
            (&["max-fun:3, noindex"], "noindex"),
        ] {
            assert_eq!(words(values), expected, "{values:?}");
        }
    }

    #[test]
    fn a_date_may_hold_commas_and_the_earliest_counts() {
        for (values, expected) in [
            (
                &["unavailable_after: 25 Jun 2010 15:00:00 PST"][..],
                "unavailable_after:25 Jun 2010 15:00:00 PST",
            ),
            (
                &["noarchive, unavailable_after: Friday, 25-Jun-10 15:00:00 PST, noindex"],
                "noindex | noarchive | unavailable_after:Friday, 25-Jun-10 15:00:00 PST",
            ),
            (
                &["fernbot: unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT, mossbot: noindex"],
                "unavailable_after:Fri, 25 Jun 2010 15:00:00 GMT",
            ),
            (
                &["mossbot: unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT"],
                "",
            ),
            (
                &[
                    "unavailable_after: 2031-01-01T00:00:00Z",
                    "unavailable_after: Thu, 25 Jun 2026 15:00:00 GMT",
                ],
                "unavailable_after:Thu, 25 Jun 2026 15:00:00 GMT",
            ),
            (
                &[
                    "unavailable_after: soon",
                    "unavailable_after: 2031-01-01T00:00:00Z",
                    "unavailable_after: never",
                ],
                "unavailable_after:2031-01-01T00:00:00Z",
            ),
            (&["unavailable_after:, unavailable_after: \u{1b}[31m"], ""),
        ] {
            assert_eq!(words(values), expected, "{values:?}");
        }
    }

    #[test]
    fn a_hostile_field_is_bounded() {
        let dates = "unavailable_after: ".to_owned() + &"1,".repeat(100_000);
        let agents = "a:".repeat(100_000);
        let known = "noindex, max-snippet:3, ".repeat(20_000);
        let told = words(&[&dates, &agents, &known]);
        assert_eq!(told, "noindex | max-snippet:3");
    }
}
