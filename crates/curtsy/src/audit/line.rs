//! Lines of the log as bytes: their hash, and reading them back.

use curtsy_core::audit::{Event, Head, Record};
use memchr::memmem;
use serde::Deserialize;
use sha2::{Digest, Sha256};

/// The longest line that is read: the rules of a robots.txt are the longest thing that is on record.
pub(super) const MAX_LINE: usize = 8 << 20;

/// What stands before the name of an event. No text that is quoted in a line holds it.
const EVENT: &[u8] = br#""event":""#;

/// SHA-256 of a line without its end, in hex.
pub(super) fn hash_of(line: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digest = Sha256::digest(line);
    let mut text = String::with_capacity(64);
    for byte in digest {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

/// Appends a record as a line without its end.
pub(super) fn write(record: &Record, lines: &mut Vec<u8>) -> Result<(), serde_json::Error> {
    // The fields of the event go on where the head's end. To have serde put the two together costs a search for
    // the way to write every single field.
    serde_json::to_writer(&mut *lines, &record.head)?;
    lines.pop();
    let joint = lines.len();
    serde_json::to_writer(&mut *lines, &record.event)?;
    lines[joint] = b',';
    Ok(())
}

/// The record that a line holds.
pub(super) fn parse(line: &[u8]) -> Result<Record, serde_json::Error> {
    // Nearly all lines are one of two. To read these by their fields takes half of the time that it takes to
    // find out first which fields there are.
    let name = memmem::find(line, EVENT).map(|at| &line[at + EVENT.len()..]);
    match name {
        Some(name) if name.starts_with(b"departure\"") => parse_as(line, Event::Departure),
        Some(name) if name.starts_with(b"outcome\"") => parse_as(line, Event::Outcome),
        _ => serde_json::from_slice(line),
    }
}

fn parse_as<'a, T: Deserialize<'a>>(
    line: &'a [u8],
    event: fn(T) -> Event,
) -> Result<Record, serde_json::Error> {
    Ok(Record {
        head: serde_json::from_slice::<Head>(line)?,
        event: event(serde_json::from_slice(line)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_the_same_record_in_either_way_of_reading_and_writing_it() {
        let head = r#""timestamp":"2026-12-01T00:00:00.000Z","pipeline_id":"p","seq":7,"prev":"ab","target_domain":"h","trigger":"rate","base_delay_ms":null,"computed_delay_ms":1.5,"jitter_ms":null,"compliance_flag":true,"status_code":200,"scope":"h","url":"http://h/\"event\":\"outcome\",","attempt":2,"kind":"retry","turn":4"#;
        for event in [
            r#""event":"departure","departure":3,"not_before":"2026-12-01T00:00:00.000001Z","permitted_at":"2026-12-01T00:00:00.000002Z","reason":"rate","draw":0.25,"waited_ms":0.1"#,
            r#""event":"outcome","departure":3,"departed_at":"2026-12-01T00:00:00.000001Z","class":"healthy","latency_ms":0.3,"wait_ms":1000.0"#,
            r#""event":"hold_started","until":"2026-12-01T00:00:00.000001Z""#,
        ] {
            let line = format!("{{{head},{event}}}");
            let record: Record = serde_json::from_str(&line).unwrap();
            assert_eq!(parse(line.as_bytes()).unwrap(), record, "{line}");
            let mut written = Vec::new();
            write(&record, &mut written).unwrap();
            assert_eq!(written, serde_json::to_vec(&record).unwrap(), "{line}");
        }
        assert!(parse(br#"{"event":"departure","departure":1}"#).is_err());
    }
}
