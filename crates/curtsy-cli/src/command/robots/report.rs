//! What a robots.txt says about one URL, for people and for programs.

use std::time::Duration;

use curtsy_core::robots::{Group, ProductToken, RequestRate, Robots, Wishes};
use serde_json::{Map, Value as Json, json};
use url::Url;

use super::site::Origin;
use crate::failure::{Exit, Failure, one_line};
use crate::notices::short;
use crate::output::Results;

/// The verdict on a URL and all that stands beside it.
pub(super) struct Report<'a> {
    pub(super) url: &'a Url,
    pub(super) token: &'a ProductToken,
    pub(super) allowed: bool,
    /// The rule that decided, and its line.
    pub(super) rule: Option<(String, u32)>,
    /// The file, where there is one.
    pub(super) robots: Option<&'a Robots>,
    /// How it was come by, where it was not given.
    pub(super) origin: Option<Origin>,
}

impl Report<'_> {
    /// Prints it; exit 1 where the URL is not allowed.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(super) fn print(&self, json: bool) -> Result<Exit, Failure> {
        let mut results = Results::start();
        if json {
            results.line(&self.in_json().to_string())?;
        } else {
            for line in self.in_words() {
                // A file may hold terminal escapes.
                results.line(&one_line(&line))?;
            }
        }
        results.finish()?;
        Ok(if self.allowed { Exit::Done } else { Exit::No })
    }

    fn in_words(&self) -> Vec<String> {
        let verdict = if self.allowed {
            "allowed"
        } else {
            "disallowed"
        };
        let mut lines = vec![format!("{verdict} {}", self.url)];
        let mut tell = |line: String| lines.push(format!("  {line}"));
        if let Some(robots) = self.robots {
            tell(match &self.rule {
                Some((rule, line)) => format!("rule: {rule}, line {line}"),
                None => "rule: none matches".to_owned(),
            });
            tell(match robots.group() {
                Group::Named => format!("group: for {}", self.token),
                Group::Everyone => "group: for everyone (*)".to_owned(),
                Group::None => format!("group: none for {}", self.token),
            });
            if let Some(delay) = robots.told_crawl_delay_secs() {
                tell(format!("Crawl-delay: {delay} s"));
            }
            for rate in robots.request_rates() {
                tell(rate_in_words(rate));
            }
            for sitemap in super::sitemaps(robots, self.url) {
                tell(format!("sitemap: {sitemap}"));
            }
            for (name, wishes) in self.wishes(robots) {
                let told: Vec<_> = wishes
                    .told()
                    .map(|(key, word)| format!("{key}={word}"))
                    .collect();
                if !told.is_empty() {
                    tell(format!("{name}: {}", told.join(", ")));
                }
            }
        }
        if let Some(origin) = &self.origin {
            tell(format!("file: {}", origin.in_words()));
        }
        if let Some(robots) = self.robots {
            for warning in robots.warnings() {
                tell(warning.to_string());
            }
            if robots.warnings_left_off() > 0 {
                tell(format!("and {} more", robots.warnings_left_off()));
            }
        }
        lines
    }

    /// The field names are public interface.
    fn in_json(&self) -> Json {
        let mut told = json!({
            "url": self.url.as_str(),
            "agent": self.token.as_str(),
            "allowed": self.allowed,
            "rule": self.rule.as_ref().map(|(rule, _)| rule),
            "line": self.rule.as_ref().map(|(_, line)| line),
            "file": self.origin.as_ref().map(Origin::in_json),
        });
        let Some(robots) = self.robots else {
            return told;
        };
        let [usage, signal] = self.wishes(robots).map(|(_, wishes)| {
            let told = wishes.told();
            Json::Object(Map::from_iter(
                told.map(|(key, word)| (key.to_owned(), word.into())),
            ))
        });
        let rates = robots.request_rates().iter().map(|rate| {
            json!({
                "interval_s": rate.interval.as_secs_f64(),
                "from": rate.minutes.map(|(first, _)| clock(first)),
                "to": rate.minutes.map(|(_, last)| clock(last)),
            })
        });
        let warnings = robots.warnings().iter().map(|warning| {
            json!({ "line": warning.line, "kind": warning.kind.as_str(), "text": warning.text })
        });
        for (name, value) in [
            (
                "group",
                match robots.group() {
                    Group::Named => "named".into(),
                    Group::Everyone => "everyone".into(),
                    Group::None => Json::Null,
                },
            ),
            ("crawl_delay_s", robots.told_crawl_delay_secs().into()),
            ("request_rates", rates.collect()),
            ("sitemaps", super::sitemaps(robots, self.url).into()),
            ("content_usage", usage),
            ("content_signal", signal),
            ("warnings", warnings.collect()),
            ("warnings_left_off", robots.warnings_left_off().into()),
        ] {
            told[name] = value;
        }
        told
    }

    fn wishes(&self, robots: &Robots) -> [(&'static str, Wishes); 2] {
        [
            ("Content-Usage", robots.content_usage(self.url)),
            ("Content-Signal", robots.content_signal()),
        ]
    }
}

fn rate_in_words(rate: &RequestRate) -> String {
    let interval = if rate.interval < Duration::from_millis(100) {
        format!("{:.3} ms", rate.interval.as_secs_f64() * 1000.0)
    } else {
        short(rate.interval)
    };
    match rate.minutes {
        None => format!("Request-rate: one in {interval}"),
        Some((first, last)) => format!(
            "Request-rate: one in {interval}, {} to {} UTC",
            clock(first),
            clock(last)
        ),
    }
}

/// A minute of the day.
fn clock(minute: u16) -> String {
    format!("{:02}:{:02}", minute / 60, minute % 60)
}
