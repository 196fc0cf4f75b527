//! `curtsy robots`: what a robots.txt says about a URL.

mod answer;
mod question;
mod report;
mod site;

use std::io::Read;
use std::path::Path;

use curtsy_core::robots::{MAX_BODY, ProductToken, Robots, read_url, robots_url};
use url::{ParseError, Url};

use crate::args::{GlobalArgs, RobotsArgs};
use crate::failure::{Exit, Failure};
use crate::lines::{self, Lines};
use crate::output::{self, Results};
use answer::Answer;
use question::Question;
use report::Report;

/// The crawler that asks where none is named.
const OWN_NAME: &str = "curtsy";
/// The longest line of questions in bytes: room for the largest robots.txt that is read, in any escapes.
const LONGEST_QUESTION: usize = 16 << 20;

/// Answers one question about a site or a file, or a list of them.
///
/// # Errors
/// The file, the URL or the settings cannot be read, the state store failed, or standard output cannot be
/// written.
pub(crate) fn run(args: &RobotsArgs, global: &GlobalArgs) -> Result<Exit, Failure> {
    match (&args.jsonl, &args.url) {
        (Some(path), _) => answer_lines(path),
        (None, Some(text)) => {
            let url = read_url(text).map_err(|error| wrong_url(text, error))?;
            match &args.file {
                Some(path) => tell(path, &url, args),
                None => site::ask(args, text, global),
            }
        }
        (None, None) => Err(Failure::usage("robots", "a URL is needed; see --help")),
    }
}

fn wrong_url(text: &str, error: ParseError) -> Failure {
    match error {
        ParseError::RelativeUrlWithoutBase => Failure::usage(
            format_args!("{text:?}"),
            format_args!("{error}; write it whole, as https://example.org/page"),
        ),
        error => Failure::usage(format_args!("{text:?}"), error),
    }
}

/// Tells what a file says about one URL. Exit 1 where it is disallowed.
fn tell(path: &Path, url: &Url, args: &RobotsArgs) -> Result<Exit, Failure> {
    let mut body = Vec::new();
    // One octet more, so that the parser sees that there was more.
    lines::open(path)?
        .take(MAX_BODY as u64 + 1)
        .read_to_end(&mut body)
        .map_err(|error| Failure::usage(lines::name(path), error))?;
    let token = ProductToken::from_user_agent(args.agent.as_deref().unwrap_or(OWN_NAME));
    let robots = Robots::parse(&body, &token);
    let verdict = robots.verdict(url);
    let report = Report {
        url,
        token: &token,
        allowed: verdict.allowed,
        rule: verdict
            .rule
            .map(|rule| (rule.text().into_owned(), rule.line)),
        robots: Some(&robots),
        origin: None,
    };
    report.print(args.json)
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
