//! The answer to one line of `curtsy robots --jsonl`.

use curtsy_core::robots::{ProductToken, Robots, read_url};
use serde::Serialize;
use serde_json::Value as Json;

use super::OWN_NAME;
use super::question::Question;

/// Whether a URL may be fetched, and what else the file says. The field names are public interface.
#[derive(Debug, Serialize)]
pub(super) struct Answer {
    id: Json,
    allowed: bool,
    /// The record that decided, null where none matched.
    rule: Option<String>,
    /// Its line, from 1.
    line: Option<u32>,
    /// Seconds as the file tells them.
    crawl_delay_s: Option<f64>,
    sitemaps: Vec<String>,
}

impl Answer {
    /// Answers a question.
    ///
    /// # Errors
    /// It has no robots.txt, or no URL.
    pub(super) fn to(question: &Question) -> Result<Self, String> {
        let token =
            ProductToken::from_user_agent(question.user_agent.as_deref().unwrap_or(OWN_NAME));
        let robots = Robots::parse(&question.body()?, &token);
        let url = read_url(&question.url).map_err(|error| format!("url: {error}"))?;
        let verdict = robots.verdict(&url);
        Ok(Self {
            id: question.id.clone(),
            allowed: verdict.allowed,
            rule: verdict.rule.map(|rule| rule.text().into_owned()),
            line: verdict.rule.map(|rule| rule.line),
            crawl_delay_s: robots.told_crawl_delay_secs(),
            sitemaps: super::sitemaps(&robots, &url),
        })
    }

    /// As one line.
    pub(super) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(line: &str) -> String {
        Question::read(line)
            .and_then(|question| Answer::to(&question))
            .map_or_else(|why| why, |answer| answer.to_json())
    }

    #[test]
    fn an_answer_names_the_rule_and_its_line() {
        assert_eq!(
            answer(
                r#"{"id": 7, "robots": "User-agent: *\nDisallow: /a\nCrawl-delay: 1.5\nSitemap: /s.xml", "user_agent": "FernBot/2", "url": "https://example.org/a/b", "note": "x"}"#
            ),
            r#"{"id":7,"allowed":false,"rule":"Disallow: /a","line":2,"crawl_delay_s":1.5,"sitemaps":["https://example.org/s.xml"]}"#
        );
        assert_eq!(
            answer(r#"{"robots": "", "url": "https://example.org/"}"#),
            r#"{"id":null,"allowed":true,"rule":null,"line":null,"crawl_delay_s":null,"sitemaps":[]}"#
        );
    }

    #[test]
    fn what_is_no_url_is_told() {
        assert_eq!(
            answer(r#"{"robots": "", "url": "/a"}"#),
            "url: relative URL without a base"
        );
    }
}
