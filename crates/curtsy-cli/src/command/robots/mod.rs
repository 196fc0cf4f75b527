//! `curtsy robots`: what a robots.txt says about a URL.

mod answer;
mod question;

use std::io::Read;
use std::path::Path;

use curtsy_core::robots::{Group, MAX_BODY, ProductToken, Robots, read_url, robots_url};
use url::Url;

use crate::args::RobotsArgs;
use crate::failure::{Exit, Failure};
use crate::lines::{self, Lines};
use crate::output::{self, Results};
use answer::Answer;
use question::Question;

/// The crawler that asks where none is named.
const OWN_NAME: &str = "curtsy";
/// The longest line of questions in bytes: room for the largest robots.txt that is read, in any escapes.
const LONGEST_QUESTION: usize = 16 << 20;

/// Answers one question about a file, or a list of them.
///
/// # Errors
/// The file or the URL cannot be read, or standard output cannot be written.
pub(crate) fn run(args: &RobotsArgs) -> Result<Exit, Failure> {
    match (&args.jsonl, &args.file, &args.url) {
        (Some(path), _, _) => answer_lines(path),
        (None, Some(path), Some(url)) => tell(path, args.agent.as_deref().unwrap_or(OWN_NAME), url),
        _ => Err(Failure::usage(
            "robots",
            "asking a site is not supported in this version; give its robots.txt with --file",
        )),
    }
}

/// Tells a person about one URL. Exit 1 where it is disallowed.
fn tell(path: &Path, agent: &str, url: &str) -> Result<Exit, Failure> {
    let mut body = Vec::new();
    // One octet more, so that the parser sees that there was more.
    lines::open(path)?
        .take(MAX_BODY as u64 + 1)
        .read_to_end(&mut body)
        .map_err(|error| Failure::usage(lines::name(path), error))?;
    let url = read_url(url).map_err(|error| Failure::usage(format_args!("{url:?}"), error))?;
    let token = ProductToken::from_user_agent(agent);
    let robots = Robots::parse(&body, &token);
    let verdict = robots.verdict(&url);

    let mut results = Results::start();
    results.line(&format!(
        "{} {url}",
        if verdict.allowed {
            "allowed"
        } else {
            "disallowed"
        }
    ))?;
    results.line(&match verdict.rule {
        Some(rule) => format!("  rule: {}, line {}", rule.text(), rule.line),
        None => "  rule: none matches".to_owned(),
    })?;
    results.line(&match robots.group() {
        Group::Named => format!("  group: for {token}"),
        Group::Everyone => "  group: for everyone (*)".to_owned(),
        Group::None => format!("  group: none for {token}"),
    })?;
    if let Some(delay) = robots.told_crawl_delay_secs() {
        results.line(&format!("  Crawl-delay: {delay} s"))?;
    }
    for sitemap in sitemaps(&robots, &url) {
        results.line(&format!("  sitemap: {sitemap}"))?;
    }
    for warning in robots.warnings() {
        results.line(&format!("  {warning}"))?;
    }
    if robots.warnings_left_off() > 0 {
        results.line(&format!("  and {} more", robots.warnings_left_off()))?;
    }
    results.finish()?;
    Ok(if verdict.allowed {
        Exit::Done
    } else {
        Exit::No
    })
}

/// Answers each line with one; exit 1 where one is no question.
fn answer_lines(path: &Path) -> Result<Exit, Failure> {
    let mut lines = Lines::open(path, LONGEST_QUESTION)?;
    let mut results = Results::start();
    let mut exit = Exit::Done;
    while let Some(line) = lines.next()? {
        match line
            .and_then(Question::read)
            .and_then(|question| Answer::to(&question))
        {
            Ok(answer) => results.line(&answer.to_json())?,
            Err(why) => {
                output::say(&format!("{}:{}: {why}", lines.name(), lines.number()));
                exit = Exit::No;
            }
        }
    }
    results.finish()?;
    Ok(exit)
}

fn sitemaps(robots: &Robots, url: &Url) -> Vec<String> {
    robots_url(url).map_or_else(Vec::new, |base| robots.sitemaps(&base))
}
