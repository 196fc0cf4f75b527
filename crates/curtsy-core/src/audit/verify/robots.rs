//! Whether what departed was allowed to, by the robots.txt that was read for it.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use url::Url;

use crate::Origin;
use crate::audit::redacted::QUERY;
use crate::audit::{Cited, RobotsRead};
use crate::robots::Robots;

/// So many readings of one file may come while a request waits at the gate.
const MOST: usize = 64;

/// The readings of a pipeline.
#[derive(Debug, Default)]
pub(super) struct Readings {
    by_number: HashMap<u64, Rc<Reading>>,
    /// The last readings of each origin for each crawler: a request may have been waiting at the gate when the
    /// file was read anew.
    last: HashMap<(String, String), VecDeque<u64>>,
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
        let key = (read.origin.clone(), read.agent.clone());
        let last = self.last.entry(key).or_default();
        let before = last.back().and_then(|number| self.by_number.get(number));
        let is_same =
            |before: &&Rc<Reading>| before.access == read.access && before.rules == read.rules;
        // Mostly a file says what it said before.
        let reading = match before.filter(is_same) {
            Some(before) => Rc::clone(before),
            None => Rc::new(Reading {
                origin: read.origin.clone(),
                access: read.access.clone(),
                rules: read.rules.clone(),
                robots: Robots::of_records(&read.rules),
            }),
        };
        last.push_back(read.reading);
        if last.len() > MOST
            && let Some(oldest) = last.pop_front()
        {
            self.by_number.remove(&oldest);
        }
        self.by_number.insert(read.reading, reading);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(reading: u64, access: &str) -> RobotsRead {
        let rules = [
            (2, "Disallow: /no"),
            (4, "Allow: /no/but"),
            (5, "Disallow: /*?x"),
        ];
        RobotsRead {
            origin: "http://a.example:8080".to_owned(),
            access: access.to_owned(),
            crawl_delay_ms: None,
            reading,
            agent: "curtsy".to_owned(),
            rules: rules.map(|(line, text)| (line, text.to_owned())).to_vec(),
        }
    }

    #[test]
    fn o4_a_verdict_is_proved_by_the_rules_and_the_line_that_is_cited() {
        let mut readings = Readings::default();
        readings.take(&read(1, "rules"));
        readings.take(&read(2, "unreachable"));
        for (url, reading, line, expected) in [
            ("http://a.example:8080/a", 1, None, Some(Verdict::Proved)),
            (
                "http://a.example:8080/no/but",
                1,
                Some(4),
                Some(Verdict::Proved),
            ),
            ("http://a.example:8080/no/but", 1, Some(2), None),
            ("http://a.example:8080/no/but", 1, None, None),
            ("http://a.example:8080/no", 1, None, None),
            (
                "http://a.example:8080/a?[redacted]",
                1,
                None,
                Some(Verdict::WithoutQuery),
            ),
            ("http://a.example:8080/no?[redacted]", 1, None, None),
            (
                "http://a.example:8080/no?[redacted]",
                1,
                Some(4),
                Some(Verdict::WithoutQuery),
            ),
            ("http://a.example:8080/a?[redacted]", 1, Some(5), None),
            ("http://a.example:8080/a?[redacted]", 1, Some(9), None),
            ("http://b.example:8080/a", 1, None, None),
            ("http://a.example:8080/a", 2, None, None),
            ("http://a.example:8080/a", 3, None, None),
        ] {
            let judged = readings.judge(url, Some(&Cited { reading, line }));
            assert_eq!(
                judged.as_ref().ok(),
                expected.as_ref(),
                "{url} {line:?}: {judged:?}"
            );
        }
        assert!(readings.judge("http://a.example:8080/a", None).is_err());
    }

    #[test]
    fn a_file_that_is_read_again_and_again_takes_no_more_room() {
        let mut readings = Readings::default();
        for reading in 1..1_000 {
            readings.take(&read(reading, "rules"));
        }
        assert_eq!(readings.by_number.len(), MOST);
        let one = &readings.by_number[&999];
        assert!(
            readings
                .by_number
                .values()
                .all(|reading| Rc::ptr_eq(reading, one))
        );
    }
}
