//! The page.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use curtsy::Logs;
use curtsy::core::audit::verify::{Proof, Rule};
use curtsy::core::{Scope, Timestamp};
use sha2::{Digest, Sha256};

use super::escape::escape;
use super::gather::{Book, Page, PauseKind, in_focus};
use super::picture::{histogram, pace, rate_words};
use super::questions::{about, about_all, count, grouped, reason_words};
use crate::notices::short;

const STYLE: &str = include_str!("assets/report.css");
const SCRIPT: &str = include_str!("assets/report.js");

/// So many scopes have pictures: of those that were asked most, and of those that were in trouble.
const BUSIEST: usize = 24;
const TROUBLED: usize = 16;
/// So many of them are open from the beginning.
const OPEN: usize = 5;
/// So many have a row; of the rest the sum.
const ROWS: usize = 4_000;
/// So many violations are listed.
const VIOLATIONS: usize = 200;
/// So many holds and the like of one scope are listed.
const PAUSES: usize = 25;

/// Writes the page.
pub(super) fn write(book: &Book, proof: &Proof, logs: &Logs) -> String {
    let scopes = book.by_departures();
    let mut html = head();
    title(&mut html, book, proof, logs);
    tiles(&mut html, book, proof);
    questions(&mut html, book, proof);
    violations(&mut html, proof, logs);
    let focus = in_focus(&scopes, BUSIEST, TROUBLED);
    table(&mut html, &scopes, &focus);
    html.push_str("<section><h2>Server by server</h2>");
    if scopes.len() > focus.len() {
        let _ = write!(
            html,
            "<p class=\"soft\">{} of {}: those that were asked most, and those that were in trouble most.</p>",
            focus.len(),
            grouped(scopes.len() as u64)
        );
    }
    for (shown, place) in focus.iter().enumerate() {
        let (scope, page) = scopes[*place];
        section(&mut html, *place, shown < OPEN, scope, page);
    }
    html.push_str("</section>");
    foot(&mut html, proof);
    html
}

fn head() -> String {
    // Whatever stands in a log, no script runs but the one below, and nothing is loaded from anywhere.
    let policy = format!(
        "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'",
        hash(STYLE),
        hash(SCRIPT)
    );
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><meta name=\"robots\" content=\"noindex\">\
         <title>What was asked for, and how</title><style>{STYLE}</style></head><body>"
    )
}

fn hash(text: &str) -> String {
    STANDARD.encode(Sha256::digest(text))
}

fn title(html: &mut String, book: &Book, proof: &Proof, logs: &Logs) {
    let moment = |at: Option<Timestamp>| {
        let text = at.map(Timestamp::to_rfc3339).unwrap_or_default();
        text.get(..16).unwrap_or("–").replace('T', " ")
    };
    let _ = write!(
        html,
        "<header><h1>What was asked for, and how</h1><p>{} to {} UTC · {} · {}</p>",
        moment(book.first),
        moment(book.last),
        count(proof.summary.pipelines, "run", "runs"),
        count(logs.files().len() as u64, "log file", "log files"),
    );
    if proof.violations.is_empty() {
        html.push_str("<p class=\"verdict kept\"><strong>Every rule was kept.</strong> The log was replayed, and proves it.</p>");
    } else {
        let number = proof.violations.len() as u64 + proof.more_violations;
        let _ = write!(
            html,
            "<p class=\"verdict broken\"><strong>Not every rule was kept, as far as this log proves:</strong> {} below.</p>",
            count(number, "place is listed", "places are listed")
        );
    }
    html.push_str("</header><main>");
}

fn tiles(html: &mut String, book: &Book, proof: &Proof) {
    let pages = || book.scopes.values();
    let mut latencies = super::histogram::Histogram::default();
    pages().for_each(|page| latencies.merge(&page.latencies));
    let sum = |of: fn(&Page) -> u64| pages().map(of).sum::<u64>();
    let figures = [
        ("requests", grouped(proof.summary.departures)),
        ("servers", grouped(book.scopes.len() as u64)),
        ("of them robots.txt", grouped(sum(|page| page.kinds[1]))),
        ("refused", grouped(sum(|page| page.refusals))),
        ("times asked for quiet", grouped(proof.summary.holds)),
        ("left out by robots.txt", grouped(proof.summary.disallowed)),
        (
            "half answered within",
            latencies.quantile(0.5).map_or("–".to_owned(), short),
        ),
    ];
    html.push_str("<dl class=\"tiles\">");
    for (name, figure) in figures {
        let _ = write!(
            html,
            "<div><dd>{}</dd><dt>{name}</dt></div>",
            escape(&figure)
        );
    }
    html.push_str("</dl>");
}

fn questions(html: &mut String, book: &Book, proof: &Proof) {
    html.push_str("<section><h2>What you may want to know</h2><dl class=\"questions\">");
    for (question, answer) in about_all(book, proof) {
        let _ = write!(
            html,
            "<div><dt>{question}</dt><dd>{}</dd></div>",
            escape(&answer)
        );
    }
    html.push_str("</dl></section>");
}

fn violations(html: &mut String, proof: &Proof, logs: &Logs) {
    if proof.violations.is_empty() {
        return;
    }
    html.push_str("<section><h2>What the log does not prove</h2><ol class=\"violations\">");
    for violation in proof.violations.iter().take(VIOLATIONS) {
        let _ = write!(
            html,
            "<li><strong>{}</strong> {} <span class=\"soft\">{}, line {}</span></li>",
            violation.rule,
            escape(&violation.what),
            escape(&logs.file(violation.at.file).display().to_string()),
            violation.at.line,
        );
    }
    html.push_str("</ol>");
    let more = proof.violations.len().saturating_sub(VIOLATIONS) as u64 + proof.more_violations;
    if more > 0 {
        let _ = write!(html, "<p>and {} more</p>", grouped(more));
    }
    html.push_str("</section>");
}

/// A cell of the table: what is shown, and what it is sorted by.
struct Cell(String, f64);

fn table(html: &mut String, scopes: &[(&Scope, &Page)], focus: &[usize]) {
    html.push_str(
        "<section><h2>All servers</h2><p class=\"with-script\"><label>Show those that hold \
         <input id=\"filter\" type=\"search\" autocomplete=\"off\"></label> <span id=\"shown\" class=\"soft\"></span></p>\
         <div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"All servers\"><table id=\"servers\"><thead><tr>",
    );
    let columns = [
        "Server",
        "Requests",
        "In the mean",
        "Most in 1 s",
        "Shortest gap",
        "Refused",
        "Failed",
        "Holds",
        "By robots.txt",
        "Deferred",
        "Half within",
        "95 % within",
    ];
    for (nth, name) in columns.into_iter().enumerate() {
        let _ = write!(html, "<th scope=\"col\" data-column=\"{nth}\">{name}</th>");
    }
    html.push_str("</tr></thead><tbody>");
    for (nth, (scope, page)) in scopes.iter().take(ROWS).enumerate() {
        let name = escape(scope.as_str());
        let linked = if focus.contains(&nth) {
            format!("<a href=\"#s{nth}\">{name}</a>")
        } else {
            name
        };
        let _ = write!(html, "<tr><th scope=\"row\">{linked}</th>");
        for Cell(text, by) in cells(page) {
            let _ = write!(html, "<td data-by=\"{by}\">{}</td>", escape(&text));
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
    if let Some(rest) = scopes.get(ROWS..).filter(|rest| !rest.is_empty()) {
        let departures = rest.iter().map(|(_, page)| page.departures).sum();
        let _ = write!(
            html,
            "<p>And {} more, with {} in all.</p>",
            count(rest.len() as u64, "server", "servers"),
            count(departures, "request", "requests")
        );
    }
    html.push_str("</section>");
}

fn cells(page: &Page) -> [Cell; 11] {
    let number = |number: u64| {
        let text = if number == 0 {
            String::new()
        } else {
            grouped(number)
        };
        Cell(text, number as f64)
    };
    let time = |time: Option<std::time::Duration>| {
        let secs = time.map_or(-1.0, |time| time.as_secs_f64());
        Cell(time.map_or(String::new(), short), secs)
    };
    let rate = page.mean_rate();
    [
        number(page.departures),
        Cell(rate.map_or(String::new(), rate_words), rate.unwrap_or(-1.0)),
        number(u64::from(page.busiest_second)),
        time(page.gaps.least()),
        number(page.refusals),
        number(page.failures),
        number(page.pauses_of(PauseKind::Hold) as u64),
        number(page.disallowed),
        number(page.deferred),
        time(page.latencies.quantile(0.5)),
        time(page.latencies.quantile(0.95)),
    ]
}

fn section(html: &mut String, place: usize, is_open: bool, scope: &Scope, page: &Page) {
    let name = escape(scope.as_str());
    let open = if is_open { " open" } else { "" };
    let _ = write!(
        html,
        "<details id=\"s{place}\"{open}><summary><h3>{name}</h3></summary><p>{}</p>",
        escape(&about(page))
    );
    if page.departures > 0 {
        let _ = write!(
            html,
            "<figure>{}<figcaption>Requests a second over time{}. {}</figcaption></figure>",
            pace(page, scope.as_str()),
            allowed_words(page),
            LEGEND
        );
        html.push_str("<div class=\"pair\">");
        if page.gaps.count() > 0 {
            let picture = histogram(&page.gaps, "How far apart requests were");
            let _ = write!(
                html,
                "<figure>{picture}<figcaption>From one request to the next</figcaption></figure>"
            );
        }
        if page.latencies.count() > 0 {
            let picture = histogram(&page.latencies, "How long answers took");
            let _ = write!(
                html,
                "<figure>{picture}<figcaption>From a request to its answer</figcaption></figure>"
            );
        }
        html.push_str("</div>");
    }
    html.push_str("<div class=\"pair\">");
    facts(
        html,
        "Answers",
        page.statuses.iter().map(|(status, number)| {
            let name = status.map_or("no answer".to_owned(), |status| status.to_string());
            (name, grouped(*number))
        }),
    );
    let mut reasons: Vec<_> = page.reasons.iter().collect();
    reasons.sort_by_key(|(_, number)| std::cmp::Reverse(**number));
    facts(
        html,
        "What requests had waited for",
        reasons
            .into_iter()
            .map(|(reason, number)| (reason_words(reason).to_owned(), grouped(*number))),
    );
    facts(
        html,
        "robots.txt",
        page.files.iter().map(|(origin, file)| {
            let mut words = match file.access.as_str() {
                "rules" => count(
                    file.rules as u64,
                    "rule for this crawler",
                    "rules for this crawler",
                ),
                "allowed" => "there is none: all is allowed".to_owned(),
                "forbidden" => "forbidden, and so is all else".to_owned(),
                _ => "could not be read: nothing was asked for meanwhile".to_owned(),
            };
            if let Some(delay) = file.crawl_delay_ms {
                let delay = short(std::time::Duration::from_secs_f64(delay.max(0.0) / 1000.0));
                let _ = write!(words, ", Crawl-delay {delay}");
            }
            let _ = write!(words, "; read {}", count(file.reads, "time", "times"));
            (origin.clone(), words)
        }),
    );
    pauses(html, page);
    html.push_str("</div></details>");
}

const LEGEND: &str = "<span class=\"key line\">allowed</span> <span class=\"key hold\">asked for quiet</span> \
    <span class=\"key backoff\">backed off</span> <span class=\"key breaker\">out of order</span> \
    <span class=\"key suppression\">left alone</span> <span class=\"key refusal\">refused</span>";

fn allowed_words(page: &Page) -> String {
    let allowed = page.pace.steps().iter().filter_map(|step| step.allowed);
    let (least, most) = allowed.fold((f64::INFINITY, 0.0_f64), |(least, most), rate| {
        (least.min(rate), most.max(rate))
    });
    match (least, most) {
        (least, _) if least.is_infinite() => String::new(),
        (least, most) if rate_words(least) == rate_words(most) => {
            format!(", {} allowed", rate_words(most))
        }
        (least, most) => format!(", {} to {} allowed", rate_words(least), rate_words(most)),
    }
}

fn facts(html: &mut String, name: &str, facts: impl Iterator<Item = (String, String)>) {
    let mut rows = String::new();
    for (what, figure) in facts {
        let _ = write!(
            rows,
            "<tr><th scope=\"row\">{}</th><td>{}</td></tr>",
            escape(&what),
            escape(&figure)
        );
    }
    if !rows.is_empty() {
        let _ = write!(
            html,
            "<div><h4>{name}</h4><table class=\"facts\">{rows}</table></div>"
        );
    }
}

fn pauses(html: &mut String, page: &Page) {
    let told = page.pauses.iter().take(PAUSES).map(|pause| {
        let since = pause.since.to_rfc3339().replace('T', " ");
        let long = pause.until.map_or("until the end".to_owned(), |until| {
            format!("for {}", short(until.since(pause.since)))
        });
        let why = pause
            .trigger
            .as_deref()
            .map_or(String::new(), |why| format!(" ({why})"));
        (since, format!("{long}: {}{why}", pause.kind.sentence()))
    });
    facts(html, "When nothing was sent", told);
    let more = page.pauses.len().saturating_sub(PAUSES) as u64 + page.more_pauses;
    if more > 0 {
        let mut of = PauseKind::ALL
            .map(|kind| (kind, page.pauses_of(kind)))
            .to_vec();
        of.retain(|(_, number)| *number > 0);
        let of: Vec<String> = of
            .into_iter()
            .map(|(kind, number)| format!("{number} × {}", kind.sentence()))
            .collect();
        let _ = write!(
            html,
            "<p class=\"soft\">And {} more; of the first {}: {}.</p>",
            grouped(more),
            page.pauses.len(),
            of.join(", ")
        );
    }
}

fn foot(html: &mut String, proof: &Proof) {
    html.push_str("</main><footer><h2>What was proved, and how</h2><ul>");
    for rule in Rule::ALL {
        let broken = proof
            .violations
            .iter()
            .any(|violation| violation.rule == rule);
        let mark = if broken { "broken" } else { "kept" };
        let _ = write!(html, "<li class=\"{mark}\">{}</li>", rule.sentence());
    }
    let summary = &proof.summary;
    let _ = write!(
        html,
        "</ul><p>{} decisions and observations were made again from {} and came to the same. <code>curtsy audit verify</code> \
         does so again on the log itself. Its last lines:</p><ul class=\"hashes\">",
        grouped(summary.replayed),
        count(summary.lines, "line", "lines"),
    );
    for (pipeline, (seq, hash)) in proof.tails.iter().take(50) {
        let _ = write!(
            html,
            "<li><code>{}</code> line {seq}: <code>{}</code></li>",
            escape(pipeline),
            escape(hash)
        );
    }
    let _ = writeln!(
        html,
        "</ul></footer><script>{SCRIPT}</script></body></html>"
    );
}
