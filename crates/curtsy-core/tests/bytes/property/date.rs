//! Times: of Retry-After, of a reset, and by the server's own Date.

use std::time::Duration;

use curtsy_core::Timestamp;
use curtsy_core::signal::{self, LONGEST_WAIT, Signal};
use http::{HeaderMap, HeaderValue};

use super::departure::assert_no_earlier_than_after_silence;
use super::response::NOW;
use super::sane::assert_sane;

const LATER: Duration = Duration::from_secs(10);

/// A time and, on a second line, a Date: whatever they are, the wait is bounded and makes nothing faster.
/// The same clock time, received later, is waited for just so much less.
pub(crate) fn holds(bytes: &[u8]) {
    let mut lines = bytes
        .split(|&byte| byte == b'\n')
        .map(|line| HeaderValue::from_bytes(line).ok());
    let Some(time) = lines.next().flatten() else {
        return;
    };
    let date = lines.next().flatten();
    for name in [
        "retry-after",
        "x-ratelimit-reset",
        "x-ratelimit-reset-after",
    ] {
        let mut headers = HeaderMap::new();
        headers.insert(name, time.clone());
        headers.insert("x-ratelimit-limit", HeaderValue::from_static("10"));
        headers.insert("x-ratelimit-remaining", HeaderValue::from_static("0"));
        // A number may be a time or a length, by how far away it would be; with a colon it is no number.
        if time.as_bytes().contains(&b':') {
            let [now, later] =
                [NOW, NOW.after(LATER)].map(|received| wait(&read(429, &headers, received)));
            assert_is_later(now, later);
        }
        if let Some(date) = &date {
            headers.insert("date", date.clone());
        }
        for status in [200, 429] {
            let signal = read(status, &headers, NOW);
            assert_sane(&signal);
            if status == 200 {
                assert_no_earlier_than_after_silence(&signal, NOW);
            }
        }
    }
}

fn read(status: u16, headers: &HeaderMap, received: Timestamp) -> Signal {
    signal::read(status, headers, received, None, None)
}

fn wait(signal: &Signal) -> Option<Duration> {
    signal.wait.as_ref().map(|wait| wait.after)
}

/// A time comes nearer, a length stays as it is, and both are cut at their bounds.
fn assert_is_later(now: Option<Duration>, later: Option<Duration>) {
    let told = format!("{now:?} and {LATER:?} later {later:?}");
    let (Some(now), Some(later)) = (now, later) else {
        return assert_eq!(now, later, "{told}");
    };
    let nearer = now.checked_sub(later).expect(&told);
    let is_cut = later.is_zero() || now == LONGEST_WAIT;
    assert!(
        nearer.is_zero() || nearer == LATER || (is_cut && nearer < LATER),
        "{told}"
    );
}
