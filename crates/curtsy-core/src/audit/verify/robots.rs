//! Whether what departed was allowed to, by the robots.txt that was read for it.

use std::collections::HashMap;
use std::rc::Rc;

use url::Url;

use crate::Origin;
use crate::audit::redacted::QUERY;
use crate::audit::{Cited, RobotsRead};
use crate::robots::Robots;

/// The readings of a pipeline.
#[derive(Debug, Default)]
pub(super) struct Readings {
    by_number: HashMap<u64, Rc<Reading>>,
    /// The last two readings of each origin for each crawler: a request may have been on its way to the gate
    /// when the file was read anew.
    last: HashMap<(String, String), [u64; 2]>,
}

#[derive(Debug)]
struct Reading {
    origin: String,
    access: String,
    rules: Vec<(u32, String)>,
    robots: Robots,
}

/// How far a verdict was proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The rules say so of this URL.
    Proved,
    /// As far as the rules can be asked without the query, which is not on record.
    WithoutQuery,
}

impl Readings {
    pub(super) fn take(&mut self, read: &RobotsRead) {
        let last = self
            .last
            .entry((read.origin.clone(), read.agent.clone()))
            .or_default();
        self.by_number.remove(&last[0]);
        *last = [last[1], read.reading];
        let reading = Reading {
            origin: read.origin.clone(),
            access: read.access.clone(),
            rules: read.rules.clone(),
            robots: Robots::of_records(&read.rules),
        };
        self.by_number.insert(read.reading, Rc::new(reading));
    }

    /// Whether the URL was allowed by what is cited; if not, why not.
    pub(super) fn judge(&self, url: &str, cited: Option<&Cited>) -> Result<Verdict, String> {
        let Some(cited) = cited else {
            return Err("no robots.txt was asked whether it may".to_owned());
        };
        let Some(reading) = self.by_number.get(&cited.reading) else {
            return Err(format!(
                "it cites reading {} of a robots.txt, which is not on record or was replaced",
                cited.reading
            ));
        };
        let (origin, path) = parts(url);
        let is_same = || {
            let whole = Url::parse(url).ok().and_then(|url| Origin::of(&url));
            whole.is_some_and(|origin| origin.as_str() == reading.origin)
        };
        if origin != reading.origin && !is_same() {
            return Err(format!("it cites the robots.txt of {}", reading.origin));
        }
        match reading.access.as_str() {
            "allowed" => return Ok(Verdict::Proved),
            "rules" => {}
            "forbidden" => return Err("its robots.txt is forbidden, and so is all else".to_owned()),
            _ => return Err("its robots.txt could not be read".to_owned()),
        }
        match path.strip_suffix(QUERY) {
            None => {
                let verdict = reading.robots.verdict_on_path(path.as_bytes());
                let line = verdict.rule.map(|rule| rule.line);
                match verdict.rule {
                    Some(rule) if !verdict.allowed => Err(format!(
                        "line {} of its robots.txt says {:?}",
                        rule.line,
                        rule.text()
                    )),
                    _ if line != cited.line => Err(format!(
                        "it cites {} of its robots.txt, but {} decides",
                        words(cited.line),
                        words(line)
                    )),
                    _ => Ok(Verdict::Proved),
                }
            }
            Some(path) => reading.judge_without_query(path, cited.line),
        }
    }
}

impl Reading {
    /// What can be said of a URL whose query is not on record: a longer path meets every rule that a shorter
    /// one meets, but for those that end in `$`, and perhaps an `Allow` that goes farther. That must be cited.
    fn judge_without_query(&self, path: &str, line: Option<u32>) -> Result<Verdict, String> {
        let path = format!("{path}?");
        let verdict = self.robots.verdict_on_path(path.as_bytes());
        let cited = line.map(|line| self.rules.iter().find(|(number, _)| *number == line));
        match (verdict.rule, cited) {
            (Some(rule), None) if !verdict.allowed => Err(format!(
                "line {} of its robots.txt says {:?}",
                rule.line,
                rule.text()
            )),
            (_, Some(None)) => Err("it cites a line of its robots.txt that is no rule".to_owned()),
            (_, Some(Some((line, record)))) if !is_allow(record) => {
                Err(format!("line {line} of its robots.txt says {record:?}"))
            }
            _ => Ok(Verdict::WithoutQuery),
        }
    }
}

fn is_allow(record: &str) -> bool {
    record
        .get(..5)
        .is_some_and(|begin| begin.eq_ignore_ascii_case("allow"))
}

fn words(line: Option<u32>) -> String {
    line.map_or("no rule".to_owned(), |line| format!("line {line}"))
}

/// The origin of a URL as it is written, and what follows.
fn parts(url: &str) -> (&str, &str) {
    let after = url.find("://").map_or(0, |at| at + 3);
    let path = url[after..].find('/').map_or(url.len(), |at| after + at);
    url.split_at(path)
}
