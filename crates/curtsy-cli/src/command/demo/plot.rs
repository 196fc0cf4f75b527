//! Arrivals over time, drawn with letters.

use std::time::Duration;

use curtsy_origin::Arrival;

use crate::columns::{BARS, Columns};

/// The time of one column.
const COLUMN: Duration = Duration::from_millis(250);
/// The most columns; a longer time has wider ones.
const WIDTH: usize = 72;

/// The arrivals in each stretch of time, a mark under those in which some were refused or the server
/// wanted to be left alone, the axis, and what the marks mean where there are any.
pub(super) fn plot(arrivals: &[Arrival]) -> Vec<String> {
    let Some(columns) = Columns::of(arrivals, WIDTH, COLUMN) else {
        return Vec::new();
    };
    let most = columns.counts.iter().copied().max().unwrap_or(1).max(1);
    let bar = |count: &usize| match count {
        0 => ' ',
        count => BARS[(count * BARS.len()).div_ceil(most) - 1],
    };
    let mut lines = vec![
        columns.counts.iter().map(bar).collect(),
        columns.marks(),
        columns.scale(),
    ];
    lines.extend(columns.legend().map(str::to_owned));
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
