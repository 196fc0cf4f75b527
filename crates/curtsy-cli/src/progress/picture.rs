//! A moment of a job, in lines.

use std::time::Duration;

use console::style;
use curtsy::core::{Scope, Timestamp};
use curtsy::{Outcome, Outlook, Progress, ScopeOutlook, ScopeView};

use super::scope::describe;
use crate::notices::short;
use crate::output::bytes;
use crate::table::cut;

/// Lines that are no scope's: the bar, the numbers, the last event, and one that stays free.
pub(super) const OTHERS: usize = 4;
/// The longest name of a scope, as a part of the width.
const NAME_SHARE: usize = 3;

/// What there is to see.
pub(super) struct Picture {
    pub(super) progress: Progress,
    /// URLs/s.
    pub(super) rate: Option<f64>,
    pub(super) eta: Option<Duration>,
    pub(super) outlook: Outlook,
    pub(super) scopes: Vec<ScopeView>,
    pub(super) event: Option<String>,
    pub(super) now: Timestamp,
}

impl Picture {
    /// For a terminal of this size: no line is so long that it wraps, and there are no more than fit.
    pub(super) fn lines(&self, width: usize, height: usize) -> Vec<String> {
        let width = width.saturating_sub(1);
        let rows = height.saturating_sub(OTHERS).min(self.scopes.len());
        let mut lines = vec![self.bar(width)];
        if height > 2 {
            lines.push(cut(&self.numbers().join(" · "), width));
        }
        lines.extend(self.scope_lines(rows, width));
        if let Some(event) = self.event.as_ref().filter(|_| height > OTHERS) {
            lines.push(style(cut(event, width)).dim().for_stderr().to_string());
        }
        lines
    }

    /// The same for a log.
    pub(super) fn plain_lines(&self) -> Vec<String> {
        let mut first = vec![format!("{}/{}", self.ended(), self.progress.total)];
        first.extend(self.numbers());
        first.extend(self.ends());
        let mut lines = vec![first.join(" · ")];
        lines.extend(self.scope_lines(self.scopes.len(), usize::MAX));
        lines
    }

    fn bar(&self, width: usize) -> String {
        bar(self.ended(), self.progress.total, self.ends(), width)
    }

    fn ends(&self) -> Option<String> {
        let eta = self.eta?;
        let last = self.outlook.last.as_ref();
        // Worth a name where it is one scope that all else waits for.
        let name = last
            .filter(|(_, end)| end.since(self.now) >= eta)
            .map_or(String::new(), |(scope, _)| format!(" ({scope})"));
        Some(format!("ETA {}{name}", short(eta)))
    }

    fn numbers(&self) -> Vec<String> {
        let count = |outcome| self.progress.ended.get(&outcome).copied().unwrap_or(0);
        let mut parts = vec![format!("{} fetched", count(Outcome::Fetched))];
        for (count, name) in [
            (count(Outcome::HttpError), "http errors"),
            (count(Outcome::Failed), "failed"),
            (self.outlook.deferred, "deferred"),
            (count(Outcome::Disallowed), "disallowed"),
            (count(Outcome::Suppressed), "suppressed"),
        ] {
            if count > 0 {
                parts.push(format!("{count} {name}"));
            }
        }
        if let Some(rate) = self.rate {
            parts.push(format!("{rate:.1}/s"));
        }
        parts.push(bytes(self.progress.bytes));
        parts
    }

    fn scope_lines(&self, rows: usize, width: usize) -> Vec<String> {
        let outlook = |scope: &Scope| self.outlook.scopes.get(scope);
        scope_lines(&self.scopes[..rows], outlook, self.now, width)
    }

    fn ended(&self) -> u64 {
        self.progress.ended.values().sum()
    }
}

/// How much of all has ended, and what else there is to say of that.
pub(super) fn bar(ended: u64, total: u64, more: Option<String>, width: usize) -> String {
    let part = ended as f64 / total.max(1) as f64;
    let length = (width / 4).clamp(4, 32);
    let full = ((part * length as f64) as usize).min(length);
    let rest = [
        Some(format!("{:3.0} %", (part * 100.0).floor())),
        Some(format!("{ended}/{total}")),
        more,
    ];
    let rest = rest.into_iter().flatten().collect::<Vec<_>>().join(" · ");
    format!(
        "{}{} {}",
        style("█".repeat(full)).green().for_stderr(),
        style("░".repeat(length - full)).dim().for_stderr(),
        cut(&rest, width.saturating_sub(length + 1))
    )
}

/// A line for each of these scopes.
pub(super) fn scope_lines<'a>(
    scopes: &[ScopeView],
    outlook: impl Fn(&Scope) -> Option<&'a ScopeOutlook>,
    now: Timestamp,
    width: usize,
) -> Vec<String> {
    let longest = scopes.iter().map(|view| view.scope.as_str().len()).max();
    let wide = longest.unwrap_or(0).min((width / NAME_SHARE).max(8));
    let line = |view: &ScopeView| {
        let name = cut(view.scope.as_str(), wide);
        let outlook = outlook(&view.scope);
        let text = format!("  {name:<wide$}  {}", describe(view, outlook, now));
        cut(&text, width)
    };
    scopes.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use curtsy::core::{Bound, Policy, Reason};

    use super::*;

    fn picture(scopes: usize) -> Picture {
        let now = Timestamp::from_secs(1_700_000_000);
        let view = |n: usize| ScopeView {
            scope: Scope::named(&format!("a-host-with-a-name-{n}.example.org:8080")),
            policy: Arc::new(Policy::default()),
            state: None,
            waits_for: Some(Bound {
                not_before: now.after(Duration::from_secs(42)),
                reason: Reason::CrawlDelay,
            }),
            is_paused: false,
        };
        Picture {
            progress: Progress {
                total: 1000,
                ended: [(Outcome::Fetched, 400), (Outcome::Failed, 3)].into(),
                bytes: 12_345_678,
                ended_now: 403,
            },
            rate: Some(12.34),
            eta: Some(Duration::from_secs(185)),
            outlook: Outlook {
                deferred: 5,
                ..Outlook::default()
            },
            scopes: (0..scopes).map(view).collect(),
            event: Some("something happened that takes rather a lot of words to tell".to_owned()),
            now,
        }
    }

    #[test]
    fn no_line_wraps_and_no_picture_is_higher_than_the_terminal() {
        let picture = picture(8);
        for (width, height) in [
            (80, 24),
            (120, 40),
            (40, 10),
            (20, 5),
            (10, 3),
            (3, 1),
            (0, 0),
        ] {
            let lines = picture.lines(width, height);
            assert!(lines.len() <= height.max(1), "{width}x{height}: {lines:?}");
            for line in &lines {
                let wide = console::measure_text_width(line);
                assert!(wide < width.max(7), "{width}x{height}: {wide} {line:?}");
            }
        }
        assert_eq!(picture.lines(80, 24).len(), 11);
        assert_eq!(picture.lines(40, 10).len(), 9);
    }

    #[test]
    fn a_log_has_the_numbers_and_the_scopes() {
        let lines = picture(1).plain_lines();
        assert_eq!(
            lines[0],
            "403/1000 · 400 fetched · 3 failed · 5 deferred · 12.3/s · 12.3 MB · ETA 3 min 5 s"
        );
        assert!(lines[1].contains("next in 42 s"), "{lines:?}");
    }
}
