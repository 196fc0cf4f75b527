//! Who could not be asked, in words.

use curtsy::core::Timestamp;
use curtsy_papers::{Answer, Reason, Unavailable};

use crate::failure::{Exit, Failure};
use crate::notices::clock;

/// Why an answer is none, and the exit code that says so.
pub(super) fn failure<T>(what: &str, answer: &Answer<T>) -> Failure {
    match answer {
        Answer::Unavailable(why) => Failure::new(exit(why.until), what, sentence(why)),
        Answer::NotFound => Failure::new(Exit::No, what, "nobody knows it"),
        Answer::Rejected(status) => Failure::new(
            Exit::No,
            what,
            format_args!("the question was not understood: {status}"),
        ),
        Answer::Malformed(how) => Failure::new(
            Exit::No,
            what,
            format_args!("the answer cannot be read: {how}"),
        ),
        Answer::Found(_) => Failure::silent(Exit::Done),
    }
}

/// What is to be had later is deferred.
pub(super) fn exit(until: Option<Timestamp>) -> Exit {
    until.map_or(Exit::No, |_| Exit::Deferred)
}

/// `eutils.ncbi.nlm.nih.gov: rate_limited; not before 2026-12-01 20:00:00 UTC`.
pub(super) fn sentence(why: &Unavailable) -> String {
    let mut text = format!("{}: {}", why.host, why.reason);
    if let Some(status) = why.status {
        text.push_str(&format!(", status {status}"));
    }
    if let Some(until) = why.until {
        text.push_str(&format!("; not before {}", clock(until)));
    }
    if why.reason == Reason::Robots {
        text.push_str("; --respect-robots-txt asks for that");
    }
    text
}
