//! What a server wants done with what it serves: reported, never enforced.
//!
//! None of this says anything about fetching. Read are X-Robots-Tag, Content-Usage
//! (draft-ietf-aipref-attach, as header and as record of robots.txt) and Content-Signal (Cloudflare, the
//! same two ways). What is malformed, unknown or meant for another crawler says nothing.

mod dictionary;
mod robots_tag;
mod site;
mod wishes;

use http::{HeaderMap, HeaderName};
use url::Url;

pub use robots_tag::RobotsTag;
pub(super) use site::SitePreferences;
pub use wishes::{Vocabulary, Wishes};

use super::{ProductToken, Robots};
use crate::time::Timestamp;

const X_ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");
const CONTENT_USAGE: HeaderName = HeaderName::from_static("content-usage");
const CONTENT_SIGNAL: HeaderName = HeaderName::from_static("content-signal");

/// What a server wants done with one response, by all that it says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preferences {
    /// The words of X-Robots-Tag.
    pub robots_tag: RobotsTag,
    /// Content-Usage, of robots.txt and of the response; a no of either stands.
    pub content_usage: Wishes,
    /// Content-Signal, likewise.
    pub content_signal: Wishes,
}

impl Default for Preferences {
    fn default() -> Self {
        Self {
            robots_tag: RobotsTag::default(),
            content_usage: Wishes::none(Vocabulary::ContentUsage),
            content_signal: Wishes::none(Vocabulary::ContentSignal),
        }
    }
}

impl Preferences {
    /// What a robots.txt says of a URL.
    #[must_use]
    pub fn of_robots(robots: &Robots, url: &Url) -> Self {
        Self {
            robots_tag: RobotsTag::default(),
            content_usage: robots.content_usage(url),
            content_signal: robots.content_signal(),
        }
    }

    /// Adds what the head of a response says to the crawler with this token. `now` decides the century
    /// of a date with a year of two digits.
    pub fn add_headers(&mut self, headers: &HeaderMap, token: &ProductToken, now: Timestamp) {
        for value in headers.get_all(X_ROBOTS_TAG) {
            self.robots_tag.add(value.as_bytes(), token, now);
        }
        for (name, wishes) in [
            (CONTENT_USAGE, &mut self.content_usage),
            (CONTENT_SIGNAL, &mut self.content_signal),
        ] {
            for value in headers.get_all(name) {
                wishes.add(Wishes::read(wishes.vocabulary(), value.as_bytes()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn preferences(robots: &str, headers: &[(HeaderName, &str)]) -> Preferences {
        let token = ProductToken::from_user_agent("FernBot/1");
        let robots = Robots::parse(robots.as_bytes(), &token);
        let url = Url::parse("https://orchard.example/a").unwrap();
        let mut preferences = Preferences::of_robots(&robots, &url);
        let headers = headers.iter().map(|(name, value)| {
            (
                name.clone(),
                HeaderValue::from_bytes(value.as_bytes()).unwrap(),
            )
        });
        let headers: HeaderMap = headers.collect();
        preferences.add_headers(&headers, &token, Timestamp::EPOCH);
        preferences
    }

    #[test]
    fn a_no_of_any_source_stands_and_the_two_vocabularies_are_kept_apart() {
        let told = preferences(
            "User-agent: *\nContent-Usage: train-ai=y, search=n\nContent-Signal: ai-train=no\n",
            &[
                (CONTENT_USAGE, "train-ai=n"),
                (CONTENT_USAGE, "search=y"),
                (CONTENT_SIGNAL, "ai-train=yes, search=yes"),
                (X_ROBOTS_TAG, "noai"),
                (X_ROBOTS_TAG, "fernbot: noindex"),
            ],
        );
        assert_eq!(
            told.content_usage.told().collect::<Vec<_>>(),
            [("train-ai", "n"), ("search", "n")]
        );
        assert_eq!(
            told.content_signal.told().collect::<Vec<_>>(),
            [("search", "yes"), ("ai-train", "no")]
        );
        assert_eq!(told.robots_tag.words(), ["noindex", "noai"]);
    }

    #[test]
    fn what_says_nothing_leaves_nothing() {
        assert_eq!(preferences("", &[]), Preferences::default());
        let told = preferences(
            "User-agent: *\nContent-Usage: train-ai\nContent-Signal: no\n",
            &[
                (CONTENT_USAGE, "train-ai=é"),
                (CONTENT_SIGNAL, "ai-train=n"),
                (X_ROBOTS_TAG, "all"),
            ],
        );
        assert_eq!(told, Preferences::default());
    }
}
