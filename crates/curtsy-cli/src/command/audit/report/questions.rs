//! What whoever runs a server would ask, and the answers.

use curtsy::core::audit::verify::{Proof, Rule};

use super::gather::{Book, Page, PauseKind};
use super::picture::rate_words;
use crate::notices::short;

/// A question and its answer, both plain text.
pub(super) type Answered = (&'static str, String);

/// About everything that was sent.
pub(super) fn about_all(book: &Book, proof: &Proof) -> Vec<Answered> {
    let pages: Vec<&Page> = book.scopes.values().collect();
    let sum = |of: fn(&Page) -> u64| pages.iter().map(|page| of(page)).sum::<u64>();
    let departures = sum(|page| page.departures);
    let agents: Vec<&str> = book.agents.keys().map(String::as_str).collect();
    let versions: Vec<&str> = book.versions.keys().map(String::as_str).collect();
    let who = match agents.as_slice() {
        [] => {
            "It looked for no rules in any robots.txt, so that the log names no crawler.".to_owned()
        }
        agents => format!(
            "A crawler that obeys the rules of robots.txt for {}{}. The User-Agent of a request also holds the contact of whoever runs it, where one is configured.",
            list(agents),
            match versions.as_slice() {
                [] => String::new(),
                versions => format!(" (curtsy {})", list(versions)),
            }
        ),
    };
    let busiest = pages
        .iter()
        .map(|page| page.busiest_second)
        .max()
        .unwrap_or(0);
    let much = format!(
        "{} to {}. To no server more than {} within one second; holds and the pace that each server allowed are in the pictures below.",
        count(departures, "request", "requests"),
        count(pages.len() as u64, "server", "servers"),
        count(u64::from(busiest), "request", "requests"),
    );
    let disallowed = sum(|page| page.disallowed);
    let robots = match broken(proof, Rule::Robots) {
        0 if disallowed == 0 => "Yes. Every page that was asked for was allowed by the robots.txt of its site, whose rules are in the log; it forbade none of those in the list.".to_owned(),
        0 => format!("Yes. {} left out because robots.txt forbids that; everything that was asked for was allowed. The rules are in the log.", were(disallowed, "page was", "pages were")),
        number => format!("No: {} departed against it.", count(number, "request", "requests")),
    };
    let holds: u64 = pages
        .iter()
        .map(|page| page.pauses_of(PauseKind::Hold) as u64)
        .sum();
    let quiet = match broken(proof, Rule::Hold) {
        0 if holds == 0 => {
            "It was never asked to: no answer said so by Retry-After or a used-up quota.".to_owned()
        }
        0 => format!(
            "Yes, all {}. Nothing departed before the time that the server had named.",
            count(holds, "time", "times")
        ),
        number => format!(
            "No: {} departed in a time in which the server had asked for quiet.",
            count(number, "request", "requests")
        ),
    };
    let (refusals, failures) = (sum(|page| page.refusals), sum(|page| page.failures));
    let trouble = format!(
        "{} refused (429, 503 and the like), and {} failed. After a refusal the server was left alone, for as long as it said or for a time that doubles, and then asked more slowly.",
        were(refusals, "request was", "requests were"),
        count(failures, "request", "requests"),
    );
    let sure = if proof.violations.is_empty() {
        format!(
            "Every one of {} holds the hash of the one before, and every decision was made again from what stands in the log, with the same result. What is behind that is a log of the sender's own: your access log tells whether it is complete.",
            count(proof.summary.lines, "line", "lines")
        )
    } else {
        format!(
            "Not of this: {} that the log does not prove, listed below.",
            were(
                proof.violations.len() as u64,
                "place was found",
                "places were found"
            )
        )
    };
    vec![
        ("Who asked?", who),
        ("How much was that?", much),
        ("Was robots.txt obeyed?", robots),
        ("Did it stop when it was told to?", quiet),
        ("And when the server was in trouble?", trouble),
        ("How sure is all this?", sure),
    ]
}

/// About one scope.
pub(super) fn about(page: &Page) -> String {
    let mut text = count(page.departures, "request", "requests");
    if let Some(rate) = page.mean_rate() {
        text.push_str(&format!(
            " in {}, {} in the mean and at most {} within one second",
            short(page.span()),
            rate_words(rate),
            page.busiest_second
        ));
    }
    text.push('.');
    if page.refusals > 0 {
        text.push_str(&format!(" {} refused.", were(page.refusals, "was", "were")));
    }
    let holds = page.pauses_of(PauseKind::Hold) as u64;
    if holds > 0 {
        text.push_str(&format!(
            " It asked for quiet {}.",
            count(holds, "time", "times")
        ));
    }
    if page.disallowed > 0 {
        text.push_str(&format!(
            " {} left out by robots.txt.",
            were(page.disallowed, "page was", "pages were")
        ));
    }
    if page.suppressions > 0 {
        text.push_str(" It answered 403 and was then left alone.");
    }
    text
}

/// Each reason of a departure, as people are told it.
pub(super) fn reason_words(label: &str) -> &str {
    let reasons = [
        ("free", "nothing: it was free to be asked"),
        ("first_answer", "its first answer"),
        ("crawl_delay", "the Crawl-delay of robots.txt"),
        ("configured_delay", "a configured delay"),
        ("unstated_pace", "1–3 s, since it says nothing of pace"),
        ("rate", "the configured rate"),
        ("day_cap", "a day that had as many requests as it may have"),
        ("learned_rate", "the rate that it was found to bear"),
        (
            "concurrency",
            "the number of requests that it bears at once",
        ),
        ("retry_backoff", "the backoff of a page that had failed"),
        ("dynamic_delay", "the backoff after an overload"),
        ("probe", "the answer to a probe"),
        ("breaker_open", "a breaker that was open"),
        ("robots_unreachable", "its robots.txt"),
        ("quota", "the pace of its published quota"),
        ("quota_exhausted", "the reset of its quota"),
        ("server_hold", "the end of the time it had named"),
    ];
    let found = reasons.iter().find(|(name, _)| *name == label);
    found.map_or(label, |(_, words)| words)
}

fn broken(proof: &Proof, rule: Rule) -> u64 {
    let of = proof.violations.iter().filter(|of| of.rule == rule);
    of.count() as u64
}

pub(super) fn count(number: u64, one: &str, many: &str) -> String {
    format!(
        "{} {}",
        grouped(number),
        if number == 1 { one } else { many }
    )
}

fn were(number: u64, one: &str, many: &str) -> String {
    match number {
        0 => format!("No {one}"),
        number => count(number, one, many),
    }
}

/// A number with its thousands apart.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

fn list(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [more @ .., last] => format!("{} and {last}", more.join(", ")),
    }
}
