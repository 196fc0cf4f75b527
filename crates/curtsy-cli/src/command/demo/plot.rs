//! Arrivals over time, drawn with letters.

use std::time::Duration;

use curtsy_origin::{Arrival, Verdict};

/// The time of one column.
const COLUMN: Duration = Duration::from_millis(250);
/// The most columns; a longer time has wider ones.
const WIDTH: u32 = 72;
/// From few to many.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The arrivals in each stretch of time, a mark under those in which some were refused or the server
/// wanted to be left alone, the axis, and what the marks mean where there are any.
pub(super) fn plot(arrivals: &[Arrival]) -> Vec<String> {
    let Some(first) = arrivals.first().map(|arrival| arrival.at) else {
        return Vec::new();
    };
    let last = arrivals
        .iter()
        .map(|arrival| arrival.at)
        .max()
        .unwrap_or(first);
    let span = last.saturating_sub(first);
    let column = COLUMN.max(span / WIDTH + Duration::from_millis(1));
    let at = |instant: Duration| {
        (instant.saturating_sub(first).as_secs_f64() / column.as_secs_f64()) as usize
    };
    let columns = at(last) + 1;
    let (mut counts, mut refused, mut held) = (
        vec![0_usize; columns],
        vec![false; columns],
        vec![false; columns],
    );
    for arrival in arrivals {
        let place = at(arrival.at);
        counts[place] += 1;
        refused[place] |= matches!(arrival.verdict, Verdict::Refused | Verdict::Outage);
        if let (Some(from), Some(until)) = (arrival.answered, arrival.hold_until) {
            held.iter_mut()
                .take(at(until).min(columns))
                .skip(at(from) + 1)
                .for_each(|held| *held = true);
        }
    }
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    let bar = |count: usize| {
        if count == 0 {
            ' '
        } else {
            BARS[(count * BARS.len()).div_ceil(most).clamp(1, BARS.len()) - 1]
        }
    };
    let mark = |place: usize| match (refused[place], held[place]) {
        (true, _) => '!',
        (_, true) => '~',
        _ => '─',
    };
    let end = format!("{:.1} s", span.as_secs_f64());
    let mut lines = vec![
        counts.iter().map(|count| bar(*count)).collect(),
        (0..columns).map(mark).collect(),
        format!("0 s {end:>width$}", width = columns.saturating_sub(4)),
    ];
    if refused.contains(&true) || held.contains(&true) {
        lines.push("! refused   ~ asked to be left alone".to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrival(ms: u64, verdict: &str, hold_ms: Option<u64>) -> Arrival {
        let json = serde_json::json!({
            "seq": 1, "at_us": ms * 1000, "epoch_us": 0, "answered_us": ms * 1000, "done_us": null, "whole": true, "connection": 1,
            "protocol": "http11", "method": "GET", "host": null, "path": "/", "user_agent": null, "verdict": verdict, "status": 200,
            "hold_until_us": hold_ms.map(|ms| ms * 1000), "in_flight": 1,
        });
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn arrivals_are_bars_and_holds_are_marked() {
        let arrivals = [
            arrival(1000, "ok", None),
            arrival(1010, "ok", None),
            arrival(1300, "outage", Some(2300)),
            arrival(2600, "ok", None),
        ];
        let lines = plot(&arrivals);
        assert_eq!(lines[0], "█▄    ▄");
        assert_eq!(lines[1], "─!~~~──");
        assert!(lines[2].starts_with("0 s 1.6 s"), "{}", lines[2]);
        assert!(plot(&[]).is_empty());
    }
}
