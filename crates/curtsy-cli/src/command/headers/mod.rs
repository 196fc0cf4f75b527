//! `curtsy headers`: how curtsy reads what a response says about pace.

mod head;
mod reading;

use std::io::{BufRead, Read};
use std::time::{SystemTime, UNIX_EPOCH};

use curtsy_core::Timestamp;

use crate::args::HeadersArgs;
use crate::failure::{Exit, Failure};
use crate::lines::{self, Lines, Reader};
use crate::output::{self, Results};
use reading::{Question, read};

/// The longest line in bytes.
const LONGEST_QUESTION: usize = 16 << 20;
/// The most that is read of a raw response, in bytes.
const LONGEST_HEAD: u64 = 4 << 20;

/// Reads one raw response head, or a line of JSON for each response, and answers each with a line.
///
/// # Errors
/// The file cannot be read or holds no response, or standard output cannot be written.
pub(crate) fn run(args: &HeadersArgs) -> Result<Exit, Failure> {
    let name = lines::name(&args.file);
    let mut reader = lines::open(&args.file)?;
    let is_json = begins_with_brace(&mut reader).map_err(|error| Failure::usage(&name, error))?;
    let now = now();
    if is_json {
        answer_lines(args, Lines::new(name, reader, LONGEST_QUESTION), now)
    } else {
        let mut text = Vec::new();
        let read_whole = reader.take(LONGEST_HEAD).read_to_end(&mut text);
        read_whole.map_err(|error| Failure::usage(&name, error))?;
        let question = head::parse(&text).map_err(|why| Failure::usage(&name, why))?;
        let mut results = Results::start();
        results.line(&read(&question, args.profile, now))?;
        results.finish()?;
        Ok(Exit::Done)
    }
}

/// Exit 1 where a line is no response.
fn answer_lines(
    args: &HeadersArgs,
    mut lines: Lines<Reader>,
    now: Timestamp,
) -> Result<Exit, Failure> {
    let mut results = Results::start();
    let mut exit = Exit::Done;
    while let Some(line) = lines.next()? {
        match line.and_then(Question::from_json) {
            Ok(question) => results.line(&read(&question, args.profile, now))?,
            Err(why) => {
                output::say(&format!("{}:{}: {why}", lines.name(), lines.number()));
                exit = Exit::No;
            }
        }
    }
    results.finish()?;
    Ok(exit)
}

/// Whether the first thing but white space is `{`; white space is consumed.
fn begins_with_brace(reader: &mut Reader) -> std::io::Result<bool> {
    loop {
        let available = reader.fill_buf()?;
        if available.is_empty() {
            return Ok(false);
        }
        match available
            .iter()
            .position(|byte| !byte.is_ascii_whitespace())
        {
            Some(at) => return Ok(available[at] == b'{'),
            None => {
                let blank = available.len();
                reader.consume(blank);
            }
        }
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::from_micros(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}
